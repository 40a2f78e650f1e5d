"""Counts facts into projections, a batch at a time, whoever brings them and how often.

The stream brings new events, a redrive old ones, a rebuild all of them. Facts are grouped by
lane, read against their marks in one request, and committed in as few transactions as hold
them. What was counted before, by anyone, is found in the marks and left alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.domain.projections import PROJECTIONS, book_of
from holdfast.patterns import keys, projections
from holdfast.patterns.facts import Fact, Uncountable, fact_of
from holdfast.patterns.projections import Advance, Book, Lane, Mark, Projection, mark_key
from holdfast.writes.outcomes import Contended, Effort, Refused, Unsettled
from holdfast.writes.plan import Key
from holdfast.writes.reads import batch, raw_range
from holdfast.writes.retry import backoff_seconds, commit_deadline
from holdfast.writes.table import Table

AGGREGATES_MAX = 30
"""Of one read: two generations of their marks and the lane stay within one request."""

Facts = Mapping[Key, Sequence[Fact]]
"""Facts by their owner."""


@dataclass(frozen=True)
class Failure:
    """An aggregate whose facts were not counted, and why; the others were."""

    owner: Key
    cause: str
    passing: bool
    """The same facts may be counted at another try."""


@dataclass(frozen=True)
class Look:
    """A lane and, by owner and generation, the marks of its aggregates, as they were read."""

    lane: Lane
    marks: Mapping[tuple[Key, int], Mark]


@dataclass
class Projector:
    """Counts into one table.

    A projector that replays writes only the generation that is being built, never beyond
    what the live one has counted, and notes in `behind` what that has not.
    """

    table: Table
    replays: bool = False
    counted_by: Sequence[Projection] = PROJECTIONS
    behind: dict[Key, int] = field(default_factory=dict)

    def count(self, facts: Iterable[Fact]) -> list[Failure]:
        """Count what is new; tells, aggregate by aggregate, what could not be counted."""
        failures: list[Failure] = []
        for lane, owned in _by_lane(facts):
            try:
                failures += self._settle(lane, owned)
            except Unsettled as error:
                failures += [Failure(owner, type(error).__name__, passing=True) for owner in owned]
        return failures

    def _settle(self, lane: Lane, owned: Facts) -> list[Failure]:
        """Read, plan and commit, again from the read while another projector was faster."""
        until, tries = commit_deadline(self.table.clock(), None), 0
        while True:
            look = self._look(lane, list(owned))
            advances, failures = self._advances(look, owned)
            nonce = str(self.table.random())
            plans = projections.plans(look.lane, advances, self.counted_by, nonce)
            if not any(isinstance(self.table.commit(p, deadline=until), Refused) for p in plans):
                return failures
            tries += 1
            wait = backoff_seconds(tries, self.table.random())
            if self.table.clock() + wait >= until:
                raise Contended(Effort(attempts=tries))
            self.table.sleep(wait)

    def _look(self, lane: Lane, owners: Sequence[Key]) -> Look:
        """The marks of the generations that the lane, read in the same request, says are written.

        Which those are is guessed first, from what this process saw lately.
        """
        guess = self._lane(lane, self.table.recent.get(lane.key))
        while True:
            wanted = {
                mark_key(lane, generation, owner): (owner, generation)
                for owner in owners
                for generation in guess.generations
            }
            found = batch(self.table, [lane.key, *wanted])
            self.table.recent.put(lane.key, found.get(lane.key, {}))
            now = self._lane(lane, found.get(lane.key))
            if now.generations == guess.generations:
                break
            guess = now
        marks = {place: projections.mark_from(found.get(key)) for key, place in wanted.items()}
        return Look(now, marks)

    @staticmethod
    def _lane(lane: Lane, image: Mapping[str, object] | None) -> Lane:
        return projections.lane_from(lane.tenant, lane.book, lane.number, image)

    def _advances(self, look: Look, owned: Facts) -> tuple[list[Advance], list[Failure]]:
        advances: list[Advance] = []
        failures: list[Failure] = []
        for owner, facts in owned.items():
            try:
                advances += list(self._advance(look, owner, facts))
            except Uncountable as error:
                failures.append(Failure(owner, error.cause, passing=False))
        return advances, failures

    def _advance(self, look: Look, owner: Key, facts: Sequence[Fact]) -> Iterator[Advance]:
        lane = look.lane
        written: Sequence[int] = lane.generations
        if self.replays:
            live = look.marks[owner, lane.live].version
            newest = max(fact.version for fact in facts)
            if newest > live:
                self.behind[owner] = newest
            facts = [fact for fact in facts if fact.version <= live]
            written = lane.generations[1:]
        for generation in written if facts else ():
            before = look.marks[owner, generation]
            whole = [*facts, *self._missing(owner, before, facts)]
            one = projections.advance(lane.book, owner, generation, before, whole)
            if one is not None:
                yield one

    def _missing(self, owner: Key, before: Mark, facts: Sequence[Fact]) -> list[Fact]:
        """What lies between the mark and the facts, from the owner's trail."""
        gap = projections.missing_before(before, facts)
        if not gap:
            return []
        first, last = keys.event(owner, gap[0]), keys.event(owner, gap[-1])
        return [fact_of(image) for image in raw_range(self.table, first, last)]


def _by_lane(facts: Iterable[Fact]) -> Iterator[tuple[Lane, Facts]]:
    """Facts of counted aggregates by lane, at most `AGGREGATES_MAX` owners at a time."""
    lanes: dict[tuple[str, Book, int], dict[Key, list[Fact]]] = {}
    for fact in facts:
        owner = fact.owner
        book = book_of(owner)
        if book is not None:
            name = (fact.tenant, book, projections.lane_of(owner))
            lanes.setdefault(name, defaultdict(list))[owner].append(fact)
    for (tenant, book, number), owned in lanes.items():
        owners = list(owned)
        for start in range(0, len(owners), AGGREGATES_MAX):
            some = owners[start : start + AGGREGATES_MAX]
            yield Lane(tenant, book, number), {owner: owned[owner] for owner in some}
