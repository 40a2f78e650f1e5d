"""Officers: PROFILE owns who is given work, WORKLOAD how much; an address has one officer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holdfast.domain.officers import (
    ActivateOfficer,
    ChangeEmail,
    ChangeMaxLoad,
    DeactivateOfficer,
    RegisterOfficer,
)
from holdfast.patterns import keys
from holdfast.patterns.commands import Command
from holdfast.writes.outcomes import Committed, Refused
from holdfast.writes.refusals import Refusal
from tests.commands import OFFICER, OTHER_OFFICER, TENANT, Item, Office, made, planner_of

PROFILE = keys.officer_profile(TENANT, OFFICER)
WORKLOAD = keys.officer_workload(TENANT, OFFICER)


def change(kind: type[Command], **fields: Any) -> Any:
    return made(kind, **{"caller": "admin", "officer_id": OFFICER, "expected_version": 1, **fields})


CHANGES: dict[type[Command], tuple[dict[str, Any], dict[str, Any], str]] = {
    ChangeEmail: ({"email": "new@x.org"}, {"email": "new@x.org"}, "OfficerEmailChanged"),
    ActivateOfficer: ({}, {"status": "ACTIVE"}, "OfficerActivated"),
    DeactivateOfficer: ({}, {"status": "INACTIVE"}, "OfficerDeactivated"),
    ChangeMaxLoad: ({"max_load": 9}, {}, "OfficerMaxLoadChanged"),
}
each_change = pytest.mark.parametrize("kind", CHANGES, ids=lambda kind: kind.__name__)


def prepared(office: Office, kind: type[Command], **fields: Any) -> Any:
    office.register()
    if kind is ActivateOfficer:
        office.put(PROFILE, **{**office.stored(PROFILE), "status": "INACTIVE"})
    return change(kind, **{**CHANGES[kind][0], **fields})


def holder(office: Office, email: str) -> str | None:
    item: Item | None = office.table.get(keys.sentinel(TENANT, "EMAIL", 1, email.casefold()))
    return item and item["ownerId"]


def test_an_officer_is_registered_active_without_load(office: Office) -> None:
    cmd = made(RegisterOfficer, email="Ada@X.org", max_load=3)
    result = office.send(cmd)
    assert result.response.status == 201
    assert result.response.headers == {"ETag": '"v1"', "Location": f"/officers/{OFFICER}"}
    assert (office.stored(PROFILE)["status"], office.stored(PROFILE)["version"]) == ("ACTIVE", 1)
    assert office.stored(WORKLOAD) == {**WORKLOAD.attributes, "activeLoad": 0, "maxLoad": 3}
    assert holder(office, "ada@x.org") == OFFICER
    assert office.stored(keys.event(PROFILE, 1))["type"] == "OfficerRegistered"


def test_an_officer_is_registered_once(office: Office) -> None:
    office.register()
    again = made(RegisterOfficer, email="other@example.com")
    assert office.refusal(again) is Refusal.ALREADY_EXISTS
    assert holder(office, "other@example.com") is None


def test_an_address_belongs_to_one_officer(office: Office) -> None:
    office.register(email="ada@x.org")
    other = made(RegisterOfficer, officer_id=OTHER_OFFICER, email=" ADA@x.org")
    assert office.refusal(other) is Refusal.ALREADY_EXISTS
    assert office.table.get(keys.officer_profile(TENANT, OTHER_OFFICER)) is None


@each_change
def test_a_change_sets_what_it_says_and_raises_the_version(
    office: Office, kind: type[Command]
) -> None:
    result = office.send(prepared(office, kind))
    _, expected, event = CHANGES[kind]
    after = office.stored(PROFILE)
    assert result.response.status == 200
    assert {**expected, "version": 2}.items() <= after.items()
    assert office.stored(keys.event(PROFILE, 2))["type"] == event


@each_change
def test_a_change_of_nobody_is_not_found(office: Office, kind: type[Command]) -> None:
    cmd = prepared(office, kind)
    assert office.refusal(replace(cmd, officer_id="nobody")) is Refusal.NOT_FOUND
    assert office.table.get(keys.officer_workload(TENANT, "nobody")) is None


@each_change
def test_a_change_at_another_version_is_stale(office: Office, kind: type[Command]) -> None:
    cmd = prepared(office, kind)
    before = office.stored(PROFILE)
    assert office.refusal(replace(cmd, expected_version=7)) is Refusal.STALE_VERSION
    assert office.stored(PROFILE) == before


@each_change
def test_a_duplicate_gets_the_first_answer_and_changes_nothing(
    office: Office, kind: type[Command]
) -> None:
    cmd = prepared(office, kind)
    first = office.send(cmd)
    before = office.items()
    again = office.send(replace(cmd, at="2030-01-02T04:00:00.000Z"))
    assert (again.replayed, again.response) == (True, first.response)
    assert office.items() == before


@each_change
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_changes_at_one_version_the_first_to_commit_wins(
    office: Office, kind: type[Command], order: tuple[int, int]
) -> None:
    cmd = prepared(office, kind)
    racers = [cmd, replace(cmd, command_id=f"{cmd.command_id[:-1]}x")]
    read = [office.stored(PROFILE)] if kind is ChangeEmail else []
    plans = [planner_of(kind)(racer, *read) for racer in racers]
    first, second = order
    assert isinstance(office.table.commit(plans[first]), Committed)
    assert isinstance(office.table.commit(plans[second]), Refused)
    assert office.stored(keys.event(PROFILE, 2))["commandId"] == racers[first].command_id


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (ActivateOfficer, Refusal.OFFICER_NOT_INACTIVE),
        (DeactivateOfficer, Refusal.OFFICER_NOT_ACTIVE),
    ],
)
def test_an_officer_who_is_so_already_is_not_made_so_again(
    office: Office, kind: type[Command], expected: Refusal
) -> None:
    cmd = prepared(office, kind)
    office.send(cmd)
    assert office.refusal(change(kind, expected_version=2)) is expected


def test_a_new_address_frees_the_old_one(office: Office) -> None:
    office.register(email="old@x.org")
    office.send(change(ChangeEmail, email="New@X.org"))
    assert (holder(office, "old@x.org"), holder(office, "new@x.org")) == (None, OFFICER)


def test_a_taken_address_is_refused_and_nothing_is_written(office: Office) -> None:
    office.register(email="one@x.org")
    office.register(OTHER_OFFICER, email="two@x.org")
    before = office.items()
    cmd = change(ChangeEmail, email="TWO@x.org")
    assert office.refusal(cmd) is Refusal.ALREADY_EXISTS
    after = office.items()
    assert after.pop(keys.command(TENANT, cmd.command_id))["status"] == "FAILED_FINAL"
    assert after == before


def test_an_unchanged_address_is_no_change_and_no_error(office: Office) -> None:
    office.register(email="one@x.org")
    before = office.stored(PROFILE)
    assert office.send(change(ChangeEmail, email="one@x.org")).response.status == 200
    assert office.stored(PROFILE) == before
    stale = change(ChangeEmail, email="one@x.org", expected_version=7)
    assert office.refusal(stale) is Refusal.STALE_VERSION


def test_a_new_limit_leaves_the_load_as_it_is(office: Office) -> None:
    office.register()
    office.put(WORKLOAD, activeLoad=4, maxLoad=5)
    office.send(change(ChangeMaxLoad, max_load=2))
    assert office.stored(WORKLOAD) == {**WORKLOAD.attributes, "activeLoad": 4, "maxLoad": 2}
