"""Reads as values: who may ask what where, and the function that answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from holdfast.edge import problems
from holdfast.edge.caller import ANYONE, Caller
from holdfast.edge.fields import Body, Nothing
from holdfast.edge.problems import Rejected
from holdfast.edge.views import View
from holdfast.patterns.commands import Response
from holdfast.writes.table import Table

PAGE_ITEMS_DEFAULT = 50


class Paged(Body, kw_only=True):
    """The query of every list."""

    limit: Annotated[int, Meta(ge=1, le=100, description="a whole number from 1 to 100")] = (
        PAGE_ITEMS_DEFAULT
    )
    cursor: (
        Annotated[str, Meta(max_length=1024, description="nextCursor of the page before")]
        | UnsetType
    ) = UNSET


@dataclass(frozen=True)
class Question:
    """One read on its way: who asks, of which ids, with which query, and when."""

    table: Table
    caller: Caller
    ids: Mapping[str, str]
    query: Any
    now: str


@dataclass(frozen=True)
class Read:
    """One route of the queries' side; `shows` describes its answer in the OpenAPI document."""

    path: str
    answer: Callable[[Question], Response]
    shows: type[View]
    query: type[Body] = Nothing
    roles: frozenset[str] = ANYONE


def resource(view: View) -> Response:
    """One resource, with its version as ETag if it has one."""
    version = getattr(view, "version", None)
    headers = {} if version is None else {"ETag": f'"v{version}"'}
    return Response(200, headers, msgspec.json.encode(view).decode())


def absent() -> Rejected:
    """404: not there, or not the caller's to see, which is the same answer."""
    return Rejected(problems.NOT_FOUND, "There is nothing of this id.")
