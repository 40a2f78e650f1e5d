"""Offboarding: an officer leaves, and each of their cases goes to someone who has room.

PROFILE owns that the officer is LEAVING and by which command, so nobody gives them work
meanwhile and one offboarding runs at a time; WORKLOAD owns when they are done, since its load
is the number of their cases. The list index only suggests which case to move next; the commit
decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from boto3.dynamodb.conditions import Attr, ConditionBase

from holdfast.domain import officers
from holdfast.domain.states import CLOSED
from holdfast.domain.transitions import Image, listing
from holdfast.patterns import guards, keys
from holdfast.patterns.commands import Command
from holdfast.patterns.frozen import command
from holdfast.patterns.outbox import Event
from holdfast.patterns.workflows import Decision, Finish, Later, Progress, Step, Workflow, accept
from holdfast.writes.outcomes import Refused
from holdfast.writes.plan import Key, Plan, Write, require, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule, never

NAME = "offboarding"
LEAVING = "LEAVING"
TARGETS_MAX = 20
LEFT_LISTED_MAX = 100
"""How many of the cases that found no room a failed offboarding names."""
PAGE_ITEMS = 20
FIRST = "0"
"""Before the first place in a list, which is a time."""


@command
class OffboardOfficer(Command):
    officer_id: str
    to_officer_ids: tuple[str, ...]

    @property
    def key(self) -> Key:
        return keys.officer_profile(self.tenant, self.officer_id)


@dataclass(frozen=True)
class Leaver:
    """The officer as a new offboarding finds them. `abandoned`: an earlier offboarding left
    them LEAVING and runs no more, so this one may take over."""

    profile: Image | None
    load: int = 0
    abandoned: bool = False


def offboard_officer(cmd: OffboardOfficer, leaver: Leaver) -> Plan:
    """An officer starts to leave, once, and is given no case from then on."""
    version = (leaver.profile or {}).get("version", 0)
    others = [target for target in cmd.to_officer_ids if target != cmd.officer_id]
    leaving = update(
        cmd.key,
        "An officer leaves once at a time.",
        [
            Rule(Refusal.OFFICER_LEAVING, _may_leave(leaver)),
            Rule(Refusal.STALE_READ, Attr("version").eq(version)),
            *(
                [never(Refusal.OFFICER_UNAVAILABLE)]
                if len(others) < len(cmd.to_officer_ids)
                else []
            ),
        ],
        set={"status": LEAVING, "leavingBy": cmd.command_id},
        add={"version": 1},
    )
    return accept(
        cmd,
        NAME,
        {"officerId": cmd.officer_id, "toOfficerIds": list(cmd.to_officer_ids)},
        leaving,
        *([_same_load(cmd, leaver)] if leaver.profile else []),
        *(officers.require_active(cmd.tenant, target) for target in others),
        emits=[Event("OfficerLeaving", cmd.key, version + 1, {"status": LEAVING})],
        total=leaver.load,
    )


def _may_leave(leaver: Leaver) -> ConditionBase:
    free = ~Attr("status").eq(LEAVING)
    if leaver.profile is None or not leaver.abandoned:
        return free
    return free | Attr("leavingBy").eq(leaver.profile["leavingBy"])


def _same_load(cmd: OffboardOfficer, leaver: Leaver) -> Write:
    return require(
        keys.officer_workload(cmd.tenant, cmd.officer_id),
        "The cases to move are counted when the last of them was given.",
        [Rule(Refusal.STALE_READ, Attr("activeLoad").eq(leaver.load))],
        missing=Refusal.STALE_READ,
    )


@dataclass(frozen=True)
class Desk:
    """What the next step is decided on: the officer, a case of theirs (or all that can be
    named, where nobody has room), and who could take one."""

    profile: Image
    load: int
    cases: Sequence[Image]
    rooms: Mapping[str, int]


def find(table: Any, progress: Progress) -> Desk:
    """The officer's next open case (by the index, read again) and the targets' free room."""
    tenant, officer_id = progress.tenant, progress.input["officerId"]
    profile, workload = _officer(table, tenant, officer_id)
    if profile is None or workload is None:
        raise LookupError("the leaving officer's items are gone")
    rooms = _rooms(table, tenant, progress.input["toOfficerIds"])
    load, after = workload["activeLoad"], progress.cursor.get("after", FIRST)
    if not any(room > 0 for room in rooms.values()):
        return Desk(profile, load, _cases(table, progress, FIRST, LEFT_LISTED_MAX), rooms)
    # The index lags: what was given last may show before the cursor.
    cases = _cases(table, progress, after, 1) or _cases(table, progress, FIRST, 1)
    return Desk(profile, load, cases, rooms)


def _cases(table: Any, progress: Progress, after: str, most: int) -> list[Image]:
    return list(islice(_theirs(table, progress, after), most))


def _theirs(table: Any, progress: Progress, after: str) -> Iterator[Image]:
    """Cases that are the officer's and open by a consistent read, in the order of the index."""
    officer_id, start = progress.input["officerId"], dict[str, Any]()
    listed_for = listing(progress.tenant, officer_id)
    while True:
        listed, last = table.query(
            IndexName="cases-by-officer",
            KeyConditionExpression="byOfficer = :officer AND listedAt > :after",
            FilterExpression="#s <> :closed",
            ExpressionAttributeNames={"#s": "status"},
            ExpressionAttributeValues={":officer": listed_for, ":after": after, ":closed": CLOSED},
            Limit=PAGE_ITEMS,
            **start,
        )
        for item in listed:
            case = table.get(Key(item["PK"], item["SK"]))
            if case and case.get("officerId") == officer_id and case["status"] != CLOSED:
                yield case
        if last is None:
            return
        start = {"ExclusiveStartKey": last}


