"""At most one effect per command: the command record owns it, its absence is the condition.

The record is the first write of the same transaction as the change it remembers, so that
record and effect cannot disagree and a fresh command takes one round trip. `idempotency.py`
runs a command through it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import and_
from typing import Any

import msgspec
from boto3.dynamodb.conditions import Attr

from holdfast.patterns import keys
from holdfast.patterns.frozen import Frozen, command
from holdfast.patterns.outbox import Event, announce
from holdfast.writes.plan import Key, Plan, Write, create, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

RECORD_HOURS = 24
"""How long a command is remembered, at least: its record's `expiresAt`."""

STUCK_MILLISECONDS = 120_000
"""A many-step command without progress for this long may be pushed or asked for again."""

RUNNING_INDEX = ("runningState", "runningSort")
"""The attributes that list a many-step command while it runs."""

IN_PROGRESS, COMPLETED = "IN_PROGRESS", "COMPLETED"
FAILED_RETRYABLE, FAILED_FINAL = "FAILED_RETRYABLE", "FAILED_FINAL"


@command
class Command(Frozen):
    """A request as a frozen value: all that its planner may know.

    `at` is ISO 8601 in UTC with milliseconds; `request_hash` covers the concrete path and
    the parsed body; `attempt` is 1 unless earlier attempts were fenced.
    """

    tenant: str
    caller: str
    command_id: str
    at: str
    roles: frozenset[str] = frozenset()
    request_hash: str = ""
    operation: str = ""
    client_key: str = ""
    attempt: int = 1
    resumed: Mapping[str, Any] | None = None
    """The record of the many-step command that this attempt goes on with."""

    @property
    def at_ms(self) -> int:
        """`at` in epoch milliseconds, the unit of leases."""
        return epoch_ms(self.at)

    def new_id(self, purpose: str) -> str:
        """An id that follows from this command, so that retries converge on it."""
        return keys.derived_id(self.command_id, purpose)


@dataclass(frozen=True)
class Response:
    """What the caller is told, as it is stored and sent: `body` is JSON text already."""

    status: int
    headers: Mapping[str, str]
    body: str


def command_id(tenant: str, caller: str, operation: str, client_key: str) -> str:
    """32 hexadecimal digits from who asks, for what (method and route template), by which key."""
    parts = f"{tenant}\n{caller}\n{operation}\n{client_key}"
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def request_hash(path: str, body: Any) -> str:
    """64 hexadecimal digits, equal for equal concrete paths and parsed bodies."""
    return digest(msgspec.json.encode([path, body], order="sorted").decode())


def digest(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes, 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def plan(
    cmd: Command,
    *writes: Write,
    emits: Event | Iterable[Event] = (),
    returns: Mapping[str, Any],
    status: int = 200,
    location: str | None = None,
    remember: tuple[Key, ...] = (),
) -> Plan:
    """The plan of a command: its record first, then `writes`, then its events.

    `returns` is the body of the answer, `status` its HTTP status, `location` the address of
    what was made. A `version` in the body becomes the answer's ETag.
    """
    headers = {"ETag": f'"v{returns["version"]}"'} if "version" in returns else {}
    if location:
        headers["Location"] = location
    answer = Response(status, headers, msgspec.json.encode(returns).decode())
    events = [emits] if isinstance(emits, Event) else emits
    about = {"command_id": cmd.command_id, "tenant": cmd.tenant, "actor": cmd.caller, "at": cmd.at}
    facts = [write for event in events for write in announce(event, **about)]
    return remembered(cmd, COMPLETED, answer, (*writes, *facts), remember=remember)


def refusal(cmd: Command, answer: Response) -> Plan:
    """The plan that makes a refusal final: its record alone, so a retry stays refused."""
    return remembered(cmd, FAILED_FINAL, answer, ())


def remembered(
    cmd: Command,
    status: str,
    answer: Response,
    writes: Iterable[Write],
    *,
    more: Mapping[str, Any] | None = None,
    remember: tuple[Key, ...] = (),
) -> Plan:
    """A plan whose first write is the command record, with `answer` and `more` on it."""
    stored = {
        "response": told(answer),
        "responseHash": digest(answer.body),
        **(more or {}),
    }
    return Plan(
        f"{type(cmd).__name__} {cmd.command_id}",
        (_record(cmd, status, stored), *writes),
        fence=_record(cmd, FAILED_RETRYABLE, {}),
        answer=answer,
        remember=remember,
    )


def _record(cmd: Command, status: str, more: Mapping[str, Any]) -> Write:
    """The command record; the n+1-th attempt stands on how the n-th was left."""
    key = keys.command(cmd.tenant, cmd.command_id)
    item = {
        "status": status,
        "attempt": cmd.attempt,
        "requestHash": cmd.request_hash,
        "operation": cmd.operation,
        "clientKey": cmd.client_key,
        "caller": cmd.caller,
        "at": cmd.at,
        **more,
    }
    if cmd.resumed:
        return _resumption(cmd, key, cmd.resumed, item)
    item = {"expiresAt": expiry(cmd.at, RECORD_HOURS), **item}
    if cmd.attempt == 1:
        return create(key, item, "A command takes effect at most once.")
    fenced = Attr("status").eq(FAILED_RETRYABLE) & Attr("attempt").eq(cmd.attempt - 1)
    return update(
        key,
        "An attempt follows only the one before it, which was fenced.",
        [Rule(Refusal.ALREADY_EXISTS, Attr("PK").not_exists() | fenced)],
        set=item,
        missing=None,
    )


def _resumption(
    cmd: Command, key: Key, before: Mapping[str, Any], item: Mapping[str, Any]
) -> Write:
    """The record of a many-step command that goes on; where it stands is on it alone, so it
    keeps its time to live, and is not made anew when it has expired."""
    named = ("status", "attempt", "progressAt")
    left = reduce(and_, (Attr(name).eq(before[name]) for name in named))
    return update(
        key,
        "A command that was given up or is stuck goes on from its cursor, once.",
        [Rule(Refusal.ALREADY_EXISTS, left)],
        set=item,
        remove=() if item["status"] == IN_PROGRESS else RUNNING_INDEX,
        missing=Refusal.STALE_READ,
    )


def epoch_ms(at: str) -> int:
    """An ISO 8601 time in epoch milliseconds."""
    return round(datetime.fromisoformat(at).timestamp() * 1000)


def expiry(at: str, hours: int) -> int:
    """`hours` after `at`, in epoch seconds, the unit of DynamoDB's time to live."""
    return int((datetime.fromisoformat(at) + timedelta(hours=hours)).timestamp())


def told(answer: Response) -> dict[str, Any]:
    return {"status": answer.status, "headers": answer.headers, "body": answer.body}
