"""Where announced entries go: a FIFO queue, or an event bus; behind one small protocol."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from holdfast.edge.telemetry import Telemetry

MESSAGES_MAX = 10
"""Source: Amazon SQS API reference, SendMessageBatch; EventBridge API reference, PutEvents."""
BATCH_BYTES_MAX = 240 * 1024
"""Below the 256 KB that the bus takes at once, with room for what surrounds each message."""
GROUP_CHARACTERS_MAX = 128


@dataclass(frozen=True)
class Message:
    """One entry as it is sent; `body` is JSON text."""

    event_id: str
    aggregate: str
    type: str
    body: str


class Publisher(Protocol):
    """Sends at most `MESSAGES_MAX` messages, of different aggregates.

    Returns the provider's message id for each event id that was accepted. What is missing
    there was refused, or nobody knows; it is sent again under the same event id.
    """

    def publish(self, messages: Sequence[Message]) -> Mapping[str, str]: ...


@dataclass(frozen=True)
class QueuePublisher:
    """A FIFO queue: order within an aggregate, and none twice within five minutes."""

    client: Any
    url: str
    telemetry: Telemetry

    def publish(self, messages: Sequence[Message]) -> Mapping[str, str]:
        entries = [
            {
                "Id": str(place),
                "MessageBody": message.body,
                "MessageGroupId": group_of(message.aggregate),
                "MessageDeduplicationId": message.event_id,
            }
            for place, message in enumerate(messages)
        ]
        try:
            answer = self.client.send_message_batch(QueueUrl=self.url, Entries=entries)
        except (BotoCoreError, ClientError) as error:
            self.telemetry.failed(error, sent=len(messages))
            return {}
        for failure in answer.get("Failed", ()):
            event_id = messages[int(failure["Id"])].event_id
            self.telemetry.relay("refused", eventId=event_id, reason=failure["Code"])
        return {
            messages[int(sent["Id"])].event_id: sent["MessageId"]
            for sent in answer.get("Successful", ())
        }


@dataclass(frozen=True)
class BusPublisher:
    """An EventBridge bus: many consumers, and the order of what they get is not kept."""

    client: Any
    bus: str
    telemetry: Telemetry
    source: str = "holdfast"

    def publish(self, messages: Sequence[Message]) -> Mapping[str, str]:
        entries = [
            {
                "EventBusName": self.bus,
                "Source": self.source,
                "DetailType": message.type,
                "Detail": message.body,
            }
            for message in messages
        ]
        try:
            answer = self.client.put_events(Entries=entries)
        except (BotoCoreError, ClientError) as error:
            self.telemetry.failed(error, sent=len(messages))
            return {}
        accepted = {}
        for message, result in zip(messages, answer["Entries"], strict=True):
            if "EventId" in result:
                accepted[message.event_id] = result["EventId"]
            else:
                self.telemetry.relay(
                    "refused", eventId=message.event_id, reason=result["ErrorCode"]
                )
        return accepted


def group_of(aggregate: str) -> str:
    """The message group of an aggregate: its name, or its digest when that is too long."""
    if len(aggregate) <= GROUP_CHARACTERS_MAX:
        return aggregate
    return hashlib.sha256(aggregate.encode()).hexdigest()
