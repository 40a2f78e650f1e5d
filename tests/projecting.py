"""A projector's function on a table: its failure queue is a list, its clock stands."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics

from holdfast.domain.projections import named
from holdfast.edge import counted
from holdfast.edge.projector import Projector
from holdfast.edge.projector_app import ProjectorApp
from holdfast.edge.set_aside import NotSent, SetAside
from holdfast.edge.telemetry import Telemetry
from holdfast.writes.table import Table

NOW = 1_893_553_500.0
Record = dict[str, Any]


@dataclass
class Counting:
    """`app` is the Lambda function; what it puts aside is in `aside`, unless the queue is down."""

    table: Table
    aside: list[dict[str, Any]] = field(default_factory=list)
    queue_is_down: bool = False
    log: io.StringIO = field(default_factory=io.StringIO)

    def __post_init__(self) -> None:
        logger = Logger(service=f"projector-{id(self)}", stream=self.log)
        self.metrics = EphemeralMetrics(namespace=f"Test{id(self)}", service="test")
        telemetry = Telemetry(logger, self.metrics)
        aside = SetAside(self.table, telemetry, self._send)
        self.app = ProjectorApp(Projector(self.table), aside, telemetry, lambda: NOW)

    def _send(self, body: str) -> None:
        if self.queue_is_down:
            raise NotSent
        self.aside.append(json.loads(body))

    def deliver(self, *records: Record) -> list[str]:
        """The sequence numbers that the function reports as failed."""
        return self.handle(records)["batchItemFailures"]

    def handle(self, records: Sequence[Record]) -> Any:
        return self.app.streamed(records)

    def redrive(self) -> list[Record]:
        """Bring back all that was put aside; what stays on the queue is returned."""
        messages = [
            {"messageId": str(place), "eventSource": "aws:sqs", "body": json.dumps(body)}
            for place, body in enumerate(self.aside)
        ]
        failed = self.app({"Records": messages}, None)["batchItemFailures"]
        return [self.aside[int(one["itemIdentifier"])] for one in failed]

    def counts(self, name: str, tenant: str = "acme") -> dict[str, int]:
        return dict(self._read(name, tenant).counts)

    def as_of(self, name: str, tenant: str = "acme") -> str | None:
        return self._read(name, tenant).as_of

    def _read(self, name: str, tenant: str) -> counted.Counted:
        projection = named(name)
        assert projection
        return counted.read(self.table, tenant, projection)
