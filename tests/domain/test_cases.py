"""Cases: each command succeeds once, and is refused for each rule that it breaks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyValidationError

from holdfast.domain.cases import (
    AssignCase,
    ChangeExternalRef,
    CreateCase,
    EditCase,
    SetLegalHold,
    TransferCase,
)
from holdfast.domain.officers import DeactivateOfficer
from holdfast.domain.reviews import (
    ApproveCase,
    CloseCase,
    RejectCase,
    ReopenCase,
    SubmitForReview,
)
from holdfast.patterns import keys
from holdfast.patterns.commands import Command
from holdfast.patterns.uniqueness import CASE_REFERENCE
from holdfast.writes.outcomes import Committed, Refused
from holdfast.writes.refusals import Refusal
from holdfast.writes.table import Table
from tests.commands import (
    AT,
    OFFICER,
    OTHER_OFFICER,
    REVIEWER,
    STRANGER,
    SUPERVISOR,
    TENANT,
    Item,
    Office,
    made,
    planner_of,
)
from tests.proxy import Proxy


@pytest.fixture(autouse=True)
def officers(office: Office) -> None:
    office.register()
    office.register(OTHER_OFFICER)


def on(case: Item, kind: type[Command], **fields: Any) -> Any:
    """A command on the case, at the version that it has."""
    return made(kind, **{"case_id": case["caseId"], "expected_version": case["version"], **fields})


def now(office: Office, case: Item) -> Item:
    return office.stored(keys.case(TENANT, case["caseId"]))


def load(office: Office, officer_id: str = OFFICER) -> int:
    return office.stored(keys.officer_workload(TENANT, officer_id))["activeLoad"]


def holder(office: Office, reference: str) -> Item | None:
    normalised = CASE_REFERENCE.normalise(reference)
    return office.table.get(keys.sentinel(TENANT, "CASE_REF", 1, normalised))


# The commands that change a case: the state they need, what they set, and the event they leave.
CHANGES: dict[type[Command], tuple[str, dict[str, Any], dict[str, Any], str]] = {
    AssignCase: ("OPEN", {}, {"officerId": OFFICER, "byOfficer": "acme#o-1"}, "CaseAssigned"),
    TransferCase: (
        "OPEN",
        {"to_officer_id": OTHER_OFFICER},
        {"officerId": OTHER_OFFICER, "byOfficer": "acme#o-2"},
        "CaseTransferred",
    ),
    EditCase: ("OPEN", {"title": "Better"}, {"title": "Better"}, "CaseEdited"),
    ChangeExternalRef: (
        "OPEN",
        {"external_ref": "REG-9"},
        {"externalRef": "REG-9"},
        "CaseExternalRefChanged",
    ),
    SubmitForReview: (
        "OPEN",
        {},
        {"status": "UNDER_REVIEW", "byStatus": "acme#UNDER_REVIEW", "reviewerId": REVIEWER},
        "CaseSubmittedForReview",
    ),
    ApproveCase: (
        "UNDER_REVIEW",
        {},
        {"status": "APPROVED", "byStatus": "acme#APPROVED"},
        "CaseApproved",
    ),
    RejectCase: (
        "UNDER_REVIEW",
        {"reason": "Thin"},
        {"status": "REJECTED", "byStatus": "acme#REJECTED", "reason": "Thin"},
        "CaseRejected",
    ),
    ReopenCase: ("REJECTED", {}, {"status": "OPEN", "byStatus": "acme#OPEN"}, "CaseReopened"),
    CloseCase: (
        "APPROVED",
        {"resolution": "Fined"},
        {"status": "CLOSED", "byStatus": "acme#CLOSED", "resolution": "Fined"},
        "CaseClosed",
    ),
    SetLegalHold: (
        "CLOSED",
        {**SUPERVISOR, "hold": True},
        {"legalHold": True},
        "LegalHoldSet",
    ),
}
each_change = pytest.mark.parametrize("kind", CHANGES, ids=lambda kind: kind.__name__)


def prepared(office: Office, kind: type[Command], **fields: Any) -> tuple[Item, Any]:
    """A case in the state that the command needs, and the command on it."""
    state, own, _, _ = CHANGES[kind]
    case = office.case(state, assigned=kind is not AssignCase)
    return case, on(case, kind, **{**own, **fields})


def test_a_case_is_created_open_unassigned_at_version_one(office: Office) -> None:
    cmd = made(CreateCase, external_ref=" Reg-1", title="T", region="EU-1", priority="HIGH")
    result = office.send(cmd)
    case_id = cmd.new_id("case")
    assert result.response.status == 201
    assert result.response.headers == {"ETag": '"v1"', "Location": f"/cases/{case_id}"}
    case = office.stored(keys.case(TENANT, case_id))
    expected = {
        "caseId": case_id,
        "externalRef": " Reg-1",
        "title": "T",
        "region": "EU-1",
        "priority": "HIGH",
        "status": "OPEN",
        "version": 1,
        "createdBy": OFFICER,
        "createdAt": AT,
    }
    assert expected.items() <= case.items()
    assert "officerId" not in case
    assert holder(office, "REG-1")["ownerId"] == case_id


@each_change
def test_a_change_sets_what_it_says_and_raises_the_version(
    office: Office, kind: type[Command]
) -> None:
    case, cmd = prepared(office, kind)
    result = office.send(cmd)
    _, _, expected, event = CHANGES[kind]
    after = now(office, case)
    assert expected.items() <= after.items()
    assert after["version"] == case["version"] + 1
    assert result.response.status == 200
    assert result.response.headers["ETag"] == f'"v{after["version"]}"'
    assert office.stored(keys.event(cmd.key, after["version"]))["type"] == event


@each_change
def test_a_field_of_a_later_release_survives_each_change(
    office: Office, kind: type[Command]
) -> None:
    """Field report 13: an update names what it changes and never replaces the item."""
    case, cmd = prepared(office, kind)
    office.put(cmd.key, **{**case, "futureField": {"kept": True}})
    assert isinstance(office.send(cmd).outcome, Committed)
    assert now(office, case)["futureField"] == {"kept": True}


@each_change
def test_a_change_of_a_case_that_does_not_exist_is_not_found(
    office: Office, kind: type[Command]
) -> None:
    """Field report 15: the missing case is told from the stale version and the wrong actor."""
    _, cmd = prepared(office, kind)
    assert office.refusal(replace(cmd, case_id="none")) is Refusal.NOT_FOUND


@each_change
def test_a_change_in_another_tenant_is_not_found(office: Office, kind: type[Command]) -> None:
    case, cmd = prepared(office, kind)
    assert office.refusal(replace(cmd, tenant="globex")) is Refusal.NOT_FOUND
    assert now(office, case) == case


@each_change
@pytest.mark.parametrize("off_by", [-1, 1])
def test_a_change_at_another_version_is_stale(
    office: Office, kind: type[Command], off_by: int
) -> None:
    """Field report 15."""
    case, cmd = prepared(office, kind)
    wrong = replace(cmd, expected_version=case["version"] + off_by)
    assert office.refusal(wrong) is Refusal.STALE_VERSION
    assert now(office, case) == case


ACTORS = {
    EditCase: Refusal.NOT_CASE_OFFICER,
    ChangeExternalRef: Refusal.NOT_CASE_OFFICER,
    TransferCase: Refusal.NOT_CASE_OFFICER,
    SubmitForReview: Refusal.NOT_CASE_OFFICER,
    ReopenCase: Refusal.NOT_CASE_OFFICER,
    CloseCase: Refusal.NOT_CASE_OFFICER,
    ApproveCase: Refusal.NOT_CASE_REVIEWER,
    RejectCase: Refusal.NOT_CASE_REVIEWER,
}


@pytest.mark.parametrize(("kind", "expected"), ACTORS.items(), ids=str)
def test_a_change_by_whom_it_does_not_concern_is_refused_before_all_else(
    office: Office, kind: type[Command], expected: Refusal
) -> None:
    """Field report 15: a stranger learns neither of the state nor of the version."""
    case, cmd = prepared(office, kind, caller=STRANGER)
    assert office.refusal(cmd) is expected
    stale = made(kind, **{**vars(cmd), "command_id": "stale", "expected_version": 99})
    assert office.refusal(stale) is expected
    assert now(office, case) == case


@pytest.mark.parametrize("kind", [ChangeExternalRef, TransferCase, CloseCase])
def test_a_supervisor_stands_in_for_the_officer(office: Office, kind: type[Command]) -> None:
    _, cmd = prepared(office, kind, **SUPERVISOR)
    assert isinstance(office.send(cmd).outcome, Committed)


@pytest.mark.parametrize("kind", [EditCase, SubmitForReview, ReopenCase])
def test_a_supervisor_does_not_do_the_officers_own_work(
    office: Office, kind: type[Command]
) -> None:
    _, cmd = prepared(office, kind, **SUPERVISOR)
    assert office.refusal(cmd) is Refusal.NOT_CASE_OFFICER


ALL = [CreateCase, *CHANGES]
every_command = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)


def ready(office: Office, kind: type[Command]) -> Any:
    return made(CreateCase) if kind is CreateCase else prepared(office, kind)[1]


@every_command
def test_a_duplicate_gets_the_first_answer_and_changes_nothing(
    office: Office, kind: type[Command]
) -> None:
    cmd = ready(office, kind)
    first = office.send(cmd)
    before = office.items()
    again = office.send(replace(cmd, at="2030-01-02T04:00:00.000Z"))
    assert again.replayed
    assert again.response == first.response
    assert office.items() == before


@every_command
def test_a_key_used_with_another_payload_is_refused(office: Office, kind: type[Command]) -> None:
    """Field report 6."""
    cmd = ready(office, kind)
    office.send(cmd)
    before = office.items()
    with pytest.raises(IdempotencyValidationError):
        office.send(replace(cmd, request_hash="another payload"))
    assert office.items() == before


@every_command
def test_a_command_whose_answer_was_lost_is_still_answered_once(
    office: Office, faults: Proxy, faulty_table: Table, kind: type[Command]
) -> None:
    """Field report 14: 201 or 200 and one effect, not 409."""
    cmd = ready(office, kind)
    faults.rules({"operation": "TransactWriteItems", "times": 1, "response": {"abort_bytes": 0}})
    result = Office(faulty_table).send(cmd)
    assert faults.fired() == ["TransactWriteItems"]
    assert isinstance(result.outcome, Committed)
    assert result.outcome.effort.doubts == 1
    events = [key for key in office.items() if key.sk.startswith("EVENT#META")]
    versions = [int(key.sk[-10:]) for key in events]
    assert sorted(versions) == list(range(1, len(versions) + 1))


@every_command
def test_a_commit_leaves_one_record_one_event_and_one_outbox_entry(
    office: Office, kind: type[Command]
) -> None:
    cmd = ready(office, kind)
    before = office.items()
    office.send(cmd)
    new = [key for key in office.items() if key not in before]
    records = [key for key in new if key.pk.startswith("IDEMPOTENCY#")]
    events = [key for key in new if key.pk.startswith("CASE#") and key.sk.startswith("EVENT#")]
    entries = [key for key in new if key.pk.startswith("OUTBOX#")]
    assert (len(records), len(events), len(entries)) == (1, 1, 1)
    assert office.stored(records[0])["status"] == "COMPLETED"
    assert office.stored(events[0])["eventId"] == office.stored(entries[0])["eventId"]
    assert office.stored(events[0])["commandId"] == cmd.command_id
    assert office.stored(entries[0])["status"] == "NEW"


@each_change
def test_a_refusal_leaves_one_final_record_and_nothing_else(
    office: Office, kind: type[Command]
) -> None:
    _, cmd = prepared(office, kind)
    before = office.items()
    office.refusal(replace(cmd, expected_version=99))
    after = office.items()
    [record] = [key for key in after if key not in before]
    assert record == keys.command(TENANT, cmd.command_id)
    assert after.pop(record)["status"] == "FAILED_FINAL"
    assert after == before


@each_change
def test_a_refused_command_stays_refused_though_it_would_now_succeed(
    office: Office, kind: type[Command]
) -> None:
    case, cmd = prepared(office, kind)
    office.put(cmd.key, **{**case, "version": 99})
    assert office.refusal(cmd) is Refusal.STALE_VERSION
    office.put(cmd.key, **case)
    again = office.send(cmd)
    assert again.replayed
    assert again.response.status == 409
    assert now(office, case) == case


@each_change
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_changes_at_one_version_the_first_to_commit_wins(
    office: Office, kind: type[Command], order: tuple[int, int]
) -> None:
    case, cmd = prepared(office, kind)
    racers = [cmd, replace(cmd, command_id=f"{cmd.command_id[:-1]}x")]
    planner = planner_of(kind)
    reads = kind in {CloseCase, ChangeExternalRef, TransferCase}
    plans = [planner(racer, case) if reads else planner(racer) for racer in racers]
    first, second = order
    assert isinstance(office.table.commit(plans[first]), Committed)
    outcome = office.table.commit(plans[second])
    assert isinstance(outcome, Refused)
    assert now(office, case)["version"] == case["version"] + 1
    winner = office.stored(keys.event(cmd.key, case["version"] + 1))
    assert winner["commandId"] == racers[first].command_id


def test_a_reference_is_taken_once_however_it_is_written(office: Office) -> None:
    """Field report 26: one case; the display keeps the original."""
    first = office.do(CreateCase, external_ref="REG-1")
    for same in ("REG-1", " reg-1 ", "ＲＥＧ-１"):
        assert office.refusal(made(CreateCase, external_ref=same)) is Refusal.ALREADY_EXISTS
    assert holder(office, "reg-1") == {
        **keys.sentinel(TENANT, "CASE_REF", 1, "reg-1").attributes,
        "ownerId": first["caseId"],
        "original": "REG-1",
    }


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_reference_goes_to_one_of_two_racers(office: Office, order: tuple[int, int]) -> None:
    commands = [made(CreateCase, external_ref=reference) for reference in ("REG-7", "reg-7")]
    plans = [planner_of(CreateCase)(cmd) for cmd in commands]
    first, second = order
    assert isinstance(office.table.commit(plans[first]), Committed)
    outcome = office.table.commit(plans[second])
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.ALREADY_EXISTS
    assert holder(office, "REG-7")["ownerId"] == commands[first].new_id("case")


def test_ten_creates_have_ten_ids_and_none_is_lost(office: Office) -> None:
    """Field report 20: an id follows from its command, not from a count."""
    plans = [planner_of(CreateCase)(made(CreateCase, external_ref=f"R-{n}")) for n in range(10)]
    for plan in reversed(plans):
        assert isinstance(office.table.commit(plan), Committed)
    metas = [key for key in office.items() if key.sk == "META"]
    assert len(metas) == 10


def test_a_key_used_after_its_record_expired_collides_with_what_it_made(office: Office) -> None:
    cmd = made(CreateCase)
    office.send(cmd)
    record = keys.command(TENANT, cmd.command_id)
    office.table.client.delete_item(
        TableName=office.table.name, Key={"PK": {"S": record.pk}, "SK": {"S": record.sk}}
    )
    again = replace(cmd, at="2030-01-09T03:04:05.678Z", external_ref="REG-2")
    assert office.refusal(again) is Refusal.ALREADY_EXISTS


def test_an_assigned_case_counts_toward_its_officers_load(office: Office) -> None:
    case = office.case(assigned=False)
    assert load(office) == 0
    office.send(on(case, AssignCase))
    assert load(office) == 1


def test_a_case_is_assigned_once(office: Office) -> None:
    case = office.case()
    cmd = on(case, AssignCase, officer_id=OTHER_OFFICER)
    assert office.refusal(cmd) is Refusal.CASE_ASSIGNED
    assert (load(office), load(office, OTHER_OFFICER)) == (1, 0)


@pytest.mark.parametrize("officer_id", ["nobody", OTHER_OFFICER])
@pytest.mark.parametrize("kind", [AssignCase, TransferCase])
def test_only_an_active_officer_is_given_a_case(
    office: Office, kind: type[Command], officer_id: str
) -> None:
    office.do(DeactivateOfficer, caller="admin", officer_id=OTHER_OFFICER, expected_version=1)
    field = "officer_id" if kind is AssignCase else "to_officer_id"
    case, cmd = prepared(office, kind, **{field: officer_id})
    assert office.refusal(cmd) is Refusal.OFFICER_UNAVAILABLE
    assert now(office, case) == case
    assert load(office, OTHER_OFFICER) == 0


@pytest.mark.parametrize("kind", [AssignCase, TransferCase])
def test_an_officer_at_the_limit_is_given_no_case(office: Office, kind: type[Command]) -> None:
    workload = keys.officer_workload(TENANT, OTHER_OFFICER)
    office.put(workload, activeLoad=3, maxLoad=3)
    field = "officer_id" if kind is AssignCase else "to_officer_id"
    case, cmd = prepared(office, kind, **{field: OTHER_OFFICER})
    assert office.refusal(cmd) is Refusal.LIMIT_REACHED
    assert now(office, case) == case
    assert load(office, OTHER_OFFICER) == 3


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_last_place_with_an_officer_goes_to_one_of_two_racers(
    office: Office, order: tuple[int, int]
) -> None:
    office.put(keys.officer_workload(TENANT, OFFICER), activeLoad=2, maxLoad=3)
    cases = [office.case(assigned=False, external_ref=f"R-{n}") for n in range(2)]
    plans = [planner_of(AssignCase)(on(case, AssignCase)) for case in cases]
    first, second = order
    assert isinstance(office.table.commit(plans[first]), Committed)
    outcome = office.table.commit(plans[second])
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.LIMIT_REACHED
    assert load(office) == 3


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_assignment_and_a_deactivation_do_not_both_win(
    office: Office, order: tuple[int, int]
) -> None:
    """After a deactivation no case goes to the officer, whichever plan was built first."""
    case = office.case(assigned=False)
    off = made(DeactivateOfficer, caller="admin", officer_id=OFFICER, expected_version=1)
    plans = [planner_of(AssignCase)(on(case, AssignCase)), planner_of(DeactivateOfficer)(off)]
    outcomes = [office.table.commit(plans[n]) for n in order]
    assert isinstance(outcomes[0], Committed)
    assert isinstance(outcomes[1], Committed if order == (0, 1) else Refused)
    assert load(office) == (1 if order == (0, 1) else 0)


def test_a_transfer_moves_the_load_with_the_case(office: Office) -> None:
    _, cmd = prepared(office, TransferCase)
    office.send(cmd)
    assert (load(office), load(office, OTHER_OFFICER)) == (0, 1)


def test_a_case_is_not_transferred_to_whom_it_has(office: Office) -> None:
    _, cmd = prepared(office, TransferCase, to_officer_id=OFFICER)
    assert office.refusal(cmd) is Refusal.CASE_ASSIGNED
    assert load(office) == 1


def test_a_case_without_an_officer_is_not_transferred(office: Office) -> None:
    case = office.case(assigned=False)
    cmd = on(case, TransferCase, to_officer_id=OTHER_OFFICER, **SUPERVISOR)
    assert office.refusal(cmd) is Refusal.CASE_UNASSIGNED


def test_a_rename_to_a_taken_reference_writes_nothing(office: Office) -> None:
    """Field report 25: refused, and nothing is written but the refusal."""
    office.do(CreateCase, external_ref="TAKEN")
    case = office.case(external_ref="REG-1")
    before = office.items()
    cmd = on(case, ChangeExternalRef, external_ref=" taken")
    assert office.refusal(cmd) is Refusal.ALREADY_EXISTS
    after = office.items()
    after.pop(keys.command(TENANT, cmd.command_id))
    assert after == before


def test_a_rename_frees_the_old_reference(office: Office) -> None:
    """Field report 25."""
    case = office.case(external_ref="REG-1")
    office.send(on(case, ChangeExternalRef, external_ref="REG-2"))
    assert holder(office, "REG-1") is None
    assert holder(office, "REG-2")["ownerId"] == case["caseId"]
    assert office.do(CreateCase, external_ref="REG-1")["status"] == "OPEN"


def test_an_unchanged_reference_is_no_change_and_no_error(office: Office) -> None:
    case = office.case(external_ref="REG-1")
    result = office.send(on(case, ChangeExternalRef, external_ref="REG-1"))
    assert result.response.status == 200
    assert now(office, case) == case
    stale = on(case, ChangeExternalRef, external_ref="REG-1", expected_version=99)
    assert office.refusal(stale) is Refusal.STALE_VERSION
    foreign = on(case, ChangeExternalRef, external_ref="REG-1", caller=STRANGER)
    assert office.refusal(foreign) is Refusal.NOT_CASE_OFFICER


def test_a_rename_planned_on_an_old_reference_is_planned_again(office: Office) -> None:
    """The reference moved between the read and the commit, at an unchanged version."""
    case = office.case(external_ref="REG-1")
    cmd = on(case, ChangeExternalRef, external_ref="REG-3")
    stale = {**case, "externalRef": "REG-0"}
    outcome = office.table.commit(planner_of(ChangeExternalRef)(cmd, stale))
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.STALE_READ
    assert isinstance(office.send(cmd).outcome, Committed)
    assert holder(office, "REG-3")["ownerId"] == case["caseId"]


def test_a_closed_cases_reference_stays_taken(office: Office) -> None:
    """Field report 25, 26: the kind's policy keeps it as a tombstone."""
    office.case("CLOSED", external_ref="REG-1")
    assert office.refusal(made(CreateCase, external_ref="reg-1")) is Refusal.ALREADY_EXISTS


