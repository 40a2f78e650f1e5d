"""Money and goods under real threads: nothing is sold twice, paid twice or lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from threading import Event
from typing import Any

import pytest

from holdfast.patterns import keys
from holdfast.patterns.commands import Response
from holdfast.writes.table import Table
from tests import scenes
from tests.api import ADMIN, Actor, Api
from tests.conftest import dynamodb
from tests.racing import Call, answer, race, rush, told
from tests.scenes import CUSTOMER, basket

BUYERS, STOCK, PRICE = 32, 20, 1000


@pytest.fixture
def api(table: Table) -> Api:
    return Api(table)


@pytest.fixture
def wide(endpoint: str) -> Any:
    """A client with a connection for each racer."""
    return dynamodb(endpoint, max_pool_connections=BUYERS)


def assert_ledger(api: Api, wallet_id: str) -> int:
    """The wallet's ledger is dense and its balance the sum of its entries, which is returned."""
    key, running = keys.wallet("acme", wallet_id), 0
    wallet = api.table.get(key) or {}
    entries = list(api.table.partition(key.pk, "ENTRY#"))
    assert [entry["version"] for entry in entries] == list(range(1, wallet["version"] + 1))
    for entry in entries:
        running += entry["amount"]
        assert entry["balance"] == running
    assert wallet["balance"] == running
    return running


def buying(wallet_id: str, actor: Actor, key: str = "k") -> Call:
    return Call("POST /orders", basket(wallet_id, 1), actor, key, {})


def at_wallet(wallet_id: str) -> dict[str, str]:
    return {"wallet_id": wallet_id}


def orders(api: Api) -> list[dict[str, Any]]:
    return [i for i in api.items() if i["PK"]["S"].startswith("ORDER#") and i["SK"]["S"] == "META"]


def units(api: Api) -> list[int]:
    product = keys.product("acme", "lamp")
    return [shard["units"] for shard in api.table.partition(product.pk, "STOCK#")]


@pytest.mark.parametrize("shards", [1, 8])
def test_of_32_buyers_20_get_the_20_units(
    api: Api, wide: Any, table_name: str, shards: int
) -> None:
    """The last unit sells although it lies on another shard than its buyer asks first."""
    scenes.product(api, stock=STOCK, shards=shards)
    buyers = [Actor(f"b-{number}", "customer") for number in range(BUYERS)]
    wallets = [scenes.wallet(api, 5000, buyer) for buyer in buyers]
    calls = [buying(wallet, buyer) for wallet, buyer in zip(wallets, buyers, strict=True)]
    answers = rush(wide, table_name, calls)
    assert told(answers) == {"201": STOCK, "out-of-stock": BUYERS - STOCK}
    assert len(orders(api)) == STOCK
    assert units(api) == [0] * shards
    left = [assert_ledger(api, wallet) for wallet in wallets]
    assert sum(5000 - balance for balance in left) == STOCK * PRICE
    assert set(left) == {5000, 5000 - PRICE}


def test_of_20_withdrawals_of_10_from_100_ten_succeed(api: Api, wide: Any, table_name: str) -> None:
    """Field report 21: ten succeed, the balance is 0, and there are ten ledger rows of them."""
    wallet = scenes.wallet(api, 100)
    path = "POST /wallets/{walletId}/withdrawals"
    calls = [Call(path, {"amount": 10}, CUSTOMER, f"w-{n}", at_wallet(wallet)) for n in range(20)]
    answers = rush(wide, table_name, calls)
    assert told(answers) == {"200": 10, "insufficient-funds": 10}
    assert assert_ledger(api, wallet) == 0
    entries = list(api.table.partition(keys.wallet("acme", wallet).pk, "ENTRY#"))
    assert [entry["amount"] for entry in entries] == [100, *[-10] * 10]


def test_deposits_beside_accruals_lose_nothing(api: Api, wide: Any, table_name: str) -> None:
    wallet = scenes.wallet(api, 1_000_000)
    deposit, accrue = "POST /wallets/{walletId}/deposits", "POST /wallets/{walletId}/accruals"
    calls = [
        *(Call(deposit, {"amount": 700}, CUSTOMER, f"d-{n}", at_wallet(wallet)) for n in range(12)),
        *(
            Call(accrue, {"rateBasisPoints": 3}, ADMIN, f"a-{n}", at_wallet(wallet))
            for n in range(4)
        ),
    ]
    assert told(rush(wide, table_name, calls)) == {"200": 16}
    assert_ledger(api, wallet)
    entries = list(api.table.partition(keys.wallet("acme", wallet).pk, "ENTRY#"))
    assert [e["amount"] for e in entries if e["cause"] == "deposit"] == [1_000_000, *[700] * 12]
    for before, entry in pairwise(entries):
        if entry["cause"] == "interest":
            assert entry["amount"] == round(before["balance"] * 3 / 10_000)


