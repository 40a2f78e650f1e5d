"""Wallets, products, orders: each refusal, and that nothing is moved by it."""

from __future__ import annotations

from typing import Any

import pytest

from tests import scenes
from tests.api import ADMIN, OFFICER, Actor, Api
from tests.refusing import Row, Sent, check
from tests.scenes import CUSTOMER, OTHER_CUSTOMER, basket

NOT_FOUND, FORBIDDEN = (404, "not-found"), (403, "forbidden")
STATE, STALE = (409, "invalid-state"), (409, "version-conflict")
FUNDS, STOCK = (409, "insufficient-funds"), (409, "out-of-stock")
PRICE, LIMIT = (409, "price-changed"), (409, "limit-reached")
ELSEWHERE = Actor("cy", "customer,admin", tenant="globex")
LAMP = {"sku": "lamp", "name": "L", "unitPrice": 1, "currency": "EUR", "stock": 1}
BIG = 10**15


def post(path: str, body: Any, actor: Actor = CUSTOMER) -> Sent:
    return Sent("POST", path, body, actor)


def order(*quantities: int, actor: Actor = CUSTOMER, **more: Any) -> Sent:
    body = basket("{wallet}", *quantities)
    return post("/orders", {**body, **more}, actor)


PAY_IN, TAKE_OUT = "/wallets/{wallet}/deposits", "/wallets/{wallet}/withdrawals"
CANCEL = post("/orders/{order}/cancellations", {"expectedVersion": 1})
PRICES = Sent("PUT", "/products/lamp/price", {"unitPrice": 900, "expectedVersion": 1}, ADMIN)

ROWS = {
    # wallets: the scene's holds 50.00
    "more than there is": Row("shop", post(TAKE_OUT, {"amount": 5001}), FUNDS),
    "far more than there is": Row("shop", post(TAKE_OUT, {"amount": BIG}), FUNDS),
    "over what a wallet holds": Row("shop", post(PAY_IN, {"amount": BIG - 4999}), LIMIT),
    "no wallet": Row("shop", post("/wallets/x/deposits", {"amount": 1}), NOT_FOUND),
    "no wallet to empty": Row("shop", post("/wallets/x/withdrawals", {"amount": 1}), NOT_FOUND),
    "another's wallet": Row("shop", post(TAKE_OUT, {"amount": 1}, OTHER_CUSTOMER), FORBIDDEN),
    "another's to pay in": Row("shop", post(PAY_IN, {"amount": 1}, OTHER_CUSTOMER), FORBIDDEN),
    "another tenant's": Row("shop", post(TAKE_OUT, {"amount": 1}, ELSEWHERE), NOT_FOUND),
    "interest on nothing": Row(
        "shop", post("/wallets/x/accruals", {"rateBasisPoints": 5}, ADMIN), NOT_FOUND
    ),
    # products
    "a SKU twice": Row("shop", post("/products", LAMP, ADMIN), (409, "already-exists")),
    "restocking nothing": Row(
        "shop", post("/products/x/restocks", {"quantity": 1}, ADMIN), NOT_FOUND
    ),
    "a stale price": Row(
        "shop", PRICES._replace(body={"unitPrice": 9, "expectedVersion": 2}), STALE
    ),
    "a price of nothing": Row("shop", PRICES._replace(path="/products/x/price"), NOT_FOUND),
    "fewer shards": Row(
        "shop",
        Sent("PUT", "/products/lamp/stock-shards", {"stockShards": 1, "expectedVersion": 1}, ADMIN),
        LIMIT,
    ),
    # orders: three lamps at 10.00 are there
    "too dear": Row("shop", order(6), FUNDS),
    "too many": Row("shop", order(4), STOCK),
    "too many on two lines": Row("shop", order(2, 2), STOCK),
    "from no wallet": Row("shop", post("/orders", basket("x")), NOT_FOUND),
    "from another's wallet": Row("shop", order(1, actor=OTHER_CUSTOMER), FORBIDDEN),
    "in another currency": Row("shop", order(1, currency="USD"), PRICE),
    "at yesterday's price": Row("shop", order(1), PRICE, [PRICES]),
    "when all are sold": Row("shop", order(1), STOCK, [order(3)]),
    "beyond all numbers": Row(
        "shop",
        order(lines=[{"sku": "lamp", "quantity": 10**9, "unitPrice": 1000}] * 1000),
        FUNDS,
    ),
    # cancellations
    "cancelling twice": Row(
        "ordered", CANCEL._replace(body={"expectedVersion": 2}), STATE, [CANCEL]
    ),
    "cancelling twice at first sight": Row("ordered", CANCEL, STATE, [CANCEL]),
    "cancelling at a stale version": Row(
        "ordered", CANCEL._replace(body={"expectedVersion": 2}), STALE
    ),
    "cancelling another's": Row("ordered", CANCEL._replace(actor=OTHER_CUSTOMER), FORBIDDEN),
    "cancelling nothing": Row("shop", CANCEL._replace(path="/orders/x/cancellations"), NOT_FOUND),
}


def filled(value: Any, ids: dict[str, str]) -> Any:
    """A body with the scene's ids in place of their names."""
    return {**value, "walletId": value["walletId"].format(**ids)} if "walletId" in value else value


@pytest.fixture
def shop(api: Api) -> dict[str, str]:
    scenes.product(api, stock=3)
    return {"wallet": scenes.wallet(api, 5000)}


