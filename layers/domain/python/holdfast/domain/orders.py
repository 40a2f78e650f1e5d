"""Orders: money and goods move together or not at all.

One transaction debits the wallet, writes its ledger entry, requires each quoted price, takes
the stock and creates the order; the wallet's version and the stock shards own what can run
out. A cancellation gives both back, once, because the order's state allows it once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from boto3.dynamodb.conditions import Attr

from holdfast.domain import wallets
from holdfast.domain.products import require_quoted
from holdfast.domain.transitions import Image
from holdfast.patterns import guards, hot_stock, keys
from holdfast.patterns.commands import Command, plan
from holdfast.patterns.frozen import command
from holdfast.patterns.hot_stock import Taken
from holdfast.patterns.outbox import Event
from holdfast.writes.plan import WRITES_MAX, Key, Plan, Write, create, require, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule, never

PLACED, CANCELLED = "PLACED", "CANCELLED"
WRITES_BESIDE_LINES = 6
"""Command record, balance, ledger entry, order, audit event, outbox entry."""
PRODUCTS_MAX = (WRITES_MAX - WRITES_BESIDE_LINES) // 2
"""Each product costs a check of its price and a write of its stock."""


class Line(NamedTuple):
    sku: str
    quantity: int
    unit_price: int


@command
class PlaceOrder(Command):
    wallet_id: str
    currency: str
    lines: tuple[Line, ...]

    @property
    def wallet_key(self) -> Key:
        return keys.wallet(self.tenant, self.wallet_id)

    @property
    def products(self) -> tuple[Line, ...]:
        """One line for each SKU, repeated ones summed, in the order of first mention."""
        summed: dict[str, Line] = {}
        for line in self.lines:
            before = summed.get(line.sku, line._replace(quantity=0))
            summed[line.sku] = before._replace(quantity=before.quantity + line.quantity)
        return tuple(summed.values())

    @property
    def total(self) -> int:
        return sum(line.quantity * line.unit_price for line in self.products)


@command
class CancelOrder(Command):
    order_id: str
    expected_version: int

    @property
    def key(self) -> Key:
        return keys.order(self.tenant, self.order_id)


@dataclass(frozen=True)
class Market:
    """What an order is planned on: the wallet, and by SKU the shard count and, once someone
    had to look, the units of every shard: at one moment, if they are too few."""

    wallet: Image | None
    shards: Mapping[str, int]
    seen: Mapping[str, Taken] = field(default_factory=dict)


def place_order(cmd: PlaceOrder, market: Market) -> Plan:
    """An order is paid, taken from stock and written in one transaction, or not at all."""
    order_id = cmd.new_id("order")
    key = keys.order(cmd.tenant, order_id)
    takings = {line.sku: _taken(cmd, line, market) for line in cmd.products}
    order = _order(cmd, order_id)
    shown = ("orderId", "walletId", "currency", "total", "status")
    goods = [write for line in cmd.products for write in _goods(cmd, line, market, takings)]
    if len(goods) > WRITES_MAX - WRITES_BESIDE_LINES:
        goods = [_too_scattered(cmd)]
    return plan(
        cmd,
        *_payment(cmd, market.wallet, order_id),
        *goods,
        create(key, {**order, "taken": _stored(takings)}, "An order id is used once."),
        emits=Event("OrderPlaced", key, 1, {name: order[name] for name in shown}),
        returns=order,
        status=201,
        location=f"/orders/{order_id}",
        remember=(cmd.wallet_key,),
    )


def _order(cmd: PlaceOrder, order_id: str) -> Image:
    lines = [
        {"sku": line.sku, "quantity": line.quantity, "unitPrice": line.unit_price}
        for line in cmd.products
    ]
    return {
        "orderId": order_id,
        "ownerId": cmd.caller,
        "walletId": cmd.wallet_id,
        "currency": cmd.currency,
        "lines": lines,
        "total": cmd.total,
        "status": PLACED,
        "version": 1,
        "createdAt": cmd.at,
    }


def _payment(cmd: PlaceOrder, wallet: Image | None, order_id: str) -> list[Write]:
    if wallet is None:
        return [guards.absent(cmd.wallet_key, "An order is paid from a wallet that exists.")]
    rules = [
        Rule(Refusal.NOT_OWNER, Attr("ownerId").eq(cmd.caller)),
        Rule(Refusal.PRICE_CHANGED, Attr("currency").eq(cmd.currency)),
    ]
    entry = {"cause": "order", "orderId": order_id}
    return wallets.move(cmd, wallet, -cmd.total, entry, rules)


def _taken(cmd: PlaceOrder, line: Line, market: Market) -> tuple[Taken, Refusal]:
    """Which units this line takes, and what it means if they are not there.

    A product of one shard, or one whose shards were all seen to be short at one moment, is
    out of stock; any other shortage only means that one must look again.
    """
    shards = market.shards.get(line.sku, 1)
    preferred = keys.shard_of(f"{cmd.command_id}|{line.sku}", shards)
    seen = market.seen.get(line.sku)
    taken = hot_stock.choose(line.quantity, shards, preferred, seen)
    if taken is None:
        fullest = max(seen, key=seen.__getitem__) if seen else 0
        return {fullest: line.quantity}, Refusal.OUT_OF_STOCK
    return taken, Refusal.OUT_OF_STOCK if shards == 1 else Refusal.STALE_READ


def _goods(
    cmd: PlaceOrder,
    line: Line,
    market: Market,
    takings: Mapping[str, tuple[Taken, Refusal]],
) -> list[Write]:
    product = keys.product(cmd.tenant, line.sku)
    taken, short = takings[line.sku]
    shards = market.shards.get(line.sku, 1)
    return [
        require_quoted(product, line.unit_price, cmd.currency, shards),
        *hot_stock.take(product, taken, short),
    ]


def _too_scattered(cmd: PlaceOrder) -> Write:
    """The goods lie on more shards than one transaction can reach; smaller orders can."""
    [first, *_] = cmd.products
    return require(
        keys.product(cmd.tenant, first.sku),
        f"An order touches at most {WRITES_MAX} items.",
        [never(Refusal.LIMIT_REACHED)],
        missing=Refusal.UNKNOWN_SKU,
    )


def _stored(takings: Mapping[str, tuple[Taken, Refusal]]) -> Image:
    return {
        sku: {str(shard): units for shard, units in taken.items()}
        for sku, (taken, _) in takings.items()
    }


@dataclass(frozen=True)
class Receipt:
    """What a cancellation is planned on: the order, and the wallet that paid it."""

    order: Image | None
    wallet: Image | None


def cancel_order(cmd: CancelOrder, receipt: Receipt) -> Plan:
    """A placed order is cancelled once: the money goes back, and the goods to their shards."""
    order, wallet = receipt.order, receipt.wallet
    version = cmd.expected_version + 1
    told = {"orderId": cmd.order_id, "status": CANCELLED, "version": version}
    if order is None or wallet is None:
        nothing = cmd.key if order is None else keys.wallet(cmd.tenant, order["walletId"])
        there = guards.absent(nothing, "Only an order that was placed and paid is cancelled.")
        return plan(cmd, there, returns=told)
    return plan(
        cmd,
        _cancelled(cmd),
        *_given_back(cmd, order, wallet),
        emits=Event(
            "OrderCancelled", cmd.key, version, {"orderId": cmd.order_id, "status": CANCELLED}
        ),
        returns=told,
        remember=(Key(wallet["PK"], wallet["SK"]),),
    )


def _cancelled(cmd: CancelOrder) -> Write:
    return update(
        cmd.key,
        "An order is cancelled once, by its owner, at the version they saw.",
        [
            *wallets.its_owner(cmd),
            Rule(Refusal.ORDER_NOT_PLACED, Attr("status").eq(PLACED)),
            Rule(Refusal.STALE_VERSION, Attr("version").eq(cmd.expected_version)),
        ],
        set={"status": CANCELLED, "cancelledAt": cmd.at},
        add={"version": 1},
    )


def _given_back(cmd: CancelOrder, order: Image, wallet: Image) -> Sequence[Write]:
    refund = {"cause": "refund", "orderId": cmd.order_id}
    goods = [
        write
        for sku, taken in order["taken"].items()
        for write in hot_stock.give_back(
            keys.product(cmd.tenant, sku), {int(shard): units for shard, units in taken.items()}
        )
    ]
    return [*wallets.move(cmd, wallet, order["total"], refund, []), *goods]
