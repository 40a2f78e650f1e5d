"""The relay's sweep: what the stream did not announce, found by the pending index.

The index only finds work. Each entry is read from the table before it is claimed, and the
claim is judged there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit

from holdfast.edge.claiming import CLAIMS_MAX
from holdfast.edge.relay import CHUNK_MILLISECONDS_MAX, Relay, Report
from holdfast.patterns import outbox
from holdfast.patterns.keys import OUTBOX_SHARDS
from holdfast.patterns.outbox import DEAD, Entry
from holdfast.writes.plan import Key
from holdfast.writes.table import Table

INDEX = "outbox-open"
Image = dict[str, Any]


def listed(table: Table, state: str, tenant: str | None = None) -> list[Image]:
    """The oldest entries of one state, of one tenant or of all; eventually consistent.

    At most one page of 1 MB, which is some two thousand entries.
    """
    values, only = {":state": state}, {}
    if tenant is not None:
        values, only = {**values, ":tenant": tenant}, {"FilterExpression": "tenant = :tenant"}
    items, _ = table.query(
        IndexName=INDEX,
        KeyConditionExpression="outboxState = :state",
        ExpressionAttributeValues=values,
        **only,
    )
    return items


def pending(table: Table, tenant: str | None = None) -> list[Image]:
    """Entries that wait to be announced, in all shards."""
    shards = (f"PENDING#{shard:02d}" for shard in range(OUTBOX_SHARDS))
    return [item for shard in shards for item in listed(table, shard, tenant)]


def age_seconds(items: Iterable[Image], now_ms: int) -> int:
    """How long the oldest of `items` has waited; 0 when there is none."""
    begun = [datetime.fromisoformat(item["at"]).timestamp() for item in items]
    return max(0, round(now_ms / 1000 - min(begun))) if begun else 0


@dataclass(frozen=True)
class Sweep:
    """Announces what waits, and says how much is left."""

    relay: Relay

    def __call__(self, *, until_ms: int) -> None:
        table, now_ms = self.relay.table, self.relay.now_ms
        waiting, dead = pending(table), listed(table, DEAD)
        due = list(_due(waiting, dead, now_ms()))
        done = Report()
        for start in range(0, len(due), CLAIMS_MAX):
            if now_ms() + CHUNK_MILLISECONDS_MAX > until_ms:
                break
            entries = list(self._read(due[start : start + CLAIMS_MAX]))
            report = self.relay.announce(entries, until_ms=until_ms)
            done.published |= report.published
            done.buried |= report.buried
        gone = done.published | done.buried
        self._tell([item for item in waiting if _key(item) not in gone], dead, done)

    def _read(self, keys: list[Key]) -> Iterator[Entry]:
        """The entries as they are now; one that cannot be read stays, old and counted."""
        for image in self.relay.table.snapshot(keys):
            try:
                if image is not None:
                    yield outbox.entry_of(image)
            except ValueError as error:
                self.relay.telemetry.failed(error)

    def _tell(self, left: list[Image], dead: list[Image], done: Report) -> None:
        gauge = self.relay.telemetry.gauge
        gauge("outbox.pending.count", len(left))
        oldest = age_seconds(left, self.relay.now_ms())
        gauge("outbox.oldest_pending.seconds", oldest, MetricUnit.Seconds)
        gauge("outbox.dead.count", len(dead) + len(done.buried))


def _due(waiting: Iterable[Image], dead: Iterable[Image], now_ms: int) -> Iterator[Key]:
    """What may be announced now, by aggregate and version; what waits behind others is spared."""
    held = {item["aggregate"] for item in dead}
    for item in sorted(waiting, key=lambda one: (one["aggregate"], one["version"])):
        if item["aggregate"] in held:
            continue
        if outbox.is_due(item, now_ms):
            yield _key(item)
        else:
            held.add(item["aggregate"])


def _key(item: Image) -> Key:
    return Key(item["PK"], item["SK"])
