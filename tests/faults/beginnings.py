"""What companies have done before an errand: each makes it by commands, and names its ids."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.api import ADMIN, OFFICER, OTHER_OFFICER, REVIEWER, SUPERVISOR, Actor, Api, case_body
from tests.faults.company import Process, records

CUSTOMER = Actor("c-1", "customer")
Ids = Mapping[str, str]
FINAL = frozenset({200, 201, 202})


def nothing(process: Process) -> Ids:
    return {}


def case(process: Process) -> Ids:
    api = process.api
    api.officer("o-1")
    api.officer("o-2")
    return {"case": api.case().body["caseId"]}


def assigned(process: Process) -> Ids:
    ids = case(process)
    _post(process.api, ids, "assignments", {"officerId": "o-1"}, 1, SUPERVISOR)
    return ids


def submitted(process: Process) -> Ids:
    ids = assigned(process)
    _post(process.api, ids, "submissions", {"reviewerId": "r-1"}, 2, OFFICER)
    return ids


def approved(process: Process) -> Ids:
    ids = submitted(process)
    _post(process.api, ids, "approvals", {}, 3, REVIEWER)
    return ids


def closed(process: Process) -> Ids:
    ids = approved(process)
    process.api.post(f"/cases/{ids['case']}/notes", {"text": "Seen on site"})
    _post(process.api, ids, "closures", {"resolution": "Filed"}, 4, OFFICER)
    return ids


def _post(api: Api, ids: Ids, what: str, body: Any, version: int, actor: Actor) -> None:
    path = f"/cases/{ids['case']}/{what}"
    answer = api.post(path, {**body, "expectedVersion": version}, actor=actor)
    assert answer.status in FINAL, answer


def leased(process: Process) -> Ids:
    ids = assigned(process)
    answer = process.api.post(f"/cases/{ids['case']}/leases", {"seconds": 300})
    assert answer.body["fencingNumber"] == 1
    return {**ids, "lease": answer.body["leaseId"]}


def investigated(process: Process) -> Ids:
    ids = assigned(process)
    for user in ("u-1", "u-2"):
        path = f"/cases/{ids['case']}/investigators"
        assert process.api.post(path, {"userId": user}).status in FINAL
    return ids


def crowded(process: Process) -> Ids:
    ids = investigated(process)
    process.api.post(f"/cases/{ids['case']}/investigators", {"userId": "u-3"})
    return ids


def busy(process: Process) -> Ids:
    """An officer who has one case and room for no other."""
    ids = assigned(process)
    process.api.officer("o-3", max_load=1)
    _post(process.api, ids, "transfers", {"toOfficerId": "o-3"}, 2, SUPERVISOR)
    return {"case": process.api.case("REG-2").body["caseId"]}


def tasked(process: Process) -> Ids:
    ids = approved(process)
    process.api.post(f"/cases/{ids['case']}/tasks", {"title": "Call"})
    return ids


def overtaken(process: Process) -> Ids:
    """A lease that ended, and that someone else has now."""
    ids = leased(process)
    process.company.clock.sleep(400)
    body = {"seconds": 900}
    answer = process.api.post(f"/cases/{ids['case']}/leases", body, actor=OTHER_OFFICER)
    assert answer.body["fencingNumber"] == 2
    return ids


def wallet(process: Process) -> Ids:
    api = process.api
    wallet = api.post("/wallets", {"currency": "EUR"}, actor=CUSTOMER).body["walletId"]
    for amount in (70_000, 30_001):
        api.post(f"/wallets/{wallet}/deposits", {"amount": amount}, actor=CUSTOMER)
    return {"wallet": wallet}


def shop(process: Process) -> Ids:
    ids = wallet(process)
    for sku, shards in (("lamp", 2), ("desk", 1)):
        product = {"sku": sku, "name": sku, "unitPrice": 1_000, "currency": "EUR"}
        answer = process.api.post(
            "/products", {**product, "stock": 9, "stockShards": shards}, actor=ADMIN
        )
        assert answer.status in FINAL, answer
    return ids


ORDER = {
    "walletId": "<wallet>",
    "currency": "EUR",
    "lines": [
        {"sku": "lamp", "quantity": 6, "unitPrice": 1_000},
        {"sku": "desk", "quantity": 2, "unitPrice": 1_000},
    ],
}


def ordered(process: Process) -> Ids:
    ids = shop(process)
    body = {**ORDER, "walletId": ids["wallet"]}
    answer = process.api.post("/orders", body, actor=CUSTOMER)
    return {**ids, "order": answer.body["orderId"]}


def refunded(process: Process) -> Ids:
    ids = ordered(process)
    path = f"/orders/{ids['order']}/cancellations"
    answer = process.api.post(path, {"expectedVersion": 1}, actor=CUSTOMER)
    assert answer.status in FINAL, answer
    return ids


def dead(process: Process) -> Ids:
    """A case whose second event found nobody, and is dead."""
    ids, company = assigned(process), process.company
    for item in company.typed():
        if item["PK"]["S"].startswith("OUTBOX#") and item["type"]["S"] == "CaseAssigned":
            died = {"status": {"S": "DEAD"}, "outboxState": {"S": "DEAD"}, "attempts": {"N": "10"}}
            company.put([item | died])
            return {**ids, "event": item["eventId"]["S"]}
    raise AssertionError("nothing was announced")


def loaded(process: Process) -> Ids:
    """An officer with two cases, and one who has room for both."""
    ids = assigned(process)
    other = process.api.case("REG-2").body["caseId"]
    _post(process.api, {"case": other}, "assignments", {"officerId": "o-1"}, 1, SUPERVISOR)
    return ids


def leaving(process: Process) -> Ids:
    ids = loaded(process)
    body = {"toOfficerIds": ["o-2"]}
    answer = process.api.post("/officers/o-1/offboardings", body, actor=ADMIN)
    assert answer.status == 202, answer
    return {**ids, "command": answer.headers["X-Command-Id"]}


ROWS = "\n".join(json.dumps(case_body(f"ROW-{number % 14}")) for number in range(15))


def importing(process: Process) -> Ids:
    answer = process.api.post("/imports", ROWS, actor=ADMIN)
    assert answer.status == 202, answer
    return {"command": answer.headers["X-Command-Id"]}


def announced(process: Process) -> Ids:
    ids = assigned(process)
    assert process.announce(records(process.company.typed(), "EVENT#", "OUTBOX#"))
    return ids
