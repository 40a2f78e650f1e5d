"""Every answer that is not a success, as one table: RFC 9457 problem details.

A problem says what is wrong and what helps, and never an AWS name, a stack trace, an item
key or a value of the request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from aws_lambda_powertools.utilities.idempotency import exceptions as idempotency

from holdfast.patterns.commands import Response
from holdfast.writes.outcomes import InDoubt, Refused, Unsettled
from holdfast.writes.refusals import Refusal

CONTENT_TYPE = "application/problem+json"


@dataclass(frozen=True)
class Kind:
    """One row of the contract's error table."""

    status: int
    code: str
    title: str
    retryable: bool = False
    retry_after_seconds: int | None = None


KEY_MISSING = Kind(400, "idempotency-key-missing", "The Idempotency-Key header is missing")
KEY_INVALID = Kind(400, "idempotency-key-invalid", "The Idempotency-Key header is malformed")
MALFORMED = Kind(400, "malformed-request", "The request cannot be read")
INVALID_CURSOR = Kind(400, "invalid-cursor", "The cursor does not belong to this list")
UNAUTHENTICATED = Kind(401, "unauthenticated", "The caller is not known")
FORBIDDEN = Kind(403, "forbidden", "The caller may not do this")
NOT_FOUND = Kind(404, "not-found", "Not found")
IN_PROGRESS = Kind(409, "command-in-progress", "The command is still running", True, 1)
VERSION_CONFLICT = Kind(409, "version-conflict", "It has changed since it was read")
INVALID_STATE = Kind(409, "invalid-state", "Its state does not allow this")
ALREADY_EXISTS = Kind(409, "already-exists", "It exists already")
ALREADY_ACTIVE = Kind(409, "already-active", "Another one is active")
PRICE_CHANGED = Kind(409, "price-changed", "Not the price or the currency that was quoted")
INSUFFICIENT_FUNDS = Kind(409, "insufficient-funds", "The wallet holds too little")
OUT_OF_STOCK = Kind(409, "out-of-stock", "The stock is used up")
LIMIT_REACHED = Kind(409, "limit-reached", "The limit is reached")
OFFICER_UNAVAILABLE = Kind(409, "officer-unavailable", "The officer cannot be given work")
OPEN_WORK = Kind(409, "open-work", "There is open work")
LEGAL_HOLD = Kind(409, "legal-hold", "It is under legal hold")
LEASE_HELD = Kind(409, "lease-held", "Another caller holds the lease")
LEASE_LOST = Kind(409, "lease-lost", "The lease is not held any more")
PRECONDITION_FAILED = Kind(412, "precondition-failed", "It has changed since it was read")
TOO_LARGE = Kind(413, "too-large", "The body is too large")
WRONG_REGION = Kind(421, "wrong-region", "This Region takes no commands", True)
INVALID = Kind(422, "validation-failed", "The request does not fit its description")
KEY_REUSED = Kind(422, "idempotency-key-reused", "The key was used for another request")
VERSION_NEEDED = Kind(428, "precondition-required", "The version that was read is needed")
TOO_MANY = Kind(429, "too-many-requests", "Too many requests", True, 1)
INTERNAL = Kind(500, "internal-error", "Something failed on our side", True)
UNAVAILABLE = Kind(503, "temporarily-unavailable", "Not now", True, 1)
UNKNOWN_OUTCOME = Kind(503, "outcome-unknown", "The outcome is not known yet", True, 2)

REFUSALS: Mapping[Refusal, tuple[Kind, str]] = {
    Refusal.NOT_FOUND: (NOT_FOUND, "There is nothing of this id."),
    Refusal.UNKNOWN_SKU: (INVALID, "See errors for what to change."),
    Refusal.NOT_CASE_OFFICER: (FORBIDDEN, "Only the case's own officer may do this."),
    Refusal.NOT_CASE_REVIEWER: (FORBIDDEN, "Only the case's own reviewer may do this."),
    Refusal.NOT_OWNER: (FORBIDDEN, "Only its owner may do this."),
    Refusal.CASE_REDACTED: (INVALID_STATE, "The case has been redacted."),
    Refusal.CASE_CLOSED: (INVALID_STATE, "The case is closed."),
    Refusal.CASE_NOT_OPEN: (INVALID_STATE, "The case is not open."),
    Refusal.CASE_NOT_UNDER_REVIEW: (INVALID_STATE, "The case is not under review."),
    Refusal.CASE_NOT_APPROVED: (INVALID_STATE, "The case is not approved."),
    Refusal.CASE_NOT_REJECTED: (INVALID_STATE, "The case is not rejected."),
    Refusal.CASE_NOT_DECIDED: (INVALID_STATE, "The case is neither approved nor rejected."),
    Refusal.CASE_NOT_CLOSED: (INVALID_STATE, "The case is not closed."),
    Refusal.CASE_ASSIGNED: (INVALID_STATE, "The case has that place filled already."),
    Refusal.CASE_UNASSIGNED: (INVALID_STATE, "The case has no officer."),
    Refusal.TASK_NOT_OPEN: (INVALID_STATE, "The task is not open."),
    Refusal.ENFORCEMENT_NOT_ACTIVE: (INVALID_STATE, "The enforcement is not active."),
    Refusal.OFFICER_NOT_ACTIVE: (INVALID_STATE, "The officer is not active."),
    Refusal.OFFICER_NOT_INACTIVE: (INVALID_STATE, "The officer is not inactive."),
    Refusal.OFFICER_LEAVING: (INVALID_STATE, "The officer is leaving."),
    Refusal.ORDER_NOT_PLACED: (INVALID_STATE, "The order is cancelled."),
    Refusal.ENTRY_NOT_DEAD: (INVALID_STATE, "The entry is not dead."),
    Refusal.EFFECT_NOT_FAILED: (INVALID_STATE, "The side effect has not failed for good."),
    Refusal.EARLIER_UNPUBLISHED: (INVALID_STATE, "An earlier event is not published yet."),
    Refusal.LEGAL_HOLD: (LEGAL_HOLD, "Lift the hold first."),
    Refusal.STALE_VERSION: (VERSION_CONFLICT, "Read it again, then decide again."),
    Refusal.STALE_READ: (UNAVAILABLE, "It changed while the command was planned. Retry."),
    Refusal.LEASE_LOST: (LEASE_LOST, "The lease has ended, was released or was taken over."),
    Refusal.LEASE_HELD: (LEASE_HELD, "Wait until the lease ends or is released."),
    Refusal.OFFICER_UNAVAILABLE: (OFFICER_UNAVAILABLE, "Choose an active officer."),
    Refusal.ALREADY_EXISTS: (ALREADY_EXISTS, "The value or the id is taken."),
    Refusal.ALREADY_ACTIVE: (ALREADY_ACTIVE, "Complete the active one first."),
    Refusal.OPEN_WORK: (OPEN_WORK, "Close its tasks and complete its enforcement first."),
    Refusal.PRICE_CHANGED: (PRICE_CHANGED, "Read the price and the wallet's currency again."),
    Refusal.INSUFFICIENT_FUNDS: (INSUFFICIENT_FUNDS, "Deposit first, or spend less."),
    Refusal.OUT_OF_STOCK: (OUT_OF_STOCK, "Fewer are left than asked for."),
    Refusal.LIMIT_REACHED: (LIMIT_REACHED, "Nothing is left below the limit."),
}

