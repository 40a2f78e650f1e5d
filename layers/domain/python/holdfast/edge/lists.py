"""Lists, page by page: from a sparse index, or sorted from one partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from holdfast.edge import cursors, views
from holdfast.edge.reading import Question
from holdfast.patterns.commands import Response

QUERIES_PER_PAGE_MAX = 5
"""A filter may leave little of what a query reads; a page gives up then and has a cursor."""

Images = list[dict[str, Any]]


def page(question: Question, items: Iterable[views.View], cursor: str | None) -> Response:
    shown = views.Page(items=list(items), next_cursor=cursor, as_of=question.now)
    return Response(200, {}, msgspec.json.encode(shown).decode())


def indexed(
    question: Question,
    *,
    index: str,
    partition: tuple[str, str],
    sort: str,
    filters: Mapping[str, str],
    scope: tuple[str, ...],
    key_of: Callable[[str], dict[str, str]],
) -> tuple[Images, str | None]:
    """A page of an index partition in the order of `sort`, and the cursor of the next one.

    A cursor holds the last item's `sort` value; `key_of` makes its primary key from that.
    """
    read = _reader(question, index, partition, sort, filters, key_of)
    found: Images = []
    position = _position(question, scope)
    for _ in range(QUERIES_PER_PAGE_MAX):
        items, position = read(position, question.query.limit - len(found))
        found += items
        if position is None or len(found) == question.query.limit:
            break
    return found, _next(question, scope, position)


def _reader(
    question: Question,
    index: str,
    partition: tuple[str, str],
    sort: str,
    filters: Mapping[str, str],
    key_of: Callable[[str], dict[str, str]],
) -> Callable[[str | None, int], tuple[Images, str | None]]:
    """From a position and a limit: one query's items, and the position that it came to."""

    def read(position: str | None, limit: int) -> tuple[Images, str | None]:
        items, last = question.table.query(
            IndexName=index,
            KeyConditionExpression="#partition = :partition",
            Limit=limit,
            **_filtered({"#partition": partition[0]}, {":partition": partition[1]}, filters),
            **({} if position is None else _start({**key_of(position), sort: position}, partition)),
        )
        return items, last[sort]["S"] if last else None

    return read


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


def _position(question: Question, scope: tuple[str, ...]) -> str | None:
    cursor = question.query.cursor
    return None if cursor is UNSET else cursors.unseal(cursor, question.caller.tenant, *scope)


def _next(question: Question, scope: tuple[str, ...], position: str | None) -> str | None:
    return None if position is None else cursors.seal(position, question.caller.tenant, *scope)


def _start(place: Mapping[str, str], partition: tuple[str, str]) -> dict[str, Any]:
    key = {**place, partition[0]: partition[1]}
    return {"ExclusiveStartKey": {name: {"S": value} for name, value in key.items()}}


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
