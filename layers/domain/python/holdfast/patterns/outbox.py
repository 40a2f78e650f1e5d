"""What happened is written down with the change itself: audit event and outbox entry.

Invariant: an event exists if and only if its change was committed. The audit event
(`EVENT#<owner>#<version>`) owns the place of a fact in its owner's history; creating it
proves that no other change took that version. The outbox entry carries the fact to the
relay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.patterns import keys
from holdfast.writes.plan import Key, Write, create


@dataclass(frozen=True)
class Event:
    """A fact in the past tense about one owner item, at the version the change gave it."""

    type: str
    owner: Key
    version: int
    data: Mapping[str, Any] = field(default_factory=dict)


def announce(event: Event, *, command_id: str, tenant: str, actor: str, at: str) -> list[Write]:
    """The audit event and the outbox entry of one fact.

    `at` is ISO 8601 in UTC. The event id follows from the command, the owner and the
    version, so a retry announces the same fact under the same id.
    """
    aggregate = keys.aggregate(event.owner)
    fact = {
        "eventId": keys.derived_id(command_id, f"event|{aggregate}|{event.version}"),
        "type": event.type,
        "at": at,
        "actor": actor,
        "tenant": tenant,
        "version": event.version,
        "data": dict(event.data),
    }
    entry = keys.outbox(event.owner, event.version, at[:10])
    return [
        create(
            keys.event(event.owner, event.version),
            {**fact, "owner": event.owner.sk, "commandId": command_id},
            "An owner's history has one event for each version, and no gap.",
        ),
        create(
            entry,
            {**fact, "aggregate": aggregate, "status": "NEW", "attempts": 0, **pending(entry, at)},
            "Every committed fact waits in the outbox until it is announced.",
        ),
    ]


def pending(entry: Key, at: str) -> dict[str, str]:
    """The sparse index attributes of an entry that waits to be announced."""
    shard = entry.pk.rpartition("#")[2]
    return {"outboxState": f"PENDING#{shard}", "outboxSort": f"{at}#{entry.sk}"}
