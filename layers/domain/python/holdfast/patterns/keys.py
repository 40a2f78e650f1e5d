"""Every key of the table, and every id derived from a command: the data model on a page.

A key is made here or nowhere. Parts come from validated ids, which hold no `#`; free text
(a reference, an e-mail address) is escaped by `text_part`.
"""

from __future__ import annotations

import base64
import hashlib

from holdfast.writes.plan import Key

SEPARATOR = "#"
OUTBOX_SHARDS = 16
VERSION_DIGITS = 10
TEXT_PART_BYTES_MAX = 512
"""Longer text is keyed by its digest; a partition key holds at most 2,048 bytes."""


def part(text: str) -> str:
    """An id as a part of a key. Raises `ValueError` when it is empty or holds `#`."""
    if not text or SEPARATOR in text:
        raise ValueError("a part of a key is not empty and holds no '#'")
    return text


def text_part(text: str) -> str:
    """Free text as the last part of a key: `#` escaped, long text replaced by its digest."""
    escaped = part(text.replace("%", "%25").replace(SEPARATOR, "%23"))
    if len(escaped.encode()) <= TEXT_PART_BYTES_MAX:
        return escaped
    return f"sha256:{hashlib.sha256(escaped.encode()).hexdigest()}"


def derived_id(command_id: str, purpose: str) -> str:
    """26 characters that follow from the command, so that a retry anywhere makes the same id."""
    digest = hashlib.sha256(f"{command_id}|{purpose}".encode()).digest()
    return base64.b32encode(digest[:16]).decode().rstrip("=").lower()


def shard_of(text: str, shards: int) -> int:
    """A shard from 0 to `shards` - 1 that every machine picks alike."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) % shards


def case(tenant: str, case_id: str) -> Key:
    return Key(f"CASE#{part(tenant)}#{part(case_id)}", "META")


def note(case_key: Key, note_id: str) -> Key:
    return Key(case_key.pk, f"NOTE#{part(note_id)}")


def task(case_key: Key, task_id: str) -> Key:
    return Key(case_key.pk, f"TASK#{part(task_id)}")


def task_guard(case_key: Key) -> Key:
    return Key(case_key.pk, "TASK_GUARD")


def investigator(case_key: Key, user_id: str) -> Key:
    return Key(case_key.pk, f"INVESTIGATOR#{part(user_id)}")


def membership(case_key: Key, user_id: str, membership_id: str) -> Key:
    """The owner of one membership's events; a user who comes back has another."""
    return Key(case_key.pk, f"{investigator(case_key, user_id).sk}#{part(membership_id)}")


def investigator_guard(case_key: Key) -> Key:
    return Key(case_key.pk, "INVESTIGATOR_GUARD")


def enforcement(case_key: Key, enforcement_id: str) -> Key:
    return Key(case_key.pk, f"ENFORCEMENT#{part(enforcement_id)}")


def enforcement_guard(case_key: Key) -> Key:
    return Key(case_key.pk, "ACTIVE_ENFORCEMENT_GUARD")


def mention(case_key: Key, command_id: str) -> Key:
    """A command whose stored answer repeats a case's text, though no event leads to it."""
    return Key(case_key.pk, f"MENTION#{part(command_id)}")


def lease(tenant: str, case_id: str) -> Key:
    return Key(f"WORK#{part(tenant)}#{part(case_id)}", "PROCESSING_LOCK")


def officer_profile(tenant: str, officer_id: str) -> Key:
    return Key(f"OFFICER#{part(tenant)}#{part(officer_id)}", "PROFILE")


def officer_workload(tenant: str, officer_id: str) -> Key:
    return Key(f"OFFICER#{part(tenant)}#{part(officer_id)}", "WORKLOAD")


def wallet(tenant: str, wallet_id: str) -> Key:
    return Key(f"WALLET#{part(tenant)}#{part(wallet_id)}", "BALANCE")


def ledger_entry(wallet_key: Key, version: int) -> Key:
    return Key(wallet_key.pk, f"ENTRY#{version:0{VERSION_DIGITS}d}")


def product(tenant: str, sku: str) -> Key:
    return Key(f"PRODUCT#{part(tenant)}#{part(sku)}", "META")


def stock(product_key: Key, shard: int) -> Key:
    return Key(product_key.pk, f"STOCK#{shard:02d}")


def restocking(product_key: Key, restock_id: str) -> Key:
    """The owner of the event of one delivery of goods."""
    return Key(product_key.pk, f"RESTOCK#{part(restock_id)}")


