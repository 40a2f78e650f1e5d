"""Which commands a case takes in which state: one table, read by every planner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from boto3.dynamodb.conditions import Attr

from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

OPEN, UNDER_REVIEW = "OPEN", "UNDER_REVIEW"
APPROVED, REJECTED, CLOSED = "APPROVED", "REJECTED", "CLOSED"
STATES: Final = (OPEN, UNDER_REVIEW, APPROVED, REJECTED, CLOSED)
NOT_CLOSED: Final = (OPEN, UNDER_REVIEW, APPROVED, REJECTED)

ALLOWED: Mapping[str, tuple[str, ...]] = {
    "AssignCase": (OPEN,),
    "SubmitForReview": (OPEN,),
    "ApproveCase": (UNDER_REVIEW,),
    "RejectCase": (UNDER_REVIEW,),
    "ReopenCase": (REJECTED,),
    "CloseCase": (APPROVED, REJECTED),
    "RedactCase": (CLOSED,),
    "EditCase": NOT_CLOSED,
    "ChangeExternalRef": NOT_CLOSED,
    "TransferCase": NOT_CLOSED,
    "AddNote": NOT_CLOSED,
    "AddInvestigator": NOT_CLOSED,
    "RemoveInvestigator": NOT_CLOSED,
    "OpenTask": NOT_CLOSED,
    "CloseTask": NOT_CLOSED,
    "OpenEnforcement": (APPROVED,),
    "CompleteEnforcement": (APPROVED,),
    "SetLegalHold": STATES,
    "AcquireLease": STATES,
    "RenewLease": STATES,
    "ReleaseLease": STATES,
}

_REFUSALS = {
    (OPEN,): Refusal.CASE_NOT_OPEN,
    (UNDER_REVIEW,): Refusal.CASE_NOT_UNDER_REVIEW,
    (APPROVED,): Refusal.CASE_NOT_APPROVED,
    (REJECTED,): Refusal.CASE_NOT_REJECTED,
    (CLOSED,): Refusal.CASE_NOT_CLOSED,
    (APPROVED, REJECTED): Refusal.CASE_NOT_DECIDED,
    NOT_CLOSED: Refusal.CASE_CLOSED,
}


def state_rules(command: str) -> list[Rule]:
    """The case is in a state that takes `command` (the name of its class), and not redacted.

    Only a closed case is ever redacted, so the other states need no second rule.
    """
    states = ALLOWED[command]
    whole = [Rule(Refusal.CASE_REDACTED, Attr("redacted").not_exists())] if CLOSED in states else []
    if states == STATES:
        return whole
    status = Attr("status")
    fits = status.eq(states[0]) if len(states) == 1 else status.is_in(list(states))
    return [*whole, Rule(_REFUSALS[states], fits)]
