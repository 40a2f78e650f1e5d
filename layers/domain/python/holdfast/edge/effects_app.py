"""The function behind the events queue: partial failures, in the order of each group.

A FIFO queue hands out a group's messages in order and waits while any of them is invisible.
So after a failure the rest of its group goes back too, with the same wait; other groups go on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from aws_lambda_powertools.utilities.parameters import SecretsProvider
from botocore.exceptions import BotoCoreError, ClientError

from holdfast.domain.effects import EMAIL, WEBHOOK
from holdfast.edge.clients import client, table
from holdfast.edge.effects import Effects
from holdfast.edge.executor import utc_now
from holdfast.edge.providers import Provider
from holdfast.edge.providers.email import Email
from holdfast.edge.providers.webhook import Webhook
from holdfast.edge.relay_app import now_ms
from holdfast.edge.telemetry import Telemetry
from holdfast.patterns import envelope
from holdfast.patterns.side_effects import retry_seconds
from holdfast.writes.outcomes import Unsettled

Record = Mapping[str, Any]
SECRET_SECONDS_MAX = 300
"""How long a rotated secret may still be used here."""
RECORD_MILLISECONDS_MAX = 20_000
"""What one event may take: two calls of seven seconds, and the ledger's commits."""
POISON_SECONDS = 5


@dataclass(frozen=True)
class Queue:
    """The queue that called us, as far as its messages' visibility goes."""

    client: Any
    url: str

    def delay(self, waits: Mapping[str, int]) -> None:
        """Let messages, named by receipt handle, come back after their seconds."""
        entries = [
            {"Id": str(place), "ReceiptHandle": handle, "VisibilityTimeout": seconds}
            for place, (handle, seconds) in enumerate(waits.items())
        ]
        for start in range(0, len(entries), 10):
            self.client.change_message_visibility_batch(
                QueueUrl=self.url, Entries=entries[start : start + 10]
            )


def effects_handler(
    effects: Effects, queue: Queue
) -> Callable[[dict[str, Any], Any], dict[str, Any]]:
    """The Lambda handler of the events queue."""

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        until_ms = effects.now_ms() + context.get_remaining_time_in_millis()
        try:
            waits = _waits(effects, event["Records"], until_ms)
            _delay(effects, queue, event["Records"], waits)
            return {"batchItemFailures": [{"itemIdentifier": name} for name in waits]}
        finally:
            effects.telemetry.flush()

    return handler


def _waits(effects: Effects, records: list[Record], until_ms: int) -> dict[str, int]:
    """The messages to bring back, by id, and after how many seconds."""
    stopped: dict[str, int] = {}
    waits: dict[str, int] = {}
    for record in records:
        group = record["attributes"]["MessageGroupId"]
        if group not in stopped:
            late = effects.now_ms() + RECORD_MILLISECONDS_MAX > until_ms
            wait = 0 if late else _performed(effects, record)
            if wait is None:
                continue
            stopped[group] = wait
        waits[record["messageId"]] = stopped[group]
    return waits


def _performed(effects: Effects, record: Record) -> int | None:
    """Seconds to wait before the next try, None when there is nothing left to do."""
    received = int(record["attributes"]["ApproximateReceiveCount"])
    try:
        return effects.perform(envelope.decode(record["body"]))
    except (msgspec.MsgspecError, ValueError) as error:
        effects.telemetry.failed(error, messageId=record["messageId"])
        return POISON_SECONDS
    except Unsettled as error:
        effects.telemetry.failed(error, messageId=record["messageId"])
        return retry_seconds(min(received, 8))
    except Exception as error:  # noqa: BLE001 -- one message's fault must not fail its batch
        effects.telemetry.failed(error, messageId=record["messageId"])
        return retry_seconds(min(received, 8))


def _delay(effects: Effects, queue: Queue, records: list[Record], waits: dict[str, int]) -> None:
    """A wait that cannot be set is the queue's own visibility timeout instead."""
    handles = {record["messageId"]: record["receiptHandle"] for record in records}
    try:
        queue.delay({handles[name]: seconds for name, seconds in waits.items()})
    except (BotoCoreError, ClientError) as error:
        effects.telemetry.failed(error, messages=len(waits))


def effects_from_environment(telemetry: Telemetry) -> Effects:
    return Effects(table(), _providers(), telemetry, utc_now, now_ms)


def queue_from_environment() -> Queue:
    return Queue(client("sqs", read_timeout=5, attempts=2), os.environ["EVENTS_QUEUE_URL"])


def _providers() -> dict[str, Provider]:
    """The providers that the stage has: a webhook with an address, mail with a sender."""
    providers: dict[str, Provider] = {}
    if url := os.environ.get("WEBHOOK_URL"):
        secrets = SecretsProvider(boto3_client=client("secretsmanager", read_timeout=2, attempts=3))
        name = os.environ["WEBHOOK_SECRET_ID"]
        providers[WEBHOOK] = Webhook(
            url,
            lambda: str(secrets.get(name, max_age=SECRET_SECONDS_MAX)),
            private=os.environ["STAGE"] == "local",
            now_seconds=time.time,
        )
    if sender := os.environ.get("MAIL_FROM"):
        providers[EMAIL] = Email(client("sesv2", read_timeout=5, attempts=1), sender)
    return providers
