"""Limits on members: a guard item owns the count, in the same transaction as the member.

The guard counts what its members are; the member proves that nobody is counted twice.
"""

from __future__ import annotations

from boto3.dynamodb.conditions import Attr

from holdfast.writes.plan import Key, Write, require, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule


def enter(guard: Key, counted: str, limit: int, because: str) -> Write:
    """One more member, while fewer than `limit` are counted; the guard is made when absent."""
    room = Attr(counted).not_exists() | Attr(counted).lt(limit)
    rule = Rule(Refusal.LIMIT_REACHED, room)
    return update(guard, because, [rule], add={counted: 1}, missing=None)


def leave(guard: Key, counted: str, because: str) -> Write:
    """One member less. A guard that counts none while a member leaves has drifted: STALE_READ,
    which a command answers as temporarily unavailable until reconciliation repairs the guard.
    """
    some = Rule(Refusal.STALE_READ, Attr(counted).gte(1))
    return update(guard, because, [some], add={counted: -1}, missing=Refusal.STALE_READ)


def absent(key: Key, because: str) -> Write:
    """The plan of a command whose item was read as absent; it never lands.

    NOT_FOUND while the item is absent, STALE_READ once it is there, so that a command which
    was planned on nothing is planned anew and is never answered as if it had been done.
    """
    return require(key, because, [Rule(Refusal.STALE_READ, Attr("PK").not_exists())])


def require_none(guard: Key, counted: str, because: str) -> Write:
    """The plan stands only while nobody is counted; an absent guard counts nobody."""
    none = Attr(counted).not_exists() | Attr(counted).eq(0)
    return require(guard, because, [Rule(Refusal.OPEN_WORK, none)], missing=None)
