"""Reads what a check judges, at one moment, from the items that a scan comes across.

A partition is judged on one reading; only when that shows a difference is it read again, and
the difference counts if both readings are the same. Every command that changes a partition
adds an event to it, so two equal readings enclose a moment at which all of it was so. What
lies in two partitions is judged on a snapshot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from holdfast.domain import checks
from holdfast.domain.orders import PLACED
from holdfast.domain.projections import book_of
from holdfast.domain.states import CLOSED
from holdfast.domain.transitions import listing
from holdfast.patterns import keys
from holdfast.patterns.commands import epoch_ms
from holdfast.patterns.facts import Fact, Uncountable, fact_of, owner_of
from holdfast.patterns.outbox import EVENTS, KEPT_DAYS
from holdfast.patterns.reconciliation import Finding
from holdfast.writes.codec import decode_item
from holdfast.writes.plan import Key
from holdfast.writes.reads import batch
from holdfast.writes.table import SNAPSHOT_KEYS_MAX, Table

ROUNDS = 3
"""How often a difference between moving things is looked at before it is left for later."""
Image = Mapping[str, Any]


@dataclass
class Page:
    """What one page of a scan came to."""

    checked: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    sold: Counter[str] = field(default_factory=Counter)
    touched: set[str] = field(default_factory=set)
    """SKUs of orders that were placed or cancelled lately."""


@dataclass(frozen=True)
class Inspector:
    """Checks one tenant's items by the named checks; `now` is ISO 8601 in UTC."""

    table: Table
    tenant: str
    names: frozenset[str]
    now: str
    since: str
    """Orders that moved after this instant may have moved while they were counted."""

    def inspect(self, raw_items: Iterable[Image]) -> Page:
        page = Page()
        for raw in raw_items:
            pk, sk = raw["PK"]["S"], raw["SK"]["S"]
            kind, _, rest = pk.partition("#")
            if kind == "OUTBOX":
                mine = raw["tenant"]["S"] == self.tenant
            else:
                mine = rest.split("#", 1)[0] == self.tenant
            if mine:
                self._inspect(page, kind, sk, raw)
        return page

    def _inspect(self, page: Page, kind: str, sk: str, raw: Image) -> None:
        if sk.startswith("EVENT#") and kind != "OUTBOX":
            self._fact(page, raw)
            return
        check = _INSPECTIONS.get((kind, "" if kind == "OUTBOX" else sk))
        if check is not None:
            check(self, page, decode_item(dict(raw)))

    def _fact(self, page: Page, raw: Image) -> None:
        """Events are counted again, and looked for in the outbox while they must be there."""
        if checks.PROJECTED in self.names and book_of(owner_of(raw)) is not None:
            page.checked[checks.PROJECTED] += 1
            try:
                page.facts.append(fact_of(raw))
            except Uncountable as error:
                key = f"{raw['PK']['S']} {raw['SK']['S']}"
                page.findings.append(Finding(checks.PROJECTED, key, error.cause, None))
        if "outbox" in self.names and self._young(raw["at"]["S"]):
            page.checked["outbox"] += 1
            event = decode_item(dict(raw))
            page.findings += checks.unannounced(event, self.table.get(checks.entry_of(event)))

    def _young(self, at: str) -> bool:
        kept = timedelta(days=KEPT_DAYS - 1)
        return datetime.fromisoformat(self.now) - datetime.fromisoformat(at) < kept

    def _case(self, page: Page, case: Image) -> None:
        self._judge(page, case["PK"], "guards", checks.guards)
        self._partition(page, case)

    def _partition(self, page: Page, owner: Image) -> None:
        self._judge(page, owner["PK"], "audit", checks.trails)
        self._claim(page, owner)

    def _judge(
        self, page: Page, pk: str, name: str, judge: Callable[[Any], Iterator[Finding]]
    ) -> None:
        if name not in self.names:
            return
        page.checked[name] += 1
        before = None
        for _ in range(ROUNDS):
            items = {image["SK"]: image for image in self.table.partition(pk, "")}
            found = list(judge(items))
            if not found or items == before:
                page.findings += found
                return
            before = items

    def _claim(self, page: Page, owner: Image) -> None:
        claim = checks.claims(owner)
        if claim is None or "sentinels" not in self.names:
            return
        page.checked["sentinels"] += 1
        key = checks.sentinel_key(self.tenant, claim[0], owner[claim[1]])
        now, sentinel = self.table.snapshot([checks.key_of(owner), key])
        if now is not None and now.get(claim[1]) == owner[claim[1]]:
            page.findings += checks.unclaimed(now, sentinel)

    def _sentinel(self, page: Page, sentinel: Image) -> None:
        if "sentinels" not in self.names or checks.kind_of(checks.key_of(sentinel)) is None:
            return
        page.checked["sentinels"] += 1
        now, owner = self.table.snapshot([checks.key_of(sentinel), checks.owner_of(sentinel)])
        if now is not None and now["ownerId"] == sentinel["ownerId"]:
            page.findings += checks.orphan(now, owner)

    def _wallet(self, page: Page, balance: Image) -> None:
        if "wallets" not in self.names:
            return
        page.checked["wallets"] += 1
        page.findings += checks.wallet(balance, self.table.partition(balance["PK"], "ENTRY#"))

    def _order(self, page: Page, order: Image) -> None:
        self._judge(page, order["PK"], "audit", checks.trails)
        if "stock" in self.names:
            self._sale(page, order)
        if "orders" not in self.names:
            return
        page.checked["orders"] += 1
        entries = list(
            self.table.partition(keys.wallet(self.tenant, order["walletId"]).pk, "ENTRY#")
        )
        found = list(checks.order(order, entries))
        again = self.table.get(checks.key_of(order)) if found else None
        if again and again["version"] == order["version"]:
            page.findings += found

    def _sale(self, page: Page, order: Image) -> None:
        for line in order["lines"]:
            page.sold[line["sku"]] += line["quantity"] if order["status"] == PLACED else 0
            if max(order["createdAt"], order.get("cancelledAt", "")) >= self.since:
                page.touched.add(line["sku"])

    def _product(self, page: Page, product: Image) -> None:
        self._judge(page, product["PK"], "audit", checks.trails)
        if "stock" in self.names:
            page.checked["stock"] += 1
            page.sold[product["sku"]] += 0

    def _load(self, page: Page, workload: Image) -> None:
        """Which cases an officer has, the index suggests; a snapshot with the load judges."""
        if "loads" not in self.names:
            return
        page.checked["loads"] += 1
        before = None
        for _ in range(ROUNDS):
            officer = workload["PK"].split("#", 2)[2]
            now, cases = self._desk(checks.key_of(workload), officer)
            found = list(checks.load(now, cases))
            if not found or (now, cases) == before:
                page.findings += found
                return
            before = (now, cases)

    def _desk(self, workload: Key, officer: str) -> tuple[Image, list[Image]]:
        listed = [workload, *self._listed(officer)]
        if len(listed) <= SNAPSHOT_KEYS_MAX:
            images: list[Any] = self.table.snapshot(listed)
        else:
            found = batch(self.table, listed)
            images = [found.get(key) for key in listed]
        theirs: list[Image] = [
            image
            for image in images[1:]
            if image and image.get("officerId") == officer and image["status"] != CLOSED
        ]
        return images[0] or {}, theirs

    def _listed(self, officer: str) -> list[Key]:
        listed: list[Key] = []
        start: dict[str, Any] = {}
        while True:
            found, last = self.table.query(
                IndexName="cases-by-officer",
                KeyConditionExpression="byOfficer = :officer",
                FilterExpression="#s <> :closed",
                ExpressionAttributeNames={"#s": "status"},
                ExpressionAttributeValues={
                    ":officer": listing(self.tenant, officer),
                    ":closed": CLOSED,
                },
                **start,
            )
            listed += map(checks.key_of, found)
            if last is None:
                return listed
            start = {"ExclusiveStartKey": last}

    def _entry(self, page: Page, entry: Image) -> None:
        """An outbox entry of a fact tells of an audit event."""
        if "outbox" not in self.names or entry.get("channel", EVENTS) != EVENTS:
            return
        page.checked["outbox"] += 1
        owner = keys.owner_of(entry["aggregate"])
        event = self.table.get(keys.event(owner, entry["version"]))
        if event is None or event["eventId"] != entry["eventId"]:
            name = f"{entry['PK']} {entry['SK']}"
            page.findings.append(Finding("outbox", name, entry["eventId"], None))

    def _record(self, page: Page, record: Image) -> None:
        if "commands" in self.names:
            page.checked["commands"] += 1
            page.findings += checks.stuck(record, epoch_ms(self.now))


_INSPECTIONS: Mapping[tuple[str, str], Callable[[Inspector, Page, Image], None]] = {
    ("CASE", "META"): Inspector._case,
    ("OFFICER", "PROFILE"): Inspector._partition,
    ("OFFICER", "WORKLOAD"): Inspector._load,
    ("UNIQUE", "UNIQUE"): Inspector._sentinel,
    ("WALLET", "BALANCE"): Inspector._wallet,
    ("ORDER", "META"): Inspector._order,
    ("PRODUCT", "META"): Inspector._product,
    ("OUTBOX", ""): Inspector._entry,
    ("IDEMPOTENCY", "COMMAND"): Inspector._record,
}
"""What an item is checked for, by the start of its partition key and its sort key."""
