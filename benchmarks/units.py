"""What commands, and announcing their events, are charged on the emulator.

    python -m benchmarks.units

Units of the table and of its indexes apart, as `docs/scale.md` has them.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Any

from holdfast.domain.cases import CreateCase
from holdfast.writes.table import Table
from tests import scenes
from tests.api import SUPERVISOR, Api
from tests.commands import Office, made
from tests.conftest import create_table, dynamodb
from tests.metering import WRITES
from tests.relaying import Desk, owner
from tests.scenes import CUSTOMER, basket
from tools.emulator import emulator

TITLE = "Dust in the ventilation of building 4"
EVENTS = 50
Charge = tuple[float, float]
"""Units of the table, and of its indexes."""


class Till:
    """Adds up what a client is charged; `take` says it and begins again."""

    def __init__(self, client: Any) -> None:
        self.table = self.indexes = 0.0
        for operation in WRITES:
            asked, charged = f"provide-client-params.dynamodb.{operation}", self._charged
            client.meta.events.register(asked, self._ask)
            client.meta.events.register(f"after-call.dynamodb.{operation}", charged)

    def take(self) -> Charge:
        charge, self.table, self.indexes = (self.table, self.indexes), 0.0, 0.0
        return charge

    def _ask(self, params: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {**params, "ReturnConsumedCapacity": "INDEXES"}

    def _charged(self, parsed: dict[str, Any], **_: Any) -> None:
        charged = parsed.get("ConsumedCapacity", [])
        for table in charged if isinstance(charged, list) else [charged]:
            found = table.get("GlobalSecondaryIndexes", {}).values()
            indexes = sum(index["CapacityUnits"] for index in found)
            self.table += table["CapacityUnits"] - indexes
            self.indexes += indexes


def charges() -> dict[str, Charge]:
    """By what was done."""
    with emulator() as url, redirect_stdout(io.StringIO()):
        create_table(dynamodb(url), "bench")
        client = dynamodb(url)
        till, table = Till(client), Table(client, "bench", sleep=lambda seconds: None)
        return dict(_commands(table, till))


def _commands(table: Table, till: Till) -> Iterator[tuple[str, Charge]]:
    Office(table).send(made(CreateCase, title=TITLE))
    yield "create_case by itself", till.take()
    api = Api(table)
    api.officer()
    till.take()
    case_id = api.post(
        "/cases", {"externalRef": "A-1", "title": TITLE, "region": "EU", "priority": "LOW"}
    ).body["caseId"]
    yield "POST /cases, with the live intake count", till.take()
    assigned = {"officerId": "o-1", "expectedVersion": 1}
    api.post(f"/cases/{case_id}/assignments", assigned, actor=SUPERVISOR)
    yield "assign", till.take()
    api.post(f"/cases/{case_id}/submissions", {"reviewerId": "r-1", "expectedVersion": 2})
    yield "submit for review", till.take()
    scenes.product(api)
    wallet_id = scenes.wallet(api, 50_000)
    for _ in range(2):  # the first order of a process reads its wallet and its product
        till.take()
        assert api.post("/orders", basket(wallet_id, 1), actor=CUSTOMER).status == 201
    yield "place an order of one line", till.take()
    desk = Desk(table)
    entries = [desk.happened(owner(number), 1)[0] for number in range(EVENTS)]
    till.take()
    desk.announce(*entries)
    units, indexes = till.take()
    yield "announce an event", (units / EVENTS, indexes / EVENTS)


def units() -> dict[str, float]:
    """Units of the table by the name of their budget."""
    return {f"capacity units: {what}": table for what, (table, _) in charges().items()}


if __name__ == "__main__":
    for what, (table, indexes) in charges().items():
        print(f"{table:5.1f} + {indexes:.1f}  {what}")
