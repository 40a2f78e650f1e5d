"""Reconciliation and rebuild: the commands that start them, and where they are recorded."""

from __future__ import annotations

from holdfast.domain.checks import CHECKS, PROJECTED
from holdfast.domain.projections import BOOKS, named
from holdfast.patterns import guards, keys
from holdfast.patterns.commands import Command, plan
from holdfast.patterns.frozen import command
from holdfast.patterns.outbox import RECONCILIATIONS
from holdfast.patterns.workflows import accept
from holdfast.writes.plan import Plan

NAME = "reconciliation"


@command
class Reconcile(Command):
    """Check by `names`, all of them when none is given; `repair` what may be repaired."""

    names: tuple[str, ...] = ()
    repair: bool = False


@command
class RebuildProjection(Command):
    """Build a projection, and those that share its marks, again from the event log."""

    projection: str


def reconcile(cmd: Reconcile) -> Plan:
    """A reconciliation is started; it runs under a lease, one at a time in a tenant."""
    names = [name for name in CHECKS if name in cmd.names or not cmd.names]
    books = list(BOOKS) if PROJECTED in names else []
    given = {"names": names, "repair": cmd.repair, "books": books, "rebuild": False}
    return accept(cmd, NAME, {**given, "startedAt": cmd.at}, channel=RECONCILIATIONS)


def rebuild_projection(cmd: RebuildProjection) -> Plan:
    """A rebuild is a recount of one book that is put in place, whatever it finds."""
    found = named(cmd.projection)
    if found is None:
        nowhere = keys.command(cmd.tenant, cmd.new_id("no projection"))
        missing = guards.absent(nowhere, "Only a projection of this service is rebuilt.")
        return plan(cmd, missing, returns={})
    books = [found.book.name]
    given = {"names": [PROJECTED], "repair": True, "books": books, "rebuild": True}
    return accept(cmd, NAME, {**given, "startedAt": cmd.at}, channel=RECONCILIATIONS)