def test_a_reopened_case_forgets_its_review(office: Office) -> None:
    case, cmd = prepared(office, ReopenCase)
    assert {"reviewerId", "reason", "submittedAt", "decidedAt"} <= case.keys()
    office.send(cmd)
    after = now(office, case)
    assert not {"reviewerId", "reason", "submittedAt", "decidedAt"} & after.keys()
    stale = on(after, ApproveCase)
    assert office.refusal(stale) is Refusal.NOT_CASE_REVIEWER


@pytest.mark.parametrize("state", ["APPROVED", "REJECTED"])
def test_closing_a_case_frees_its_officers_load(office: Office, state: str) -> None:
    case = office.case(state)
    assert load(office) == 1
    office.send(on(case, CloseCase))
    assert load(office) == 0


def test_closing_frees_the_load_of_the_officer_that_the_case_has_by_then(office: Office) -> None:
    """The case was transferred between the read and the commit; another one stays behind."""
    office.case(external_ref="STAYS")
    case = office.case("APPROVED")
    office.do(
        TransferCase,
        case_id=case["caseId"],
        expected_version=case["version"],
        to_officer_id=OTHER_OFFICER,
    )
    cmd = on(case, CloseCase, expected_version=case["version"] + 1, **SUPERVISOR)
    outcome = office.table.commit(planner_of(CloseCase)(cmd, case))
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.STALE_READ
    office.send(cmd)
    assert (load(office), load(office, OTHER_OFFICER)) == (1, 0)


