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
    name, value = partition
    position = _position(question, scope)
    found: Images = []
    for _ in range(QUERIES_PER_PAGE_MAX):
        start = {"ExclusiveStartKey": _start(position, partition, sort, key_of)} if position else {}
        items, last = question.table.query(
            IndexName=index,
            KeyConditionExpression="#partition = :partition",
            Limit=question.query.limit - len(found),
            **_filtered({"#partition": name}, {":partition": value}, filters),
            **start,
        )
        found += items
        position = last[sort]["S"] if last else None
        if position is None or len(found) == question.query.limit:
            break
    return found, _next(question, scope, position)


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


def _start(
    position: str, partition: tuple[str, str], sort: str, key_of: Callable[[str], dict[str, str]]
) -> dict[str, dict[str, str]]:
    key = {**key_of(position), partition[0]: partition[1], sort: position}
    return {name: {"S": value} for name, value in key.items()}


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
