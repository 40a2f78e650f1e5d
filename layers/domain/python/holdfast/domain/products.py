"""Products: META owns price and currency, STOCK shards own the units (`hot_stock`)."""

from __future__ import annotations

from boto3.dynamodb.conditions import Attr

from holdfast.domain.transitions import Image
from holdfast.patterns import hot_stock, keys
from holdfast.patterns.commands import Command, plan
from holdfast.patterns.frozen import command
from holdfast.patterns.outbox import Event
from holdfast.writes.plan import Key, Plan, Write, create, require, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule


@command
class RegisterProduct(Command):
    sku: str
    name: str
    unit_price: int
    currency: str
    stock: int
    stock_shards: int = 1


@command
class ProductCommand(Command):
    sku: str

    @property
    def key(self) -> Key:
        return keys.product(self.tenant, self.sku)


@command
class Restock(ProductCommand):
    quantity: int


@command
class ChangePrice(ProductCommand):
    unit_price: int
    expected_version: int


@command
class SpreadStock(ProductCommand):
    """Raise the number of a live product's stock shards."""

    stock_shards: int
    expected_version: int


def register_product(cmd: RegisterProduct) -> Plan:
    """A product is registered once, its stock spread over its shards."""
    key = keys.product(cmd.tenant, cmd.sku)
    product = {
        "sku": cmd.sku,
        "name": cmd.name,
        "unitPrice": cmd.unit_price,
        "currency": cmd.currency,
        "stockShards": cmd.stock_shards,
        "version": 1,
        "createdAt": cmd.at,
    }
    return plan(
        cmd,
        create(key, product, "A SKU is used once in a tenant."),
        *hot_stock.open_shards(key, cmd.stock, range(cmd.stock_shards)),
        emits=Event(
            "ProductRegistered",
            key,
            1,
            {
                "sku": cmd.sku,
                "unitPrice": cmd.unit_price,
                "currency": cmd.currency,
                "stock": cmd.stock,
            },
        ),
        returns={**product, "stock": cmd.stock},
        status=201,
        location=f"/products/{cmd.sku}",
        remember=(key,),
    )


def restock(cmd: Restock, product: Image | None) -> Plan:
    """Units come in, on the shard that the command picks."""
    shards = product["stockShards"] if product else 1
    shard = keys.shard_of(cmd.command_id, shards)
    told = {"sku": cmd.sku, "quantity": cmd.quantity}
    return plan(
        cmd,
        require(cmd.key, "Only a registered product is restocked."),
        hot_stock.add(cmd.key, shard, cmd.quantity),
        emits=Event("ProductRestocked", keys.restocking(cmd.key, cmd.new_id("restock")), 1, told),
        returns=told,
    )


def change_price(cmd: ChangePrice) -> Plan:
    """A new price holds for every order that is committed after it."""
    return _changed(cmd, [], {"unitPrice": cmd.unit_price}, "ProductPriceChanged")


def spread_stock(cmd: SpreadStock, product: Image | None) -> Plan:
    """A live product gets more shards, empty at first; it never gets fewer."""
    before = product["stockShards"] if product else cmd.stock_shards
    more = range(before, cmd.stock_shards)
    rules = [
        Rule(Refusal.STALE_READ, Attr("stockShards").eq(before)),
        Rule(Refusal.LIMIT_REACHED, Attr("stockShards").lt(cmd.stock_shards)),
    ]
    shards = hot_stock.open_shards(cmd.key, 0, more) if more else []
    return _changed(cmd, rules, {"stockShards": cmd.stock_shards}, "ProductStockSpread", *shards)


def _changed(
    cmd: ChangePrice | SpreadStock, rules: list[Rule], change: Image, event: str, *others: Write
) -> Plan:
    version = cmd.expected_version + 1
    seen = Rule(Refusal.STALE_VERSION, Attr("version").eq(cmd.expected_version))
    return plan(
        cmd,
        update(
            cmd.key,
            "A product is changed at the version the administrator saw.",
            [*rules, seen],
            set=change,
            add={"version": 1},
        ),
        *others,
        emits=Event(event, cmd.key, version, {"sku": cmd.sku, **change}),
        returns={"sku": cmd.sku, **change, "version": version},
        remember=(cmd.key,),
    )


def require_quoted(key: Key, unit_price: int, currency: str, shards: int | None) -> Write:
    """The buyer's price is the product's at the commit; `shards`, if given, is how many it has."""
    rules = [
        Rule(
            Refusal.PRICE_CHANGED,
            Attr("unitPrice").eq(unit_price) & Attr("currency").eq(currency),
        )
    ]
    if shards is not None:
        rules.append(Rule(Refusal.STALE_READ, Attr("stockShards").eq(shards)))
    because = "Nobody pays another price than the one they were quoted."
    return require(key, because, rules, missing=Refusal.UNKNOWN_SKU)
