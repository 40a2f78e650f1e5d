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


_OWNER = slice(len(EVENT_PREFIX), -VERSION_DIGITS - 1)
_VERSION = slice(-VERSION_DIGITS, None)
_new = tuple.__new__
"""A named tuple made from its members at half the cost; this runs for every event there is."""


class Uncountable(Exception):
    """A named failure: this event can never be counted as it is. `cause` is its name."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class Fact(NamedTuple):
    """One audit event: its key, and the raw image that is read as far as it is needed."""

    pk: str
    sk: str
    image: Mapping[str, Any]

    @property
    def owner(self) -> Key:
        return Key(self.pk, self.sk[_OWNER])

    @property
    def version(self) -> int:
        """Raises `ValueError` when the event's key ends in no version."""
        return int(self.sk[_VERSION])

    @property
    def tenant(self) -> str:
        return tenant_of(self.pk)

    @property
    def type(self) -> str:
        return str(self.image["type"]["S"])

    @property
    def at(self) -> str:
        """When the change was made, ISO 8601 in UTC."""
        return str(self.image["at"]["S"])

    def has(self, name: str) -> bool:
        return name in self.image["data"]["M"]

    def text(self, name: str) -> str | None:
        """A string of the event's data, None when it has none of this name."""
        value = self.image["data"]["M"].get(name)
        return None if value is None else value["S"]

    def whole(self, name: str) -> int:
        """A whole number of the event's data. Raises `KeyError` when it has none."""
        return int(self.image["data"]["M"][name]["N"])


def tenant_of(pk: str) -> str:
    return pk.split("#", 2)[1]


def owner_of(image: Mapping[str, Any]) -> Key:
    """Whose event a raw image is, by its keys alone."""
    return Key(image["PK"]["S"], image["SK"]["S"][_OWNER])


def fact_of(image: Mapping[str, Any]) -> Fact:
    """The fact of a raw image (typed JSON): tenant, owner and version are those of its key.

    Raises Uncountable with the name of what is wrong. What is wrong with its data shows when
    it is read.
    """
    if "schema" in image and image["schema"].get("N") != SCHEMA:
        raise Uncountable("UNKNOWN_SCHEMA")
    try:
        return _new(Fact, (image["PK"]["S"], image["SK"]["S"], image))
    except KeyError as error:
        raise Uncountable("MALFORMED_EVENT") from error
