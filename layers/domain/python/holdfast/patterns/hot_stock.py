"""A sharded conditional counter: a hot product's units lie on several shard items.

Invariant: no shard goes below zero, so never more units leave than were there; and no
request is refused while the product as a whole has enough. A taker first asks the shard
that its own id picks; if that is short, it looks where the units lie (a query), and takes
from a single other shard that suffices or, when none does, gathers from several in its one
transaction. When that look finds too few, all shards are read at one moment
(TransactGetItems), and only a total that was short at that moment is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from boto3.dynamodb.conditions import Attr

from holdfast.patterns import keys
from holdfast.writes.plan import Key, Write, accumulate, create, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

SHARDS_MAX = 64
UNITS_MAX = 10**15

Taken = Mapping[int, int]
"""Units by shard."""


def open_shards(product: Key, units: int, shards: range) -> list[Write]:
    """Shard items that hold `units` between them, as evenly as whole numbers can be."""
    share, rest = divmod(units, len(shards))
    return [
        create(
            keys.stock(product, shard),
            {"units": share + (place < rest)},
            "A product's shard of stock is counted from its opening, once.",
        )
        for place, shard in enumerate(shards)
    ]


def choose(quantity: int, shards: int, preferred: int, seen: Taken | None) -> Taken | None:
    """Which units to take from which shards; None when `seen` is short of `quantity`.

    `seen` are the units of all shards, or None before anyone looked: then the preferred
    shard is asked. Of several shards that suffice, the first from the preferred one on is
    taken; gathering starts at the fullest, so that it touches the fewest.
    """
    if seen is None:
        return {preferred: quantity}
    if sum(seen.values()) < quantity:
        return None
    in_turn = sorted(seen, key=lambda shard: (shard - preferred) % shards)
    for shard in in_turn:
        if seen[shard] >= quantity:
            return {shard: quantity}
    taken: dict[int, int] = {}
    for shard in sorted(in_turn, key=lambda shard: -seen[shard]):
        taken[shard] = min(seen[shard], quantity - sum(taken.values()))
        if sum(taken.values()) == quantity:
            break
    return taken


def take(product: Key, taken: Taken, short: Refusal) -> list[Write]:
    """Remove units from each shard that still has them, else the refusal `short`."""
    return [
        update(
            keys.stock(product, shard),
            "No more units leave a shard than are on it.",
            [Rule(short, Attr("units").gte(units))],
            add={"units": -units},
            missing=Refusal.UNKNOWN_SKU,
        )
        for shard, units in taken.items()
    ]


def give_back(product: Key, taken: Taken) -> list[Write]:
    """Return units to the shards that they came from; additions commute."""
    return [
        accumulate(
            keys.stock(product, shard),
            "What a cancelled order took goes back.",
            {"units": units},
        )
        for shard, units in taken.items()
    ]


def add(product: Key, shard: int, units: int) -> Write:
    """More units for one shard, within what a shard may ever hold."""
    return update(
        keys.stock(product, shard),
        "A shard of stock stays within a number that can be counted.",
        [Rule(Refusal.LIMIT_REACHED, Attr("units").lte(UNITS_MAX - units))],
        add={"units": units},
    )
