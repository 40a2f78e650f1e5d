"""Wallets, products and orders through the handlers: what moves, once, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.patterns import keys
from holdfast.writes.table import Table
from tests import scenes
from tests.api import ADMIN, Answer, Api, counted
from tests.conftest import dynamodb
from tests.proxy import Proxy
from tests.scenes import CUSTOMER, basket


def balance(api: Api, wallet_id: str) -> int:
    return int(api.get(f"/wallets/{wallet_id}", CUSTOMER).body["balance"])


def entries(api: Api, wallet_id: str) -> list[dict[str, Any]]:
    return api.get(f"/wallets/{wallet_id}/entries?limit=100", CUSTOMER).body["items"]


def assert_ledger(api: Api, wallet_id: str) -> None:
    """Versions are dense, each entry goes on from the one before, and the last is the balance."""
    ledger, running = entries(api, wallet_id), 0
    assert [entry["version"] for entry in ledger] == list(range(1, len(ledger) + 1))
    for entry in ledger:
        running += entry["amount"]
        assert entry["balance"] == running
    assert balance(api, wallet_id) == running


def stock(api: Api, sku: str = "lamp") -> int:
    return int(api.get(f"/products/{sku}").body["stock"])


def buy(api: Api, wallet_id: str, *quantities: int, **more: Any) -> Answer:
    return api.post("/orders", basket(wallet_id, *quantities), actor=CUSTOMER, **more)


def test_a_wallet_is_opened_empty_for_its_caller(api: Api) -> None:
    opened = api.post("/wallets", {"currency": "EUR"}, actor=CUSTOMER)
    assert (opened.status, opened.body["balance"], opened.headers["ETag"]) == (201, 0, '"v0"')
    assert opened.body["ownerId"] == CUSTOMER.subject
    shown = api.get(opened.headers["Location"], CUSTOMER)
    assert (shown.status, shown.body) == (200, opened.body)
    for_another = {"currency": "EUR", "ownerId": "dee"}
    assert api.post("/wallets", for_another, actor=ADMIN).body["ownerId"] == "dee"


def test_a_wallet_and_an_order_are_shown_to_their_owner_and_administrators(api: Api) -> None:
    scenes.product(api)
    wallet_id = scenes.wallet(api, 1000)
    order_id = buy(api, wallet_id, 1).body["orderId"]
    for path in (f"/wallets/{wallet_id}", f"/wallets/{wallet_id}/entries", f"/orders/{order_id}"):
        seen = [api.get(path, actor).status for actor in (CUSTOMER, ADMIN, scenes.OTHER_CUSTOMER)]
        assert seen == [200, 200, 404]


def test_each_movement_has_one_ledger_entry_with_its_cause(api: Api) -> None:
    wallet_id = scenes.wallet(api, 12_500)
    paid = {"amount": 500, "note": "Rent"}
    assert api.post(f"/wallets/{wallet_id}/withdrawals", paid, actor=CUSTOMER).body == {
        "walletId": wallet_id,
        "amount": -500,
        "balance": 12_000,
        "cause": "withdrawal",
        "currency": "EUR",
        "version": 2,
    }
    accrued = api.post(f"/wallets/{wallet_id}/accruals", {"rateBasisPoints": 150}, actor=ADMIN)
    assert (accrued.status, accrued.body["balance"]) == (200, 12_180)
    told = [(entry["cause"], entry["amount"]) for entry in entries(api, wallet_id)]
    assert told == [("deposit", 12_500), ("withdrawal", -500), ("interest", 180)]
    assert entries(api, wallet_id)[1]["note"] == "Rent"
    assert_ledger(api, wallet_id)


def test_a_ledger_is_read_page_by_page_however_long_it_is(api: Api) -> None:
    wallet_id = scenes.wallet(api, 10)
    for _ in range(4):
        api.post(f"/wallets/{wallet_id}/deposits", {"amount": 1}, actor=CUSTOMER)
    path, cursor, pages = f"/wallets/{wallet_id}/entries?limit=2", "", []
    with counted(api.table.client) as sent:
        while cursor is not None:
            page = api.get(f"{path}{cursor and f'&cursor={cursor}'}", CUSTOMER).body
            pages.append([entry["version"] for entry in page["items"]])
            cursor = page["nextCursor"]
    assert pages == [[1, 2], [3, 4], [5]]
    assert sent == ["GetItem", "Query"] * 3


def test_a_wallet_holds_10_to_the_15_and_no_more(api: Api) -> None:
    wallet_id = scenes.wallet(api, 10**15)
    path = f"/wallets/{wallet_id}"
    assert api.post(f"{path}/deposits", {"amount": 1}, actor=CUSTOMER).code == "limit-reached"
    interest = api.post(f"{path}/accruals", {"rateBasisPoints": 1}, actor=ADMIN)
    assert interest.code == "limit-reached"
    assert balance(api, wallet_id) == 10**15
    assert api.post(f"{path}/withdrawals", {"amount": 10**15}, actor=CUSTOMER).status == 200
    assert_ledger(api, wallet_id)


def test_an_order_moves_money_and_goods_together_and_its_cancellation_gives_both_back(
    api: Api,
) -> None:
    """Field report 5: there is no gap between the debit, the order and the record."""
    scenes.product(api, stock=5)
    wallet_id = scenes.wallet(api, 5000)
    placed = buy(api, wallet_id, 2, 1)
    assert (placed.status, placed.body["total"], placed.headers["ETag"]) == (201, 3000, '"v1"')
    assert placed.body["lines"] == [{"sku": "lamp", "quantity": 3, "unitPrice": 1000}]
    order = api.get(placed.headers["Location"], CUSTOMER).body
    assert (order["status"], order["total"]) == ("PLACED", 3000)
    assert (balance(api, wallet_id), stock(api)) == (2000, 2)

    cancelling = {"expectedVersion": 1}
    path = f"{placed.headers['Location']}/cancellations"
    cancelled = api.post(path, cancelling, actor=CUSTOMER, key="c")
    assert (cancelled.status, cancelled.body["status"]) == (200, "CANCELLED")
    again = api.post(path, cancelling, actor=CUSTOMER, key="c")
    assert (again.headers["Idempotency-Replayed"], again.body) == ("true", cancelled.body)
    assert (balance(api, wallet_id), stock(api)) == (5000, 5)
    assert_ledger(api, wallet_id)
    assert [entry["cause"] for entry in entries(api, wallet_id)][1:] == ["order", "refund"]


def test_a_basket_takes_all_its_goods_or_none(api: Api) -> None:
    scenes.product(api, "lamp", stock=5)
    scenes.product(api, "rug", stock=1)
    wallet_id = scenes.wallet(api, 9000)
    lines = [{"sku": sku, "quantity": 2, "unitPrice": 1000} for sku in ("lamp", "rug")]
    body = {**basket(wallet_id), "lines": lines}
    assert api.post("/orders", body, actor=CUSTOMER).code == "out-of-stock"
    assert (stock(api, "lamp"), stock(api, "rug"), balance(api, wallet_id)) == (5, 1, 9000)
    lines[1]["quantity"] = 1
    assert api.post("/orders", body, actor=CUSTOMER).status == 201
    assert (stock(api, "lamp"), stock(api, "rug"), balance(api, wallet_id)) == (3, 0, 6000)


def test_a_product_is_restocked_repriced_and_spread_while_it_sells(api: Api) -> None:
    scenes.product(api, stock=1)
    wallet_id = scenes.wallet(api, 9000)
    assert buy(api, wallet_id, 1).status == 201
    assert buy(api, wallet_id, 1).code == "out-of-stock"
    restocked = api.post("/products/lamp/restocks", {"quantity": 4}, actor=ADMIN)
    assert (restocked.status, stock(api)) == (200, 4)
    wider = {"stockShards": 8, "expectedVersion": 1}
    assert api.call("PUT", "/products/lamp/stock-shards", wider, actor=ADMIN).status == 200
    assert api.get("/products/lamp").body["stockShards"] == 8
    assert buy(api, wallet_id, 2).status == 201
    dearer = {"unitPrice": 1500, "expectedVersion": 2}
    assert api.call("PUT", "/products/lamp/price", dearer, actor=ADMIN).body["version"] == 3
    assert buy(api, wallet_id, 1).code == "price-changed"
    assert api.post("/orders", basket(wallet_id, 2, unit_price=1500), actor=CUSTOMER).status == 201
    assert (stock(api), balance(api, wallet_id)) == (0, 3000)


def test_the_last_units_sell_although_they_lie_on_other_shards(api: Api) -> None:
    scenes.product(api, stock=8, shards=8)
    wallet_id = scenes.wallet(api, 9000)
    assert [buy(api, wallet_id, 1).status for _ in range(5)] == [201] * 5
    gathered = buy(api, wallet_id, 3)
    assert (gathered.status, stock(api)) == (201, 0)
    assert buy(api, wallet_id, 1).code == "out-of-stock"
    path = f"{gathered.headers['Location']}/cancellations"
    assert api.post(path, {"expectedVersion": 1}, actor=CUSTOMER).status == 200
    assert stock(api) == 3
    shards = [item for item in api.items() if item["SK"]["S"].startswith("STOCK#")]
    assert sorted(int(item["units"]["N"]) for item in shards) == [0] * 5 + [1] * 3


@pytest.mark.parametrize("fault", [{"response": {"abort_bytes": 0}}, {"reset": True}])
def test_an_order_whose_answer_was_lost_is_debited_once(
    api: Api, table_name: str, faults: Proxy, fault: dict[str, Any]
) -> None:
    """Field reports 5 and 18: sent again here, and replayed in a new process, it is one debit."""
    scenes.product(api, stock=5)
    wallet_id = scenes.wallet(api, 5000)
    broken = Api(Table(dynamodb(faults.url), table_name, sleep=lambda _: None))
    faults.rules({"operation": "TransactWriteItems", "times": 1, **fault})
    first = buy(broken, wallet_id, 1, key="k")
    assert faults.fired() == ["TransactWriteItems"]
    assert first.status == 201
    faults.rules()
    elsewhere = Api(Table(dynamodb(faults.url), table_name))
    again = buy(elsewhere, wallet_id, 1, key="k")
    assert (again.status, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert again.body == first.body
    assert (balance(api, wallet_id), stock(api)) == (4000, 4)
    assert_ledger(api, wallet_id)


def test_a_deposit_whose_answer_was_lost_is_made_once(
    api: Api, table_name: str, faults: Proxy
) -> None:
    """Field report 18: the increment is not applied twice."""
    wallet_id = scenes.wallet(api)
    broken = Api(Table(dynamodb(faults.url), table_name, sleep=lambda _: None))
    drop = {"operation": "TransactWriteItems", "times": 1, "response": {"abort_bytes": 0}}
    faults.rules(drop)
    path = f"/wallets/{wallet_id}/deposits"
    assert broken.post(path, {"amount": 10}, actor=CUSTOMER).status == 200
    assert faults.fired() == ["TransactWriteItems"]
    assert balance(api, wallet_id) == 10
    assert_ledger(api, wallet_id)


def test_the_same_key_with_another_amount_moves_nothing(api: Api) -> None:
    """Field report 6 for money: 10 and then 20 under one key is 422, and 10 were moved."""
    wallet_id = scenes.wallet(api, 100)
    path = f"/wallets/{wallet_id}/withdrawals"
    assert api.post(path, {"amount": 10}, actor=CUSTOMER, key="k").status == 200
    other = api.post(path, {"amount": 20}, actor=CUSTOMER, key="k")
    assert (other.status, other.code) == (422, "idempotency-key-reused")
    assert balance(api, wallet_id) == 90
    assert api.post(path, {"amount": 10}, actor=CUSTOMER, key="k").body["balance"] == 90


def test_an_item_that_a_later_release_made_keeps_its_fields(api: Api) -> None:
    """Field report 13 for money: an update never replaces an item."""
    wallet_id = scenes.wallet(api, 100)
    key = keys.wallet("acme", wallet_id)
    api.table.client.update_item(
        TableName=api.table.name,
        Key={"PK": {"S": key.pk}, "SK": {"S": key.sk}},
        UpdateExpression="SET futureField = :f",
        ExpressionAttributeValues={":f": {"S": "kept"}},
    )
    api.post(f"/wallets/{wallet_id}/deposits", {"amount": 1}, actor=CUSTOMER)
    assert (api.table.get(key) or {})["futureField"] == "kept"