def _officer(table: Any, tenant: str, officer_id: str) -> tuple[Image | None, Image | None]:
    """PROFILE and WORKLOAD, which stand side by side, in one consistent read."""
    profile, workload = (
        keys.officer_profile(tenant, officer_id),
        keys.officer_workload(tenant, officer_id),
    )
    found, _ = table.query(
        KeyConditionExpression="PK = :pk AND SK BETWEEN :profile AND :workload",
        ExpressionAttributeValues={
            ":pk": profile.pk,
            ":profile": profile.sk,
            ":workload": workload.sk,
        },
        ConsistentRead=True,
    )
    named = {item["SK"]: item for item in found}
    return named.get(profile.sk), named.get(workload.sk)


def _rooms(table: Any, tenant: str, targets: Sequence[str]) -> dict[str, int]:
    """Free room of each target that may be given work now."""
    rooms = {}
    for target in targets:
        profile, workload = _officer(table, tenant, target)
        if profile and workload and profile["status"] == officers.ACTIVE:
            rooms[target] = workload["maxLoad"] - workload["activeLoad"]
    return rooms


def decide(progress: Progress, desk: Desk, _: tuple[Refused, ...]) -> Decision:
    """Move one case to the emptiest desk; end when none is left, or none has room."""
    if desk.profile.get("leavingBy") != progress.command_id:
        return _superseded(progress)
    if desk.load == 0:
        return _left(progress, desk)
    if not desk.cases:
        return Later()
    target = max(desk.rooms, key=lambda officer: desk.rooms[officer], default=None)
    if target is None or desk.rooms[target] <= 0:
        return _stuck(progress, desk)
    return _move(progress, desk.cases[0], target)


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
        cursor={"after": case["listedAt"]},
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


def _superseded(progress: Progress) -> Finish:
    """Given up, and resumed after another offboarding of the officer had taken over."""
    result = {
        "officerId": progress.input["officerId"],
        "moved": progress.done,
        "reason": "another offboarding of this officer took over",
    }
    return Finish(result, failed=True)


def _inactive(progress: Progress, desk: Desk) -> tuple[Write, Event]:
    key, version = Key(desk.profile["PK"], desk.profile["SK"]), desk.profile["version"]
    mine = Attr("status").eq(LEAVING) & Attr("leavingBy").eq(progress.command_id)
    write = update(
        key,
        "An officer has left when their offboarding ends.",
        [Rule(Refusal.STALE_READ, mine & Attr("version").eq(version))],
        set={"status": officers.INACTIVE},
        add={"version": 1},
        remove=("leavingBy",),
    )
    return write, Event("OfficerLeft", key, version + 1, {"status": officers.INACTIVE})


OFFBOARDING = Workflow(NAME, find, decide)
