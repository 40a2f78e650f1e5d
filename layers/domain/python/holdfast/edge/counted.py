"""What a projection says, and up to when: read from its live generation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.patterns import keys, projections
from holdfast.patterns.projections import LANES, Lane, Projection
from holdfast.writes.plan import Key
from holdfast.writes.reads import batch
from holdfast.writes.table import Table


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

    `as_of` is read first, so that it never claims more than what the counts hold.
    """
    book = projection.book
    wanted = [keys.lane(tenant, book.name, number) for number in range(LANES)]
    found = batch(table, wanted)
    lanes = [
        projections.lane_from(tenant, book, number, found.get(key))
        for number, key in enumerate(wanted)
    ]
    generation = max(lane.live for lane in lanes)
    counted_to = max(lane.counted_to for lane in lanes)
    stuck = _stuck(table, lanes[0], generation)
    items = table.partition(keys.projection(tenant, projection.name, generation), "")
    as_of = min([*stuck, counted_to]) if counted_to else None
    return Counted(projections.totals(items), as_of)


def _stuck(table: Table, lane: Lane, generation: int) -> list[str]:
    """When the events were that could not be counted and still are not."""
    prefix = keys.stuck(lane.tenant, lane.book.name, "")
    markers = {
        Key(keys.projection(lane.tenant, lane.book.name, generation), f"MARK#{name}"): marker
        for marker in table.partition(prefix.pk, prefix.sk)
        if (name := marker["SK"].removeprefix(prefix.sk))
    }
    marks: Mapping[Key, Any] = batch(table, list(markers)) if markers else {}
    return [
        marker["at"]
        for key, marker in markers.items()
        if marks.get(key, {}).get("version", 0) < marker["version"]
    ]