def order(tenant: str, order_id: str) -> Key:
    return Key(f"ORDER#{part(tenant)}#{part(order_id)}", "META")


def command(tenant: str, command_id: str) -> Key:
    return Key(f"IDEMPOTENCY#{part(tenant)}#{part(command_id)}", "COMMAND")


def import_chunk(tenant: str, command_id: str, file_hash: str, first_row: int) -> Key:
    """Rows of one file from `first_row` on; another file under the same key is kept apart."""
    chunk = f"CHUNK#{part(file_hash)[:16]}#{first_row:06d}"
    return Key(f"IMPORT#{part(tenant)}#{part(command_id)}", chunk)


def import_rows(tenant: str, command_id: str, first_row: int) -> Key:
    return Key(f"IMPORT#{part(tenant)}#{part(command_id)}", f"ROWS#{first_row:06d}")


def sentinel(tenant: str, kind: str, version: int, normalised: str) -> Key:
    return Key(f"UNIQUE#{part(tenant)}#{kind}#v{version}#{text_part(normalised)}", "UNIQUE")


def event(owner: Key, version: int) -> Key:
    """Events sort by owner and version, so a gap in a trail can be seen."""
    return Key(owner.pk, f"EVENT#{owner.sk}#{version:0{VERSION_DIGITS}d}")


def aggregate(owner: Key) -> str:
    """What order is kept for: one owner item, across all tenants.

    Raises `ValueError` for an owner that `owner_of` could not find again.
    """
    name = f"{owner.pk}{SEPARATOR}{owner.sk}"
    if owner_of(name) != owner:
        raise ValueError("the partition key of an owner of events has three parts")
    return name


def owner_of(aggregate: str) -> Key:
    """The owner item that an aggregate's name stands for; its partition key has three parts."""
    parts = aggregate.split(SEPARATOR)
    return Key(SEPARATOR.join(parts[:3]), SEPARATOR.join(parts[3:]))


def side_effect(provider: str, operation_id: str) -> Key:
    return Key(f"SIDE_EFFECT#{part(provider)}#{part(operation_id)}", "RESULT")


def no_entry(event_id: str) -> Key:
    """Where no outbox entry ever is: a command on an entry that was not found is refused there."""
    return Key(f"OUTBOX#none#{part(event_id)}", "NONE")


def outbox(owner: Key, version: int, day: str) -> Key:
    """`day` is `yyyy-mm-dd`; the shard is the aggregate's, so that its entries stay together."""
    name = aggregate(owner)
    shard = shard_of(name, OUTBOX_SHARDS)
    return Key(f"OUTBOX#{day}#{shard:02d}", f"EVENT#{name}#{version:0{VERSION_DIGITS}d}")


def counter(tenant: str, name: str) -> Key:
    """What is known of a sharded counter as a whole: how many shards its writers spread over."""
    return Key(f"COUNTER#{part(tenant)}#{part(name)}", "SHARDS")


def counter_shard(tenant: str, name: str, dimension: str, shard: int) -> Key:
    return Key(f"COUNTER#{part(tenant)}#{part(name)}#{part(dimension)}", f"SHARD#{shard:02d}")


def projection(tenant: str, name: str, generation: int = 1) -> str:
    """The partition of a projection, or of the book of marks that projections share."""
    suffix = f"@{generation}" if generation > 1 else ""
    return f"PROJECTION#{part(tenant)}#{part(name)}{suffix}"


def projected(tenant: str, name: str, generation: int, counted: str, lane: int) -> Key:
    return Key(projection(tenant, name, generation), f"{part(counted)}#{lane:02d}")


def mark(tenant: str, book: str, generation: int, aggregate_name: str) -> Key:
    """How far one aggregate is counted in one generation of a book."""
    return Key(projection(tenant, book, generation), f"MARK#{aggregate_name}")


def lane(tenant: str, book: str, number: int) -> Key:
    """Which generations of a book the projector writes in one lane, and up to when it counted."""
    return Key(projection(tenant, book), f"LANE#{number:02d}")


def stuck(tenant: str, book: str, aggregate_name: str) -> Key:
    """The oldest event of an aggregate that could not be counted."""
    return Key(projection(tenant, book), f"STUCK#{aggregate_name}")


def report(tenant: str, check: str, started_at: str) -> Key:
    return Key(f"RECONCILIATION#{part(tenant)}#{part(check)}", started_at)


def repair(tenant: str, check: str, repair_id: str) -> Key:
    """The owner of the event of one repair, beside the reports of its check."""
    return Key(report(tenant, check, "").pk, f"REPAIR#{part(repair_id)}")