def test_a_whole_life_leaves_a_dense_trail(office: Office) -> None:
    case = office.case("REJECTED")
    for kind in (ReopenCase, SubmitForReview, ApproveCase, CloseCase):
        office.send(on(now(office, case), kind))
    trail = list(office.table.partition(f"CASE#{TENANT}#{case['caseId']}", "EVENT#META#"))
    assert [event["version"] for event in trail] == list(range(1, 9))
    assert [event["type"] for event in trail] == [
        "CaseCreated",
        "CaseAssigned",
        "CaseSubmittedForReview",
        "CaseRejected",
        "CaseReopened",
        "CaseSubmittedForReview",
        "CaseApproved",
        "CaseClosed",
    ]


def test_missing_stale_and_forbidden_are_told_apart(office: Office) -> None:
    """Field report 15: approve a missing case, at a stale version, as the wrong reviewer."""
    case = office.case("UNDER_REVIEW")
    told = [
        office.refusal(on(case, ApproveCase, case_id="none")),
        office.refusal(on(case, ApproveCase, expected_version=1)),
        office.refusal(on(case, ApproveCase, caller=STRANGER)),
    ]
    assert told == [Refusal.NOT_FOUND, Refusal.STALE_VERSION, Refusal.NOT_CASE_REVIEWER]
