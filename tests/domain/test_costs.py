"""What a command costs: round trips, and capacity units apart from those of the indexes."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.domain.cases import AssignCase, CreateCase
from holdfast.domain.reviews import ApproveCase, SubmitForReview
from holdfast.patterns.commands import Command
from holdfast.writes.outcomes import Refused
from holdfast.writes.refusals import Refusal
from holdfast.writes.table import Table
from tests.commands import Item, Office, made
from tests.metering import Meter

LONG = "A title of the usual length, and a little more than that for good measure"


@pytest.fixture
def desk(office: Office, metered: tuple[Table, Meter]) -> tuple[Office, Meter]:
    """An office whose requests and units are counted."""
    table, meter = metered
    return Office(table), meter


def on(case: Item, kind: type[Command], **fields: Any) -> Any:
    return made(kind, **{"case_id": case["caseId"], "expected_version": case["version"], **fields})


def test_creating_a_case_takes_one_request_and_ten_units(desk: tuple[Office, Meter]) -> None:
    office, meter = desk
    result = office.send(made(CreateCase, title=LONG))
    assert result.response.status == 201
    assert (meter.requests, meter.units) == (["TransactWriteItems"], 10)


def test_submitting_a_case_takes_one_request_and_eight_units(desk: tuple[Office, Meter]) -> None:
    office, meter = desk
    office.register()
    case = office.case(title=LONG)
    meter.reset()
    assert office.send(on(case, SubmitForReview)).response.status == 200
    assert (meter.requests, meter.units) == (["TransactWriteItems"], 8)


def test_a_replay_takes_one_request(desk: tuple[Office, Meter]) -> None:
    office, meter = desk
    cmd = made(CreateCase)
    office.send(cmd)
    meter.reset()
    office.send(cmd)
    assert meter.requests == ["TransactWriteItems"]


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        (ApproveCase, {"expected_version": 99}, Refusal.STALE_VERSION),
        (ApproveCase, {"caller": "x-1"}, Refusal.NOT_CASE_REVIEWER),
        (SubmitForReview, {}, Refusal.CASE_NOT_OPEN),
        (AssignCase, {}, Refusal.CASE_NOT_OPEN),
    ],
    ids=["version", "actor", "state", "other state"],
)
def test_a_refusal_is_diagnosed_in_one_request_and_stored_by_one_put(
    desk: tuple[Office, Meter], kind: type[Command], fields: dict[str, Any], expected: Refusal
) -> None:
    office, meter = desk
    office.register()
    case = office.case("UNDER_REVIEW")
    meter.reset()
    outcome = office.send(on(case, kind, **fields)).outcome
    assert isinstance(outcome, Refused)
    assert outcome.refusal is expected
    assert meter.requests == ["TransactWriteItems", "PutItem"]
