"""Stock against orders: the check whose two sides no single read encloses.

Units lie with the product, what was sold lies in every order. The first scan sums the orders
up; a product that does not agree is counted again by a second one, and the difference is
drift if it is the same, and neither an order for the product nor its units moved meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.domain import checks
from holdfast.edge.inspector import Page
from holdfast.edge.reconciliation_run import Run, fitting
from holdfast.patterns import keys
from holdfast.patterns.reconciliation import Finding
from holdfast.patterns.workflows import Decision
from holdfast.writes.reads import scan_page


def first_look(run: Run) -> Decision:
    """Products whose units are not what came less what was sold are counted a second time."""
    shown = {
        sku: [finding.old, finding.new]
        for sku in run.cursor["sold"]
        for finding in _short(run, sku)
    }
    if not shown:
        return run.go_on(phase="books")
    return run.go_on(
        phase="sales",
        start=None,
        shown=shown,
        sold=dict.fromkeys(shown, 0),
        touched=[],
        began=run.progress.now,
    )


def second_scan(run: Run, page_items: int) -> Decision:
    """The second scan, for orders alone."""
    items, last = scan_page(run.table, run.cursor.get("start"), page_items)
    page = run.inspector(["stock"]).inspect(items)
    sold = {sku: page.sold.get(sku, 0) for sku in run.cursor["sold"]}
    return run.go_on(
        phase="sales" if last else "shortage",
        start=last,
        sold=added(run.cursor["sold"], sold),
        touched=sorted({*run.cursor["touched"], *page.touched}),
    )


def second_look(run: Run) -> Decision:
    """What differs as before, of a product that nothing moved meanwhile, is drift."""
    still = [
        finding
        for sku, shown in run.cursor["shown"].items()
        if sku not in run.cursor["touched"]
        for finding in _short(run, sku)
        if [finding.old, finding.new] == shown
    ]
    mended = fitting(still) if run.input["repair"] else []
    writes = [write for finding in mended for write in finding.repair]
    tallies = run.tally(Page(), still, mended)
    return run.go_on(*writes, mended=mended, phase="books", tallies=tallies)


def _short(run: Run, sku: str) -> list[Finding]:
    pk = keys.product(run.tenant, sku).pk
    items = {image["SK"]: image for image in run.table.partition(pk, "")}
    return list(checks.stock(items, run.cursor["sold"][sku])) if "META" in items else []


def added(before: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return {sku: before.get(sku, 0) + more.get(sku, 0) for sku in {**before, **more}}
