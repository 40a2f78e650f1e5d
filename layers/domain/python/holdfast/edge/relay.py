"""The relay: announces outbox entries, in the order of each aggregate's versions.

It claims up to fifty entries in one transaction, sends them ten at a time, and marks them in
one more. Whatever dies half-way is found again by the sweep when its claim has ended.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import accumulate

from holdfast.edge.claiming import CLAIMS_MAX, Claimer
from holdfast.edge.publishers import BATCH_BYTES_MAX, MESSAGES_MAX, Message, Publisher
from holdfast.edge.telemetry import Telemetry
from holdfast.patterns import envelope, outbox
from holdfast.patterns.outbox import ATTEMPTS_MAX, Claim, Entry
from holdfast.writes.outcomes import Refused, Unsettled
from holdfast.writes.plan import Key, Plan, Write
from holdfast.writes.table import Table

SEND_MILLISECONDS_MAX = 15_000
"""The longest that a send and the marks after it take: two tries of six seconds, one commit."""
CHUNK_MILLISECONDS_MAX = SEND_MILLISECONDS_MAX + 5_000


@dataclass
class Report:
    """What became of entries: published, buried, or to be tried again at once.

    What is in none of the three is another relay's, waits, or was left for want of time: the
    next sweep finds it.
    """

    published: set[Key] = field(default_factory=set)
    buried: set[Key] = field(default_factory=set)
    failed: set[Key] = field(default_factory=set)


class Relay:
    """`publishers` by channel; `now_ms` is the time in epoch milliseconds."""

    def __init__(
        self,
        table: Table,
        publishers: Mapping[str, Publisher],
        telemetry: Telemetry,
        now_ms: Callable[[], int],
    ) -> None:
        self.table = table
        self.publishers = publishers
        self.telemetry = telemetry
        self.now_ms = now_ms
        self.claimer = Claimer(table, now_ms)

    def announce(self, entries: Iterable[Entry], *, until_ms: int) -> Report:
        """Announce what can be announced until `until_ms`; entries come in any order."""
        report = Report()
        unique = {entry.key: entry for entry in entries}.values()
        waiting = sorted(unique, key=lambda entry: (entry.aggregate, entry.version))
        for start in range(0, len(waiting), CLAIMS_MAX):
            if self.now_ms() + CHUNK_MILLISECONDS_MAX > until_ms:
                self.telemetry.relay("left for want of time", entries=len(waiting) - start)
                break
            self._chunk(waiting[start : start + CLAIMS_MAX], until_ms, report)
        self.telemetry.count("outbox.published.count", len(report.published))
        return report

    def _chunk(self, entries: Sequence[Entry], until_ms: int, report: Report) -> None:
        try:
            claims, spent = self.claimer.claim(entries)
            self._bury(spent, report)
        except Unsettled as error:
            self.telemetry.failed(error, entries=len(entries))
            report.failed |= {entry.key for entry in entries}
            return
        try:
            self._settle(claims, *self._send(claims, until_ms), report)
        except Unsettled as error:
            # What was sent and not marked is sent again under the same id when its claim ends.
            self.telemetry.failed(error, entries=len(claims))

    def _send(self, claims: Sequence[Claim], until_ms: int) -> tuple[dict[Key, str], set[Key]]:
        """Message ids of what was accepted, and what was tried in vain.

        A batch holds one entry of an aggregate, so that a partial failure leaves nothing
        behind it sent.
        """
        queues: dict[tuple[str, str], deque[Claim]] = {}
        for claim in claims:
            name = (claim.entry.channel, claim.entry.aggregate)
            queues.setdefault(name, deque()).append(claim)
        sent: dict[Key, str] = {}
        failed: set[Key] = set()
        while queues and self._has_time(claims, until_ms):
            batch = self._batch(queues)
            accepted = self._publish([claim.entry for claim in batch])
            for claim in batch:
                name = (claim.entry.channel, claim.entry.aggregate)
                if claim.entry.event_id in accepted:
                    sent[claim.entry.key] = accepted[claim.entry.event_id]
                    queues[name].popleft()
                else:
                    failed.add(claim.entry.key)
                    queues[name].clear()
                if not queues[name]:
                    del queues[name]
        return sent, failed

    def _has_time(self, claims: Sequence[Claim], until_ms: int) -> bool:
        end = min(until_ms, *(claim.until_ms for claim in claims))
        return self.now_ms() + SEND_MILLISECONDS_MAX <= end

    @staticmethod
    def _batch(queues: Mapping[tuple[str, str], deque[Claim]]) -> list[Claim]:
        """The first of up to ten aggregates of one channel."""
        channel = next(iter(queues))[0]
        heads = [queue[0] for (name, _), queue in queues.items() if name == channel][:MESSAGES_MAX]
        sizes = accumulate(len(_message(head.entry).body.encode()) for head in heads)
        fits = [head for head, size in zip(heads, sizes, strict=True) if size <= BATCH_BYTES_MAX]
        return fits or heads[:1]

    def _publish(self, entries: Sequence[Entry]) -> Mapping[str, str]:
        publisher = self.publishers.get(entries[0].channel)
        if publisher is None:
            self.telemetry.relay("refused", eventId=entries[0].event_id, reason="NoSuchChannel")
            return {}
        return publisher.publish([_message(entry) for entry in entries])

    def _settle(
        self, claims: Sequence[Claim], sent: Mapping[Key, str], failed: set[Key], report: Report
    ) -> None:
        """Mark, give back or bury every claim, but those that have ended meanwhile."""
        if not claims:
            return
        now = self.now_ms()
        dead = {
            claim.entry.key
            for claim in claims
            if claim.entry.key in failed and claim.attempt >= ATTEMPTS_MAX
        }
        again = {
            claim.entry.key
            for claim in claims
            if claim.entry.key in failed - dead and not outbox.retry_milliseconds(claim.attempt)
        }
        self.telemetry.count("outbox.publish_failed.count", len(failed))
        writes = [_end(claim, sent, failed, now) for claim in claims]
        lost = commit_standing(self.table, "settle", writes)
        self.telemetry.count("lease.lost.count", len(lost))
        report.published |= sent.keys() - lost
        report.buried |= dead - lost
        report.failed |= again - lost
        for claim in claims:
            if claim.entry.key in report.published:
                self.claimer.learn(claim.entry)

    def _bury(self, spent: Sequence[Entry], report: Report) -> None:
        if not spent:
            return
        now = self.now_ms()
        writes = [outbox.bury_spent(entry, at=_instant(now), now_ms=now) for entry in spent]
        lost = commit_standing(self.table, "bury", writes)
        report.buried |= {entry.key for entry in spent} - lost


def _end(claim: Claim, sent: Mapping[Key, str], failed: set[Key], now_ms: int) -> Write:
    """How a claim ends: its entry was accepted, is out of attempts, or waits again."""
    key, at = claim.entry.key, _instant(now_ms)
    if key in sent:
        return outbox.mark_published(claim, message_id=sent[key], at=at, now_ms=now_ms)
    if key in failed and claim.attempt >= ATTEMPTS_MAX:
        return outbox.bury(claim, at=at, now_ms=now_ms)
    return outbox.give_back(claim, now_ms=now_ms, tried=key in failed)


def commit_standing(table: Table, intent: str, writes: Sequence[Write]) -> set[Key]:
    """Commit all the writes whose rules hold; the keys of those that had to be left out."""
    left, rest, run = set[Key](), list(writes), uuid.uuid4().hex
    while rest:
        outcome = table.commit(Plan(f"{intent} {run} {len(rest)}", tuple(rest)))
        if not isinstance(outcome, Refused):
            break
        left |= {write.key for write, _ in outcome.failed}
        rest = [write for write in rest if write.key not in left]
    return left


def _message(entry: Entry) -> Message:
    body = envelope.encode(envelope.envelope_of(entry))
    return Message(entry.event_id, entry.aggregate, entry.type, body)


def _instant(now_ms: int) -> str:
    told = datetime.fromtimestamp(now_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return told.replace("+00:00", "Z")
