"""What a message says of a fact: one versioned envelope, on every way that facts take.

Fields are only ever added within a version; a consumer ignores those that it does not know.
`docs/events.md` is generated from here and from the catalogue in `holdfast.domain.events`.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from holdfast.patterns.outbox import Entry

ENVELOPE_VERSION = 1


class Envelope(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One fact on its way."""

    envelope_version: Annotated[
        int, Meta(description="The version of this envelope; a higher one may mean other things.")
    ] = ENVELOPE_VERSION
    event_id: Annotated[
        str, Meta(description="Names the fact for ever; deliveries of it are told apart by nothing")
    ]
    type: Annotated[str, Meta(description="What happened, in the past tense.")]
    aggregate: Annotated[
        str, Meta(description="Whose history it belongs to; order is kept within an aggregate.")
    ]
    version: Annotated[
        int, Meta(description="Its place in that history, from 1 and without a gap.")
    ]
    at: Annotated[str, Meta(description="When, in ISO 8601 and UTC, by the clock of the command.")]
    actor: Annotated[str, Meta(description="Who did it.")]
    tenant: Annotated[str, Meta(description="Whose data it is.")]
    data: Annotated[dict[str, Any], Meta(description="What changed, by type.")]


def envelope_of(entry: Entry) -> Envelope:
    return Envelope(
        event_id=entry.event_id,
        type=entry.type,
        aggregate=entry.aggregate,
        version=entry.version,
        at=entry.at,
        actor=entry.actor,
        tenant=entry.tenant,
        data=dict(entry.data),
    )


def encode(envelope: Envelope) -> str:
    """JSON text, the same for the same fact whenever and wherever it is made."""
    return msgspec.json.encode(envelope, order="sorted").decode()


def decode(text: str | bytes) -> Envelope:
    """Raises `msgspec.ValidationError` or `DecodeError` for what is no envelope, `ValueError`
    for one of a version that this code does not know."""
    envelope = msgspec.json.decode(text, type=Envelope)
    if envelope.envelope_version != ENVELOPE_VERSION:
        raise ValueError("an envelope of another version")
    return envelope
