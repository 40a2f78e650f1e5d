"""Stream records as the projector takes them: new audit events of what is counted, no others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.domain.projections import book_of
from holdfast.patterns.facts import EVENT_PREFIX, Fact, Uncountable, fact_of, owner_of
from holdfast.patterns.keys import VERSION_DIGITS
from holdfast.writes.plan import Key

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Arrival:
    """One record of a counted aggregate's event: its fact, or the cause why it has none."""

    record: Record
    owner: Key
    version: int = 0
    fact: Fact | None = None
    cause: str = ""

    @property
    def number(self) -> str:
        """Where the record stands on its stream."""
        return str(self.record["dynamodb"]["SequenceNumber"])

    @property
    def created(self) -> float | None:
        """When the event was committed, in seconds since the epoch, by the stream."""
        created = self.record["dynamodb"].get("ApproximateCreationDateTime")
        return None if created is None else float(created)


def arrivals(records: Iterable[Record]) -> list[Arrival]:
    """What is counted of `records`: changed and expired items and other owners' are not."""
    found = []
    for record in records:
        if record.get("eventName") != "INSERT":
            continue
        named = record["dynamodb"]["Keys"]
        if not named["SK"]["S"].startswith(EVENT_PREFIX):
            continue
        owner = owner_of(named)
        if book_of(owner) is not None:
            found.append(_arrival(record, owner))
    return found


def _arrival(record: Record, owner: Key) -> Arrival:
    """The version is that of the record's key, for its image may say anything."""
    text = record["dynamodb"]["Keys"]["SK"]["S"][-VERSION_DIGITS:]
    if not text.isdigit():
        return Arrival(record, owner, cause="NO_VERSION")
    try:
        return Arrival(record, owner, int(text), fact_of(record["dynamodb"]["NewImage"]))
    except Uncountable as error:
        return Arrival(record, owner, int(text), cause=error.cause)
    except KeyError:
        return Arrival(record, owner, int(text), cause="NO_IMAGE")
