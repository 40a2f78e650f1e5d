"""Claims on outbox entries: which of a batch may be announced now, in one transaction.

An entry's predecessor is part of what its claim requires: it is in the same claim, or this
process has just seen it announced, or its own entry is checked in the transaction. Nothing is
decided from an index, and a claim whose owner died is free again when it ends.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from holdfast.patterns import keys, outbox
from holdfast.patterns.outbox import ATTEMPTS_MAX, DEAD, PUBLISHED, Claim, Entry
from holdfast.writes.outcomes import Refused
from holdfast.writes.plan import WRITES_MAX, Key, Plan
from holdfast.writes.table import Table

CLAIMS_MAX = WRITES_MAX // 2
"""One transaction holds as many claims, each with the check of its predecessor."""
LEASE_MILLISECONDS = 45_000
KNOWN_MAX = 4096

Image = Mapping[str, Any]


class Claimer:
    """Claims entries for one relay; `now_ms` is the time in epoch milliseconds."""

    def __init__(self, table: Table, now_ms: Callable[[], int]) -> None:
        self.table = table
        self.now_ms = now_ms
        self._known: OrderedDict[str, int] = OrderedDict()

    def claim(self, entries: Sequence[Entry]) -> tuple[list[Claim], list[Entry]]:
        """Claim all that can be claimed of entries in order, leaving out what is refused.

        Also returns the entries that have no attempt left. Raises Unsettled.
        """
        ready, spent = list(entries), list[Entry]()
        earlier = self._earlier(ready)
        run = uuid.uuid4().hex
        while ready:
            now = self.now_ms()
            claims = [Claim(entry, now + LEASE_MILLISECONDS) for entry in ready]
            behind = {
                earlier[entry.key]: entry
                for before, entry in zip([None, *ready], ready, strict=False)
                if entry.key in earlier and not self._follows(before, entry)
            }
            writes = [
                *(outbox.claim(one, now) for one in claims),
                *map(outbox.require_published, behind),
            ]
            outcome = self.table.commit(Plan(f"claim {run} {len(ready)}", tuple(writes)))
            if not isinstance(outcome, Refused):
                break
            ready = self._without(ready, outcome, behind, spent)
        else:
            claims = []
        return claims, spent

    def _follows(self, before: Entry | None, entry: Entry) -> bool:
        """The version before goes in the same claim, or is known to be announced."""
        together = before is not None and (before.aggregate, before.version) == (
            entry.aggregate,
            entry.version - 1,
        )
        return together or self._known.get(entry.aggregate, 0) >= entry.version - 1

    def _earlier(self, entries: Sequence[Entry]) -> dict[Key, Key]:
        """The outbox keys of predecessors, whose day is told by their audit events."""
        firsts = [
            entry
            for before, entry in zip([None, *entries], entries, strict=False)
            if entry.version > 1 and not self._follows(before, entry)
        ]
        if not firsts:
            return {}
        owners = [keys.owner_of(entry.aggregate) for entry in firsts]
        trail = [
            keys.event(owner, entry.version - 1)
            for owner, entry in zip(owners, firsts, strict=True)
        ]
        return {
            entry.key: keys.outbox(owner, entry.version - 1, event["at"][:10])
            for owner, entry, event in zip(owners, firsts, self.table.snapshot(trail), strict=True)
            if event is not None
        }

    def _without(
        self, ready: list[Entry], refused: Refused, behind: Mapping[Key, Entry], spent: list[Entry]
    ) -> list[Entry]:
        """What is left to claim after a refusal, with fresher images where those were stale."""
        verdicts: dict[Key, Entry | None] = {}
        for write, old in refused.failed:
            if write.key in behind:
                verdicts[behind[write.key].key] = None
            else:
                verdicts.setdefault(write.key, self._judge(write.key, old, ready, spent))
        kept: list[Entry] = []
        stopped = set()
        for entry in ready:
            judged = verdicts.get(entry.key, entry)
            if judged is not None and entry.aggregate not in stopped:
                kept.append(judged)
            elif self._known.get(entry.aggregate, 0) < entry.version:
                stopped.add(entry.aggregate)
        return kept

    def _judge(
        self, key: Key, old: Image | None, ready: Iterable[Entry], spent: list[Entry]
    ) -> Entry | None:
        """The entry to claim instead, or None when there is nothing to claim now."""
        entry = next(one for one in ready if one.key == key)
        if old is None or old["status"] == PUBLISHED:
            self.learn(entry)
            return None
        if old["status"] == DEAD or not outbox.is_due(old, self.now_ms()):
            return None
        fresh = replace(entry, attempts=int(old["attempts"]))
        if fresh.attempts >= ATTEMPTS_MAX:
            spent.append(fresh)
            return None
        return fresh

    def learn(self, entry: Entry) -> None:
        """Remember the highest version known to be announced; a guess that no later can undo."""
        self._known[entry.aggregate] = max(self._known.get(entry.aggregate, 0), entry.version)
        self._known.move_to_end(entry.aggregate)
        if len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)
