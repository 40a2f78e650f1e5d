"""Offboarding: an officer leaves, and each of their cases goes to someone who has room.

PROFILE owns that the officer is LEAVING, so nobody gives them work meanwhile and one
offboarding runs at a time; WORKLOAD owns when they are done, since its load is the number
of their cases. The list index only suggests which case to move next; the commit decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from boto3.dynamodb.conditions import Attr

from holdfast.domain import officers
from holdfast.domain.states import CLOSED
from holdfast.domain.transitions import Image, listing
from holdfast.patterns import guards, keys
from holdfast.patterns.commands import Command
from holdfast.patterns.outbox import Event
from holdfast.patterns.workflows import Decision, Finish, Later, Progress, Step, Workflow, accept
from holdfast.writes.outcomes import Refused
from holdfast.writes.plan import Key, Plan, Write, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule, never

NAME = "offboarding"
LEAVING = "LEAVING"
TARGETS_MAX = 20
LEFT_LISTED_MAX = 100
"""How many of the cases that found no room a failed offboarding names."""


@dataclass(frozen=True, kw_only=True)
class OffboardOfficer(Command):
    officer_id: str
    to_officer_ids: tuple[str, ...]

    @property
    def key(self) -> Key:
        return keys.officer_profile(self.tenant, self.officer_id)


def offboard_officer(cmd: OffboardOfficer, officer: Image | None) -> Plan:
    """An officer starts to leave, once, and is given no case from then on."""
    version = (officer or {}).get("version", 0)
    others = [target for target in cmd.to_officer_ids if target != cmd.officer_id]
    leaving = update(
        cmd.key,
        "An officer leaves once at a time.",
        [
            Rule(Refusal.OFFICER_LEAVING, ~Attr("status").eq(LEAVING)),
            Rule(Refusal.STALE_READ, Attr("version").eq(version)),
            *(
                [never(Refusal.OFFICER_UNAVAILABLE)]
                if len(others) < len(cmd.to_officer_ids)
                else []
            ),
        ],
        set={"status": LEAVING},
        add={"version": 1},
    )
    targets = [officers.require_active(cmd.tenant, target) for target in others]
    return accept(
        cmd,
        NAME,
        {"officerId": cmd.officer_id, "toOfficerIds": list(cmd.to_officer_ids)},
        leaving,
        *targets,
        emits=[Event("OfficerLeaving", cmd.key, version + 1, {"status": LEAVING})],
        total=(officer or {}).get("activeLoad", 0),
    )


@dataclass(frozen=True)
class Desk:
    """What the next step is decided on: the officer, their cases, and who could take one."""

    profile: Image
    load: int
    cases: Sequence[Image]
    rooms: Mapping[str, int]


def find(table: Any, progress: Progress) -> Desk:
    """The officer's open cases (by the index, each read again) and the targets' free room."""
    tenant, officer_id = progress.tenant, progress.input["officerId"]
    workload = table.get(keys.officer_workload(tenant, officer_id))
    return Desk(
        profile=table.get(keys.officer_profile(tenant, officer_id)),
        load=workload["activeLoad"],
        cases=_some_cases(table, tenant, officer_id) if workload["activeLoad"] else (),
        rooms=_rooms(table, tenant, progress.input["toOfficerIds"]),
    )


def _some_cases(table: Any, tenant: str, officer_id: str) -> list[Image]:
    """Cases that are the officer's and open by a consistent read, a page of them at most."""
    start: dict[str, Any] = {}
    while True:
        listed, last = table.query(
            IndexName="cases-by-officer",
            KeyConditionExpression="byOfficer = :officer",
            FilterExpression="#s <> :closed",
            ExpressionAttributeNames={"#s": "status"},
            ExpressionAttributeValues={":officer": listing(tenant, officer_id), ":closed": CLOSED},
            Limit=LEFT_LISTED_MAX,
            **start,
        )
        read = (table.get(Key(item["PK"], item["SK"])) for item in listed)
        theirs = [case for case in read if case and _is_theirs(case, officer_id)]
        if theirs or last is None:
            return theirs
        start = {"ExclusiveStartKey": last}


