"""At most one external effect per operation: its ledger item owns what became of the call.

The item is written before the call (SENT) and after it (CONFIRMED, FAILED_RETRYABLE or
FAILED_FINAL), and the call carries the operation's id as its own idempotency key. A crash
between the two leaves SENT; whoever finds that asks the provider before it calls again. A
call in progress holds the item (`heldUntil`, epoch milliseconds), and only the attempt that
made the call writes down how it ended. No payload is kept here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from boto3.dynamodb.conditions import Attr, ConditionBase

from holdfast.patterns import keys
from holdfast.writes.plan import Key, Write, create, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

SENT, CONFIRMED = "SENT", "CONFIRMED"
FAILED_RETRYABLE, FAILED_FINAL = "FAILED_RETRYABLE", "FAILED_FINAL"
UNSETTLED = (SENT, FAILED_RETRYABLE, FAILED_FINAL)
"""The states that are listed, each tenant's apart, by a sparse index."""
ATTEMPTS_MAX = 8
HOLD_MILLISECONDS = 30_000
"""Longer than any call takes; then the attempt is taken for dead."""
KEPT_DAYS = 90
"""A confirmed operation is remembered for this long, far beyond any queue's retention."""
RETRY_SECONDS_MAX = 900
REDRIVEN = "SideEffectRedriven"


@dataclass(frozen=True)
class Operation:
    """One external call that one event asks for. `version` is the event's."""

    provider: str
    operation_id: str
    event_id: str
    type: str
    aggregate: str
    version: int
    tenant: str

    @property
    def key(self) -> Key:
        return keys.side_effect(self.provider, self.operation_id)


def begin(operation: Operation, *, at: str, now_ms: int) -> Write:
    """The first attempt, before its call. Refused with ALREADY_EXISTS and the ledger's image."""
    return create(
        operation.key,
        {
            "provider": operation.provider,
            "operationId": operation.operation_id,
            "eventId": operation.event_id,
            "type": operation.type,
            "aggregate": operation.aggregate,
            "eventVersion": operation.version,
            "tenant": operation.tenant,
            "at": at,
            "effectSort": f"{at}#{operation.provider}#{operation.operation_id}",
            "attempts": 1,
            "heldUntil": now_ms + HOLD_MILLISECONDS,
            **_status(operation.tenant, SENT),
        },
        "A call is written down before it is made, once.",
    )


def again(operation: Operation, seen: Mapping[str, Any], *, now_ms: int) -> Write:
    """One attempt more, before its call, on the ledger as it was read.

    Refused with LEASE_HELD when another attempt came first or is under way.
    """
    free = Attr("heldUntil").not_exists() | Attr("heldUntil").lt(now_ms)
    same = Attr("attempts").eq(seen["attempts"]) & Attr("status").eq(seen["status"])
    return update(
        operation.key,
        "One attempt at a time, and each is counted before its call.",
        [Rule(Refusal.LEASE_HELD, same & free)],
        set={"heldUntil": now_ms + HOLD_MILLISECONDS, **_status(operation.tenant, SENT)},
        add={"attempts": 1},
    )


def confirm(operation: Operation, attempt: int, *, reference: str, at: str) -> Write:
    """The provider has done it; `reference` is its own name for that."""
    expires = int(datetime.fromisoformat(at).timestamp()) + KEPT_DAYS * 24 * 3600
    return update(
        operation.key,
        "An operation is confirmed by the attempt that was sent last.",
        [_mine(attempt)],
        set={"status": CONFIRMED, "reference": reference, "settledAt": at, "expiresAt": expires},
        remove=("heldUntil", "effectState", "effectSort", "reason"),
    )


def fail(operation: Operation, attempt: int, *, status: str, reason: str, at: str) -> Write:
    """The call did not do it: FAILED_RETRYABLE, FAILED_FINAL, or SENT when nobody knows."""
    return update(
        operation.key,
        "How a call ended is written down by the attempt that made it.",
        [_mine(attempt)],
        set={"reason": reason, "settledAt": at, **_status(operation.tenant, status)},
        remove=("heldUntil",),
    )


def redrive(ledger: Key, seen: Mapping[str, Any], *, tenant: str) -> Write:
    """FAILED_FINAL -> FAILED_RETRYABLE with all attempts again, once for each time it failed."""
    return update(
        ledger,
        "An effect that failed for good is tried again when its administrator says so.",
        [
            Rule(Refusal.NOT_FOUND, Attr("tenant").eq(tenant)),
            Rule(Refusal.EFFECT_NOT_FAILED, Attr("status").eq(FAILED_FINAL)),
            Rule(Refusal.STALE_READ, _redrives(seen)),
        ],
        set={"attempts": 0, **_status(tenant, FAILED_RETRYABLE)},
        add={"redrives": 1},
    )


def operation_of(ledger: Mapping[str, Any]) -> Operation:
    """The operation whose ledger was read."""
    return Operation(
        provider=ledger["provider"],
        operation_id=ledger["operationId"],
        event_id=ledger["eventId"],
        type=ledger["type"],
        aggregate=ledger["aggregate"],
        version=int(ledger["eventVersion"]),
        tenant=ledger["tenant"],
    )


def retry_seconds(attempt: int) -> int:
    """How long to wait after the `attempt`-th failure.

    >>> [retry_seconds(n) for n in (1, 2, 3, 8)]
    [2, 4, 8, 256]
    """
    return min(1 << attempt, RETRY_SECONDS_MAX)


def _redrives(seen: Mapping[str, Any]) -> ConditionBase:
    """Nobody has sent it again since it was read."""
    counted = Attr("redrives")
    return counted.eq(seen["redrives"]) if "redrives" in seen else counted.not_exists()


def _status(tenant: str, status: str) -> dict[str, str]:
    return {"status": status, "effectState": f"{tenant}#{status}"}


def _mine(attempt: int) -> Rule:
    return Rule(Refusal.LEASE_LOST, Attr("attempts").eq(attempt) & Attr("status").eq(SENT))