FAILURES: tuple[tuple[type[Exception], Kind, str], ...] = (
    (
        idempotency.IdempotencyValidationError,
        KEY_REUSED,
        "This Idempotency-Key came with another path or body. Use a new key.",
    ),
    (
        idempotency.IdempotencyAlreadyInProgressError,
        IN_PROGRESS,
        "Retry with the same Idempotency-Key, or read the command.",
    ),
    (
        idempotency.IdempotencyInconsistentStateError,
        UNAVAILABLE,
        "Other attempts of this command are running. Retry with the same Idempotency-Key.",
    ),
    (
        InDoubt,
        UNKNOWN_OUTCOME,
        "Retry with the same Idempotency-Key: nothing happens twice.",
    ),
    (
        Unsettled,
        UNAVAILABLE,
        "Nothing was changed. Retry with the same Idempotency-Key.",
    ),
)
"""What a command may raise, the special before the general; anything else is a 500."""

_TELL_STATE = {INVALID_STATE, VERSION_CONFLICT, PRECONDITION_FAILED}


class Rejected(Exception):
    """A request that is answered before a command starts; never stored."""

    def __init__(self, kind: Kind, detail: str, **more: Any) -> None:
        super().__init__(kind.code)
        self.kind = kind
        self.detail = detail
        self.more = more


def invalid(*errors: tuple[str, str]) -> Rejected:
    """422 with the path and a message for each field that is wrong."""
    listed = [{"path": path, "message": message} for path, message in errors]
    return Rejected(INVALID, "See errors for what to change.", errors=listed)


def problem(
    kind: Kind, detail: str, *, instance: str, command_id: str | None = None, **more: Any
) -> Response:
    """A problem as an answer; `more` is what helps, such as `currentVersion`."""
    body: dict[str, Any] = {
        "type": f"urn:problem:{kind.code}",
        "title": kind.title,
        "status": kind.status,
        "detail": detail,
        # A path may hold half of a surrogate pair, which no answer can repeat.
        "instance": instance.encode(errors="replace").decode(),
        "code": kind.code,
        "retryable": kind.retryable,
        **({"commandId": command_id} if command_id else {}),
        **more,
    }
    headers = {"Content-Type": CONTENT_TYPE}
    if kind.retry_after_seconds is not None:
        headers["Retry-After"] = str(kind.retry_after_seconds)
    return Response(kind.status, headers, msgspec.json.encode(body).decode())


def refused(refused: Refused, *, instance: str, command_id: str, by_tag: bool) -> Response:
    """A refusal in words. `by_tag`: the version came in If-Match, so a stale one is 412."""
    kind, detail = REFUSALS[refused.refusal]
    if by_tag and kind is VERSION_CONFLICT:
        kind = PRECONDITION_FAILED
    more = _present(refused.old) if kind in _TELL_STATE else {}
    if refused.refusal is Refusal.UNKNOWN_SKU:
        more = {"errors": [{"path": "lines", "message": "names a SKU that is not for sale"}]}
    return problem(kind, detail, instance=instance, command_id=command_id, **more)


def failure(error: Exception) -> tuple[Kind, str] | None:
    """What to say of a command that raised `error`; None if this table does not know it."""
    return next(
        ((kind, detail) for known, kind, detail in FAILURES if isinstance(error, known)), None
    )


def _present(old: Mapping[str, Any] | None) -> dict[str, Any]:
    named = {"currentVersion": "version", "currentState": "status"}
    return {told: old[name] for told, name in named.items() if old and name in old}
