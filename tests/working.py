"""A worker of many-step commands with its queue: it can die at any call, and is started again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from holdfast.edge.command_routes import COMMANDS
from holdfast.edge.commands_app import CommandEndpoint
from holdfast.edge.executor import Executor
from holdfast.edge.gateway import handler_of
from holdfast.edge.workflow_runner import Runner
from holdfast.edge.workflows_app import (
    MARGIN_SECONDS,
    WORKFLOWS,
    WorkflowQueue,
    workflows_handler,
)
from holdfast.writes.table import Table
from tests.api import ADMIN, Answer, Api
from tests.relaying import Killed

TENANT = "acme"
DELIVERIES_MAX = 2000
CALLS = frozenset({"get_item", "query", "batch_get_item", "put_item", "transact_write_items"})

__all__ = ["Fifo", "Killed", "Wire", "Works"]


@dataclass
class Wire:
    """A DynamoDB client that runs `before[n]` and `after[n]` around its n-th call.

    Calls are counted from 1, over all the processes that share the wire. What is run may
    raise `Killed`, which ends the process there, or do what another process does meanwhile.
    """

    client: Any
    before: dict[int, Callable[[], None]] = field(default_factory=dict)
    after: dict[int, Callable[[], None]] = field(default_factory=dict)
    landed: Callable[[], None] = lambda: None
    calls: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.client, name)
        return (lambda **request: self._call(name, call, request)) if name in CALLS else call

    def _call(self, name: str, call: Callable[..., Any], request: dict[str, Any]) -> Any:
        self.calls.append(name)
        number = len(self.calls)
        self.before.pop(number, _nothing)()
        answer = call(**request)
        if name == "transact_write_items":
            self.landed()
        self.after.pop(number, _nothing)()
        return answer

    def kill(self, *numbers: int, before: bool) -> None:
        """The process that makes one of these calls dies before it, or right after it."""
        (self.before if before else self.after).update(dict.fromkeys(numbers, die))


def _nothing() -> None:
    """What happens around most calls."""


def die() -> None:
    raise Killed


@dataclass
class Fifo:
    """What a FIFO queue does: in order, one name once, and again what was not finished."""

    waiting: deque[dict[str, str]] = field(default_factory=deque)
    names: set[str] = field(default_factory=set)
    put_off: list[str] = field(default_factory=list)

    def send_message(self, **message: str) -> None:
        name = message["MessageDeduplicationId"]
        if name in self.names:
            return
        self.names.add(name)
        record = {"messageId": name, "receiptHandle": name, "body": message["MessageBody"]}
        self.waiting.append(record)

    def change_message_visibility(self, *, ReceiptHandle: str, **_: Any) -> None:  # noqa: N803
        self.put_off.append(ReceiptHandle)


@dataclass(frozen=True)
class Context:
    """An invocation with this much time for steps."""

    seconds: float

    def get_remaining_time_in_millis(self) -> float:
        return (self.seconds + MARGIN_SECONDS) * 1000


@dataclass
class Works:
    """The worker of an API's table. Its time passes at each look at the clock, and by hand.

    `budget` is how many seconds of steps one invocation takes; with `copies` 2 every message
    is delivered once more after it was done with.
    """

    api: Api
    wire: Wire
    budget: float = 1.0
    copies: int = 1
    queue: Fifo = field(default_factory=Fifo)
    seconds: float = 0.0
    deaths: int = 0

    def __post_init__(self) -> None:
        """The API tells the same time as the worker."""
        executor = Executor(self.api.table, self.api.telemetry, self.now)
        routes = {(one.method, one.path): CommandEndpoint(one, executor) for one in COMMANDS}
        self.api.commands = handler_of(routes, self.api.telemetry)

    @classmethod
    def of(cls, api: Api, **more: Any) -> Works:
        return cls(api, Wire(api.table.client), **more)

    def clock(self) -> float:
        self.seconds += 0.05
        return self.seconds

    def now(self) -> str:
        at = datetime.now(UTC) + timedelta(seconds=self.seconds)
        return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def later(self, seconds: float) -> None:
        self.seconds += seconds

    def process(self) -> tuple[Runner, WorkflowQueue]:
        """A worker as a new process makes it."""
        table = Table(self.wire, self.api.table.name, clock=self.clock, sleep=self.later)
        queue = WorkflowQueue(self.queue, "any-url")
        known = {workflow.name: workflow for workflow in WORKFLOWS}
        return Runner(table, known, self.api.telemetry, self.now, queue.send), queue

    def invoke(self, event: dict[str, Any]) -> Any:
        """Call the function with `event`; a killed one is None, as a raised error is."""
        handler = workflows_handler(*self.process())
        try:
            return handler(event, Context(self.budget))
        except Killed:
            self.deaths += 1
            return None

    def accepted(self, command_id: str) -> None:
        """The relay has announced that a command was accepted or resumed."""
        number = len(self.queue.names)
        self.process()[1].send(TENANT, command_id, f"relay-{number}")

    def deliver(self) -> bool:
        """Deliver the first message, `copies` times; False where it must come again."""
        record = self.queue.waiting[0]
        for _ in range(self.copies):
            answer = self.invoke({"Records": [record]})
            if answer is None or answer["batchItemFailures"]:
                return False
        self.queue.waiting.remove(record)
        return True

    def drain(self, command_id: str | None = None) -> None:
        """Deliver until nothing waits, after announcing a command."""
        if command_id:
            self.accepted(command_id)
        for _ in range(DELIVERIES_MAX):
            if not self.queue.waiting:
                return
            self.deliver()
        raise AssertionError("the queue does not become empty")

    def sweep(self) -> float:
        """Run the schedule's sweep; how many stuck commands it has counted."""
        self.api.metrics.metric_set.clear()
        self.process()[0].sweep(until=self.seconds + MARGIN_SECONDS)
        counted = self.api.metrics.metric_set.pop("command.stuck_in_progress.count", None)
        return float(sum(counted["Value"])) if counted else 0.0

    def command(self, command_id: str) -> Any:
        """What GET tells of a command."""
        answer = self.api.get(f"/commands/{command_id}", ADMIN)
        assert answer.status == 200, answer.text
        return answer.body


def command_of(accepted: Answer) -> str:
    """The id of the command that an answer has accepted."""
    assert accepted.status == 202, accepted.text
    return str(accepted.body["commandId"])
