"""A command whose item was read as absent is never answered as if it had been done."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.domain.members import RemoveInvestigator
from holdfast.domain.orders import CancelOrder, Line, Market, PlaceOrder, Receipt
from holdfast.domain.redaction import RedactCase, Trail
from holdfast.domain.wallets import AccrueInterest, Deposit, Withdraw
from holdfast.patterns import keys
from holdfast.writes.outcomes import Refused
from holdfast.writes.refusals import Refusal
from tests.commands import OFFICER, TENANT, Office, made, planner_of

ORDER_LINE = (Line("lamp", 1, 100),)
ON_NOTHING: dict[str, tuple[Any, Any]] = {
    "a deposit": (made(Deposit, wallet_id="w-1", amount=5), None),
    "a withdrawal": (made(Withdraw, wallet_id="w-1", amount=5), None),
    "an accrual": (made(AccrueInterest, wallet_id="w-1", rate_basis_points=5), None),
    "a removal": (made(RemoveInvestigator, case_id="c-1", user_id="u-1"), None),
    "a redaction": (made(RedactCase, case_id="c-1", expected_version=1), Trail(None, ())),
    "an order": (
        made(PlaceOrder, wallet_id="w-1", currency="EUR", lines=ORDER_LINE),
        Market(None, {"lamp": 1}),
    ),
    "a cancellation": (
        made(CancelOrder, order_id="r-1", expected_version=1),
        Receipt(None, None),
    ),
    "a refund": (
        made(CancelOrder, order_id="r-1", expected_version=1),
        Receipt({"walletId": "w-1", "taken": {}, "total": 1}, None),
    ),
}


@pytest.mark.parametrize("name", ON_NOTHING)
def test_a_command_planned_on_nothing_is_not_done_to_what_came_meanwhile(
    office: Office, name: str
) -> None:
    """Else it is answered as done, or an order is placed that nobody pays."""
    cmd, nothing = ON_NOTHING[name]
    plan = planner_of(type(cmd))(cmd, nothing)
    case = {"status": "OPEN", "officerId": OFFICER, "version": 1}
    office.put(keys.case(TENANT, "c-1"), **case)
    product = keys.product(TENANT, "lamp")
    office.put(product, unitPrice=100, currency="EUR", stockShards=1)
    office.put(keys.stock(product, 0), units=5)
    if name != "a redaction":
        before = office.items()
        outcome = office.table.commit(plan)
        assert isinstance(outcome, Refused)
        assert outcome.refusal is Refusal.NOT_FOUND
        assert office.items() == before
    for key in (
        keys.wallet(TENANT, "w-1"),
        keys.order(TENANT, "r-1"),
        keys.investigator(keys.case(TENANT, "c-1"), "u-1"),
    ):
        owned = {"ownerId": OFFICER, "balance": 900, "currency": "EUR", "status": "PLACED"}
        office.put(key, version=1, membershipId="m-1", **owned)
    before = office.items()
    outcome = office.table.commit(plan)
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.STALE_READ
    assert office.items() == before
