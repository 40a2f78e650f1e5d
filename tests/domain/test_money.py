"""Planners of money and goods where no table is needed: rounding, limits, what a plan names."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.orders import (
    PRODUCTS_MAX,
    CancelOrder,
    Line,
    Market,
    PlaceOrder,
    Receipt,
    cancel_order,
    place_order,
)
from holdfast.domain.products import RegisterProduct, register_product
from holdfast.domain.wallets import BALANCE_MAX, BASIS_POINTS_MAX, interest
from holdfast.patterns import keys
from holdfast.patterns.hot_stock import SHARDS_MAX
from holdfast.writes.plan import WRITES_MAX
from holdfast.writes.refusals import Refusal
from tests.commands import OFFICER, TENANT, made

WALLET = {
    **keys.wallet(TENANT, "w-1").attributes,
    "balance": 10**9,
    "version": 3,
    "currency": "EUR",
}


def order(*lines: Line) -> Any:
    return made(PlaceOrder, wallet_id="w-1", currency="EUR", lines=lines)


@given(st.integers(0, BALANCE_MAX), st.integers(0, BASIS_POINTS_MAX))
def test_interest_is_exact_and_a_half_is_rounded_to_even(balance: int, points: int) -> None:
    with localcontext() as exact:
        exact.prec = 40
        whole = (Decimal(balance) * points / 10_000).quantize(Decimal(1), ROUND_HALF_EVEN)
    assert interest(balance, points) == int(whole)


@pytest.mark.parametrize(
    ("balance", "points", "earned"),
    [(12_500, 2, 2), (7_500, 2, 2), (2_500, 2, 0), (100, 50, 0), (1, 10_000, 1), (0, 10_000, 0)],
)
def test_the_rounding_rule_as_it_is_stated(balance: int, points: int, earned: int) -> None:
    assert interest(balance, points) == earned


def test_repeated_skus_are_summed_into_one_check_and_one_write_of_stock() -> None:
    cmd = order(Line("a", 1, 10), Line("b", 2, 5), Line("a", 3, 10))
    assert cmd.products == (Line("a", 4, 10), Line("b", 2, 5))
    assert cmd.total == 50
    plan = place_order(cmd, Market(WALLET, {"a": 1, "b": 1}))
    assert sum(write.key.pk == f"PRODUCT#{TENANT}#a" for write in plan.writes) == 2


def test_the_widest_basket_fits_one_transaction() -> None:
    lines = [Line(f"s-{n}", 1, 1) for n in range(PRODUCTS_MAX)]
    plan = place_order(order(*lines), Market(WALLET, {line.sku: 1 for line in lines}))
    assert len(plan.writes) == WRITES_MAX
    order_image = {"walletId": "w-1", "total": 1, "taken": plan.writes[-3].item["taken"]}
    cancel = made(CancelOrder, order_id="r-1", expected_version=1)
    assert len(cancel_order(cancel, Receipt(order_image, WALLET)).writes) <= WRITES_MAX


def test_goods_on_too_many_shards_for_one_transaction_are_a_limit_and_not_half_an_order() -> None:
    lines = [Line(f"s-{n}", 20, 1) for n in range(5)]
    seen = {line.sku: dict.fromkeys(range(20), 1) for line in lines}
    market = Market(WALLET, {line.sku: 20 for line in lines}, seen)
    plan = place_order(order(*lines), market)
    assert any(
        rule.refusal is Refusal.LIMIT_REACHED and write.verb == "require"
        for write in plan.writes
        for rule in write.rules
    )


def test_a_product_on_the_most_shards_fits_one_transaction() -> None:
    fields = {"name": "L", "unit_price": 1, "currency": "EUR"}
    cmd = made(RegisterProduct, sku="s", stock=10, stock_shards=SHARDS_MAX, **fields)
    assert len(register_product(cmd).writes) == SHARDS_MAX + 4


def test_the_same_order_is_the_same_plan_on_any_machine() -> None:
    """A random token would let a retry pay twice: all ids follow from the command."""
    cmd = order(Line("a", 1, 10))
    market = Market(WALLET, {"a": 4})
    first, again = place_order(cmd, market), place_order(cmd, market)
    assert (first.token, first.text) == (again.token, again.text)
    assert first.writes[-3].item["ownerId"] == OFFICER
