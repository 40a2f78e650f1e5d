"""What happened is written down with the change itself: audit event and outbox entry.

Invariant: an event exists if and only if its change was committed. The audit event
(`EVENT#<owner>#<version>`) owns the place of a fact in its owner's history; creating it
proves that no other change took that version. The outbox entry carries the fact to the
relay.

The entry also owns who is announcing it: a claim is a lease (`claimedUntil`, epoch
milliseconds) whose end is its name, since each claim of an entry ends later than the one
before. Only the claim that still runs may mark, give back or bury.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from boto3.dynamodb.conditions import Attr, ConditionBase

from holdfast.patterns import keys
from holdfast.patterns.leases import SKEW_MILLISECONDS
from holdfast.writes.plan import Key, Write, create, require, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

NEW, PUBLISHING, PUBLISHED, DEAD = "NEW", "PUBLISHING", "PUBLISHED", "DEAD"
ATTEMPTS_MAX = 10
"""An entry that was sent this often without success is DEAD until it is redriven."""
KEPT_DAYS = 7
"""A published entry expires after this long; its audit event stays."""
FREE_RETRIES = 2
RETRY_MILLISECONDS_MAX = 15 * 60 * 1000

EVENTS, WORKFLOWS, RECONCILIATIONS = "events", "workflows", "reconciliations"
"""The channels: facts, and entries that advance many-step commands."""


@dataclass(frozen=True)
class Event:
    """A fact in the past tense about one owner item, at the version the change gave it."""

    type: str
    owner: Key
    version: int
    data: Mapping[str, Any] = field(default_factory=dict)


def announce(event: Event, *, command_id: str, tenant: str, actor: str, at: str) -> list[Write]:
    """The audit event and the outbox entry of one fact.

    `at` is ISO 8601 in UTC. The event id follows from the command, the owner and the
    version, so a retry announces the same fact under the same id.
    """
    fact = {
        "eventId": _event_id(command_id, event),
        "type": event.type,
        "at": at,
        "actor": actor,
        "tenant": tenant,
        "version": event.version,
        "data": dict(event.data),
    }
    trail = create(
        keys.event(event.owner, event.version),
        {**fact, "owner": event.owner.sk, "commandId": command_id},
        "An owner's history has one event for each version, and no gap.",
    )
    return [trail, _entry(event, fact)]


def advance(
    event: Event, *, command_id: str, tenant: str, actor: str, at: str, channel: str = WORKFLOWS
) -> Write:
    """An outbox entry that is no fact for others: it starts or resumes a many-step command."""
    fact = {
        "eventId": _event_id(command_id, event),
        "type": event.type,
        "at": at,
        "actor": actor,
        "tenant": tenant,
        "version": event.version,
        "data": dict(event.data),
        "channel": channel,
    }
    return _entry(event, fact)


def _entry(event: Event, fact: Mapping[str, Any]) -> Write:
    key = keys.outbox(event.owner, event.version, fact["at"][:10])
    state = {"aggregate": keys.aggregate(event.owner), "status": "NEW", "attempts": 0}
    return create(
        key,
        {**fact, **state, **pending(key, fact["at"])},
        "Every committed fact waits in the outbox until it is announced.",
    )


def _event_id(command_id: str, event: Event) -> str:
    return keys.derived_id(command_id, f"event|{keys.aggregate(event.owner)}|{event.version}")


def pending(entry: Key, at: str) -> dict[str, str]:
    """The sparse index attributes of an entry that waits to be announced."""
    return {"outboxState": f"PENDING#{_shard(entry)}", "outboxSort": f"{at}#{entry.sk}"}


@dataclass(frozen=True)
class Entry:
    """An outbox entry as it was read; `attempts` are the claims that it had then."""

    key: Key
    event_id: str
    aggregate: str
    version: int
    type: str
    at: str
    actor: str
    tenant: str
    data: Mapping[str, Any]
    attempts: int = 0
    channel: str = EVENTS


def entry_of(image: Mapping[str, Any]) -> Entry:
    """Read an entry. Raises `ValueError` for an image that is none."""
    try:
        return Entry(
            key=Key(image["PK"], image["SK"]),
            event_id=image["eventId"],
            aggregate=image["aggregate"],
            version=int(image["version"]),
            type=image["type"],
            at=image["at"],
            actor=image["actor"],
            tenant=image["tenant"],
            data=dict(image["data"]),
            attempts=int(image["attempts"]),
            channel=image.get("channel", EVENTS),
        )
    except (KeyError, TypeError) as error:
        raise ValueError("an outbox entry lacks what a message is made of") from error


@dataclass(frozen=True)
class Claim:
    """An entry that is being announced until `until_ms`, which also names the claim."""

    entry: Entry
    until_ms: int

    @property
    def attempt(self) -> int:
        return self.entry.attempts + 1


def is_due(image: Mapping[str, Any], now_ms: int) -> bool:
    """Nobody is announcing the entry, and it does not wait for a later try."""
    return int(image.get("claimedUntil", 0)) < now_ms - SKEW_MILLISECONDS


def claim(claim: Claim, now_ms: int) -> Write:
    """NEW, or PUBLISHING by a claim that has ended -> PUBLISHING, and one attempt more.

    Refused with STALE_READ when the entry had other claims since it was read.
    """
    return update(
        claim.entry.key,
        "One relay at a time announces an entry, and each try is counted before it is made.",
        [
            Rule(Refusal.LEASE_HELD, _due(now_ms)),
            Rule(Refusal.STALE_READ, Attr("attempts").eq(claim.entry.attempts)),
            Rule(Refusal.LIMIT_REACHED, Attr("attempts").lt(ATTEMPTS_MAX)),
        ],
        set={"status": PUBLISHING, "claimedUntil": claim.until_ms},
        add={"attempts": 1},
    )


def require_published(earlier: Key) -> Write:
    """The plan stands only if the entry of the version before was announced, or has expired."""
    announced = Attr("PK").not_exists() | Attr("status").eq(PUBLISHED)
    return require(
        earlier,
        "An entry waits for the version of its aggregate that came before.",
        [Rule(Refusal.EARLIER_UNPUBLISHED, announced)],
        missing=None,
    )


def mark_published(claim: Claim, *, message_id: str, at: str, now_ms: int) -> Write:
    """PUBLISHING -> PUBLISHED, by the claim that sent it, while it runs.

    The entry leaves the pending index and expires `KEPT_DAYS` after `at` (ISO 8601 in UTC).
    """
    expires = int(datetime.fromisoformat(at).timestamp()) + KEPT_DAYS * 24 * 3600
    return update(
        claim.entry.key,
        "Only a claim that still runs says that its entry was sent.",
        [_mine(claim, now_ms)],
        set={
            "status": PUBLISHED,
            "messageId": message_id,
            "publishedAt": at,
            "expiresAt": expires,
        },
        remove=("claimedUntil", "outboxState", "outboxSort"),
    )


def give_back(claim: Claim, *, now_ms: int, tried: bool) -> Write:
    """PUBLISHING -> NEW: after a failed try for a later one, or untried and uncounted."""
    wait_ms = retry_milliseconds(claim.attempt) if tried else 0
    return update(
        claim.entry.key,
        "Only a claim that still runs gives its entry back.",
        [_mine(claim, now_ms)],
        set={"status": NEW, **({"claimedUntil": now_ms + wait_ms} if wait_ms else {})},
        add={} if tried else {"attempts": -1},
        remove=() if wait_ms else ("claimedUntil",),
    )


def retry_milliseconds(attempt: int) -> int:
    """How long an entry rests after its `attempt`-th try: not at all at first, then doubling.

    >>> [retry_milliseconds(n) // 1000 for n in (1, 2, 3, 4, 9)]
    [0, 0, 30, 60, 900]
    """
    if attempt <= FREE_RETRIES:
        return 0
    return min(30_000 << (attempt - FREE_RETRIES - 1), RETRY_MILLISECONDS_MAX)


def bury(claim: Claim, *, at: str, now_ms: int) -> Write:
    """PUBLISHING -> DEAD, after the last try failed."""
    return _buried(claim.entry, at, [_mine(claim, now_ms)])


def bury_spent(entry: Entry, *, at: str, now_ms: int) -> Write:
    """PUBLISHING -> DEAD for an entry whose last try ended unheard."""
    spent = Attr("attempts").gte(ATTEMPTS_MAX)
    due = Rule(Refusal.LEASE_HELD, _due(now_ms))
    return _buried(entry, at, [due, Rule(Refusal.STALE_READ, spent)])


def redrive(entry: Key, *, tenant: str, event_id: str) -> Write:
    """DEAD -> NEW with all its attempts again; the sweep finds it within a minute."""
    theirs = Attr("tenant").eq(tenant) & Attr("eventId").eq(event_id)
    return update(
        entry,
        "A dead entry is announced after all when its tenant's administrator says so.",
        [
            Rule(Refusal.NOT_FOUND, theirs),
            Rule(Refusal.ENTRY_NOT_DEAD, Attr("status").eq(DEAD)),
        ],
        set={"status": NEW, "attempts": 0, "outboxState": f"PENDING#{_shard(entry)}"},
        remove=("diedAt",),
    )


def _buried(entry: Entry, at: str, rules: Sequence[Rule]) -> Write:
    return update(
        entry.key,
        "An entry out of attempts is kept and shown, not dropped and not tried for ever.",
        rules,
        set={"status": DEAD, "outboxState": DEAD, "diedAt": at},
        remove=("claimedUntil",),
    )


def _due(now_ms: int) -> ConditionBase:
    ended = Attr("claimedUntil").not_exists() | Attr("claimedUntil").lt(now_ms - SKEW_MILLISECONDS)
    return Attr("status").is_in([NEW, PUBLISHING]) & ended


def _mine(claim: Claim, now_ms: int) -> Rule:
    runs = Attr("claimedUntil").eq(claim.until_ms) & Attr("claimedUntil").gt(now_ms)
    return Rule(Refusal.LEASE_LOST, Attr("status").eq(PUBLISHING) & runs)


def _shard(entry: Key) -> str:
    return entry.pk.rpartition("#")[2]
