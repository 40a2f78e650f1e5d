"""What hangs on a case: investigators, tasks, notes. A guard or counter owns each limit.

Members have owners of their own, so they do not raise the case's version and two of them
never contend for it; each requires the case to be in a fit state at the commit.
"""

from __future__ import annotations

from boto3.dynamodb.conditions import Attr

from holdfast.domain.states import state_rules
from holdfast.domain.transitions import (
    CaseCommand,
    Image,
    beside,
    case_plan,
    its_officer,
    its_officer_or_supervisor,
)
from holdfast.patterns import guards, keys
from holdfast.patterns.frozen import command
from holdfast.patterns.outbox import Event
from holdfast.writes.plan import Plan, create, delete, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

INVESTIGATORS_MAX = 3
OPEN_TASKS_MAX = 100


@command
class AddInvestigator(CaseCommand):
    user_id: str


@command
class RemoveInvestigator(CaseCommand):
    user_id: str


@command
class OpenTask(CaseCommand):
    title: str


@command
class CloseTask(CaseCommand):
    task_id: str


@command
class AddNote(CaseCommand):
    text: str


def add_investigator(cmd: AddInvestigator) -> Plan:
    """A case has at most three investigators, each of them once."""
    membership = cmd.new_id("investigator")
    member = {"userId": cmd.user_id, "membershipId": membership, "addedAt": cmd.at}
    return case_plan(
        cmd,
        beside(cmd, "Whom it concerns adds investigators.", its_officer_or_supervisor(cmd)),
        create(
            keys.investigator(cmd.key, cmd.user_id),
            {**member, "addedBy": cmd.caller},
            "A user investigates a case once at a time.",
        ),
        guards.enter(
            keys.investigator_guard(cmd.key),
            "activeCount",
            INVESTIGATORS_MAX,
            f"At most {INVESTIGATORS_MAX} investigators work on one case.",
        ),
        emits=Event(
            "InvestigatorAdded",
            keys.membership(cmd.key, cmd.user_id, membership),
            1,
            {"caseId": cmd.case_id, "userId": cmd.user_id},
        ),
        returns={"caseId": cmd.case_id, **member},
        status=201,
        location=f"/cases/{cmd.case_id}/investigators/{cmd.user_id}",
    )


def remove_investigator(cmd: RemoveInvestigator, member: Image | None) -> Plan:
    """An investigator leaves a case once, and a place on it becomes free."""
    key = keys.investigator(cmd.key, cmd.user_id)
    case = beside(cmd, "Whom it concerns removes investigators.", its_officer_or_supervisor(cmd))
    told = {"caseId": cmd.case_id, "userId": cmd.user_id}
    if member is None:
        there = guards.absent(key, "Only someone who investigates a case can leave it.")
        return case_plan(cmd, case, there, returns=told)
    seen = Rule(Refusal.STALE_READ, Attr("membershipId").eq(member["membershipId"]))
    return case_plan(
        cmd,
        case,
        delete(key, "The membership that was seen ends, and no later one.", [seen]),
        guards.leave(
            keys.investigator_guard(cmd.key),
            "activeCount",
            "The guard counts the investigators that a case has.",
        ),
        emits=Event(
            "InvestigatorRemoved",
            keys.membership(cmd.key, cmd.user_id, member["membershipId"]),
            2,
            told,
        ),
        returns={**told, "removedAt": cmd.at},
    )


def open_task(cmd: OpenTask) -> Plan:
    """Its officer opens a task, which keeps the case from being closed."""
    task_id = cmd.new_id("task")
    key = keys.task(cmd.key, task_id)
    task = {"taskId": task_id, "caseId": cmd.case_id, "title": cmd.title, "status": "OPEN"}
    listed = {"openTasks": cmd.tenant, "openedAt": f"{cmd.at}#{task_id}"}
    return case_plan(
        cmd,
        beside(cmd, "Its officer opens tasks, until the case is closed.", its_officer(cmd)),
        create(
            key, {**task, **listed, "version": 1, "createdAt": cmd.at}, "A task id is used once."
        ),
        guards.enter(
            keys.task_guard(cmd.key),
            "openCount",
            OPEN_TASKS_MAX,
            f"At most {OPEN_TASKS_MAX} tasks of one case are open, and each is counted.",
        ),
        emits=Event("TaskOpened", key, 1, {"caseId": cmd.case_id, "title": cmd.title}),
        returns={**task, "version": 1, "createdAt": cmd.at},
        status=201,
        location=f"/cases/{cmd.case_id}/tasks/{task_id}",
    )


def close_task(cmd: CloseTask) -> Plan:
    """An open task is closed once and leaves the list of open tasks."""
    key = keys.task(cmd.key, cmd.task_id)
    return case_plan(
        cmd,
        beside(cmd, "Its officer closes tasks.", its_officer(cmd)),
        update(
            key,
            "A task is closed once.",
            [Rule(Refusal.TASK_NOT_OPEN, Attr("status").eq("OPEN"))],
            set={"status": "CLOSED", "closedAt": cmd.at},
            add={"version": 1},
            remove=("openTasks", "openedAt"),
        ),
        guards.leave(
            keys.task_guard(cmd.key), "openCount", "The guard counts the open tasks of a case."
        ),
        emits=Event("TaskClosed", key, 2, {"caseId": cmd.case_id}),
        returns={
            "taskId": cmd.task_id,
            "caseId": cmd.case_id,
            "status": "CLOSED",
            "closedAt": cmd.at,
            "version": 2,
        },
    )


def add_note(cmd: AddNote) -> Plan:
    """A note and the case's count of notes are written together."""
    note_id = cmd.new_id("note")
    key = keys.note(cmd.key, note_id)
    note = {"noteId": note_id, "caseId": cmd.case_id, "author": cmd.caller, "createdAt": cmd.at}
    return case_plan(
        cmd,
        update(
            cmd.key,
            "A case counts its notes, until it is closed.",
            state_rules("AddNote"),
            add={"noteCount": 1},
        ),
        create(key, {**note, "text": cmd.text}, "A note id is used once."),
        emits=Event("NoteAdded", key, 1, {"caseId": cmd.case_id, "noteId": note_id}),
        returns={**note, "text": cmd.text},
        status=201,
        location=f"/cases/{cmd.case_id}/notes/{note_id}",
    )
