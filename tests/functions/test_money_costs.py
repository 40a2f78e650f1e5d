"""What movements of money and goods cost: requests, and units apart from those of the indexes."""

from __future__ import annotations

import itertools

from holdfast.patterns import keys
from holdfast.patterns.commands import command_id
from holdfast.writes.table import Table
from tests import scenes
from tests.api import Answer, Api
from tests.metering import Meter
from tests.scenes import CUSTOMER, basket

WRITE, LOOK, MOMENT = "TransactWriteItems", "Query", "TransactGetItems"


def balance(api: Api, wallet_id: str) -> int:
    return int(api.get(f"/wallets/{wallet_id}", CUSTOMER).body["balance"])


def buy(api: Api, wallet_id: str, quantity: int, key: str | None = None) -> Answer:
    return api.post("/orders", basket(wallet_id, quantity), actor=CUSTOMER, key=key)


def key_for(shard: int, shards: int) -> str:
    """A client's key whose order asks this shard first."""

    def picks(key: str) -> bool:
        made = command_id(CUSTOMER.tenant, CUSTOMER.subject, "POST /orders", key)
        return keys.shard_of(f"{made}|lamp", shards) == shard

    return next(key for n in itertools.count() if picks(key := f"for-{shard}-{n}"))


def test_an_order_of_one_line_takes_one_request_and_16_units(
    api: Api, metered: tuple[Table, Meter]
) -> None:
    """Once this process has seen the wallet and the product; the sums are in docs/orders.md."""
    table, meter = metered
    shop = Api(table)
    scenes.product(shop)
    wallet_id = scenes.wallet(shop, 50_000)
    buy(shop, wallet_id, 1)
    meter.reset()
    assert buy(shop, wallet_id, 1).status == 201
    assert (meter.requests, meter.units) == (["TransactWriteItems"], 16)


def test_in_a_new_process_an_order_first_reads_its_wallet_and_product(
    api: Api, metered: tuple[Table, Meter]
) -> None:
    scenes.product(api)
    wallet_id = scenes.wallet(api, 50_000)
    table, meter = metered
    assert buy(Api(table), wallet_id, 1).status == 201
    assert meter.requests == ["GetItem", "GetItem", "TransactWriteItems"]


def test_a_wrong_guess_costs_one_refused_commit_and_no_read(
    api: Api, metered: tuple[Table, Meter]
) -> None:
    """The refusal brings the wallet's image with it."""
    table, meter = metered
    here = Api(table)
    scenes.product(api)
    wallet_id = scenes.wallet(api, 50_000)
    buy(here, wallet_id, 1)
    buy(api, wallet_id, 1)
    meter.reset()
    assert buy(here, wallet_id, 1).status == 201
    assert meter.requests == ["TransactWriteItems"] * 2
    assert balance(api, wallet_id) == 47_000


def test_a_withdrawal_takes_one_request(api: Api, metered: tuple[Table, Meter]) -> None:
    table, meter = metered
    here = Api(table)
    wallet_id = scenes.wallet(here, 100)
    meter.reset()
    path = f"/wallets/{wallet_id}/withdrawals"
    assert here.post(path, {"amount": 10}, actor=CUSTOMER).status == 200
    assert (meter.requests, meter.units) == (["TransactWriteItems"], 10)


def test_a_refused_order_is_diagnosed_in_one_request_and_stored_by_one_put(
    api: Api, metered: tuple[Table, Meter]
) -> None:
    table, meter = metered
    here = Api(table)
    scenes.product(here, stock=1)
    wallet_id = scenes.wallet(here, 5_000)
    buy(here, wallet_id, 1)
    meter.reset()
    assert buy(here, wallet_id, 1).code == "out-of-stock"
    assert meter.requests == ["TransactWriteItems", "PutItem"]


def test_a_unit_on_another_shard_costs_a_look_and_no_snapshot(
    api: Api, metered: tuple[Table, Meter]
) -> None:
    """A snapshot conflicts with every buyer of the product; a query with none."""
    table, meter = metered
    here = Api(table)
    scenes.product(here, stock=1, shards=2)
    wallet_id = scenes.wallet(here, 5_000)
    meter.reset()
    assert buy(here, wallet_id, 1, key_for(1, 2)).status == 201
    assert meter.requests == [WRITE, LOOK, WRITE]


def test_only_a_refusal_waits_for_the_stock_at_one_moment(
    api: Api, metered: tuple[Table, Meter]
) -> None:
    table, meter = metered
    here = Api(table)
    scenes.product(here, stock=1, shards=2)
    wallet_id = scenes.wallet(here, 5_000)
    meter.reset()
    assert buy(here, wallet_id, 2).code == "out-of-stock"
    assert meter.requests == [WRITE, LOOK, MOMENT, WRITE, "PutItem"]
