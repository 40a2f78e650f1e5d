"""Cases: the META item owns a case's state and version; a sentinel owns its reference.

A case goes OPEN -> UNDER_REVIEW -> APPROVED or REJECTED -> CLOSED, and from REJECTED back
to OPEN (`reviews.py`). Each change names the version it saw, so that of two writers one wins.
"""

from __future__ import annotations

from boto3.dynamodb.conditions import Attr

from holdfast.domain import officers
from holdfast.domain.states import OPEN
from holdfast.domain.transitions import (
    Image,
    VersionedCaseCommand,
    case_plan,
    changed,
    its_officer,
    its_officer_or_supervisor,
    listing,
    same,
    takes,
)
from holdfast.patterns import keys, uniqueness
from holdfast.patterns.commands import RECORD_HOURS, Command, expiry, plan
from holdfast.patterns.frozen import command
from holdfast.patterns.outbox import Event
from holdfast.patterns.uniqueness import CASE_REFERENCE
from holdfast.writes.plan import Plan, create, require
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule


@command
class CreateCase(Command):
    external_ref: str
    title: str
    region: str
    priority: str


@command
class AssignCase(VersionedCaseCommand):
    officer_id: str


@command
class TransferCase(VersionedCaseCommand):
    to_officer_id: str


@command
class SetLegalHold(VersionedCaseCommand):
    hold: bool


@command
class EditCase(VersionedCaseCommand):
    title: str | None = None
    priority: str | None = None


@command
class ChangeExternalRef(VersionedCaseCommand):
    external_ref: str


def create_case(cmd: CreateCase) -> Plan:
    """A case is opened under a reference that no other case of the tenant has."""
    case_id = cmd.new_id("case")
    key = keys.case(cmd.tenant, case_id)
    case = {
        "caseId": case_id,
        "externalRef": cmd.external_ref,
        "title": cmd.title,
        "region": cmd.region,
        "priority": cmd.priority,
        "status": OPEN,
        "version": 1,
        "createdAt": cmd.at,
        "createdBy": cmd.caller,
    }
    listed = {
        "byStatus": listing(cmd.tenant, OPEN),
        "byRegion": listing(cmd.tenant, cmd.region),
        "listedAt": f"{cmd.at}#{case_id}",
    }
    return plan(
        cmd,
        create(key, {**case, **listed, "noteCount": 0}, "A case id is used once."),
        uniqueness.claim(CASE_REFERENCE, cmd.tenant, cmd.external_ref, case_id),
        emits=Event(
            "CaseCreated",
            key,
            1,
            {"region": cmd.region, "priority": cmd.priority, "status": OPEN, "title": cmd.title},
        ),
        returns=case,
        status=201,
        location=f"/cases/{case_id}",
    )


def assign_case(cmd: AssignCase) -> Plan:
    """An open case without an officer is given to an active officer who has room."""
    return changed(
        cmd,
        "An open case is assigned once, at the version the supervisor saw.",
        [Rule(Refusal.CASE_ASSIGNED, Attr("officerId").not_exists())],
        officers.require_active(cmd.tenant, cmd.officer_id),
        officers.take_load(cmd.tenant, cmd.officer_id),
        set={"officerId": cmd.officer_id, "byOfficer": listing(cmd.tenant, cmd.officer_id)},
        event=("CaseAssigned", {"officerId": cmd.officer_id}),
        returns={"status": OPEN, "officerId": cmd.officer_id},
    )


def transfer_case(cmd: TransferCase, case: Image | None) -> Plan:
    """A case goes from one officer to another who is active and has room; the load goes too."""
    old, new = (case or {}).get("officerId"), cmd.to_officer_id
    loads = (
        [officers.take_load(cmd.tenant, new), officers.free_load(cmd.tenant, old)]
        if old is not None and old != new
        else []
    )
    return changed(
        cmd,
        "A case has one officer, and changes hands at the version that was seen.",
        [
            *its_officer_or_supervisor(cmd),
            Rule(Refusal.CASE_UNASSIGNED, Attr("officerId").exists()),
            Rule(Refusal.CASE_ASSIGNED, ~Attr("officerId").eq(new)),
            Rule(Refusal.STALE_READ, same("officerId", old)),
        ],
        officers.require_active(cmd.tenant, new),
        *loads,
        set={"officerId": new, "byOfficer": listing(cmd.tenant, new)},
        event=("CaseTransferred", {"officerId": new, "fromOfficerId": old or ""}),
        returns={"officerId": new},
    )


def set_legal_hold(cmd: SetLegalHold) -> Plan:
    """A supervisor puts a case under legal hold, which forbids its redaction, or lifts it."""
    change = {"set": {"legalHold": True}} if cmd.hold else {"set": {}, "remove": ("legalHold",)}
    return changed(
        cmd,
        "A hold stands or falls at the version the supervisor saw.",
        [],
        **change,
        event=("LegalHoldSet" if cmd.hold else "LegalHoldCleared", {}),
        returns={"legalHold": cmd.hold},
    )


def edit_case(cmd: EditCase) -> Plan:
    """Its officer corrects the title or the priority of a case that is not closed."""
    given = {"title": cmd.title, "priority": cmd.priority}
    changes = {name: value for name, value in given.items() if value is not None}
    return changed(
        cmd,
        "Only its officer edits a case, at the version they saw, until it is closed.",
        its_officer(cmd),
        set=changes,
        event=("CaseEdited", changes),
        returns=changes,
    )


def change_external_ref(cmd: ChangeExternalRef, case: Image | None) -> Plan:
    """A case takes a new reference and gives the old one back, in one transaction."""
    old = (case or {}).get("externalRef", cmd.external_ref)
    if old == cmd.external_ref:
        return _unchanged_ref(cmd)
    return changed(
        cmd,
        "A case and the sentinel of its reference change together.",
        [*its_officer_or_supervisor(cmd), Rule(Refusal.STALE_READ, Attr("externalRef").eq(old))],
        *uniqueness.rename(CASE_REFERENCE, cmd.tenant, old, cmd.external_ref, cmd.case_id),
        set={"externalRef": cmd.external_ref},
        event=("CaseExternalRefChanged", {"externalRef": cmd.external_ref}),
        returns={"externalRef": cmd.external_ref},
    )


def _unchanged_ref(cmd: ChangeExternalRef) -> Plan:
    rules = [
        *its_officer_or_supervisor(cmd),
        *takes(cmd),
        Rule(Refusal.STALE_READ, Attr("externalRef").eq(cmd.external_ref)),
    ]
    body = {"externalRef": cmd.external_ref, "version": cmd.expected_version}
    return case_plan(
        cmd,
        require(cmd.key, "An unchanged reference is no change, and no error.", rules),
        create(
            keys.mention(cmd.key, cmd.command_id),
            {"commandId": cmd.command_id, "expiresAt": expiry(cmd.at, RECORD_HOURS)},
            "Redaction finds every stored answer that repeats a case's text.",
        ),
        returns={"caseId": cmd.case_id, **body},
    )