def _is_theirs(case: Image, officer_id: str) -> bool:
    return case.get("officerId") == officer_id and case["status"] != CLOSED


def _rooms(table: Any, tenant: str, targets: Sequence[str]) -> dict[str, int]:
    """Free room of each target that may be given work now."""
    rooms = {}
    for target in targets:
        profile = table.get(keys.officer_profile(tenant, target))
        workload = table.get(keys.officer_workload(tenant, target))
        if profile and workload and profile["status"] == officers.ACTIVE:
            rooms[target] = workload["maxLoad"] - workload["activeLoad"]
    return rooms


def decide(progress: Progress, desk: Desk, refusals: tuple[Refused, ...]) -> Decision:
    """Move one case to the emptiest desk; end when none is left, or none has room."""
    if desk.load == 0:
        return _left(progress, desk)
    if not desk.cases:
        return Later()
    target = max(desk.rooms, key=lambda officer: desk.rooms[officer], default=None)
    if target is None or desk.rooms[target] <= 0:
        return _stuck(progress, desk)
    case = desk.cases[len(refusals) % len(desk.cases)]
    return _move(progress, case, target)


def _move(progress: Progress, case: Image, target: str) -> Step:
    tenant, leaving = progress.tenant, progress.input["officerId"]
    key, version = Key(case["PK"], case["SK"]), case["version"] + 1
    mine = Attr("officerId").eq(leaving) & Attr("version").eq(case["version"])
    change = update(
        key,
        "A case of a leaving officer changes hands once, as it was read.",
        [Rule(Refusal.STALE_READ, mine & ~Attr("status").eq(CLOSED))],
        set={
            "officerId": target,
            "byOfficer": listing(tenant, target),
            "updatedAt": progress.now,
        },
        add={"version": 1},
    )
    moved = {"officerId": target, "fromOfficerId": leaving}
    return Step(
        writes=[
            change,
            officers.require_active(tenant, target),
            officers.take_load(tenant, target),
            officers.free_load(tenant, leaving),
        ],
        cursor={"caseId": case["caseId"]},
        emits=[Event("CaseTransferred", key, version, moved)],
    )


def _left(progress: Progress, desk: Desk) -> Finish:
    """Everything is moved: the officer is inactive from the moment that their load is none."""
    tenant, officer_id = progress.tenant, progress.input["officerId"]
    none = guards.require_none(
        keys.officer_workload(tenant, officer_id), "activeLoad", "Who has left has no case."
    )
    write, event = _inactive(progress, desk)
    return Finish(
        {"officerId": officer_id, "moved": progress.done}, writes=[write, none], emits=[event]
    )


def _stuck(progress: Progress, desk: Desk) -> Finish:
    """Nobody has room: what was moved stays moved, what is left stays with the officer."""
    write, event = _inactive(progress, desk)
    result = {
        "officerId": progress.input["officerId"],
        "moved": progress.done,
        "left": desk.load,
        "leftCaseIds": [case["caseId"] for case in desk.cases[:LEFT_LISTED_MAX]],
        "reason": "no officer named has room",
    }
    return Finish(result, failed=True, writes=[write], emits=[event])


def _inactive(progress: Progress, desk: Desk) -> tuple[Write, Event]:
    key, version = Key(desk.profile["PK"], desk.profile["SK"]), desk.profile["version"]
    seen = Attr("status").eq(LEAVING) & Attr("version").eq(version)
    write = update(
        key,
        "An officer has left when their offboarding ends.",
        [Rule(Refusal.STALE_READ, seen)],
        set={"status": officers.INACTIVE},
        add={"version": 1},
    )
    return write, Event("OfficerLeft", key, version + 1, {"status": officers.INACTIVE})


OFFBOARDING = Workflow(NAME, find, decide)
