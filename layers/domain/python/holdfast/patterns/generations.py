"""Generations of a book: built beside the live one, compared with it, and put in its place.

From the transaction that begins a generation on every lane, whoever counts an event counts
it in both, since each transaction requires its lane as read. A replay of the whole log
brings every aggregate that no event moves meanwhile to the version that the live generation
has. Then both have counted the same, at every moment: a difference is drift, and a switch
loses nothing and repeats nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from boto3.dynamodb.conditions import Attr

from holdfast.patterns import keys
from holdfast.patterns.projections import LANES, Book, Lane
from holdfast.writes.plan import Key, Write, delete, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule


def begin(lanes: Sequence[Lane]) -> list[Write]:
    """Have every lane write a generation with a number that no other ever had."""
    number = max(lane.top for lane in lanes) + 1
    return [
        _changed(lane, {"live": lane.live, "building": number, "top": number}) for lane in lanes
    ]


def switch(lanes: Sequence[Lane]) -> list[Write]:
    """The generation that was built is the live one from now on."""
    return [_changed(lane, {"live": lane.building}, ("building",)) for lane in lanes]


def drop(lanes: Sequence[Lane]) -> list[Write]:
    """The generation that was built is written no more."""
    return [_changed(lane, {"live": lane.live}, ("building",)) for lane in lanes]


def _changed(lane: Lane, change: Mapping[str, Any], remove: tuple[str, ...] = ()) -> Write:
    live = Attr("live").eq(lane.live) if lane.known else Attr("live").not_exists()
    building = (
        Attr("building").not_exists()
        if lane.building is None
        else Attr("building").eq(lane.building)
    )
    return update(
        lane.key,
        "All lanes of a book change generations together, from those that were read.",
        [Rule(Refusal.STALE_READ, live & building)],
        set=change,
        remove=remove,
        missing=None,
    )


def pairs(tenant: str, name: str, counted: str, lane: Lane) -> list[Key]:
    """The items that hold one count: those of the live generation, then those of the built."""
    return [
        keys.projected(tenant, name, generation, counted, number)
        for generation in lane.generations
        for number in range(LANES)
    ]


def leftovers(tenant: str, book: Book, names: Iterable[str], generation: int) -> dict[str, str]:
    """What is left of a generation: partitions, each with the start of its items' sort keys."""
    marks = {keys.projection(tenant, book.name, generation): "MARK#"}
    return marks | {keys.projection(tenant, name, generation): "" for name in names}


def swept(items: Iterable[Mapping[str, Any]]) -> list[Write]:
    """Remove what no lane writes any more."""
    because = "A generation that is neither live nor built is nobody's."
    return [delete(Key(item["PK"], item["SK"]), because) for item in items]
