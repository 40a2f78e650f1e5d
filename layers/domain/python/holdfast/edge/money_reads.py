"""Reads of money and goods; a wallet and an order are for their owner and administrators."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from holdfast.edge import lists
from holdfast.edge.caller import ADMIN
from holdfast.edge.reading import Paged, Question, Read, absent, resource
from holdfast.edge.views import Maybe, View, shown
from holdfast.patterns import keys
from holdfast.patterns.commands import Response
from holdfast.writes.plan import Key


class Wallet(View, kw_only=True):
    wallet_id: str
    owner_id: str
    currency: str
    balance: int
    version: int
    created_at: str


class LedgerEntry(View, kw_only=True):
    version: int
    amount: int
    balance: int
    cause: str
    order_id: Maybe = UNSET
    note: Maybe = UNSET
    at: str
    command_id: str


class Product(View, kw_only=True):
    sku: str
    name: str
    unit_price: int
    currency: str
    stock: int
    stock_shards: int
    version: int
    created_at: str


class Order(View, kw_only=True):
    order_id: str
    owner_id: str
    wallet_id: str
    currency: str
    lines: list[dict[str, Any]]
    total: int
    status: str
    version: int
    created_at: str
    cancelled_at: Maybe = UNSET


def _owned(question: Question, key: Key) -> dict[str, Any]:
    """The item, if the caller owns it or is an administrator; else there is nothing to see."""
    item = question.table.get(key)
    caller = question.caller
    if item is None or (item["ownerId"] != caller.subject and ADMIN not in caller.roles):
        raise absent()
    return item


def read_wallet(question: Question) -> Response:
    """A wallet's balance and the number of its movements."""
    key = keys.wallet(question.caller.tenant, question.ids["wallet_id"])
    return resource(shown(Wallet, _owned(question, key)))


def list_entries(question: Question) -> Response:
    """A wallet's ledger, oldest first."""
    key = keys.wallet(question.caller.tenant, question.ids["wallet_id"])
    _owned(question, key)
    found, cursor = lists.keyed_page(question, key.pk, "ENTRY#")
    return lists.page(question, (shown(LedgerEntry, image) for image in found), cursor)


def read_product(question: Question) -> Response:
    """A product; its stock is the sum of its shards, each as it was when it was read."""
    key = keys.product(question.caller.tenant, question.ids["sku"])
    product = question.table.get(key)
    if product is None:
        raise absent()
    shards = question.table.partition(key.pk, "STOCK#")
    return resource(shown(Product, product, stock=sum(shard["units"] for shard in shards)))


def read_order(question: Question) -> Response:
    """An order, as it was placed or cancelled."""
    key = keys.order(question.caller.tenant, question.ids["order_id"])
    return resource(shown(Order, _owned(question, key)))


MONEY_READS = (
    Read("/wallets/{walletId}", read_wallet, Wallet),
    Read("/wallets/{walletId}/entries", list_entries, LedgerEntry, Paged),
    Read("/products/{sku}", read_product, Product),
    Read("/orders/{orderId}", read_order, Order),
)
