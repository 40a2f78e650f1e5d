"""The reading side of generations: what a book's lanes are, and where two generations differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from holdfast.domain.checks import PROJECTED
from holdfast.domain.projections import BOOKS, PROJECTIONS
from holdfast.patterns import generations, keys, projections
from holdfast.patterns.projections import LANES, Book, Lane
from holdfast.patterns.reconciliation import Finding
from holdfast.writes.plan import Key
from holdfast.writes.reads import batch
from holdfast.writes.table import SNAPSHOT_KEYS_MAX, Table

SWEPT_MAX = 80
COUNTS_PER_SNAPSHOT = SNAPSHOT_KEYS_MAX // (2 * LANES)


def lanes(table: Table, tenant: str, book: Book) -> list[Lane]:
    """The lanes of a book, whose generations change together."""
    wanted = [keys.lane(tenant, book.name, number) for number in range(LANES)]
    found = batch(table, wanted)
    return [
        projections.lane_from(tenant, book, number, found.get(key))
        for number, key in enumerate(wanted)
    ]


def names_in(book: Book) -> list[str]:
    return [projection.name for projection in PROJECTIONS if projection.book is book]


def differences(table: Table, lane: Lane) -> Iterator[Finding]:
    """Counts whose live value is not the rebuilt one, each pair seen at one moment."""
    for name in names_in(lane.book):
        counted = sorted(
            {
                item["SK"].rpartition("#")[0]
                for generation in lane.generations
                for item in table.partition(keys.projection(lane.tenant, name, generation), "")
                if "count" in item
            }
        )
        for start in range(0, len(counted), COUNTS_PER_SNAPSHOT):
            yield from _compared(table, lane, name, counted[start : start + COUNTS_PER_SNAPSHOT])


def _compared(table: Table, lane: Lane, name: str, counted: Sequence[str]) -> Iterator[Finding]:
    wanted = [key for each in counted for key in generations.pairs(lane.tenant, name, each, lane)]
    counts = [(image or {}).get("count", 0) for image in table.snapshot(wanted)]
    for place, each in enumerate(counted):
        pair = counts[2 * LANES * place : 2 * LANES * (place + 1)]
        live, built = sum(pair[:LANES]), sum(pair[LANES:])
        if live != built:
            yield Finding(PROJECTED, f"{name} {each}", live, built)


def late(table: Table, tenant: str, behind: Mapping[str, int]) -> dict[str, int]:
    """Of the aggregates that were `behind`, with their newest version: the marks that still are."""
    marks: dict[str, Key] = {}
    for name in behind:
        book = next(book for book in BOOKS.values() if book.is_of(keys.owner_of(name)))
        live = lanes(table, tenant, book)[0].live
        marks[name] = keys.mark(tenant, book.name, live, name)
    found: Mapping[Key, Any] = batch(table, list(marks.values()))
    versions = {name: found.get(key, {}).get("version", 0) for name, key in marks.items()}
    return {name: seen for name, seen in versions.items() if seen < behind[name]}


def leftovers(
    table: Table, tenant: str, book: Book, generation: int
) -> Sequence[Mapping[str, Any]]:
    """Some items of a generation that no lane writes any more."""
    for pk, prefix in generations.leftovers(tenant, book, names_in(book), generation).items():
        within = (" AND begins_with(SK, :prefix)", {":prefix": prefix}) if prefix else ("", {})
        items, _ = table.query(
            KeyConditionExpression=f"PK = :pk{within[0]}",
            ExpressionAttributeValues={":pk": pk, **within[1]},
            ConsistentRead=True,
            Limit=SWEPT_MAX,
        )
        if items:
            return items
    return []
