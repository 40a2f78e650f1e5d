"""Reconciliation's function: called with its queue's message, by a schedule, or every night."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from holdfast.domain.reconciliations import Reconcile, reconcile
from holdfast.edge.workflow_runner import Runner
from holdfast.edge.workflows_app import WorkflowQueue, workflows_handler
from holdfast.writes.reads import scan_page
from holdfast.writes.table import Table

NIGHTLY = "nightly"
SCANNED_ITEMS = 2000


def reconcile_handler(
    runner: Runner, queue: WorkflowQueue
) -> Callable[[dict[str, Any], Any], dict[str, Any] | None]:
    """The Lambda handler: `{"start": "nightly"}` begins a dry run in each tenant."""
    advance = workflows_handler(runner, queue)

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any] | None:
        if event.get("start") != NIGHTLY:
            return advance(event, context)
        for tenant in tenants(runner.table):
            runner.table.commit(reconcile(tonight(tenant, runner.now())))
        return None

    return handler


def tenants(table: Table) -> Iterator[str]:
    """Every tenant that has a case, an officer, a wallet, a product or an order."""
    seen: set[str] = set()
    start = None
    while True:
        items, start = scan_page(table, start, SCANNED_ITEMS)
        for item in items:
            kind, _, rest = item["PK"]["S"].partition("#")
            tenant = rest.partition("#")[0]
            if kind in ("CASE", "OFFICER", "WALLET", "PRODUCT", "ORDER") and tenant not in seen:
                seen.add(tenant)
                yield tenant
        if start is None:
            return


def tonight(tenant: str, now: str) -> Reconcile:
    """The night's run of a tenant: started twice, it is the same command."""
    name = f"nightly {tenant} {now[:10]}"
    return Reconcile(
        tenant=tenant,
        caller=NIGHTLY,
        command_id=hashlib.sha256(name.encode()).hexdigest()[:32],
        at=now,
        operation=NIGHTLY,
        client_key=now[:10],
    )
