"""The projector's function: records in; out, what was not counted and why.

A record that can never be counted is put aside at once, with its cause, so that it holds up
nobody. One that only met trouble is reported: it comes again, and all that follow it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit
from botocore.exceptions import BotoCoreError, ClientError

from holdfast.edge.arrivals import Arrival, Record, arrivals
from holdfast.edge.projector import Projector
from holdfast.edge.set_aside import NotSent, SetAside
from holdfast.edge.telemetry import Telemetry

Answer = dict[str, list[dict[str, str]]]


@dataclass(frozen=True)
class ProjectorApp:
    """Counts batches of the stream and of the redrive queue; `now` is in epoch seconds."""

    projector: Projector
    aside: SetAside
    telemetry: Telemetry
    now: Callable[[], float]

    def __call__(self, event: Mapping[str, Any], context: Any) -> Answer:
        """The Lambda handler."""
        del context
        records = event["Records"]
        redrive = bool(records) and records[0].get("eventSource") == "aws:sqs"
        try:
            return self.redriven(records) if redrive else self.streamed(records)
        finally:
            self.telemetry.flush()

    def streamed(self, records: Sequence[Record]) -> Answer:
        """The partial batch response: Lambda tries again from the first record that failed.

        Source: AWS Lambda developer guide, "Configuring partial batch response with DynamoDB
        and Lambda". Records behind it come again too, and are found to be counted.
        """
        arrived = arrivals(records)
        self._tell_lag(arrived)
        failed = [
            arrival.number
            for arrival, cause, passing in self._failures(arrived)
            if passing or not self.aside.put(arrival, cause)
        ]
        return {"batchItemFailures": [{"itemIdentifier": number} for number in failed[:1]]}

    def redriven(self, messages: Iterable[Record]) -> Answer:
        """Count what was put aside before; what fails again stays on its queue."""
        failed = []
        for message in messages:
            arrived = arrivals([json.loads(message["body"])["record"]])
            if self._failures(arrived):
                failed.append(message["messageId"])
                continue
            for arrival in arrived:
                self.aside.forget(arrival)
        return {"batchItemFailures": [{"itemIdentifier": number} for number in failed]}

    def _failures(self, arrived: Sequence[Arrival]) -> list[tuple[Arrival, str, bool]]:
        """In the batch's order: what was not counted, the cause, and whether that may pass."""
        facts = (arrival.fact for arrival in arrived if arrival.fact)
        failures = {failure.owner: failure for failure in self.projector.count(facts)}
        found = []
        for arrival in arrived:
            failure = failures.get(arrival.owner)
            if arrival.cause:
                found.append((arrival, arrival.cause, False))
            elif failure:
                found.append((arrival, failure.cause, failure.passing))
        for arrival, cause, passing in found:
            self.telemetry.projection("later" if passing else "put aside", arrival.owner, cause)
        self.telemetry.count("projection.failed.count", len(found))
        return found

    def _tell_lag(self, arrived: Sequence[Arrival]) -> None:
        created = [arrival.created for arrival in arrived if arrival.created is not None]
        if created:
            lag = max(self.now() - min(created), 0)
            self.telemetry.gauge("projection.lag.seconds", lag, MetricUnit.Seconds)


def queue_sender(client: Any, url: str) -> Callable[[str], None]:
    """Sends to the queue of that URL, or raises NotSent."""

    def send(body: str) -> None:
        try:
            client.send_message(QueueUrl=url, MessageBody=body)
        except (BotoCoreError, ClientError) as error:
            raise NotSent from error

    return send
