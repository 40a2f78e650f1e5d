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
    "EditCase": NOT_CLOSED,
    "ChangeExternalRef": NOT_CLOSED,
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


def state_rule(command: str) -> Rule:
    """The case is in a state that takes `command`, the name of a command's class."""
    states = ALLOWED[command]
    status = Attr("status")
    return Rule(_REFUSALS[states], status.eq(*states) if len(states) == 1 else status.is_in(states))