@pytest.mark.parametrize("name", ROWS)
def test_a_refused_command_moves_nothing(api: Api, shop: dict[str, str], name: str) -> None:
    row = ROWS[name]
    if row.scene == "ordered":
        shop["order"] = api.post("/orders", basket(shop["wallet"], 2), actor=CUSTOMER).body[
            "orderId"
        ]
    steps = [one._replace(body=filled(one.body, shop)) for one in (*row.after, row.refused)]
    check(api, row._replace(after=steps[:-1], refused=steps[-1]), shop)


@pytest.mark.parametrize(
    ("method", "path", "body", "actor"),
    [
        ("POST", "/wallets", {"currency": "EUR", "ownerId": "dee"}, CUSTOMER),
        ("POST", "/wallets", {"currency": "EUR"}, OFFICER),
        ("POST", "/wallets/x/accruals", {"rateBasisPoints": 1}, CUSTOMER),
        ("POST", "/products", LAMP, CUSTOMER),
        ("POST", "/products/lamp/restocks", {"quantity": 1}, CUSTOMER),
        ("PUT", "/products/lamp/price", {"unitPrice": 1, "expectedVersion": 1}, OFFICER),
        ("POST", "/orders", basket("x"), ADMIN),
    ],
)
def test_a_role_that_may_not_is_told_so_and_nothing_is_stored(
    api: Api, method: str, path: str, body: Any, actor: Actor
) -> None:
    answer = api.call(method, path, body, actor=actor)
    assert (answer.status, answer.code) == FORBIDDEN
    assert api.items() == []


UNFIT_NUMBERS = ["30.40", "0.1", "1e-7", "1e400", '"10"', "-1", "0", "9" * 40, "true", "null"]


def bodies(number: str) -> dict[str, tuple[str, Actor]]:
    """The requests that move money or goods, with `number` where the amount belongs."""
    line = f'{{"sku":"lamp","quantity":1,"unitPrice":{number}}}'
    many = f'{{"sku":"lamp","quantity":{number},"unitPrice":1000}}'
    goods = f'"sku":"x","name":"X","currency":"EUR","unitPrice":{number}'
    return {
        "/wallets/{wallet}/deposits": (f'{{"amount":{number}}}', CUSTOMER),
        "/wallets/{wallet}/withdrawals": (f'{{"amount":{number}}}', CUSTOMER),
        "/products/lamp/restocks": (f'{{"quantity":{number}}}', ADMIN),
        "/products": (f'{{{goods},"stock":1}}', ADMIN),
        "/orders?a": (f'{{"walletId":"w","currency":"EUR","lines":[{many}]}}', CUSTOMER),
        "/orders?b": (f'{{"walletId":"w","currency":"EUR","lines":[{line}]}}', CUSTOMER),
    }


@pytest.mark.parametrize("number", [*UNFIT_NUMBERS, "1000000000000001"])
def test_an_amount_is_a_whole_number_from_1_to_10_to_the_15(
    api: Api, shop: dict[str, str], number: str
) -> None:
    before = api.items()
    for path, (body, actor) in bodies(number).items():
        answer = api.post(path.partition("?")[0].format(**shop), body, actor=actor)
        assert (answer.status, answer.code) == (422, "validation-failed"), (path, answer.text)
        assert answer.body["errors"]
    assert api.items() == before


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_json_number_is_malformed(api: Api, shop: dict[str, str], number: str) -> None:
    before = api.items()
    for path, (body, actor) in bodies(number).items():
        answer = api.post(path.partition("?")[0].format(**shop), body, actor=actor)
        assert (answer.status, answer.code) == (400, "malformed-request"), path
    assert api.items() == before


@pytest.mark.parametrize("number", ["30.40", "-1", "10001", '"5"', "true", "1e400"])
def test_a_rate_is_a_whole_number_of_basis_points(
    api: Api, shop: dict[str, str], number: str
) -> None:
    before = api.items()
    path = f"/wallets/{shop['wallet']}/accruals"
    answer = api.post(path, f'{{"rateBasisPoints":{number}}}', actor=ADMIN)
    assert (answer.status, answer.code) == (422, "validation-failed")
    assert api.items() == before


def test_a_basket_beyond_one_transaction_names_the_limit(api: Api, shop: dict[str, str]) -> None:
    before = api.items()
    lines = [{"sku": f"s-{n}", "quantity": 1, "unitPrice": 1} for n in range(48)]
    answer = api.post("/orders", {**basket(shop["wallet"]), "lines": lines}, actor=CUSTOMER)
    assert (answer.status, answer.code) == (422, "validation-failed")
    assert "47 products" in answer.body["errors"][0]["message"]
    assert api.items() == before


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [
            {"sku": "lamp", "quantity": 1, "unitPrice": 1},
            {"sku": "lamp", "quantity": 1, "unitPrice": 2},
        ],
        [{"sku": "la#mp", "quantity": 1, "unitPrice": 1}],
        [{"sku": "nothing", "quantity": 1, "unitPrice": 1}],
        [{"sku": "lamp", "quantity": 1}],
        [{"sku": "lamp", "quantity": 1, "unitPrice": 1, "discount": 9}],
    ],
    ids=["none", "two prices", "no SKU", "unknown SKU", "no price", "unknown field"],
)
def test_a_basket_that_cannot_be_is_422_and_not_stored(
    api: Api, shop: dict[str, str], lines: list[Any]
) -> None:
    before = api.items()
    answer = api.post("/orders", {**basket(shop["wallet"]), "lines": lines}, actor=CUSTOMER)
    assert (answer.status, answer.code) == (422, "validation-failed")
    assert answer.body["errors"][0]["path"].startswith("lines")
    assert api.items() == before
