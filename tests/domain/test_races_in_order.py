"""Races as two plans that are both built before either commits, in both orders."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.domain.cases import SetLegalHold, TransferCase
from holdfast.domain.enforcement import CompleteEnforcement, OpenEnforcement
from holdfast.domain.members import AddInvestigator, CloseTask, OpenTask, RemoveInvestigator
from holdfast.domain.orders import Line, Market, PlaceOrder, place_order
from holdfast.domain.redaction import RedactCase, Trail, redact_case, related
from holdfast.domain.reviews import CloseCase
from holdfast.domain.wallets import Deposit, OpenWallet, Withdraw
from holdfast.patterns import keys
from holdfast.writes.outcomes import Committed, Refused
from holdfast.writes.plan import Plan
from holdfast.writes.refusals import Refusal
from tests.commands import (
    OFFICER,
    OTHER_OFFICER,
    SUPERVISOR,
    TENANT,
    Item,
    Office,
    made,
    planner_of,
)

both_orders = pytest.mark.parametrize("first", [0, 1])


@pytest.fixture(autouse=True)
def officers(office: Office) -> None:
    office.register()
    office.register(OTHER_OFFICER)


def on(case: Item, kind: Any, /, **fields: Any) -> Any:
    versioned = "expected_version" in kind.__dataclass_fields__
    seen = {"expected_version": case["version"]} if versioned else {}
    return made(kind, **{"case_id": case["caseId"], **seen, **fields})


def planned(office: Office, cmd: Any) -> Plan:
    """The plan on what the table holds now."""
    planner = planner_of(type(cmd))
    wide = planner.__code__.co_argcount == 2
    return planner(cmd, office.read(cmd)) if wide else planner(cmd)


def race(office: Office, first: int, *plans: Plan) -> Refusal:
    """Commit the first plan, which lands, and then the other; why that one is refused."""
    outcomes = [office.table.commit(plan) for plan in (plans[first], plans[1 - first])]
    assert isinstance(outcomes[0], Committed)
    assert isinstance(outcomes[1], Refused)
    return outcomes[1].refusal


@both_orders
def test_the_last_place_goes_to_one_of_two_investigators(office: Office, first: int) -> None:
    """Field report 19."""
    case = office.case()
    for user in ("u-1", "u-2"):
        office.do(AddInvestigator, case_id=case["caseId"], user_id=user)
    plans = [planned(office, on(case, AddInvestigator, user_id=user)) for user in ("u-3", "u-4")]
    assert race(office, first, *plans) is Refusal.LIMIT_REACHED


@both_orders
def test_one_membership_ends_once(office: Office, first: int) -> None:
    case = office.case()
    office.do(AddInvestigator, case_id=case["caseId"], user_id="u-1")
    plans = [planned(office, on(case, RemoveInvestigator, user_id="u-1")) for _ in range(2)]
    assert race(office, first, *plans) is Refusal.NOT_FOUND
    guard = keys.investigator_guard(keys.case(TENANT, case["caseId"]))
    assert office.stored(guard)["activeCount"] == 0


def test_an_old_removal_does_not_end_a_later_membership(office: Office) -> None:
    case = office.case()
    office.do(AddInvestigator, case_id=case["caseId"], user_id="u-1")
    late = planned(office, on(case, RemoveInvestigator, user_id="u-1"))
    office.do(RemoveInvestigator, case_id=case["caseId"], user_id="u-1")
    office.do(AddInvestigator, case_id=case["caseId"], user_id="u-1")
    outcome = office.table.commit(late)
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.STALE_READ


@both_orders
def test_one_of_two_enforcements_is_active(office: Office, first: int) -> None:
    case = office.case("APPROVED")
    plans = [planned(office, on(case, OpenEnforcement, kind="FINE")) for _ in range(2)]
    assert race(office, first, *plans) is Refusal.ALREADY_ACTIVE


@both_orders
@pytest.mark.parametrize(
    ("kind", "fields"), [(OpenTask, {"title": "Call"}), (OpenEnforcement, {"kind": "FINE"})]
)
def test_a_case_is_closed_or_gets_more_work_but_not_both(
    office: Office, first: int, kind: Any, fields: dict[str, str]
) -> None:
    case = office.case("APPROVED")
    plans = [planned(office, on(case, CloseCase)), planned(office, on(case, kind, **fields))]
    closed = {OpenTask: Refusal.CASE_CLOSED, OpenEnforcement: Refusal.CASE_NOT_APPROVED}
    assert race(office, first, *plans) is (Refusal.OPEN_WORK if first else closed[kind])


@both_orders
def test_a_task_is_closed_once(office: Office, first: int) -> None:
    case = office.case()
    task = office.do(OpenTask, case_id=case["caseId"], title="Call")["taskId"]
    plans = [planned(office, on(case, CloseTask, task_id=task)) for _ in range(2)]
    assert race(office, first, *plans) is Refusal.TASK_NOT_OPEN
    assert office.stored(keys.task_guard(keys.case(TENANT, case["caseId"])))["openCount"] == 0


@both_orders
def test_an_enforcement_is_completed_once(office: Office, first: int) -> None:
    case = office.case("APPROVED")
    made_one = office.do(OpenEnforcement, case_id=case["caseId"], kind="FINE")["enforcementId"]
    fields = {"enforcement_id": made_one, "outcome": "Paid"}
    plans = [planned(office, on(case, CompleteEnforcement, **fields)) for _ in range(2)]
    assert race(office, first, *plans) is Refusal.ENFORCEMENT_NOT_ACTIVE


@both_orders
def test_two_transfers_of_one_case_move_the_load_once(office: Office, first: int) -> None:
    office.register("o-3")
    case = office.case()
    plans = [
        planned(office, on(case, TransferCase, to_officer_id=to)) for to in (OTHER_OFFICER, "o-3")
    ]
    assert race(office, first, *plans) is Refusal.NOT_CASE_OFFICER
    loads = [
        office.stored(keys.officer_workload(TENANT, officer))["activeLoad"]
        for officer in (OFFICER, OTHER_OFFICER, "o-3")
    ]
    assert loads == ([0, 0, 1] if first else [0, 1, 0])


def trail_of(office: Office, case: Item) -> Trail:
    """What the redaction route reads."""
    meta = office.stored(keys.case(TENANT, case["caseId"]))
    images = list(office.table.partition(meta["PK"], ""))
    beside = [office.stored(key) for key in related(images, TENANT)]
    return Trail(meta, [*images, *beside])


@both_orders
def test_a_case_is_held_or_redacted_but_not_both(office: Office, first: int) -> None:
    case = office.case("CLOSED")
    plans = [
        redact_case(on(case, RedactCase, **SUPERVISOR), trail_of(office, case)),
        planned(office, on(case, SetLegalHold, **SUPERVISOR, hold=True)),
    ]
    told = race(office, first, *plans)
    assert told is (Refusal.LEGAL_HOLD if first else Refusal.CASE_REDACTED)


def test_a_trail_that_was_read_before_the_closure_is_read_again(office: Office) -> None:
    """The version that the caller foretells does not make an early read a whole one."""
    case = office.case("APPROVED")
    early = trail_of(office, case)
    office.do(CloseCase, case_id=case["caseId"], expected_version=case["version"])
    foretold = on(case, RedactCase, **SUPERVISOR, expected_version=case["version"] + 1)
    outcome = office.table.commit(redact_case(foretold, early))
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.STALE_READ
    assert isinstance(office.table.commit(redact_case(foretold, trail_of(office, case))), Committed)


@both_orders
def test_of_two_withdrawals_from_one_balance_one_is_planned_anew(
    office: Office, first: int
) -> None:
    """Field report 21: no update is lost, and none is made on a balance that has moved."""
    wallet_id = office.do(OpenWallet, currency="EUR")["walletId"]
    office.do(Deposit, wallet_id=wallet_id, amount=10)
    plans = [planned(office, made(Withdraw, wallet_id=wallet_id, amount=10)) for _ in range(2)]
    assert race(office, first, *plans) is Refusal.STALE_READ
    late = made(Withdraw, wallet_id=wallet_id, amount=10)
    assert office.refusal(late) is Refusal.INSUFFICIENT_FUNDS
    wallet = office.stored(keys.wallet(TENANT, wallet_id))
    assert (wallet["balance"], wallet["version"]) == (0, 2)


@both_orders
def test_the_last_unit_goes_to_one_of_two_buyers(office: Office, first: int) -> None:
    product = keys.product(TENANT, "lamp")
    office.put(product, unitPrice=100, currency="EUR", stockShards=1)
    office.put(keys.stock(product, 0), units=1)
    plans = []
    for buyer in ("b-1", "b-2"):
        opened = office.do(OpenWallet, caller=buyer, currency="EUR")["walletId"]
        office.do(Deposit, caller=buyer, wallet_id=opened, amount=100)
        order = {
            "caller": buyer,
            "wallet_id": opened,
            "currency": "EUR",
            "lines": (Line("lamp", 1, 100),),
        }
        wallet = office.stored(keys.wallet(TENANT, opened))
        plans.append(place_order(made(PlaceOrder, **order), Market(wallet, {"lamp": 1})))
    assert race(office, first, *plans) is Refusal.OUT_OF_STOCK
    assert office.stored(keys.stock(product, 0))["units"] == 0
