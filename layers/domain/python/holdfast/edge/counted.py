"""What a projection says, and up to when: read from its live generation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.patterns import keys, projections
from holdfast.patterns.projections import Lane, Projection
from holdfast.writes.plan import Key
from holdfast.writes.table import Table

LANE_PREFIX = "LANE#"


@dataclass(frozen=True)
class Counted:
    """Counts by key, and the time up to which events are counted; None before the first.

    That time is the newest counted event's, or the oldest's of those that are known not to be
    counted. Streams keep the order of an aggregate alone: an event that is older than `as_of`
    may be on its way for as long as `projection.lag.seconds` says.
    """

    counts: Mapping[str, int]
    as_of: str | None


def read(table: Table, tenant: str, projection: Projection) -> Counted:
    """The live counts, each summed from consistent reads.

    The time is read before the counts, so that it never claims more than they hold; they are
    read again if another generation went live meanwhile.
    """
    book = projection.book
    while True:
        items = table.partition(keys.lane(tenant, book.name, 0).pk, LANE_PREFIX)
        lanes = [projections.lane_from(tenant, book, 0, item) for item in items]
        lane = max(lanes or [Lane(tenant, book, 0)], key=lambda lane: lane.counted_to)
        times = [*_stuck(table, lane), lane.counted_to]
        counters = table.partition(keys.projection(tenant, projection.name, lane.live), "")
        counts = projections.totals(counters)
        now = projections.lane_from(tenant, book, 0, table.get(keys.lane(tenant, book.name, 0)))
        if now.live == lane.live:
            return Counted(counts, min(times) if lane.counted_to else None)


def _stuck(table: Table, lane: Lane) -> list[str]:
    """When the events were that could not be counted and still are not."""
    prefix = keys.stuck(lane.tenant, lane.book.name, "")
    marks = keys.mark(lane.tenant, lane.book.name, lane.live, "")
    found = []
    for marker in table.partition(prefix.pk, prefix.sk):
        name = marker["SK"].removeprefix(prefix.sk)
        mark = projections.mark_from(table.get(Key(marks.pk, marks.sk + name)))
        if mark.version < marker["version"]:
            found.append(marker["at"])
    return found
