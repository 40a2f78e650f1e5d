"""A company on a table of its own: the processes that serve it, its clock, and what left it."""

from __future__ import annotations

import json
import random
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from holdfast.domain.imports import IMPORT
from holdfast.domain.offboarding import OFFBOARDING
from holdfast.domain.redaction import REDACTION
from holdfast.edge.command_routes import COMMANDS
from holdfast.edge.commands_app import CommandEndpoint
from holdfast.edge.effects import Effects
from holdfast.edge.effects_app import Queue, effects_handler
from holdfast.edge.executor import Executor
from holdfast.edge.gateway import handler_of
from holdfast.edge.outbox_stream import StreamRelay
from holdfast.edge.projector import Projector
from holdfast.edge.projector_app import ProjectorApp
from holdfast.edge.publishers import QueuePublisher
from holdfast.edge.queries_app import queries_handler
from holdfast.edge.relay import Relay
from holdfast.edge.set_aside import SetAside
from holdfast.edge.workflow_runner import Runner
from holdfast.edge.workflows_app import WorkflowQueue, workflows_handler
from holdfast.patterns import outbox
from holdfast.writes.codec import decode_item
from holdfast.writes.table import Table
from tests.api import Api
from tests.conftest import create_table
from tests.faults.evidence import Evidence, Told, plain
from tests.faults.outside import QUIET, Hook, Post
from tests.faults.wire import CALM, Storm, Wire

TENANT = "acme"
BASE_MS = round(datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp() * 1000)
MINUTE_SECONDS = 60
BATCH_MAX = 25
Image = dict[str, Any]


@dataclass
class Clock:
    """Seconds of one run: each look takes a millisecond, and sleeping is free."""

    seconds: float = 0.0

    def __call__(self) -> float:
        self.seconds += 0.001
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    @property
    def now_ms(self) -> int:
        return BASE_MS + round(self() * 1000)


class Context:
    """The Lambda context, with time for everything."""

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 600_000


