"""One reconciliation at its present step: what it was asked, where it is, how it goes on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from holdfast.domain.reconciliations import NAME
from holdfast.edge.inspector import Inspector, Page
from holdfast.patterns import keys, leases
from holdfast.patterns.reconciliation import Finding, repaired, tallied
from holdfast.patterns.workflows import Progress, Step
from holdfast.writes.plan import Write
from holdfast.writes.table import Table

LEASE_SECONDS = 900
REPAIRS_MAX = 15
REPAIR_WRITES_MAX = 55


@dataclass(frozen=True)
class Run:
    """One command on one table, at its present step."""

    table: Table
    progress: Progress
    margin_seconds: int

    @property
    def tenant(self) -> str:
        return self.progress.tenant

    @property
    def input(self) -> Mapping[str, Any]:
        return self.progress.input

    @property
    def cursor(self) -> Mapping[str, Any]:
        return self.progress.cursor

    def lease(self) -> Write:
        """Still the only reconciliation of the tenant, and for a while longer."""
        return leases.renew(
            keys.lease(self.tenant, NAME),
            lease_id=self.progress.command_id,
            owner=self.progress.command_id,
            number=self.cursor["lease"],
            now_ms=self.progress.now_ms,
            seconds=LEASE_SECONDS,
        )

    def go_on(
        self, *writes: Write, mended: Sequence[Finding] = (), done: int = 0, **moved: Any
    ) -> Step:
        """A step to a moved cursor, with the facts of what it repaired."""
        facts = [repaired(self.tenant, self.progress.command_id, one) for one in mended]
        cursor = {**self.cursor, **moved}
        return Step([self.lease(), *writes], cursor, done=done, emits=facts)

    def tally(
        self, page: Page, findings: Iterable[Finding], mended: Iterable[Finding] = ()
    ) -> Mapping[str, Any]:
        return tallied(self.cursor["tallies"], page.checked, findings, mended)

    def inspector(self, names: Iterable[str]) -> Inspector:
        began = datetime.fromisoformat(self.cursor["began"]) - timedelta(
            seconds=self.margin_seconds
        )
        since = began.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return Inspector(self.table, self.tenant, frozenset(names), self.progress.now, since)


def fitting(findings: Iterable[Finding]) -> list[Finding]:
    """Repairs that fit into one transaction and touch no item twice."""
    some: list[Finding] = []
    touched: set[Any] = set()
    for finding in findings:
        own = {write.key for write in finding.repair}
        fits = len(touched) + len(own) <= REPAIR_WRITES_MAX and len(some) < REPAIRS_MAX
        if own and fits and not own & touched:
            some.append(finding)
            touched |= own
    return some
