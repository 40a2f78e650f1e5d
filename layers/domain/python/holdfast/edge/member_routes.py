"""Commands on what hangs on a case: notes, investigators, tasks, enforcement and leases."""

from __future__ import annotations

from holdfast.domain import case_leases, enforcement, members
from holdfast.edge.caller import OFFICER, REVIEWER, SUPERVISOR
from holdfast.edge.fields import Body, FencingNumber, Id, LeaseSeconds, Line, Nothing, Text
from holdfast.edge.routes import Route, one
from holdfast.patterns import keys


class AddNote(Body, kw_only=True):
    text: Text


class AddInvestigator(Body, kw_only=True):
    user_id: Id


class OpenTask(Body, kw_only=True):
    title: Line


class OpenEnforcement(Body, kw_only=True):
    kind: Line


class CompleteEnforcement(Body, kw_only=True):
    outcome: Text


class AcquireLease(Body, kw_only=True):
    seconds: LeaseSeconds


class RenewLease(Body, kw_only=True):
    fencing_number: FencingNumber
    seconds: LeaseSeconds


class ReleaseLease(Body, kw_only=True):
    fencing_number: FencingNumber


_OFFICER = frozenset({OFFICER})
_OFFICER_OR_SUPERVISOR = frozenset({OFFICER, SUPERVISOR})
_ANY_OFFICER = frozenset({OFFICER, SUPERVISOR, REVIEWER})

MEMBER_COMMANDS = (
    Route(
        "POST",
        "/cases/{caseId}/notes",
        _ANY_OFFICER,
        AddNote,
        members.AddNote,
        members.add_note,
        creates=True,
    ),
    Route(
        "POST",
        "/cases/{caseId}/investigators",
        _OFFICER_OR_SUPERVISOR,
        AddInvestigator,
        members.AddInvestigator,
        members.add_investigator,
        creates=True,
    ),
    Route(
        "DELETE",
        "/cases/{caseId}/investigators/{userId}",
        _OFFICER_OR_SUPERVISOR,
        Nothing,
        members.RemoveInvestigator,
        members.remove_investigator,
        reads=one(lambda cmd: keys.investigator(cmd.key, cmd.user_id)),
    ),
    Route(
        "POST",
        "/cases/{caseId}/tasks",
        _OFFICER,
        OpenTask,
        members.OpenTask,
        members.open_task,
        creates=True,
    ),
    Route(
        "POST",
        "/cases/{caseId}/tasks/{taskId}/closures",
        _OFFICER,
        Nothing,
        members.CloseTask,
        members.close_task,
    ),
    Route(
        "POST",
        "/cases/{caseId}/enforcements",
        _OFFICER,
        OpenEnforcement,
        enforcement.OpenEnforcement,
        enforcement.open_enforcement,
        creates=True,
    ),
    Route(
        "POST",
        "/cases/{caseId}/enforcements/{enforcementId}/completions",
        _OFFICER,
        CompleteEnforcement,
        enforcement.CompleteEnforcement,
        enforcement.complete_enforcement,
    ),
    Route(
        "POST",
        "/cases/{caseId}/leases",
        _OFFICER,
        AcquireLease,
        case_leases.AcquireLease,
        case_leases.acquire_lease,
        reads=one(lambda cmd: keys.lease(cmd.tenant, cmd.case_id)),
        creates=True,
    ),
    Route(
        "PUT",
        "/cases/{caseId}/leases/{leaseId}",
        _OFFICER,
        RenewLease,
        case_leases.RenewLease,
        case_leases.renew_lease,
    ),
    Route(
        "DELETE",
        "/cases/{caseId}/leases/{leaseId}",
        _OFFICER,
        ReleaseLease,
        case_leases.ReleaseLease,
        case_leases.release_lease,
    ),
)
