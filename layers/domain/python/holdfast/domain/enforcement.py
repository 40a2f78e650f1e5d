"""Enforcement: one active per case, owned by ACTIVE_ENFORCEMENT_GUARD, whose absence frees it."""

from __future__ import annotations

from boto3.dynamodb.conditions import Attr

from holdfast.domain.transitions import CaseCommand, beside, case_plan, its_officer
from holdfast.patterns import keys
from holdfast.patterns.frozen import command
from holdfast.patterns.outbox import Event
from holdfast.writes.plan import Key, Plan, Write, create, delete, require, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule


@command
class OpenEnforcement(CaseCommand):
    kind: str


@command
class CompleteEnforcement(CaseCommand):
    enforcement_id: str
    outcome: str


def open_enforcement(cmd: OpenEnforcement) -> Plan:
    """An approved case has at most one active enforcement."""
    enforcement_id = cmd.new_id("enforcement")
    key = keys.enforcement(cmd.key, enforcement_id)
    enforcement = {
        "enforcementId": enforcement_id,
        "caseId": cmd.case_id,
        "kind": cmd.kind,
        "status": "ACTIVE",
        "version": 1,
        "createdAt": cmd.at,
    }
    return case_plan(
        cmd,
        beside(cmd, "Its officer enforces a case that is approved.", its_officer(cmd)),
        create(key, enforcement, "An enforcement id is used once."),
        create(
            keys.enforcement_guard(cmd.key),
            {"enforcementId": enforcement_id},
            "One enforcement of a case is active at a time.",
            or_else=Refusal.ALREADY_ACTIVE,
        ),
        emits=Event("EnforcementOpened", key, 1, {"caseId": cmd.case_id, "kind": cmd.kind}),
        returns=enforcement,
        status=201,
        location=f"/cases/{cmd.case_id}/enforcements/{enforcement_id}",
    )


def complete_enforcement(cmd: CompleteEnforcement) -> Plan:
    """The active enforcement ends, and only it gives its place back."""
    key = keys.enforcement(cmd.key, cmd.enforcement_id)
    return case_plan(
        cmd,
        beside(cmd, "Its officer completes an enforcement.", its_officer(cmd)),
        update(
            key,
            "An enforcement is completed once.",
            [Rule(Refusal.ENFORCEMENT_NOT_ACTIVE, Attr("status").eq("ACTIVE"))],
            set={"status": "COMPLETED", "outcome": cmd.outcome, "completedAt": cmd.at},
            add={"version": 1},
        ),
        delete(
            keys.enforcement_guard(cmd.key),
            "An enforcement gives back only the place that it holds itself.",
            [Rule(Refusal.ENFORCEMENT_NOT_ACTIVE, Attr("enforcementId").eq(cmd.enforcement_id))],
            missing=Refusal.ENFORCEMENT_NOT_ACTIVE,
        ),
        emits=Event("EnforcementCompleted", key, 2, {"caseId": cmd.case_id}),
        returns={
            "enforcementId": cmd.enforcement_id,
            "caseId": cmd.case_id,
            "status": "COMPLETED",
            "outcome": cmd.outcome,
            "completedAt": cmd.at,
            "version": 2,
        },
    )


def require_no_enforcement(case_key: Key) -> Write:
    """The plan stands only while no enforcement of the case is active."""
    return require(
        keys.enforcement_guard(case_key),
        "A case with an active enforcement is not closed.",
        [Rule(Refusal.OPEN_WORK, Attr("PK").not_exists())],
        missing=None,
    )
