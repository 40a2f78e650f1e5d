"""A relay on a table: entries to announce, a clock that stands, and an outlet that records."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics

from holdfast.edge.outbox_stream import StreamRelay
from holdfast.edge.outbox_sweep import Sweep
from holdfast.edge.publishers import MESSAGES_MAX, Message
from holdfast.edge.relay import Relay, Report
from holdfast.edge.telemetry import Telemetry
from holdfast.patterns import keys, outbox
from holdfast.patterns.outbox import Entry, Event, announce
from holdfast.writes.outcomes import Committed
from holdfast.writes.plan import Key, Plan
from holdfast.writes.table import Table

TENANT = "acme"
AT = "2030-01-02T03:04:05.678Z"
AT_MS = round(datetime.fromisoformat(AT).timestamp() * 1000)
MINUTE_MS = 60_000
_NUMBERS = itertools.count(1)


class Killed(BaseException):
    """The process ended here; nothing after this line ran."""


@dataclass
class Outlet:
    """Records what is published; `refuses` event ids, and drops `lost_answers` after accepting."""

    sent: list[Message] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    refuses: set[str] = field(default_factory=set)
    lost_answers: int = 0
    down: bool = False

    def publish(self, messages: Sequence[Message]) -> Mapping[str, str]:
        assert 1 <= len(messages) <= MESSAGES_MAX
        assert len({message.aggregate for message in messages}) == len(messages)
        self.batches.append(len(messages))
        if self.down:
            return {}
        accepted = [one for one in messages if one.event_id not in self.refuses]
        self.sent += accepted
        if self.lost_answers:
            self.lost_answers -= 1
            return {}
        return {message.event_id: f"message-{next(_NUMBERS)}" for message in accepted}

    @property
    def ids(self) -> list[str]:
        return [message.event_id for message in self.sent]

    def versions(self) -> dict[str, list[int]]:
        """By aggregate, the versions in the order in which they first went out."""
        found: dict[str, list[int]] = {}
        for message in self.sent:
            version = json.loads(message.body)["version"]
            seen = found.setdefault(message.aggregate, [])
            if version not in seen:
                seen.append(version)
        return found


@dataclass
class Desk:
    """One relay with what it writes to; `now_ms` moves only by hand."""

    table: Table
    now_ms: int = AT_MS
    outlet: Outlet = field(default_factory=Outlet)

    def __post_init__(self) -> None:
        self.metrics = EphemeralMetrics(namespace="Test", service="test")
        logger = Logger(service=f"relay-{next(_NUMBERS)}", stream=io.StringIO())
        self.telemetry = Telemetry(logger, self.metrics)
        self.relay = self.fresh()

    def fresh(self) -> Relay:
        """A relay of another process: it has announced nothing yet."""
        ways = {outbox.EVENTS: self.outlet}
        return Relay(self.table, ways, self.telemetry, lambda: self.now_ms)

    def announce(self, *entries: Entry, seconds: int = 60) -> Report:
        return self.relay.announce(entries, until_ms=self.now_ms + seconds * 1000)

    def stream(self, records: list[dict[str, Any]]) -> dict[str, Any]:
        return StreamRelay(self.relay)(records, until_ms=self.now_ms + MINUTE_MS)

    def sweep(self) -> None:
        Sweep(self.relay)(until_ms=self.now_ms + MINUTE_MS)

    def later(self, seconds: float) -> None:
        self.now_ms += round(seconds * 1000)

    def metric(self, name: str) -> float | None:
        """The sum of a metric's values since it was last asked for; None without one."""
        found = self.metrics.metric_set.pop(name, None)
        return None if found is None else sum(found["Value"])

    def stored(self, entry: Entry) -> dict[str, Any]:
        return self.table.get(entry.key) or {}

    def status(self, entry: Entry) -> str:
        return str(self.stored(entry)["status"])

    def happened(
        self, owner: Key, *versions: int, at: str = AT, data: dict[str, Any] | None = None
    ) -> list[Entry]:
        """Commit a fact of `owner` for each version, as commands do."""
        entries = []
        for version in versions:
            event = Event("CaseEdited", owner, version, data or {"priority": "HIGH"})
            about = {"command_id": f"c{next(_NUMBERS)}", "tenant": TENANT, "actor": "o-1"}
            facts = announce(event, **about, at=at)
            assert isinstance(self.table.commit(Plan(self.table.name, tuple(facts))), Committed)
            entries.append(outbox.entry_of(self.table.get(facts[1].key) or {}))
        return entries


def owner(number: int = 1) -> Key:
    return keys.case(TENANT, f"case-{number}")
