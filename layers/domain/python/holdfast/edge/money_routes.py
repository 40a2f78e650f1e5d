"""Commands on money and goods: wallets, products, orders."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from holdfast.domain import orders, products, wallets
from holdfast.edge.caller import ADMIN, CUSTOMER
from holdfast.edge.fields import Amount, BadField, Body, Id, Line, Versioned
from holdfast.edge.routes import Route, one
from holdfast.patterns import hot_stock, keys
from holdfast.patterns.hot_stock import Taken
from holdfast.writes.outcomes import Refused
from holdfast.writes.plan import WRITES_MAX, Key
from holdfast.writes.table import Table

UNITS_MAX = 10**9
Currency = Annotated[
    str,
    Meta(
        pattern=r"^[A-Z]{3}$(?!\n)",
        min_length=3,
        max_length=3,
        description="a currency of ISO 4217, such as EUR",
    ),
]
Quantity = Annotated[int, Meta(ge=1, le=UNITS_MAX, description="a whole number from 1 to 10^9")]
Stock = Annotated[int, Meta(ge=0, le=UNITS_MAX, description="a whole number from 0 to 10^9")]
Shards = Annotated[
    int,
    Meta(
        ge=1,
        le=hot_stock.SHARDS_MAX,
        description=f"a whole number from 1 to {hot_stock.SHARDS_MAX}",
    ),
]
BasisPoints = Annotated[
    int,
    Meta(
        ge=0,
        le=wallets.BASIS_POINTS_MAX,
        description=f"a whole number from 0 to {wallets.BASIS_POINTS_MAX}",
    ),
]


class OpenWallet(Body, kw_only=True):
    currency: Currency
    owner_id: Id | UnsetType = UNSET


class MoveMoney(Body, kw_only=True):
    amount: Amount
    note: Line | UnsetType = UNSET


class AccrueInterest(Body, kw_only=True):
    rate_basis_points: BasisPoints


class RegisterProduct(Body, kw_only=True):
    sku: Id
    name: Line
    unit_price: Amount
    currency: Currency
    stock: Stock
    stock_shards: Shards = 1


class Restock(Body, kw_only=True):
    quantity: Quantity


class ChangePrice(Versioned, kw_only=True):
    unit_price: Amount


class SpreadStock(Versioned, kw_only=True):
    stock_shards: Shards


class OrderLine(Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    sku: Id
    quantity: Quantity
    unit_price: Amount


class PlaceOrder(Body, kw_only=True):
    wallet_id: Id
    currency: Currency
    lines: Annotated[
        tuple[OrderLine, ...],
        Meta(min_length=1, max_length=1000, description="1 to 1000 order lines"),
    ]

    def __post_init__(self) -> None:
        prices = {(line.sku, line.unit_price) for line in self.lines}
        skus = {line.sku for line in self.lines}
        if len(prices) > len(skus):
            raise BadField("lines", "name one SKU at two prices")
        if len(skus) > orders.PRODUCTS_MAX:
            raise BadField(
                "lines",
                f"name more than {orders.PRODUCTS_MAX} products, which is what one "
                f"transaction of {WRITES_MAX} writes can take",
            )

    def fields(self) -> dict[str, object]:
        lines = tuple(orders.Line(line.sku, line.quantity, line.unit_price) for line in self.lines)
        return {**super().fields(), "lines": lines}


def _market(table: Table, cmd: orders.PlaceOrder, stale: Refused | None) -> orders.Market:
    """The wallet and the products; after a refusal also the units of products on many shards."""
    wallet = table.state(cmd.wallet_key, stale, guess=True)
    shards, seen = {}, {}
    for line in cmd.products:
        key = keys.product(cmd.tenant, line.sku)
        product = table.state(key, stale, guess=True)
        shards[line.sku] = product["stockShards"] if product else 1
        if stale is not None and shards[line.sku] > 1:
            seen[line.sku] = _units(table, key, shards[line.sku], line.quantity)
    return orders.Market(wallet, shards, seen)


def _units(table: Table, product: Key, shards: int, wanted: int) -> Taken:
    """The units by shard: enough of them as a query finds them, else all at one moment.

    A snapshot conflicts with every buyer of any shard, a query with nobody; so only a refusal,
    which needs the one moment, waits for it.
    """
    listed = table.partition(product.pk, "STOCK#")
    found = {int(image["SK"].rpartition("#")[2]): image["units"] for image in listed}
    if sum(found.values()) >= wanted:
        return found
    images = table.snapshot([keys.stock(product, shard) for shard in range(shards)])
    return {shard: image["units"] if image else 0 for shard, image in enumerate(images)}


def _receipt(table: Table, cmd: orders.CancelOrder, stale: Refused | None) -> orders.Receipt:
    """The order, and the wallet that paid it."""
    order = table.state(cmd.key, stale)
    if order is None:
        return orders.Receipt(None, None)
    wallet = keys.wallet(cmd.tenant, order["walletId"])
    return orders.Receipt(order, table.state(wallet, stale, guess=True))


_ADMIN = frozenset({ADMIN})
_CUSTOMER = frozenset({CUSTOMER})
_OWNER = _ADMIN | _CUSTOMER
_ITEM = one(lambda cmd: cmd.key, guess=True)

MONEY_COMMANDS = (
    Route(
        "POST",
        "/wallets",
        _OWNER,
        OpenWallet,
        wallets.OpenWallet,
        wallets.open_wallet,
        creates=True,
        allows=lambda cmd: ADMIN in cmd.roles or cmd.owner_id in (None, cmd.caller),
    ),
    Route(
        "POST",
        "/wallets/{walletId}/deposits",
        _OWNER,
        MoveMoney,
        wallets.Deposit,
        wallets.deposit,
        reads=_ITEM,
    ),
    Route(
        "POST",
        "/wallets/{walletId}/withdrawals",
        _OWNER,
        MoveMoney,
        wallets.Withdraw,
        wallets.withdraw,
        reads=_ITEM,
    ),
    Route(
        "POST",
        "/wallets/{walletId}/accruals",
        _ADMIN,
        AccrueInterest,
        wallets.AccrueInterest,
        wallets.accrue_interest,
        reads=_ITEM,
    ),
    Route(
        "POST",
        "/products",
        _ADMIN,
        RegisterProduct,
        products.RegisterProduct,
        products.register_product,
        creates=True,
    ),
    Route(
        "POST",
        "/products/{sku}/restocks",
        _ADMIN,
        Restock,
        products.Restock,
        products.restock,
        reads=_ITEM,
    ),
    Route(
        "PUT",
        "/products/{sku}/price",
        _ADMIN,
        ChangePrice,
        products.ChangePrice,
        products.change_price,
    ),
    Route(
        "PUT",
        "/products/{sku}/stock-shards",
        _ADMIN,
        SpreadStock,
        products.SpreadStock,
        products.spread_stock,
        reads=one(lambda cmd: cmd.key),
    ),
    Route(
        "POST",
        "/orders",
        _CUSTOMER,
        PlaceOrder,
        orders.PlaceOrder,
        orders.place_order,
        reads=_market,
        creates=True,
    ),
    Route(
        "POST",
        "/orders/{orderId}/cancellations",
        _OWNER,
        Versioned,
        orders.CancelOrder,
        orders.cancel_order,
        reads=_receipt,
    ),
)
