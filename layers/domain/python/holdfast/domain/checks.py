"""What must agree with what: each check judges images that were read at one moment.

The reading side sees to that moment: two identical readings of a partition, between which
no event was added, or one snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from boto3.dynamodb.conditions import Attr

from holdfast.domain.orders import CANCELLED
from holdfast.domain.transitions import Image
from holdfast.patterns import keys, uniqueness
from holdfast.patterns.outbox import Event, announce
from holdfast.patterns.reconciliation import Finding, name_of, reset
from holdfast.patterns.uniqueness import CASE_REFERENCE, EMAIL, Kind
from holdfast.writes.plan import Key, delete, require
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

PROJECTED = "projections"
CHECKS = (
    PROJECTED,
    "wallets",
    "orders",
    "stock",
    "guards",
    "loads",
    "sentinels",
    "audit",
    "outbox",
    "commands",
)
STUCK_MILLISECONDS = 3_600_000
"""A running command that made no progress for an hour is reported."""
REFUND = "refund"

Partition = Mapping[str, Image]
"""The items of one partition by their sort keys."""


def key_of(image: Image) -> Key:
    return Key(image["PK"], image["SK"])


def guards(items: Partition) -> Iterator[Finding]:
    """The guards of a case count its members, and the case its notes."""
    case = items["META"]
    members = [image for sk, image in items.items() if sk.startswith("INVESTIGATOR#")]
    tasks = [image for sk, image in items.items() if sk.startswith("TASK#")]
    notes = [image for sk, image in items.items() if sk.startswith("NOTE#")]
    opened = sum(task["status"] == "OPEN" for task in tasks)
    yield from _count(items, keys.investigator_guard(key_of(case)), "activeCount", len(members))
    yield from _count(items, keys.task_guard(key_of(case)), "openCount", opened)
    yield from _count(items, key_of(case), "noteCount", len(notes))
    yield from _enforcement(items)


def _count(items: Partition, guard: Key, name: str, counted: int) -> Iterator[Finding]:
    old = items.get(guard.sk, {}).get(name)
    if (old or 0) != counted:
        repair = (reset(guard, name, old, counted),)
        yield Finding("guards", name_of(guard), old, counted, repair)


def _enforcement(items: Partition) -> Iterator[Finding]:
    active = [
        image["enforcementId"]
        for sk, image in items.items()
        if sk.startswith("ENFORCEMENT#") and image["status"] == "ACTIVE"
    ]
    key = keys.enforcement_guard(key_of(items["META"]))
    held = items.get(key.sk, {}).get("enforcementId")
    right = active[0] if active else None
    if held in active or held == right:
        return
    if right is None:
        this = Rule(Refusal.STALE_READ, Attr("enforcementId").eq(held))
        repair = delete(key, "A place that no active enforcement holds is free.", [this])
    else:
        repair = reset(key, "enforcementId", held, right)
    yield Finding("guards", name_of(key), held, right, (repair,))


def trails(items: Partition) -> Iterator[Finding]:
    """Each owner's history has every version up to the owner's own, and no other."""
    owners = {sk: image["version"] for sk, image in items.items() if _has_trail(image)}
    seen: dict[str, list[int]] = {owner: [] for owner in owners}
    for image in items.values():
        if image["SK"].startswith("EVENT#"):
            seen.setdefault(image["owner"], []).append(image["version"])
    pk = next(iter(items.values()))["PK"]
    for owner, versions in seen.items():
        newest = owners.get(owner, max(versions, default=0))
        missing = sorted(set(range(1, newest + 1)) - set(versions))
        if missing:
            place = keys.event(Key(pk, owner), missing[0])
            yield Finding("audit", name_of(place), None, f"versions {missing[:20]}")
        if max(versions, default=0) > newest:
            yield Finding("audit", name_of(Key(pk, owner)), newest, max(versions))


def _has_trail(image: Image) -> bool:
    """The item's version is that of its newest event; a wallet's counts its movements."""
    event = image["SK"].startswith("EVENT#")
    return "version" in image and not event and not image["PK"].startswith("WALLET#")


def entry_of(event: Image) -> Key:
    """Where the outbox entry of an audit event is."""
    owner = Key(event["PK"], event["owner"])
    return keys.outbox(owner, event["version"], event["at"][:10])


def unannounced(event: Image, entry: Image | None) -> Iterator[Finding]:
    """An event that is young enough to have its outbox entry still has it."""
    if entry is None:
        fact = Event(
            event["type"], Key(event["PK"], event["owner"]), event["version"], event["data"]
        )
        about = {"tenant": event["tenant"], "actor": event["actor"], "at": event["at"]}
        _, again = announce(fact, command_id=event["commandId"], **about)
        yield Finding("outbox", name_of(again.key), None, event["eventId"], (again,))
    elif entry["eventId"] != event["eventId"]:
        yield Finding("outbox", name_of(key_of(entry)), entry["eventId"], event["eventId"])


def wallet(balance: Image, entries: Iterable[Image]) -> Iterator[Finding]:
    """A balance is the sum of its ledger up to its version, and no entry is missing."""
    ledger = {entry["version"]: entry["amount"] for entry in entries}
    standing = range(1, balance["version"] + 1)
    missing = [version for version in standing if version not in ledger]
    if missing:
        place = keys.ledger_entry(key_of(balance), missing[0])
        yield Finding("wallets", name_of(place), None, f"versions {missing[:20]}")
    total = sum(ledger.get(version, 0) for version in standing)
    if total != balance["balance"]:
        yield Finding("wallets", name_of(key_of(balance)), balance["balance"], total)


def order(placed: Image, entries: Sequence[Image]) -> Iterator[Finding]:
    """An order was paid for once, given back once if it is cancelled, and took what it sold."""
    mine = [entry for entry in entries if entry.get("orderId") == placed["orderId"]]
    paid = -sum(entry["amount"] for entry in mine if entry["cause"] != REFUND)
    back = sum(entry["amount"] for entry in mine if entry["cause"] == REFUND)
    owed = placed["total"] if placed["status"] == CANCELLED else 0
    for what, old, new in (("paid", paid, placed["total"]), ("refunded", back, owed)):
        if old != new:
            yield Finding("orders", f"{name_of(key_of(placed))} {what}", old, new)
    for line in placed["lines"]:
        taken = sum(placed["taken"].get(line["sku"], {}).values())
        if taken != line["quantity"]:
            name = f"{name_of(key_of(placed))} {line['sku']}"
            yield Finding("orders", name, taken, line["quantity"])


def kind_of(sentinel: Key) -> Kind | None:
    name = sentinel.pk.split("#", 4)[2]
    return next((kind for kind in (CASE_REFERENCE, EMAIL) if kind.name == name), None)


def owner_of(sentinel: Image) -> Key:
    """The item whose value a sentinel keeps unique."""
    tenant, kind = sentinel["PK"].split("#", 3)[1:3]
    if kind == EMAIL.name:
        return keys.officer_profile(tenant, sentinel["ownerId"])
    return keys.case(tenant, sentinel["ownerId"])


def claims(owner: Image) -> tuple[Kind, str, str] | None:
    """The unique value of a case or an officer: its kind, its attribute, and who owns it."""
    if "externalRef" in owner and owner["PK"].startswith("CASE#"):
        return CASE_REFERENCE, "externalRef", owner["caseId"]
    if "email" in owner and owner["PK"].startswith("OFFICER#"):
        return EMAIL, "email", owner["officerId"]
    return None


def sentinel_key(tenant: str, kind: Kind, value: str) -> Key:
    return keys.sentinel(tenant, kind.name, kind.version, kind.normalise(value))


def orphan(sentinel: Image, owner: Image | None) -> Iterator[Finding]:
    """A sentinel's owner exists and holds its value; a redacted case holds what it had."""
    if owner is not None and owner.get("redacted"):
        return
    key, claim = key_of(sentinel), claims(owner or {"PK": ""})
    tenant = sentinel["PK"].split("#", 2)[1]
    if owner and claim and sentinel_key(tenant, claim[0], owner[claim[1]]) == key:
        return
    mine = Rule(Refusal.STALE_READ, Attr("ownerId").eq(sentinel["ownerId"]))
    gone = delete(key, "A value that nobody holds is free.", [mine])
    name = "email" if kind_of(key) is EMAIL else "externalRef"
    same = Attr(name).not_exists() if claim is None else Attr(name).eq((owner or {})[name])
    because = "Its owner still does not hold it."
    still = require(owner_of(sentinel), because, [Rule(Refusal.STALE_READ, same)], missing=None)
    yield Finding("sentinels", name_of(key), sentinel["ownerId"], None, (gone, still))


