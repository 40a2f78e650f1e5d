"""Reconciliation as a many-step command: begin, scan, compare, catch up, sweep, report.

One runs at a time in a tenant, under a lease that every step renews. Its cursor holds where
the scan is and what was found so far, so that any worker goes on where another stopped.

A difference is drift only if it cannot be a change on its way. What lies in one partition or
snapshot is judged at one moment (`inspector`). Counts are compared between two generations
that every transaction moves together (`generations`). An event that is not counted is drift
when it is older than `patience_seconds` and its aggregate's mark has still not reached it.
Stock is drift if the same difference shows in two scans, and between the start and the end
of the second neither the product's units nor an order for it moved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from holdfast.domain import checks
from holdfast.domain.projections import BOOKS
from holdfast.domain.reconciliations import NAME
from holdfast.edge import recounts, stocktaking
from holdfast.edge.inspector import Page
from holdfast.edge.projector import Projector
from holdfast.edge.reconciliation_run import LEASE_SECONDS, Run, fitting
from holdfast.edge.stocktaking import added
from holdfast.edge.telemetry import Telemetry
from holdfast.patterns import generations, keys, leases
from holdfast.patterns.facts import fact_of
from holdfast.patterns.reconciliation import Finding, no_tallies
from holdfast.patterns.workflows import Decision, Finish, Later, Progress, Step, Workflow
from holdfast.writes.outcomes import Refused
from holdfast.writes.plan import create
from holdfast.writes.reads import raw_range, scan_page
from holdfast.writes.refusals import Refusal
from holdfast.writes.table import Table

EVENTS_MAX = 40
"""Of one switch: what else it repaired is in the report alone."""
PAGE_ITEMS = 200
BEHIND_MAX = 500
"""How many uncounted aggregates one run follows up; more are found by the next."""
REPORT_DAYS = 90


@dataclass(frozen=True)
class Reconciling:
    """The workflow's steps, and what they are patient about."""

    telemetry: Telemetry
    patience_seconds: int = 300
    page_items: int = PAGE_ITEMS
    margin_seconds: int = 60
    """Clocks and commits in flight: an order this much older than a scan was there for it."""

    def workflow(self) -> Workflow:
        return Workflow(NAME, self.step, _unless_lost)

    def step(self, table: Table, progress: Progress) -> Decision:
        """Read what the next step needs, and decide it."""
        phase = progress.cursor.get("phase", "begin")
        return _PHASES[phase](self, Run(table, progress, self.margin_seconds))


def _unless_lost(progress: Progress, decision: Decision, refusals: tuple[Refused, ...]) -> Decision:
    """Whoever lost the lease ends, and the run that has it now does the rest."""
    del progress
    if any(refused.refusal is Refusal.LEASE_LOST for refused in refusals):
        return Finish({"reason": "another reconciliation took over"}, failed=True)
    return decision


def begin(flow: Reconciling, run: Run) -> Decision:
    """Take the lease, and have every counted book written in a second generation."""
    del flow
    lock, progress = keys.lease(run.tenant, NAME), run.progress
    held = run.table.get(lock)
    lease = leases.acquire(
        lock,
        held,
        lease_id=progress.command_id,
        owner=progress.command_id,
        now_ms=progress.now_ms,
        seconds=LEASE_SECONDS,
    )
    books = [recounts.lanes(run.table, run.tenant, BOOKS[name]) for name in run.input["books"]]
    fresh = [write for lanes in books for write in generations.begin(lanes)]
    abandoned = [[lane.book.name, lane.building] for lane, *_ in books if lane.building]
    cursor = {
        "phase": "scan",
        "lease": leases.next_number(held),
        "began": progress.now,
        "tallies": no_tallies(run.input["names"]),
        "books": list(run.input["books"]),
        "sold": {},
        "touched": [],
        "behind": {},
        "leftovers": abandoned,
    }
    return Step([lease, *fresh], cursor, done=0)


def scan(flow: Reconciling, run: Run) -> Decision:
    """Check one page of the table; repair some of what it shows, or go on to the next page."""
    items, last = scan_page(run.table, run.cursor.get("start"), flow.page_items)
    page = run.inspector(run.input["names"]).inspect(items)
    replay = Projector(run.table, replays=True)
    for failure in replay.count(page.facts):
        if failure.passing:
            return Later()
        name = keys.aggregate(failure.owner)
        page.findings.append(Finding(checks.PROJECTED, name, failure.cause, None))
    some = fitting(page.findings) if run.input["repair"] else []
    if some:
        writes = [write for finding in some for write in finding.repair]
        tallies = run.tally(Page(), some, some)
        return run.go_on(*writes, mended=some, tallies=tallies)
    behind = run.cursor["behind"] | {keys.aggregate(one): v for one, v in replay.behind.items()}
    return run.go_on(
        done=len(items),
        phase="scan" if last else "stock",
        start=last,
        tallies=run.tally(page, page.findings),
        sold=added(run.cursor["sold"], page.sold),
        touched=sorted({*run.cursor["touched"], *page.touched}),
        behind=dict(list(behind.items())[:BEHIND_MAX]),
    )