@dataclass
class Process:
    """All functions of the service in one process, with a clock that may be wrong."""

    company: Company
    storm: Storm
    skew_ms: int = 0

    @cached_property
    def table(self) -> Table:
        clock, one = self.company.clock, self.company
        wire = Wire(one.through or one.client, self.storm, one.name)
        return Table(wire, one.name, clock=clock, sleep=clock.sleep, random=one.chance.random)

    def now_ms(self) -> int:
        self.storm.fired += self.skew_ms != 0
        return self.company.clock.now_ms + self.skew_ms

    def now(self) -> str:
        moment = datetime.fromtimestamp(self.now_ms() / 1000, UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    @cached_property
    def api(self) -> Api:
        api = object.__new__(Api)
        api.table, api.telemetry = self.table, QUIET
        executor = Executor(self.table, QUIET, self.now)
        routes = {(each.method, each.path): CommandEndpoint(each, executor) for each in COMMANDS}
        api.commands = handler_of(routes, QUIET)
        api.queries = queries_handler(self.table, QUIET)
        return api

    @cached_property
    def relay(self) -> Relay:
        way = QueuePublisher(self._post_wire, "any-url", QUIET)
        ways = {outbox.EVENTS: way, outbox.WORKFLOWS: way}
        return Relay(self.table, ways, QUIET, self.now_ms)

    @property
    def _post_wire(self) -> Wire:
        return Wire(self.company.post, self.storm, self.company.name)

    def announce(self, records: Sequence[Image]) -> bool:
        """Hand stream records to the relay; true when none must come again."""
        until_ms = self.now_ms() + 10 * MINUTE_SECONDS * 1000
        return not StreamRelay(self.relay)(records, until_ms=until_ms)["batchItemFailures"]

    def count(self, records: Sequence[Image]) -> bool:
        """Hand stream records to the projector; true when none must come again."""
        aside = SetAside(self.table, QUIET, self.company.aside.append)
        app = ProjectorApp(Projector(self.table), aside, QUIET, lambda: self.now_ms() / 1000)
        return not app.streamed(records)["batchItemFailures"]

    def advance(self, command_id: str) -> bool:
        """Hand the worker a many-step command; true when its message is done with."""
        workflows = {one.name: one for one in (OFFBOARDING, REDACTION, IMPORT)}
        queue = WorkflowQueue(self._post_wire, "any-url")
        runner = Runner(self.table, workflows, QUIET, self.now, queue.send)
        body = json.dumps({"tenant": TENANT, "data": {"commandId": command_id}})
        record = {"messageId": "m-1", "receiptHandle": "m-1", "body": body}
        answer = workflows_handler(runner, queue)({"Records": [record]}, Context) or {}
        return not answer["batchItemFailures"]

    def perform(self, messages: Sequence[Mapping[str, Any]]) -> bool:
        """Hand messages to the function that makes effects; true when all are done with."""
        hook = Hook(self.company.post, self._post_wire)
        effects = Effects(self.table, {"webhook": hook}, QUIET, self.now, self.now_ms)
        handler = effects_handler(effects, Queue(self._post_wire, "any-url"))
        records = [
            {
                "messageId": message["eventId"],
                "receiptHandle": message["eventId"],
                "body": json.dumps(message),
                "attributes": {
                    "MessageGroupId": message["aggregate"],
                    "ApproximateReceiveCount": "1",
                },
            }
            for message in messages
        ]
        return not handler({"Records": records}, Context)["batchItemFailures"]


@dataclass
class Company:
    """One run's table, and all that its processes have told others."""

    client: Any
    name: str
    clock: Clock = field(default_factory=Clock)
    chance: random.Random = field(default_factory=random.Random)
    post: Post = field(default_factory=Post)
    aside: list[str] = field(default_factory=list)
    told: dict[str, list[Told]] = field(default_factory=lambda: defaultdict(list))
    through: Any = None
    """The client that processes have, where that is not the judge's."""
    added: str = ""
    """How the plan ended that only adds, if it ended."""

    def process(self, storm: Storm | None = None, skew_ms: int = 0) -> Process:
        """A new process: it remembers nothing."""
        return Process(self, storm or Storm(CALM), skew_ms)

    def typed(self) -> list[Image]:
        """The whole table, in the SDK's typed JSON."""
        pages = self.client.get_paginator("scan").paginate(TableName=self.name, ConsistentRead=True)
        return [item for page in pages for item in page["Items"]]

    def put(self, items: Sequence[Image]) -> None:
        """Items as another program left them."""
        puts = [{"PutRequest": {"Item": item}} for item in items]
        for start in range(0, len(puts), BATCH_MAX):
            self.client.batch_write_item(RequestItems={self.name: puts[start : start + BATCH_MAX]})

    def settle(self) -> bool:
        """Let the relay and the projector finish; true when nothing waits."""
        process = self.process()
        for _ in range(4):
            items = self.typed()
            waiting = [item for item in items if _waits(item) or "runningState" in item]
            if not waiting:
                break
            self.clock.sleep(MINUTE_SECONDS)
            entries = [outbox.entry_of(decode_item(item)) for item in waiting if _waits(item)]
            process.relay.announce(entries, until_ms=process.now_ms() + 600_000)
            for item in waiting:
                if "runningState" in item:
                    process.advance(item["PK"]["S"].split("#")[2])
        return process.count(records(items, "EVENT#")) and not waiting and not self.aside

    def evidence(self) -> Evidence:
        return Evidence(
            items=[plain(item) for item in self.typed()],
            now_ms=self.clock.now_ms,
            answers=self.told,
            messages=self.post.messages,
            calls=self.post.calls,
        )


def records(items: Sequence[Image], prefix: str, pk: str = "") -> list[Image]:
    """The stream's records of new items with such keys, in an order that a stream may have."""
    chosen = [i for i in items if i["SK"]["S"].startswith(prefix) and i["PK"]["S"].startswith(pk)]
    chosen.sort(key=lambda item: (item["PK"]["S"], item["SK"]["S"]))
    return [
        {
            "eventName": "INSERT",
            "eventSource": "aws:dynamodb",
            "dynamodb": {
                "Keys": {"PK": item["PK"], "SK": item["SK"]},
                "NewImage": item,
                "SequenceNumber": f"{place:021d}",
                "ApproximateCreationDateTime": BASE_MS / 1000,
            },
        }
        for place, item in enumerate(chosen)
    ]


def _waits(item: Image) -> bool:
    return item.get("outboxState", {}).get("S", "").startswith("PENDING")


@dataclass
class Template:
    """A company at one moment, of which runs start as many copies as they need."""

    items: list[Image]
    clock: Clock
    post: Post
    ids: Mapping[str, str]

    def copy(self, client: Any, seed: int) -> Company:
        name = f"run-{uuid.uuid4().hex[:16]}"
        create_table(client, name)
        post = Post(list(self.post.messages), Counter(self.post.calls))
        one = Company(client, name, Clock(self.clock.seconds), random.Random(seed), post)
        one.put(self.items)
        return one


def template(client: Any, prepare: Callable[[Process], Mapping[str, str]]) -> Template:
    """Found a company, and keep what it is like after `prepare`."""
    company = Company(client, f"first-{uuid.uuid4().hex[:16]}")
    create_table(client, company.name)
    ids = prepare(company.process())
    kept = Template(company.typed(), company.clock, company.post, ids)
    client.delete_table(TableName=company.name)
    return kept
