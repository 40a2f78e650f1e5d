"""Counts derived from audit events, exact however often and in whatever order those arrive.

Invariant: a counter is the sum, over all aggregates, of what each one's marked state counts
for. The mark of an aggregate owns how far it is counted: its version and the state folded up
to it. A new version moves the mark and the counters in one transaction, conditional on the
mark that was read, and by the difference between the two states; so a repeated, late or
resurrected event changes nothing, and a gap is closed from the trail.

A *book* is what is folded from one kind of aggregate; its projections share its marks. A
book's counters and marks have a *generation*, so that they can be built again beside the
live ones. Its *lanes* split the aggregates: a lane item says which generations are written
and up to when events are counted, and each transaction of the lane requires it as read, so
none that knows only the old generations lands after a new one began.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from boto3.dynamodb.conditions import Attr

from holdfast.patterns import keys
from holdfast.patterns.facts import Fact, Uncountable
from holdfast.writes.plan import WRITES_MAX, Key, Plan, Write, accumulate, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

LANES = 4
State = Mapping[str, Any]
Counts = Mapping[str, int]


@dataclass(frozen=True)
class Book:
    """One kind of aggregate: `fold` gives its state after one more event.

    `is_of` tells by an owner's key whether the owner is of this kind.
    """

    name: str
    is_of: Callable[[Key], bool]
    fold: Callable[[State, Fact], State]


@dataclass(frozen=True)
class Projection:
    """A named count: `counts` says under which keys a state counts, and how much."""

    name: str
    book: Book
    counts: Callable[[State], Counts]


@dataclass(frozen=True)
class Mark:
    """How far an aggregate is counted, and the state that is counted: at first, nothing."""

    version: int = 0
    state: State = field(default_factory=dict)


@dataclass(frozen=True)
class Lane:
    """A lane as it was read: which generations to write, and up to when events are counted."""

    tenant: str
    book: Book
    number: int
    live: int = 1
    building: int | None = None
    known: bool = False
    """The generations stand in the item; before the first rebuild they do not."""
    counted_to: str = ""
    top: int = 1
    """The highest number that a generation ever had."""

    @property
    def key(self) -> Key:
        return keys.lane(self.tenant, self.book.name, self.number)

    @property
    def generations(self) -> tuple[int, ...]:
        return (self.live,) if self.building is None else (self.live, self.building)


@dataclass(frozen=True)
class Advance:
    """One aggregate's way, in one generation, from the mark that was read to a later one."""

    owner: Key
    generation: int
    before: Mark
    after: Mark
    at: str


def lane_of(owner: Key) -> int:
    """The lane that an aggregate is counted in, the same on every machine."""
    return keys.shard_of(keys.aggregate(owner), LANES)


def lane_from(tenant: str, book: Book, number: int, image: Mapping[str, Any] | None) -> Lane:
    image = image or {}
    return Lane(
        tenant,
        book,
        number,
        image.get("live", 1),
        image.get("building"),
        "live" in image,
        image.get("countedTo", ""),
        image.get("top", 1),
    )


def mark_from(image: Mapping[str, Any] | None) -> Mark:
    return Mark(image["version"], image["state"]) if image else Mark()


def mark_key(lane: Lane, generation: int, owner: Key) -> Key:
    return keys.mark(lane.tenant, lane.book.name, generation, keys.aggregate(owner))


def advance(
    book: Book, owner: Key, generation: int, before: Mark, facts: Iterable[Fact]
) -> Advance | None:
    """Fold the events that follow `before`, without a gap; None when none is new.

    Raises Uncountable for a gap, or for an event that the book cannot read.
    """
    version, state, at = before.version, before.state, ""
    known = {fact.version: fact for fact in facts}
    for following in sorted(known):
        if following <= version:
            continue
        if following > version + 1:
            raise Uncountable("GAP_IN_TRAIL")
        fact, version = known[following], following
        try:
            state, at = book.fold(state, fact), max(at, fact.at)
        except (KeyError, TypeError, ValueError) as error:
            raise Uncountable("UNREADABLE_DATA") from error
    if version == before.version:
        return None
    return Advance(owner, generation, before, Mark(version, state), at)


def missing_before(before: Mark, facts: Sequence[Fact]) -> range:
    """The versions between a mark and the newest of `facts` that are not among them."""
    known = {fact.version for fact in facts}
    newest = max(known)
    absent = [version for version in range(before.version + 1, newest) if version not in known]
    return range(absent[0], absent[-1] + 1) if absent else range(0)


def plans(
    lane: Lane, advances: Sequence[Advance], projections: Sequence[Projection], nonce: str
) -> list[Plan]:
    """Move marks and counters of one lane, in as few plans as hold them.

    The generations of one owner stay together, so that at no moment one is ahead. `nonce`
    differs between readings: marks, and no token, tell what was counted before.
    """
    if not advances:
        return []
    sums = _deltas(lane, advances, [each for each in projections if each.book is lane.book])
    owners = sorted({one.owner for one in advances})
    if 1 + len(advances) + len(sums) <= WRITES_MAX or len(owners) == 1:
        return [_counted(lane, advances, sums, nonce)]
    first = owners[: len(owners) // 2]
    halves = ([one for one in advances if (one.owner in first) is low] for low in (True, False))
    return [plan for half in halves for plan in plans(lane, half, projections, nonce)]


def _counted(lane: Lane, advances: Sequence[Advance], sums: Mapping[Key, int], nonce: str) -> Plan:
    marks = [_moved(lane, one) for one in advances]
    because = "A counter moves by what the states of its aggregates do."
    counters = [accumulate(key, because, {"count": more}) for key, more in sorted(sums.items())]
    live = [one.at for one in advances if one.generation == lane.live]
    intent = f"count {lane.book.name} of {lane.tenant} in lane {lane.number}, {nonce}"
    return Plan(intent, (_as_read(lane, max(live, default="")), *marks, *counters))


def _as_read(lane: Lane, at: str) -> Write:
    """The lane's generations are those that were read; `countedTo` never runs ahead."""
    same = _is("live", lane.live if lane.known else None) & _is("building", lane.building)
    return update(
        lane.key,
        "Nothing is counted in a generation that is not written any more, nor left out of one.",
        [Rule(Refusal.STALE_READ, same)],
        set={"countedTo": max(lane.counted_to, at)},
        missing=None,
    )


def _moved(lane: Lane, one: Advance) -> Write:
    return update(
        mark_key(lane, one.generation, one.owner),
        "An aggregate is counted once for each version, from the one that was counted before.",
        [Rule(Refusal.STALE_READ, _is("version", one.before.version or None))],
        set={"version": one.after.version, "state": dict(one.after.state)},
        missing=None,
    )


def _deltas(
    lane: Lane, advances: Sequence[Advance], projections: Sequence[Projection]
) -> dict[Key, int]:
    sums: Counter[Key] = Counter()
    for one in advances:
        for projection in projections:
            for sign, state in ((-1, one.before.state), (1, one.after.state)):
                for name, amount in projection.counts(state).items():
                    key = keys.projected(
                        lane.tenant, projection.name, one.generation, name, lane.number
                    )
                    sums[key] += sign * amount
    return {key: more for key, more in sums.items() if more}


def _is(name: str, value: Any) -> Any:
    return Attr(name).not_exists() if value is None else Attr(name).eq(value)


def totals(items: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Counts by key from the items of a projection's partition; what counts nothing is left out."""
    sums: Counter[str] = Counter()
    for item in items:
        if "count" in item:
            sums[item["SK"].rpartition("#")[0]] += item["count"]
    return {name: count for name, count in sorted(sums.items()) if count}
