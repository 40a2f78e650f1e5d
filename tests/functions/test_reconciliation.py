"""Reconciliation: planted drift of every kind is found, named and repaired; traffic is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.domain.checks import CHECKS
from holdfast.patterns import keys
from holdfast.patterns.uniqueness import CASE_REFERENCE, EMAIL
from holdfast.writes.plan import Key
from holdfast.writes.table import Table
from tests.api import ADMIN, OFFICER, REVIEWER, SUPERVISOR, Actor
from tests.reconciling import Service

BUYER = Actor("b-1", "customer")


@pytest.fixture
def service(table: Table) -> Service:
    """A little of everything, all of it counted."""
    service = Service(table)
    busy(service)
    service.count()
    return service


def busy(service: Service) -> None:
    api = service.api
    case = api.submitted("REG-1")
    api.post(f"/cases/{case}/notes", {"text": "seen"})
    api.post(f"/cases/{case}/tasks", {"title": "look"})
    api.post(f"/cases/{case}/investigators", {"userId": "u-1"})
    api.post(f"/cases/{case}/approvals", {"expectedVersion": 3}, actor=REVIEWER)
    api.post(f"/cases/{case}/enforcements", {"kind": "fine"})
    api.case("REG-2")
    wallet = api.post("/wallets", {"currency": "EUR"}, actor=BUYER).body["walletId"]
    api.post(f"/wallets/{wallet}/deposits", {"amount": 1000}, actor=BUYER)
    product = {"sku": "tea", "name": "Tea", "unitPrice": 10, "currency": "EUR", "stock": 50}
    api.post("/products", {**product, "stockShards": 2}, actor=ADMIN)
    for quantity in (3, 5):
        order(service, wallet, quantity)


def order(service: Service, wallet: str, quantity: int) -> str:
    line = {"sku": "tea", "quantity": quantity, "unitPrice": 10}
    body = {"walletId": wallet, "currency": "EUR", "lines": [line]}
    answer = service.api.post("/orders", body, actor=BUYER)
    assert answer.status == 201, answer.text
    return str(answer.body["orderId"])


def place(service: Service, start: str, sk: str = "META") -> Key:
    """The first item whose partition key starts so, by its sort key."""
    found = sorted(
        (item["PK"]["S"], item["SK"]["S"])
        for item in service.api.items()
        if item["PK"]["S"].startswith(start) and item["SK"]["S"].startswith(sk)
    )
    return Key(*found[0])


def assigned(service: Service) -> Key:
    return place(service, "CASE#acme#", "TASK_GUARD")._replace(sk="META")


def test_nothing_is_found_where_nothing_is_wrong(service: Service) -> None:
    reports = service.reconcile()
    assert set(reports) == set(CHECKS)
    assert drift(reports) == {}
    assert all(report["checked"] for report in reports.values())
    assert service.drifts == [0]


Plant = Callable[[Service], object]
REPAIRABLE: dict[str, tuple[str, Plant]] = {
    "a count": (
        "projections",
        lambda s: s.plant(place(s, "PROJECTION#acme#cases-by-status", "APPROVED"), count=7),
    ),
    "a lost count": (
        "projections",
        lambda s: s.lose(place(s, "PROJECTION#acme#order-value", "20")),
    ),
    "tasks": ("guards", lambda s: s.plant(place(s, "CASE#", "TASK_GUARD"), openCount=5)),
    "investigators": (
        "guards",
        lambda s: s.plant(place(s, "CASE#", "INVESTIGATOR_GUARD"), activeCount=None),
    ),
    "notes": ("guards", lambda s: s.plant(assigned(s), noteCount=9)),
    "a ghost's place": (
        "guards",
        lambda s: s.plant(place(s, "CASE#", "ACTIVE_ENFORCEMENT_GUARD"), enforcementId="none"),
    ),
    "a load": ("loads", lambda s: s.plant(place(s, "OFFICER#", "WORKLOAD"), activeLoad=3)),
    "a missing reference": (
        "sentinels",
        lambda s: s.lose(keys.sentinel("acme", CASE_REFERENCE.name, 1, "reg-1")),
    ),
    "an orphan reference": (
        "sentinels",
        lambda s: s.plant(
            keys.sentinel("acme", CASE_REFERENCE.name, 1, "x"), ownerId="gone", original="X"
        ),
    ),
    "a missing address": (
        "sentinels",
        lambda s: s.lose(keys.sentinel("acme", EMAIL.name, 1, "o-1@example.org")),
    ),
    "an outbox entry": ("outbox", lambda s: s.lose(place(s, "OUTBOX#", "EVENT#CASE"))),
    "stock": ("stock", lambda s: s.plant(place(s, "PRODUCT#", "STOCK#"), units=1)),
}


def drift(reports: dict[str, dict[str, Any]]) -> Counter[str]:
    return Counter({name: one["drift"] for name, one in reports.items() if one["drift"]})


def plant(service: Service, planted: dict[str, tuple[str, Plant]]) -> Counter[str]:
    """Plant drift, and tell how much of it each check must find."""
    for _, change in planted.values():
        change(service)
    return Counter(check for check, _ in planted.values())


def test_planted_drift_is_found_and_repaired_by_audited_commands(service: Service) -> None:
    planted = plant(service, REPAIRABLE)
    found = service.reconcile()
    assert drift(found) == planted
    assert not any(report["repaired"] for report in found.values())
    assert service.repairs() == [], "a dry run changes nothing"
    told = service.reconcile(repair=True)
    assert Counter({name: one["repaired"] for name, one in told.items()}) == planted
    facts = {(fact["check"]["S"], fact["key"]["S"]) for fact in service.repairs()}
    assert facts == {
        (name, one["key"]) for name, report in found.items() for one in report["examples"]
    }
    assert all(set(fact) == {"check", "key", "old", "new"} for fact in service.repairs())
    assert drift(service.reconcile()) == {}
    assert service.drifts == [planted.total(), planted.total(), 0]


def test_an_enforcement_without_its_place_gets_it_back(service: Service) -> None:
    service.lose(place(service, "CASE#", "ACTIVE_ENFORCEMENT_GUARD"))
    assert drift(service.reconcile("guards", repair=True)) == {"guards": 1}
    assert drift(service.reconcile("guards")) == {}


REPORTED: dict[str, tuple[str, Plant]] = {
    "a balance": ("wallets", lambda s: s.plant(place(s, "WALLET#", "BALANCE"), balance=99)),
    "a total": ("orders", lambda s: s.plant(place(s, "ORDER#"), total=1)),
    "a gap": ("audit", lambda s: s.lose(place(s, "CASE#", "EVENT#TASK#"))),
    "a version": ("audit", lambda s: s.plant(place(s, "OFFICER#", "PROFILE"), version=4)),
    "a command": (
        "commands",
        lambda s: s.plant(
            place(s, "IDEMPOTENCY#", "COMMAND"), status="IN_PROGRESS", progressAt=1_000
        ),
    ),
}


def test_money_and_history_are_reported_and_never_repaired(service: Service) -> None:
    planted = plant(service, REPORTED)
    names = [name for name in CHECKS if name not in ("projections", "outbox")]
    before = kept(service)
    found = service.reconcile(*names, repair=True)
    assert drift(found) == planted
    assert not any(report["repaired"] for report in found.values())
    assert (kept(service), service.repairs()) == (before, [])


def kept(service: Service) -> list[Any]:
    """What no reconciliation may touch: money, goods, cases, officers and their histories."""
    kinds = ("WALLET", "ORDER#", "PRODUC", "CASE#a", "OFFICE")
    return [item for item in service.api.items() if item["PK"]["S"][:6] in kinds]


def test_an_event_that_was_never_counted_is_drift_once_it_is_old(service: Service) -> None:
    service.api.case("REG-3")
    report = service.reconcile("projections", repair=True)["projections"]
    assert (report["drift"], report["repaired"]) == (1, 1)
    assert service.counting.counts("cases-by-status") == {"APPROVED": 1, "OPEN": 2}
    service.count()
    assert service.counting.counts("cases-by-status") == {"APPROVED": 1, "OPEN": 2}


def test_an_event_on_its_way_is_waited_for(service: Service) -> None:
    service.patience_seconds = 60
    service.api.case("REG-3")
    steps: list[None] = []

    def meanwhile() -> None:
        steps.append(None)
        if len(steps) == 3:
            service.count()

    service.between = meanwhile
    assert service.reconcile("projections")["projections"]["drift"] == 0


def test_a_run_beside_live_traffic_finds_the_planted_drift_and_no_other(service: Service) -> None:
    service.plant(place(service, "PROJECTION#acme#cases-by-status", "APPROVED"), count=7)
    service.plant(place(service, "CASE#", "TASK_GUARD"), openCount=5)
    wallet = place(service, "WALLET#", "BALANCE").pk.split("#")[2]
    numbers = iter(range(100, 1000))

    def meanwhile() -> None:
        number = next(numbers)
        created = service.api.case(f"REG-{number}").body["caseId"]
        body = {"officerId": "o-1", "expectedVersion": 1}
        service.api.post(f"/cases/{created}/assignments", body, actor=SUPERVISOR)
        service.api.post(f"/cases/{created}/tasks", {"title": "look"}, actor=OFFICER)
        placed = order(service, wallet, 1)
        if number % 2:
            service.api.post(f"/orders/{placed}/cancellations", {"expectedVersion": 1}, actor=BUYER)
        if number % 3:
            service.count()

    service.between = meanwhile
    service.patience_seconds = 3600
    service.page_items = 100
    found = service.reconcile(*(name for name in CHECKS if name != "projections"), repair=True)
    assert drift(found) == {"guards": 1}
    service.between = lambda: None
    service.count()
    live = service.reconcile("projections", repair=True)
    assert live["projections"]["drift"] == 1
    assert drift(service.reconcile()) == {}


def test_a_rebuild_switches_while_commands_run(service: Service) -> None:
    numbers = iter(range(100, 1000))

    def meanwhile() -> None:
        service.api.case(f"REG-{next(numbers)}")
        service.count()

    service.between = meanwhile
    service.page_items = 30
    service.plant(place(service, "PROJECTION#acme#cases-by-status", "OPEN"), count=-3)
    service.rebuild("cases-by-status")
    service.between = lambda: None
    opened = sum(
        1
        for item in service.api.items()
        if item.get("status") == {"S": "OPEN"} and item["SK"]["S"] == "META"
    )
    assert service.counting.counts("cases-by-status")["OPEN"] == opened
    assert drift(service.reconcile()) == {}
    names = {
        item["PK"]["S"]
        for item in service.api.items()
        if item["PK"]["S"].startswith("PROJECTION#acme#cases")
    }
    assert names == {
        "PROJECTION#acme#cases",
        *(
            f"PROJECTION#acme#cases{rest}@2"
            for rest in ("", "-by-status", "-by-region", "-by-officer")
        ),
    }, "the generation of before is swept"


def test_the_latest_reports_are_read_over_http(service: Service) -> None:
    assert service.api.get("/ops/reconciliations/latest", ADMIN).status == 404
    service.plant(place(service, "OFFICER#", "WORKLOAD"), activeLoad=3)
    service.reconcile("loads", "guards")
    service.reconcile("wallets")
    answer = service.api.get("/ops/reconciliations/latest", ADMIN)
    drift = {check["name"]: check["drift"] for check in answer.body["checks"]}
    assert drift == {"wallets": 0, "guards": 0, "loads": 1}
    assert answer.body["startedAt"] <= answer.body["finishedAt"]
    assert service.api.get("/ops/reconciliations/latest", OFFICER).status == 403


def test_one_reconciliation_runs_at_a_time(service: Service) -> None:
    steps: list[None] = []

    def other() -> None:
        steps.append(None)
        if len(steps) == 2:
            service.between = lambda: None
            with pytest.raises(AssertionError, match="IN_PROGRESS"):
                service.reconcile("guards")

    service.between = other
    service.reconcile("guards", "loads")


def test_unknown_checks_and_projections_are_refused(service: Service) -> None:
    body: dict[str, Any] = {"names": ["luck"]}
    assert service.api.post("/ops/reconciliations", body, actor=ADMIN).status == 422
    assert service.api.post("/ops/reconciliations", {}, actor=OFFICER).status == 403
    assert service.api.post("/projections/luck/rebuilds", actor=ADMIN).status == 404
