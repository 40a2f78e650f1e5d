"""Every command in every state: the table of allowed pairs, compared with what happens."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.domain import cases, enforcement, members, reviews
from holdfast.domain.states import ALLOWED, STATES
from holdfast.patterns import keys
from holdfast.patterns.commands import Command
from holdfast.writes.outcomes import Committed, Refused
from holdfast.writes.refusals import Refusal
from holdfast.writes.table import Table
from tests.commands import OTHER_OFFICER, SUPERVISOR, TENANT, Item, Office, made
from tests.conftest import create_table

NOT_CLOSED = "OPEN UNDER_REVIEW APPROVED REJECTED"
TABLE: dict[str, tuple[str, Refusal | None]] = {
    # command: the states that take it, and the refusal in every other state
    "AssignCase": ("OPEN", Refusal.CASE_NOT_OPEN),
    "SubmitForReview": ("OPEN", Refusal.CASE_NOT_OPEN),
    "ApproveCase": ("UNDER_REVIEW", Refusal.CASE_NOT_UNDER_REVIEW),
    "RejectCase": ("UNDER_REVIEW", Refusal.CASE_NOT_UNDER_REVIEW),
    "ReopenCase": ("REJECTED", Refusal.CASE_NOT_REJECTED),
    "CloseCase": ("APPROVED REJECTED", Refusal.CASE_NOT_DECIDED),
    "EditCase": (NOT_CLOSED, Refusal.CASE_CLOSED),
    "ChangeExternalRef": (NOT_CLOSED, Refusal.CASE_CLOSED),
    "TransferCase": (NOT_CLOSED, Refusal.CASE_CLOSED),
    "AddNote": (NOT_CLOSED, Refusal.CASE_CLOSED),
    "AddInvestigator": (NOT_CLOSED, Refusal.CASE_CLOSED),
    "RemoveInvestigator": (NOT_CLOSED, Refusal.CASE_CLOSED),
    "OpenTask": (NOT_CLOSED, Refusal.CASE_CLOSED),
    "CloseTask": (NOT_CLOSED, Refusal.CASE_CLOSED),
    "OpenEnforcement": ("APPROVED", Refusal.CASE_NOT_APPROVED),
    "CompleteEnforcement": ("APPROVED", Refusal.CASE_NOT_APPROVED),
    "SetLegalHold": (f"{NOT_CLOSED} CLOSED", None),
}
ELSEWHERE = {"RedactCase", "AcquireLease", "RenewLease", "ReleaseLease"}
"""Commands that read or require more than a case; their own tests try them in each state."""

FIELDS: dict[str, dict[str, Any]] = {
    "EditCase": {"title": "Better"},
    "TransferCase": {"to_officer_id": OTHER_OFFICER},
    "AddNote": {"text": "Seen"},
    "AddInvestigator": {"user_id": "u-2"},
    "RemoveInvestigator": {"user_id": "u-1"},
    "OpenTask": {"title": "Call"},
    "CloseTask": {"task_id": "t-1"},
    "OpenEnforcement": {"kind": "FINE"},
    "CompleteEnforcement": {"enforcement_id": "e-1", "outcome": "Paid"},
    "SetLegalHold": {**SUPERVISOR, "hold": True},
}
_references = itertools.count()


@pytest.fixture(scope="module")
def busy(client: Any) -> Iterator[Office]:
    """One office for all pairs, with two officers whom no limit stops."""
    name = f"states-{uuid.uuid4().hex[:12]}"
    create_table(client, name)
    office = Office(Table(client, name, sleep=lambda seconds: None))
    for officer_id in ("o-1", "o-2"):
        office.register(officer_id, max_load=1000)
    yield office
    client.delete_table(TableName=name)


def kind_of(command: str) -> type[Command]:
    return next(
        getattr(module, command)
        for module in (cases, reviews, members, enforcement)
        if hasattr(module, command)
    )


def put_members(office: Office, case: Item, command: str) -> None:
    """What a command on a member of the case needs to find, in whatever state the case is."""
    key = keys.case(TENANT, case["caseId"])
    match command:
        case "RemoveInvestigator":
            office.put(keys.investigator(key, "u-1"), userId="u-1", membershipId="m-1")
            office.put(keys.investigator_guard(key), activeCount=1)
        case "CloseTask":
            office.put(keys.task(key, "t-1"), status="OPEN", version=1)
            office.put(keys.task_guard(key), openCount=1)
        case "CompleteEnforcement":
            office.put(keys.enforcement(key, "e-1"), status="ACTIVE", version=1)
            office.put(keys.enforcement_guard(key), enforcementId="e-1")


def test_the_table_is_the_contracts() -> None:
    assert {command: " ".join(ALLOWED[command]) for command in TABLE} == {
        command: states for command, (states, _) in TABLE.items()
    }
    assert ALLOWED.keys() == TABLE.keys() | ELSEWHERE


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("command", TABLE)
def test_a_command_is_taken_in_the_states_of_the_table_alone(
    busy: Office, command: str, state: str
) -> None:
    assigned = command != "AssignCase" or state != "OPEN"
    case = busy.case(state, assigned=assigned, external_ref=f"REF-{next(_references)}")
    put_members(busy, case, command)
    fields = dict(FIELDS.get(command, {}), case_id=case["caseId"])
    kind = kind_of(command)
    if "expected_version" in kind.__dataclass_fields__:
        fields["expected_version"] = case["version"]
    if command == "ChangeExternalRef":
        fields["external_ref"] = f"REF-{next(_references)}"
    if command in {"ApproveCase", "RejectCase"} and state == "OPEN":
        busy.put(keys.case(TENANT, case["caseId"]), **{**case, "reviewerId": "r-1"})
    outcome = busy.send(made(kind, **fields)).outcome
    states, refusal = TABLE[command]
    if state in states.split():
        assert isinstance(outcome, Committed), outcome
    else:
        assert isinstance(outcome, Refused)
        assert outcome.refusal is refusal
