"""Reconciliation and rebuild: the commands that start them, and where they are recorded."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.domain.checks import CHECKS, PROJECTED
from holdfast.domain.projections import BOOKS
from holdfast.patterns.commands import Command
from holdfast.patterns.outbox import RECONCILIATIONS
from holdfast.patterns.workflows import accept
from holdfast.writes.plan import Plan

NAME = "reconciliation"


@dataclass(frozen=True, kw_only=True)
class Reconcile(Command):
    """Check by `names`, all of them when none is given; `repair` what may be repaired."""

    names: tuple[str, ...] = ()
    repair: bool = False


@dataclass(frozen=True, kw_only=True)
class RebuildProjection(Command):
    """Build a book's projections again from the event log, and put them in place."""

    book: str


def reconcile(cmd: Reconcile) -> Plan:
    """A reconciliation is started; it runs under a lease, one at a time in a tenant."""
    names = [name for name in CHECKS if name in cmd.names or not cmd.names]
    books = list(BOOKS) if PROJECTED in names else []
    given = {"names": names, "repair": cmd.repair, "books": books, "rebuild": False}
    return accept(cmd, NAME, {**given, "startedAt": cmd.at}, channel=RECONCILIATIONS)


def rebuild_projection(cmd: RebuildProjection) -> Plan:
    """A rebuild is a recount of one book that is put in place, whatever it finds."""
    given = {"names": [PROJECTED], "repair": True, "books": [cmd.book], "rebuild": True}
    return accept(cmd, NAME, {**given, "startedAt": cmd.at}, channel=RECONCILIATIONS)
