"""One structured line per command, and its metrics. Ids are fields of the line, never dimensions.

Nothing of a request's body, no claim but the tenant inside a key, and no message of an
exception is written: any of them may repeat personal data.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Any

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics, MetricUnit
from botocore.exceptions import ClientError

from holdfast.writes.outcomes import Effort
from holdfast.writes.plan import Key

SERVICE, NAMESPACE = "holdfast", "Holdfast"


class Telemetry:
    """Where a function's log lines and metrics go."""

    def __init__(self, logger: Logger | None = None, metrics: Metrics | None = None) -> None:
        self.logger = logger or Logger(service=SERVICE)
        self.metrics = metrics or Metrics(namespace=NAMESPACE, service=SERVICE)

    def command(self, outcome: str, **fields: Any) -> None:
        """The line of one command's outcome."""
        self.logger.info("command", outcome=outcome, **fields)

    def count(self, name: str, value: int = 1) -> None:
        """Add to a metric; nothing is no data point."""
        if value:
            self.metrics.add_metric(name, MetricUnit.Count, value)

    def gauge(self, name: str, value: float, unit: MetricUnit = MetricUnit.Count) -> None:
        """State how much there is of something; nothing is a data point too."""
        self.metrics.add_metric(name, unit, value)

    def effort(self, effort: Effort) -> None:
        """What the attempts of one command ran into."""
        self.count("command.retry.count", max(effort.attempts - 1, 0))
        self.count("command.transaction_conflict.count", effort.conflicts)
        self.count("command.throttled.count", effort.throttles)
        self.count("command.ambiguous_timeout.count", effort.doubts)

    def relay(self, outcome: str, **fields: Any) -> None:
        """A line of the relay, where something was not announced."""
        self.logger.warning("relay", outcome=outcome, **fields)

    def projection(self, outcome: str, owner: Key, cause: str) -> None:
        """A line of the projector, about an aggregate that it did not count."""
        self.logger.warning(
            "projection", outcome=outcome, aggregate=f"{owner.pk}#{owner.sk}", cause=cause
        )

    def effect(self, outcome: str, **fields: Any) -> None:
        """The line of one side effect's outcome."""
        self.logger.info("side effect", outcome=outcome, **fields)

    def failed(self, error: Exception, **fields: Any) -> None:
        """An unexpected failure: its kind and where it came from, not what it says."""
        self.logger.error("unexpected failure", causes=list(_causes(error)), **fields)

    def flush(self) -> None:
        if self.metrics.metric_set:
            self.metrics.flush_metrics()


def _causes(error: BaseException | None) -> Iterator[dict[str, Any]]:
    while error is not None:
        code = error.response["Error"]["Code"] if isinstance(error, ClientError) else None
        frames = traceback.extract_tb(error.__traceback__)
        yield {
            "type": type(error).__name__,
            **({"awsCode": code} if code else {}),
            "frames": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
        }
        error = error.__cause__
