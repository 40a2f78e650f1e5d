"""What is outside the table: queues, a webhook's receiver, and logs that nobody reads."""

from __future__ import annotations

import io
import json
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aws_lambda_powertools.logging import Logger

from holdfast.edge.providers import Done, NotDone
from holdfast.edge.telemetry import Telemetry


class Silence(io.TextIOBase):
    def write(self, text: str) -> int:
        return len(text)


class NoMetrics:
    """Metrics that nobody reads."""

    metric_set: Mapping[str, Any] = {}

    def add_metric(self, *metric: Any) -> None:
        pass


QUIET = Telemetry(Logger(service="faults", stream=Silence()), NoMetrics())  # type: ignore[arg-type]


@dataclass
class Post:
    """The queues, and a webhook's receiver that honours its caller's keys."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)

    def send_message_batch(self, **request: Any) -> dict[str, Any]:
        entries = request["Entries"]
        self.messages += [json.loads(entry["MessageBody"]) for entry in entries]
        return {"Successful": [{"Id": e["Id"], "MessageId": uuid.uuid4().hex} for e in entries]}

    def send_message(self, **request: Any) -> dict[str, Any]:
        return {"MessageId": request["MessageDeduplicationId"]}

    def change_message_visibility(self, **request: Any) -> dict[str, Any]:
        return {}

    change_message_visibility_batch = change_message_visibility

    def webhook(self, operation_id: str) -> Done:
        self.calls[operation_id] += 1
        return Done(f"ref-{operation_id}")


@dataclass
class Hook:
    """The provider as a process has it, on the other end of its wire."""

    post: Post
    wire: Any
    repeatable: bool = True

    def call(self, envelope: Any, operation_id: str, attempt: int) -> Done:
        return self.wire.webhook(operation_id=operation_id)  # type: ignore[no-any-return]

    def ask(self, operation_id: str) -> Done | NotDone:
        called = self.post.calls[operation_id]
        return Done(f"ref-{operation_id}") if called else NotDone("UNKNOWN")