def unclaimed(owner: Image, sentinel: Image | None) -> Iterator[Finding]:
    """Whoever holds a unique value holds its sentinel."""
    claim, tenant = claims(owner), owner["PK"].split("#", 2)[1]
    if claim is None:
        return
    kind, name, owner_id = claim
    key = sentinel_key(tenant, kind, owner[name])
    if sentinel is None:
        again = uniqueness.claim(kind, tenant, owner[name], owner_id)
        holds = Rule(Refusal.STALE_READ, Attr(name).eq(owner[name]))
        still = require(key_of(owner), "Its owner holds the value still.", [holds])
        yield Finding("sentinels", name_of(key), None, owner_id, (again, still))
    elif sentinel["ownerId"] != owner_id:
        yield Finding("sentinels", name_of(key), sentinel["ownerId"], owner_id)


def load(workload: Image, cases: Sequence[Image]) -> Iterator[Finding]:
    """An officer's load is the number of their cases that are not closed."""
    counted = len(cases)
    if workload["activeLoad"] != counted:
        key = key_of(workload)
        same = [
            require(
                key_of(case),
                "The cases that were counted are as they were.",
                [Rule(Refusal.STALE_READ, Attr("version").eq(case["version"]))],
            )
            for case in cases[:50]
        ]
        repair = (reset(key, "activeLoad", workload["activeLoad"], counted), *same)
        yield Finding("loads", name_of(key), workload["activeLoad"], counted, repair)


def stuck(record: Mapping[str, Any], now_ms: int) -> Iterator[Finding]:
    """A running command makes progress."""
    idle = now_ms - record.get("progressAt", now_ms)
    if record["status"] == "IN_PROGRESS" and idle > STUCK_MILLISECONDS:
        yield Finding("commands", name_of(key_of(record)), record["status"], None)


def stock(items: Partition, sold: int) -> Iterator[Finding]:
    """A product's shards hold what was registered and restocked, less what orders keep."""
    product = items["META"]
    shards = [image for sk, image in items.items() if sk.startswith("STOCK#")]
    came = sum(
        image["data"].get("quantity", image["data"].get("stock", 0))
        for sk, image in items.items()
        if sk.startswith("EVENT#") and image["type"] in ("ProductRegistered", "ProductRestocked")
    )
    units = sum(shard["units"] for shard in shards)
    if units != came - sold:
        fullest = max(shards, key=lambda shard: shard["units"])
        right = fullest["units"] + came - sold - units
        repair = (reset(key_of(fullest), "units", fullest["units"], right),) if right >= 0 else ()
        yield Finding("stock", name_of(key_of(product)), units, came - sold, repair)
