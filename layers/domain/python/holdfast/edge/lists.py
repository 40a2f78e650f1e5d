"""Lists, page by page: from a sparse index, or sorted from one partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from holdfast.edge import cursors, views
from holdfast.edge.problems import INVALID_CURSOR, Rejected
from holdfast.edge.reading import Question
from holdfast.patterns.commands import Response

QUERIES_PER_PAGE_MAX = 5
"""A filter may leave little of what a query reads; a page gives up then and has a cursor."""

Images = list[dict[str, Any]]


def page(question: Question, items: Iterable[views.View], cursor: str | None) -> Response:
    shown = views.Page(items=list(items), next_cursor=cursor, as_of=question.now)
    return Response(200, {}, msgspec.json.encode(shown).decode())


@dataclass(frozen=True)
class Listing:
    """Partitions of an index, one after the other, each in the order of its sort attribute.

    `key_of` makes an item's primary key from its sort value, so that a cursor needs no more
    than that; `scope` is what else a cursor is bound to.
    """

    index: str
    attribute: str
    partitions: Sequence[str]
    sort: str
    filters: Mapping[str, str]
    scope: tuple[str, ...]
    key_of: Callable[[str], dict[str, str]]

    def page(self, question: Question) -> tuple[Images, str | None]:
        """The next items, as many as are asked for or fewer, and the cursor of the rest."""
        found: Images = []
        place, position = self._place(question)
        for _ in range(QUERIES_PER_PAGE_MAX):
            room = question.query.limit - len(found)
            items, position = self._query(question, place, position, room)
            found += items
            place += position is None
            if place == len(self.partitions) or len(found) == question.query.limit:
                break
        rest = f"{place}|{position or ''}" if place < len(self.partitions) else None
        return found, _next(question, self.scope, rest)

    def _place(self, question: Question) -> tuple[int, str | None]:
        sealed = _position(question, self.scope)
        if sealed is None:
            return 0, None
        place, _, position = sealed.partition("|")
        if place not in map(str, range(len(self.partitions))):
            raise Rejected(INVALID_CURSOR, "Start again without a cursor.")
        return int(place), position or None

    def _query(
        self, question: Question, place: int, position: str | None, limit: int
    ) -> tuple[Images, str | None]:
        partition = {self.attribute: self.partitions[place]}
        start = {**self.key_of(position), self.sort: position, **partition} if position else {}
        items, last = question.table.query(
            IndexName=self.index,
            KeyConditionExpression="#partition = :partition",
            Limit=limit,
            **_filtered(
                {"#partition": self.attribute},
                {":partition": self.partitions[place]},
                self.filters,
            ),
            **({"ExclusiveStartKey": {n: {"S": v} for n, v in start.items()}} if start else {}),
        )
        return items, last[self.sort]["S"] if last else None


def sorted_page(
    question: Question,
    images: Iterable[dict[str, Any]],
    order: Callable[[dict[str, Any]], tuple[Any, ...]],
    scope: tuple[str, ...],
) -> tuple[Images, str | None]:
    """A page of images sorted by `order`, whose values tell any two of them apart."""
    position = _position(question, scope)
    after = tuple(msgspec.json.decode(position)) if position else None
    rest = sorted((i for i in images if after is None or order(i) > after), key=order)
    found = rest[: question.query.limit]
    more = len(rest) > len(found)
    place = msgspec.json.encode(order(found[-1])).decode() if more else None
    return found, _next(question, scope, place)


def keyed_page(question: Question, pk: str, prefix: str) -> tuple[Images, str | None]:
    """A page of one partition in the order of its keys; reads no more than it shows."""
    scope = ("keyed", pk, prefix)
    position = _position(question, scope)
    after = {"PK": {"S": pk}, "SK": {"S": position}}
    found, last = question.table.query(
        KeyConditionExpression="PK = :pk AND begins_with(SK, :prefix)",
        ExpressionAttributeValues={":pk": pk, ":prefix": prefix},
        ConsistentRead=True,
        Limit=question.query.limit,
        **({"ExclusiveStartKey": after} if position else {}),
    )
    return found, _next(question, scope, last["SK"]["S"] if last else None)


def _position(question: Question, scope: tuple[str, ...]) -> str | None:
    cursor = question.query.cursor
    return None if cursor is UNSET else cursors.unseal(cursor, question.caller.tenant, *scope)


def _next(question: Question, scope: tuple[str, ...], position: str | None) -> str | None:
    return None if position is None else cursors.seal(position, question.caller.tenant, *scope)


def _filtered(
    names: dict[str, str], values: dict[str, str], filters: Mapping[str, str]
) -> dict[str, Any]:
    """The expression parts of a query whose items must also have the values of `filters`."""
    for place, (name, value) in enumerate(filters.items()):
        names[f"#f{place}"], values[f":f{place}"] = name, value
    wanted = " AND ".join(f"#f{place} = :f{place}" for place in range(len(filters)))
    return {
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
        **({"FilterExpression": wanted} if wanted else {}),
    }
