"""What administrators do about what was not announced or not done: look, and send it again.

Everyone sees their own tenant's alone. The indexes only find things; a redrive is judged by
the item itself.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain import operations
from holdfast.edge import lists, outbox_sweep, views
from holdfast.edge.caller import ADMIN
from holdfast.edge.fields import Nothing
from holdfast.edge.outbox_sweep import age_seconds
from holdfast.edge.reading import Paged, Question, Read, absent, resource
from holdfast.edge.routes import Route, one
from holdfast.edge.views import Maybe, View
from holdfast.patterns import keys
from holdfast.patterns.commands import Response
from holdfast.patterns.outbox import DEAD
from holdfast.writes.outcomes import Refused
from holdfast.writes.plan import Key
from holdfast.writes.table import Table

_ADMIN = frozenset({ADMIN})


class DeadEntry(View, kw_only=True):
    event_id: str
    type: str
    aggregate: str
    version: int
    attempts: int
    at: str


class Outbox(View, kw_only=True):
    """What waits to be announced, how long its oldest has waited, and what was given up."""

    pending: int
    oldest_pending_seconds: int
    dead: list[DeadEntry]
    as_of: str


class SideEffect(View, kw_only=True):
    provider: str
    operation_id: str
    event_id: str
    status: str
    attempts: int
    at: str
    type: Maybe = UNSET
    reason: Maybe = UNSET
    reference: Maybe = UNSET
    settled_at: Maybe = UNSET
    redrives: int | UnsetType = UNSET


class Unsettled(Paged, kw_only=True):
    status: Annotated[
        Literal["SENT", "FAILED_RETRYABLE", "FAILED_FINAL"],
        Meta(description="one of SENT, FAILED_RETRYABLE, FAILED_FINAL"),
    ] = "FAILED_FINAL"


def read_outbox(question: Question) -> Response:
    """The tenant's part of the outbox; eventually consistent."""
    tenant = question.caller.tenant
    waiting = outbox_sweep.pending(question.table, tenant)
    dead = outbox_sweep.listed(question.table, DEAD, tenant)
    now_ms = round(datetime.fromisoformat(question.now).timestamp() * 1000)
    return resource(
        Outbox(
            pending=len(waiting),
            oldest_pending_seconds=age_seconds(waiting, now_ms),
            dead=[views.shown(DeadEntry, item) for item in dead],  # type: ignore[misc]
            as_of=question.now,
        )
    )


def list_effects(question: Question) -> Response:
    """The tenant's side effects of one state, oldest first; a confirmed one is read by its id."""
    state = f"{question.caller.tenant}#{question.query.status}"
    found, cursor = lists.Listing(
        index="effects-unsettled",
        attribute="effectState",
        partitions=[state],
        sort="effectSort",
        filters={},
        scope=("effects", state),
        key_of=lambda place: keys.side_effect(*place.split("#")[1:]).attributes,
    ).page(question)
    return lists.page(question, (views.shown(SideEffect, item) for item in found), cursor)


def read_effect(question: Question) -> Response:
    """What became of one external call."""
    ids = question.ids
    ledger = question.table.get(keys.side_effect(ids["provider"], ids["operation_id"]))
    if ledger is None or ledger["tenant"] != question.caller.tenant:
        raise absent()
    return resource(views.shown(SideEffect, ledger))


def _dead_entry(table: Table, cmd: operations.RedriveEntry, stale: Refused | None) -> Key | None:
    """Where the dead entry of an event is; one that died a moment ago may not be found yet."""
    del stale
    named = {":dead": DEAD, ":tenant": cmd.tenant, ":event": cmd.event_id}
    start: dict[str, Any] = {}
    while True:
        items, last = table.query(
            IndexName=outbox_sweep.INDEX,
            KeyConditionExpression="outboxState = :dead",
            FilterExpression="tenant = :tenant AND eventId = :event",
            ExpressionAttributeValues=dict(named),
            **start,
        )
        if items:
            return Key(items[0]["PK"], items[0]["SK"])
        if last is None:
            return None
        start = {"ExclusiveStartKey": last}


OPS_READS = (
    Read("/ops/outbox", read_outbox, Outbox, roles=_ADMIN),
    Read("/ops/side-effects", list_effects, SideEffect, Unsettled, roles=_ADMIN),
    Read("/ops/side-effects/{provider}/{operationId}", read_effect, SideEffect, roles=_ADMIN),
)
OPS_COMMANDS = (
    Route(
        "POST",
        "/ops/outbox/{eventId}/redrives",
        _ADMIN,
        Nothing,
        operations.RedriveEntry,
        operations.redrive_entry,
        reads=_dead_entry,
    ),
    Route(
        "POST",
        "/ops/side-effects/{provider}/{operationId}/redrives",
        _ADMIN,
        Nothing,
        operations.RedriveEffect,
        operations.redrive_effect,
        reads=one(lambda cmd: cmd.key),
    ),
)
