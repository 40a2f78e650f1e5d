"""What administrators send again: dead outbox entries, and side effects that failed for good.

The entry and the ledger own their states; a redrive is a command like any other, so a repeated
request does it once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.patterns import keys, outbox, side_effects
from holdfast.patterns.commands import Command, plan
from holdfast.patterns.frozen import command
from holdfast.patterns.outbox import Event
from holdfast.writes.plan import Key, Plan


@command
class RedriveEntry(Command):
    event_id: str


@command
class RedriveEffect(Command):
    provider: str
    operation_id: str

    @property
    def key(self) -> Key:
        return keys.side_effect(self.provider, self.operation_id)


def redrive_entry(cmd: RedriveEntry, entry: Key | None) -> Plan:
    """A dead outbox entry waits again, with all its attempts; the sweep announces it."""
    key = entry or keys.no_entry(cmd.event_id)
    return plan(
        cmd,
        outbox.redrive(key, tenant=cmd.tenant, event_id=cmd.event_id),
        returns={"eventId": cmd.event_id, "status": outbox.NEW, "attempts": 0},
    )


def redrive_effect(cmd: RedriveEffect, ledger: Mapping[str, Any] | None) -> Plan:
    """A side effect that failed for good is tried again, by an event that says who wanted it."""
    seen = ledger or {}
    named = {"provider": cmd.provider, "operationId": cmd.operation_id}
    return plan(
        cmd,
        side_effects.redrive(cmd.key, seen, tenant=cmd.tenant),
        emits=Event(side_effects.REDRIVEN, cmd.key, seen.get("redrives", 0) + 1, named),
        returns={**named, "status": side_effects.FAILED_RETRYABLE, "attempts": 0},
    )
