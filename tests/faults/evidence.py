"""What the judge is shown: a whole table as plain values, and what left the service."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from boto3.dynamodb.types import TypeDeserializer

Item = dict[str, Any]
_read = TypeDeserializer().deserialize


def plain(typed: Mapping[str, Any]) -> Item:
    """An item of the SDK's typed JSON as plain values."""
    return {name: _read(value) for name, value in typed.items()}


@dataclass(frozen=True)
class Told:
    """One answer to one request, as its caller got it."""

    status: int
    text: str
    code: str | None = None


@dataclass
class Evidence:
    """A whole table, and what left the service: answers by command id, messages, and calls.

    `counted` says that the projector has had every event.
    """

    items: Sequence[Item]
    now_ms: int
    answers: Mapping[str, Sequence[Told]] = field(default_factory=dict)
    messages: Sequence[Mapping[str, Any]] = ()
    calls: Mapping[str, int] = field(default_factory=dict)
    counted: bool = True

    @cached_property
    def at(self) -> dict[tuple[str, str], Item]:
        return {(item["PK"], item["SK"]): item for item in self.items}

    def of(self, pk: str, sk: str = "") -> list[Item]:
        """Items whose keys start with these."""
        return [i for i in self.items if i["PK"].startswith(pk) and i["SK"].startswith(sk)]

    @cached_property
    def events(self) -> list[Item]:
        return [item for item in self.items if item["SK"].startswith("EVENT#") and "owner" in item]

    @cached_property
    def by_command(self) -> dict[str, list[Item]]:
        found = defaultdict(list)
        for event in self.events:
            found[event["commandId"]].append(event)
        return found
