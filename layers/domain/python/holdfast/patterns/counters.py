"""Sharded counters: additions made in the command's own transaction, spread over many items.

Invariant: the sum over all shards of a dimension is what commands have added to it, whatever
number of shards each of them believed in; additions commute, and a shard that writers no
longer choose still counts. So the number of shards, which the counter's own item owns, is a
guess for writers, and may be raised under load.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from boto3.dynamodb.conditions import Attr

from holdfast.patterns import keys
from holdfast.writes.plan import Key, Write, accumulate, create, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

SHARDS_DEFAULT = 4
SHARDS_MAX = 64


def add(
    tenant: str, name: str, dimension: str, amount: int, *, command_id: str, shards: int
) -> Write:
    """Add to the shard that the command picks, so that a retry anywhere picks the same."""
    shard = keys.shard_of(command_id, shards)
    return accumulate(
        keys.counter_shard(tenant, name, dimension, shard),
        f"Each dimension of {name} is what its commands have added.",
        {"count": amount},
    )


def spread(counter: Key, seen: Mapping[str, Any] | None, shards: int) -> Write:
    """Have writers choose among `shards` shards from now on. `seen` is the item as it was read.

    Refused with STALE_READ when it has moved since.
    """
    because = "A counter's number of shards changes from the one that was read."
    if not seen:
        item = {"shards": shards, "version": 1}
        return create(counter, item, because, or_else=Refusal.STALE_READ)
    unmoved = Rule(Refusal.STALE_READ, Attr("version").eq(seen["version"]))
    return update(counter, because, [unmoved], set={"shards": shards}, add={"version": 1})


def total(shards: Iterable[Mapping[str, Any]]) -> int:
    """The sum of one dimension's shards, as one consistent read found them."""
    return sum(shard["count"] for shard in shards)
