"""Every command in every state, with and without open task, active enforcement, hold, lease."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from holdfast.domain.case_leases import AcquireLease, ReleaseLease, RenewLease
from holdfast.domain.members import RemoveInvestigator
from holdfast.domain.redaction import RedactCase, Trail
from holdfast.domain.states import ALLOWED, STATES
from holdfast.edge.problems import REFUSALS
from holdfast.patterns import keys
from holdfast.writes.plan import Key, Plan
from holdfast.writes.rules import first_broken
from tests.commands import AT, OFFICER, REVIEWER, SUPERVISOR, TENANT, made, planner_of
from tests.domain.test_states import FIELDS, kind_of

LEASE = {"lease_id": "l-1", "fencing_number": 1}
MORE_FIELDS: dict[str, dict[str, Any]] = {
    **FIELDS,
    "ChangeExternalRef": {"external_ref": "new"},
    "RedactCase": SUPERVISOR,
    "AcquireLease": {"seconds": 9},
    "RenewLease": {**LEASE, "seconds": 9},
    "ReleaseLease": LEASE,
}
KINDS = {kind.__name__: kind for kind in (AcquireLease, ReleaseLease, RenewLease, RedactCase)}


class Scene(NamedTuple):
    """What a case is like; a redacted one is a closed one of which nothing else is true."""

    state: str
    task: bool = False
    enforcement: bool = False
    hold: bool = False
    leased: bool = False
    redacted: bool = False

    @property
    def possible(self) -> bool:
        """Only an approved case is enforced, and none is closed with open work."""
        if self.state == "CLOSED":
            return not (self.task or self.enforcement)
        return self.state == "APPROVED" or not self.enforcement


SCENES = [
    *(
        scene
        for state in STATES
        for truths in itertools.product([False, True], repeat=4)
        if (scene := Scene(state, *truths)).possible
    ),
    Scene("CLOSED", redacted=True),
]


def expected(command: str, scene: Scene) -> str:
    """The contract, as one reads it: what this command is answered in this scene."""
    if scene.redacted or scene.state not in ALLOWED[command]:
        return "invalid-state"
    match command:
        case "CloseCase" if scene.task or scene.enforcement:
            return "open-work"
        case "OpenEnforcement" if scene.enforcement:
            return "already-active"
        case "CompleteEnforcement" if not scene.enforcement:
            return "invalid-state"
        case "CloseTask" if not scene.task:
            return "invalid-state"
        case "RedactCase" if scene.hold:
            return "legal-hold"
        case "AcquireLease" if scene.leased:
            return "lease-held"
        case "RenewLease" | "ReleaseLease" if not scene.leased:
            return "lease-lost"
    return "done"


def items_of(case_id: str, scene: Scene, *, assigned: bool) -> Iterator[dict[str, Any]]:
    """The items of a case that is like `scene`, and of its first task and enforcement."""
    key, version = keys.case(TENANT, case_id), 7
    officer = {"officerId": OFFICER} if assigned else {}
    hold = {"legalHold": True} if scene.hold else {}
    shown = {"redacted": True} if scene.redacted else {"externalRef": case_id, "title": "A title"}
    meta = {"caseId": case_id, "status": scene.state, "version": version, "reviewerId": REVIEWER}
    yield {**key.attributes, **meta, **officer, **hold, **shown}
    yield {**keys.sentinel(TENANT, "CASE_REF", 1, case_id).attributes, "ownerId": case_id}
    for officer_id in ("o-1", "o-2"):
        yield {**keys.officer_profile(TENANT, officer_id).attributes, "status": "ACTIVE"}
        load = {"activeLoad": 1, "maxLoad": 2}
        yield {**keys.officer_workload(TENANT, officer_id).attributes, **load}
    yield {**keys.investigator(key, "u-1").attributes, "membershipId": "m-1"}
    yield {**keys.investigator_guard(key).attributes, "activeCount": 1}
    task = {"status": "OPEN" if scene.task else "CLOSED", "version": 1}
    yield {**keys.task(key, "t-1").attributes, **task}
    yield {**keys.task_guard(key).attributes, "openCount": int(scene.task)}
    enforcement = {"status": "ACTIVE" if scene.enforcement else "COMPLETED", "version": 1}
    yield {**keys.enforcement(key, "e-1").attributes, **enforcement}
    if scene.enforcement:
        yield {**keys.enforcement_guard(key).attributes, "enforcementId": "e-1"}
    if scene.leased:
        until = made(AcquireLease, case_id="c", seconds=1, at=AT).at_ms + 60_000
        held = {"leaseId": "l-1", "owner": OFFICER, "leaseUntil": until, "version": 1}
        yield {**keys.lease(TENANT, case_id).attributes, **held}


def planned(cmd: Any, items: dict[Key, dict[str, Any]]) -> Plan:
    """The plan on what the scene holds."""
    planner = planner_of(type(cmd))
    match cmd:
        case RedactCase():
            return planner(cmd, Trail(items[cmd.key], ()))
        case AcquireLease():
            return planner(cmd, items.get(keys.lease(TENANT, cmd.case_id)))
        case RemoveInvestigator():
            return planner(cmd, items[keys.investigator(cmd.key, cmd.user_id)])
    return planner(cmd, items[cmd.key]) if wants_image(planner) else planner(cmd)


def wants_image(planner: Any) -> bool:
    return len(inspect.signature(planner).parameters) == 2


def answer(plan: Plan, items: dict[Key, dict[str, Any]]) -> str:
    """What the plan is answered. The evaluator is held to DynamoDB by a test of its own."""
    broken = [first_broken(write.rules, items.get(write.key)) for write in plan.writes]
    refusals = [rule.refusal for rule in broken if rule is not None]
    told = min(refusals, key=lambda refusal: refusal.precedence, default=None)
    return "done" if told is None else REFUSALS[told][0].code


def test_the_matrix_is_whole() -> None:
    assert len(SCENES) == 8 + 8 + 16 + 8 + 4 + 1
    assert {scene.state for scene in SCENES} == set(STATES)


@pytest.mark.parametrize("command", ALLOWED)
def test_a_command_is_answered_by_what_the_case_is_like(command: str) -> None:
    kind = KINDS.get(command) or kind_of(command)
    seen = {"expected_version": 7} if "expected_version" in kind.__dataclass_fields__ else {}
    cmd = made(kind, case_id="c-1", **{**MORE_FIELDS.get(command, {}), **seen})
    answered = {}
    for scene in SCENES:
        assigned = command != "AssignCase" or scene.state != "OPEN"
        items = {
            Key(item["PK"], item["SK"]): item for item in items_of("c-1", scene, assigned=assigned)
        }
        answered[scene] = answer(planned(cmd, items), items)
    assert answered == {scene: expected(command, scene) for scene in SCENES}
