"""The worker of many-step commands: called with a queue's message, or by the schedule with none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.domain.imports import IMPORT
from holdfast.domain.offboarding import OFFBOARDING
from holdfast.domain.redaction import REDACTION
from holdfast.edge.publishers import group_of
from holdfast.edge.workflow_runner import NotNow, Runner
from holdfast.patterns import keys
from holdfast.writes.outcomes import Unsettled

WORKFLOWS = (OFFBOARDING, REDACTION, IMPORT)
"""Every many-step command. Another one is a file in `holdfast.domain` and its name here."""

MARGIN_SECONDS = 10.0
"""What a worker leaves of its time: for one more commit and its resolver, and to send on."""
LATER_SECONDS = 5
"""How soon a command that cannot go on now is looked at again."""


@dataclass(frozen=True)
class WorkflowQueue:
    """The FIFO queue whose groups are commands."""

    client: Any
    url: str

    def send(self, tenant: str, command_id: str, deduplication_id: str) -> None:
        """Send a command on; the relay's own message says no more than this."""
        body = msgspec.json.encode({"tenant": tenant, "data": {"commandId": command_id}}).decode()
        self.client.send_message(
            QueueUrl=self.url,
            MessageBody=body,
            MessageGroupId=group_of(keys.aggregate(keys.command(tenant, command_id))),
            MessageDeduplicationId=deduplication_id,
        )

    def put_off(self, receipt: str) -> None:
        """Let a message come back soon, instead of after a whole visibility timeout."""
        self.client.change_message_visibility(
            QueueUrl=self.url, ReceiptHandle=receipt, VisibilityTimeout=LATER_SECONDS
        )


class Advance(msgspec.Struct, rename="camel"):
    """What the worker reads of a message."""

    class Data(msgspec.Struct, rename="camel"):
        command_id: str

    tenant: str
    data: Data


def workflows_handler(
    runner: Runner, queue: WorkflowQueue
) -> Callable[[dict[str, Any], Any], dict[str, Any] | None]:
    """The Lambda handler of the queue and of the schedule."""

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any] | None:
        until = runner.table.clock() + context.get_remaining_time_in_millis() / 1000
        try:
            if "Records" not in event:
                runner.sweep(until=until - MARGIN_SECONDS)
                return None
            records = iter(event["Records"])
            failed = next((r for r in records if not _taken(runner, queue, r, until)), None)
            rest = [failed, *records] if failed else []
            return {"batchItemFailures": [{"itemIdentifier": r["messageId"]} for r in rest]}
        finally:
            runner.telemetry.flush()

    return handler


def _taken(runner: Runner, queue: WorkflowQueue, record: dict[str, Any], until: float) -> bool:
    """Advance the command of one message; False when the message must come back."""
    try:
        message = msgspec.json.decode(record["body"], type=Advance)
    except msgspec.DecodeError as error:
        runner.telemetry.failed(error, messageId=record["messageId"])
        return False
    try:
        runner.advance(message.tenant, message.data.command_id, until=until - MARGIN_SECONDS)
    except (NotNow, Unsettled) as error:
        runner.telemetry.failed(error, commandId=message.data.command_id)
        queue.put_off(record["receiptHandle"])
        return False
    return True
