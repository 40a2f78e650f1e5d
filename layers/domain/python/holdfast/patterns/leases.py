"""Timed ownership: the lock item owns it, and its version is the fencing number.

Whoever holds the lease names its fencing number in each write, and the write requires that
number in its own transaction; a paused owner whose lease was taken over is refused by the
table, not by its clock. Numbers rise for ever, also after a release. There is no heartbeat:
a frozen Lambda runs no threads, so a lease simply ends.

Times are epoch milliseconds. An expired lease is taken only `SKEW_MILLISECONDS` after its
end, so clocks may differ by that much before two callers believe that they hold it; and
even then only one of them can write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boto3.dynamodb.conditions import Attr

from holdfast.writes.plan import Key, Write, require, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

SKEW_MILLISECONDS = 1_000


def acquire(
    lock: Key,
    held: Mapping[str, Any] | None,
    *,
    lease_id: str,
    owner: str,
    now_ms: int,
    seconds: int,
) -> Write:
    """Take a lease that is free or has ended. `held` is the lock as it was read, or None.

    Refused with LEASE_HELD while it runs, with STALE_READ when the lock has moved since.
    """
    unmoved = Attr("version").not_exists() if held is None else Attr("version").eq(held["version"])
    ended = Attr("leaseUntil").not_exists() | Attr("leaseUntil").lt(now_ms - SKEW_MILLISECONDS)
    return update(
        lock,
        "A lease has one owner at a time, and each owner a higher fencing number.",
        [Rule(Refusal.STALE_READ, unmoved), Rule(Refusal.LEASE_HELD, ended)],
        set={"leaseId": lease_id, "owner": owner, "leaseUntil": now_ms + seconds * 1000},
        add={"version": 1},
        missing=None,
    )


def next_number(held: Mapping[str, Any] | None) -> int:
    """The fencing number that `acquire` gives over the lock as it was read."""
    return (held["version"] if held else 0) + 1


def renew(lock: Key, *, lease_id: str, owner: str, number: int, now_ms: int, seconds: int) -> Write:
    """Prolong a lease that is still the owner's, ended or not, while nobody took it over."""
    return update(
        lock,
        "Only its owner prolongs a lease, by its own fencing number.",
        _owned(lease_id, owner, number),
        set={"leaseUntil": now_ms + seconds * 1000},
        missing=Refusal.LEASE_LOST,
    )


def release(lock: Key, *, lease_id: str, owner: str, number: int) -> Write:
    """End a lease at once. The lock stays, since it remembers the fencing number."""
    return update(
        lock,
        "Only its owner releases a lease, by its own fencing number.",
        _owned(lease_id, owner, number),
        remove=("leaseId", "owner", "leaseUntil"),
        missing=Refusal.LEASE_LOST,
    )


def guarded_by(lock: Key, *, owner: str, number: int, now_ms: int) -> Write:
    """The plan stands only while `owner` holds the lease under this fencing number."""
    mine = Attr("version").eq(number) & Attr("owner").eq(owner) & Attr("leaseUntil").gt(now_ms)
    return require(
        lock,
        "A write made under a lease requires that lease to be its owner's still.",
        [Rule(Refusal.LEASE_LOST, mine)],
        missing=Refusal.LEASE_LOST,
    )


def _owned(lease_id: str, owner: str, number: int) -> list[Rule]:
    """A lease that went to someone else is lost; one that is someone else's is held."""
    same = Attr("leaseId").eq(lease_id) & Attr("version").eq(number)
    return [Rule(Refusal.LEASE_LOST, same), Rule(Refusal.LEASE_HELD, Attr("owner").eq(owner))]
