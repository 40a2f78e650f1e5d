"""Audit events as a projector reads them: only the attributes it needs, straight from the wire.

A stream image and an item of a Query have the same typed JSON, so both become facts here,
and nothing else of them is ever decoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from holdfast.patterns.keys import VERSION_DIGITS
from holdfast.writes.plan import Key

EVENT_PREFIX = "EVENT#"
SCHEMA = "1"
"""The form of audit events that this code reads; an event without `schema` has this one."""


class Uncountable(Exception):
    """A named failure: this event can never be counted as it is. `cause` is its name."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class Fact(NamedTuple):
    """One audit event. `data` is typed JSON as it came; `text` and `whole` read from it."""

    owner: Key
    version: int
    type: str
    at: str
    data: Mapping[str, Any]

    @property
    def tenant(self) -> str:
        return tenant_of(self.owner.pk)

    def text(self, name: str) -> str | None:
        """A string of the event's data, None when it has none of this name."""
        value = self.data.get(name)
        return None if value is None else value["S"]

    def whole(self, name: str) -> int:
        """A whole number of the event's data. Raises `KeyError` when it has none."""
        return int(self.data[name]["N"])


def tenant_of(pk: str) -> str:
    return pk.split("#", 2)[1]


def owner_of(image: Mapping[str, Any]) -> Key:
    """Whose event a raw image is, by its keys alone."""
    return Key(image["PK"]["S"], image["SK"]["S"][len(EVENT_PREFIX) : -VERSION_DIGITS - 1])


def fact_of(image: Mapping[str, Any]) -> Fact:
    """The fact of a raw image (typed JSON). Raises Uncountable with the name of what is wrong."""
    if "schema" in image and image["schema"].get("N") != SCHEMA:
        raise Uncountable("UNKNOWN_SCHEMA")
    try:
        pk, sk, version = image["PK"]["S"], image["SK"]["S"], image["version"]["N"]
        fact = Fact(
            Key(pk, sk[len(EVENT_PREFIX) : -VERSION_DIGITS - 1]),
            int(version),
            image["type"]["S"],
            image["at"]["S"],
            image["data"]["M"],
        )
        foreign = image["tenant"]["S"] != pk.split("#", 2)[1]
        misplaced = fact.version != int(sk[-VERSION_DIGITS:])
    except (KeyError, IndexError, ValueError) as error:
        raise Uncountable("MALFORMED_EVENT") from error
    if foreign:
        raise Uncountable("FOREIGN_TENANT")
    if misplaced:
        raise Uncountable("MISPLACED_VERSION")
    return fact