def books(flow: Reconciling, run: Run) -> Decision:
    """Compare a book's generations; put the built one in place where it is asked for."""
    del flow
    if not run.cursor["books"]:
        return run.go_on(phase="late")
    name, *rest = run.cursor["books"]
    lanes = recounts.lanes(run.table, run.tenant, BOOKS[name])
    [lane, *_] = lanes
    if lane.building is None:
        return run.go_on(books=rest)
    found = list(recounts.differences(run.table, lane))
    switched = run.input["rebuild"] or (run.input["repair"] and bool(found))
    writes = generations.switch(lanes) if switched else generations.drop(lanes)
    left = [name, lane.live if switched else lane.building]
    return run.go_on(
        *writes,
        mended=found[:EVENTS_MAX] if switched else [],
        books=rest,
        leftovers=[*run.cursor["leftovers"], left],
        tallies=run.tally(Page(), found, found if switched else []),
    )


def late(flow: Reconciling, run: Run) -> Decision:
    """Events that were not counted: wait until none can be on its way, then it is drift."""
    marks = recounts.late(run.table, run.tenant, run.cursor["behind"])
    if not marks:
        return run.go_on(phase="sweep")
    name, seen = next(iter(marks.items()))
    owner = keys.owner_of(name)
    versions = keys.event(owner, seen + 1), keys.event(owner, run.cursor["behind"][name])
    facts = [fact_of(image) for image in raw_range(run.table, *versions)]
    age = run.progress.now_ms - datetime.fromisoformat(facts[0].at).timestamp() * 1000
    if age < flow.patience_seconds * 1000:
        return Later()
    found = Finding(checks.PROJECTED, name, seen, facts[-1].version)
    mended = run.input["repair"] and not Projector(run.table).count(facts)
    others = {one: v for one, v in run.cursor["behind"].items() if one != name}
    tallies = run.tally(Page(), [found], [found] if mended else [])
    return run.go_on(mended=[found] if mended else [], behind=others, tallies=tallies)


def sweep(flow: Reconciling, run: Run) -> Decision:
    """Remove the generations that no lane writes any more."""
    del flow
    if not run.cursor["leftovers"]:
        return run.go_on(phase="report")
    [(name, generation), *rest] = run.cursor["leftovers"]
    items = recounts.leftovers(run.table, run.tenant, BOOKS[name], generation)
    if not items:
        return run.go_on(leftovers=rest)
    return run.go_on(*generations.swept(items))


def report(flow: Reconciling, run: Run) -> Decision:
    """Write a report for each check, tell how much drift there was, and give the lease back."""
    progress, tallies = run.progress, run.cursor["tallies"]
    times = {"startedAt": run.input["startedAt"], "finishedAt": progress.now}
    expires = datetime.fromisoformat(progress.now) + timedelta(days=REPORT_DAYS)
    kept = {**times, "commandId": progress.command_id, "expiresAt": int(expires.timestamp())}
    reports = [
        create(
            keys.report(run.tenant, name, f"{times['startedAt']}#{progress.command_id}"),
            {**tally, **kept},
            "A check is reported once by each run.",
        )
        for name, tally in tallies.items()
    ]
    release = leases.release(
        keys.lease(run.tenant, NAME),
        lease_id=progress.command_id,
        owner=progress.command_id,
        number=run.cursor["lease"],
    )
    drift = sum(tally["drift"] for tally in tallies.values())
    flow.telemetry.gauge("reconciliation.drift.count", drift)
    result = {**times, "checks": [{"name": name, **tally} for name, tally in tallies.items()]}
    return Finish(result, writes=[release, *reports])


_PHASES: Mapping[str, Callable[[Reconciling, Run], Decision]] = {
    "begin": begin,
    "scan": scan,
    "stock": lambda _, run: stocktaking.first_look(run),
    "sales": lambda flow, run: stocktaking.second_scan(run, flow.page_items),
    "shortage": lambda _, run: stocktaking.second_look(run),
    "books": books,
    "late": late,
    "sweep": sweep,
    "report": report,
}