def test_of_ten_cancellations_of_one_order_one_refunds(
    api: Api, wide: Any, table_name: str
) -> None:
    scenes.product(api, stock=3)
    wallet = scenes.wallet(api, 5000)
    placed = api.post("/orders", basket(wallet, 2), actor=CUSTOMER).body["orderId"]
    path, seen = "POST /orders/{orderId}/cancellations", {"expectedVersion": 1}
    calls = [Call(path, seen, CUSTOMER, f"c-{n}", {"order_id": placed}) for n in range(10)]
    assert told(rush(wide, table_name, calls)) == {"200": 1, "invalid-state": 9}
    assert assert_ledger(api, wallet) == 5000
    assert units(api) == [3]


def test_one_key_with_two_amounts_at_once_moves_one_of_them(
    api: Api, wide: Any, table_name: str
) -> None:
    """Field report 6: a mismatch is found also while the first is in flight."""
    wallet = scenes.wallet(api, 100)
    path = "POST /wallets/{walletId}/withdrawals"
    amounts = [10, 20] * 8
    calls = [Call(path, {"amount": amount}, CUSTOMER, "k", at_wallet(wallet)) for amount in amounts]
    answers = rush(wide, table_name, calls)
    assert told(answers) == {"200": 8, "idempotency-key-reused": 8}
    [moved] = {json.loads(one.body)["amount"] for one in answers if one.status == 200}
    assert assert_ledger(api, wallet) == 100 + moved


class Held:
    """A client whose transactions wait until they may go."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.reached, self.go = Event(), Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def transact_write_items(self, **request: Any) -> Any:
        self.reached.set()
        assert self.go.wait(30)
        return self._client.transact_write_items(**request)


def test_a_request_in_flight_that_comes_second_is_the_reuse(
    api: Api, wide: Any, table_name: str
) -> None:
    """Field report 6: what lands first is the command, whoever started first."""
    wallet = scenes.wallet(api, 100)
    path, held = "POST /wallets/{walletId}/withdrawals", Held(wide)
    slow = Call(path, {"amount": 10}, CUSTOMER, "k", at_wallet(wallet))
    quick = Call(path, {"amount": 20}, CUSTOMER, "k", at_wallet(wallet))

    def overtake() -> Response:
        assert held.reached.wait(30)
        try:
            return answer(Table(wide, table_name), quick)
        finally:
            held.go.set()

    answers = race([lambda: answer(Table(held, table_name), slow), overtake])
    assert [one.status for one in answers] == [422, 200]
    assert assert_ledger(api, wallet) == 80


def test_one_order_asked_for_by_16_at_once_is_placed_once(
    api: Api, wide: Any, table_name: str
) -> None:
    scenes.product(api, stock=STOCK, shards=8)
    wallet = scenes.wallet(api, 90_000)
    answers = rush(wide, table_name, [buying(wallet, CUSTOMER)] * 16)
    assert {(one.status, one.body) for one in answers} == {(201, answers[0].body)}
    assert (len(orders(api)), sum(units(api))) == (1, STOCK - 1)
    assert assert_ledger(api, wallet) == 89_000


def test_restocks_beside_purchases_lose_no_unit(api: Api, wide: Any, table_name: str) -> None:
    scenes.product(api, stock=4, shards=4)
    wallets = [scenes.wallet(api, 5000, Actor(f"b-{n}", "customer")) for n in range(12)]

    def calls() -> Iterator[Call]:
        for number, wallet in enumerate(wallets):
            yield buying(wallet, Actor(f"b-{number}", "customer"))
        for number in range(4):
            path, ids = "POST /products/{sku}/restocks", {"sku": "lamp"}
            yield Call(path, {"quantity": 1}, ADMIN, f"r-{number}", ids)

    answers = rush(wide, table_name, calls())
    sold = len(orders(api))
    assert sum(units(api)) == 8 - sold
    assert told(answers[:12])["201"] == sold
    assert 4 <= sold <= 8
