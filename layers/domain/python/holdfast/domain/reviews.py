"""Reviews: how a case is decided and closed; its META item owns the state.

OPEN -> UNDER_REVIEW -> APPROVED or REJECTED -> CLOSED, and from REJECTED back to OPEN.
"""

from __future__ import annotations

from holdfast.domain import officers
from holdfast.domain.enforcement import require_no_enforcement
from holdfast.domain.states import APPROVED, CLOSED, OPEN, REJECTED, UNDER_REVIEW
from holdfast.domain.transitions import (
    Image,
    VersionedCaseCommand,
    changed,
    its_officer,
    its_officer_or_supervisor,
    its_reviewer,
    same,
    with_status,
)
from holdfast.patterns import guards, keys, uniqueness
from holdfast.patterns.frozen import command
from holdfast.patterns.uniqueness import CASE_REFERENCE
from holdfast.writes.plan import Plan
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule


@command
class SubmitForReview(VersionedCaseCommand):
    reviewer_id: str


@command
class ApproveCase(VersionedCaseCommand):
    pass


@command
class RejectCase(VersionedCaseCommand):
    reason: str


@command
class ReopenCase(VersionedCaseCommand):
    pass


@command
class CloseCase(VersionedCaseCommand):
    resolution: str


def submit_for_review(cmd: SubmitForReview) -> Plan:
    """An open case goes to review when its own officer submits the version they read."""
    return changed(
        cmd,
        "Only its officer submits a case, while it is open, at the version they saw.",
        its_officer(cmd),
        set={
            "reviewerId": cmd.reviewer_id,
            "submittedAt": cmd.at,
            **with_status(cmd, UNDER_REVIEW),
        },
        event=("CaseSubmittedForReview", {"reviewerId": cmd.reviewer_id}),
        returns={"status": UNDER_REVIEW, "reviewerId": cmd.reviewer_id},
    )


def approve_case(cmd: ApproveCase) -> Plan:
    """A case under review is approved by its reviewer."""
    return changed(
        cmd,
        "Only its reviewer approves a case, while it is under review.",
        its_reviewer(cmd),
        set={"decidedAt": cmd.at, **with_status(cmd, APPROVED)},
        event=("CaseApproved", {}),
        returns={"status": APPROVED},
    )


def reject_case(cmd: RejectCase) -> Plan:
    """A case under review is rejected by its reviewer, who says why."""
    return changed(
        cmd,
        "Only its reviewer rejects a case, while it is under review.",
        its_reviewer(cmd),
        set={"decidedAt": cmd.at, "reason": cmd.reason, **with_status(cmd, REJECTED)},
        event=("CaseRejected", {"reason": cmd.reason}),
        returns={"status": REJECTED, "reason": cmd.reason},
    )


def reopen_case(cmd: ReopenCase) -> Plan:
    """A rejected case is opened again by its officer, and needs a new review."""
    return changed(
        cmd,
        "Only its officer reopens a case, after it was rejected.",
        its_officer(cmd),
        set=with_status(cmd, OPEN),
        remove=("reviewerId", "reason", "submittedAt", "decidedAt"),
        event=("CaseReopened", {}),
        returns={"status": OPEN},
    )


def close_case(cmd: CloseCase, case: Image | None) -> Plan:
    """A decided case is closed, and the load of the officer who had it goes down by one."""
    officer_id = (case or {}).get("officerId")
    freed = [officers.free_load(cmd.tenant, officer_id)] if officer_id else []
    kept = (case or {}).get("externalRef")
    return changed(
        cmd,
        "A case is closed once, after a decision, and by whom it concerns.",
        [*its_officer_or_supervisor(cmd), Rule(Refusal.STALE_READ, same("officerId", officer_id))],
        *freed,
        guards.require_none(
            keys.task_guard(cmd.key), "openCount", "A case with an open task is not closed."
        ),
        require_no_enforcement(cmd.key),
        *(uniqueness.retire(CASE_REFERENCE, cmd.tenant, kept, cmd.case_id) if kept else ()),
        set={"resolution": cmd.resolution, "closedAt": cmd.at, **with_status(cmd, CLOSED)},
        event=("CaseClosed", {"resolution": cmd.resolution}),
        returns={"status": CLOSED, "resolution": cmd.resolution},
    )
