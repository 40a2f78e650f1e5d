"""Offboarding: each case moves once, whatever becomes of the worker, its messages and others."""

from __future__ import annotations

import random
from typing import Any

import pytest

from holdfast.patterns import keys
from tests.api import ADMIN, OFFICER, REVIEWER, SUPERVISOR, Api
from tests.leaving import (
    ROOMS,
    assert_moved_once,
    assign,
    give_up,
    given,
    leave,
    load,
    moves,
    status,
    stored_load,
    team,
    transfer,
)
from tests.working import TENANT, Works, command_of, die

CASES = 25


@pytest.fixture
def works(api: Api) -> Works:
    return Works.of(api)


def watch(works: Works, command_id: str, rooms: dict[str, int]) -> list[tuple[str, int]]:
    """What GET tells at each moment, which is held against the loads at that moment."""
    seen: list[tuple[str, int]] = []

    def look() -> None:
        told = works.command(command_id)
        left, *moved = (stored_load(works.api, officer) for officer in ("o-1", *rooms))
        assert (told["done"], told["total"]) == (sum(moved), CASES), told
        assert left + sum(moved) == CASES
        seen.append((told["status"], told["done"]))

    works.wire.landed = look
    return seen


@pytest.mark.parametrize(("seed", "copies"), [(1, 1), (2, 1), (3, 2), (4, 2)])
def test_a_worker_killed_at_five_points_moves_each_case_once(
    api: Api, works: Works, seed: int, copies: int
) -> None:
    cases = team(api, CASES, ROOMS)
    command_id = command_of(leave(api))
    chance = random.Random(seed)
    for number in chance.sample(range(2, 150), 5):
        works.wire.kill(number, before=chance.random() < 0.5)
    works.copies = copies
    seen = watch(works, command_id, ROOMS)
    works.drain(command_id)
    assert works.deaths == 5
    assert seen == sorted(seen, key=lambda moment: moment[1])
    assert [state for state, _ in seen] == ["IN_PROGRESS"] * CASES + ["COMPLETED"]
    told = works.command(command_id)
    assert (told["status"], told["done"], told["result"]["moved"]) == ("COMPLETED", CASES, CASES)
    assert status(api, "o-1") == "INACTIVE"
    assert_moved_once(api, cases, ROOMS)


def test_a_worker_killed_after_every_commit_moves_each_case_once(api: Api, works: Works) -> None:
    cases = team(api, 5, ROOMS)
    command_id = command_of(leave(api))
    works.accepted(command_id)
    works.wire.landed = die
    works.drain()
    assert works.deaths == 6
    assert works.command(command_id)["status"] == "COMPLETED"
    assert_moved_once(api, cases, ROOMS)


@pytest.mark.parametrize("seed", [1, 2])
def test_two_workers_at_once_move_each_case_once(api: Api, works: Works, seed: int) -> None:
    """At random calls of the one, the other takes some steps from where the record stands."""
    cases = team(api, CASES, ROOMS)
    command_id = command_of(leave(api))
    other = Works.of(api, budget=0.3)
    chance = random.Random(seed)
    for number in chance.sample(range(1, 100), 12):
        works.wire.before[number] = lambda: interfere(other, command_id)
    watch(works, command_id, ROOMS)
    works.drain(command_id)
    assert works.command(command_id)["status"] == "COMPLETED"
    assert_moved_once(api, cases, ROOMS)


def interfere(other: Works, command_id: str) -> None:
    other.accepted(command_id)
    other.deliver()
    other.queue.waiting.clear()


def test_a_worker_that_wakes_up_after_the_end_changes_nothing(api: Api, works: Works) -> None:
    cases = team(api, 4, ROOMS)
    command_id = command_of(leave(api))
    after: list[Any] = []

    def everything_else() -> None:
        Works.of(api).drain(command_id)
        after.extend(api.items())

    first_commit = 8
    works.wire.before[first_commit] = everything_else
    works.drain(command_id)
    assert works.wire.calls[first_commit - 1] == "transact_write_items"
    assert api.items() == after
    assert_moved_once(api, cases, ROOMS)


def test_the_emptiest_desk_comes_first(api: Api, works: Works) -> None:
    cases = team(api, 4, {"o-2": 2, "o-3": 4})
    works.drain(command_of(leave(api, {"toOfficerIds": ["o-2", "o-3"]})))
    assert [moves(api, case_id) for case_id in cases] == [["o-3"], ["o-3"], ["o-2"], ["o-3"]]


def test_without_enough_room_it_ends_and_lists_what_is_left(api: Api, works: Works) -> None:
    cases = team(api, 6, {"o-2": 2, "o-3": 1})
    command_id = command_of(leave(api, {"toOfficerIds": ["o-2", "o-3"]}))
    works.drain(command_id)
    told = works.command(command_id)
    assert (told["status"], told["done"], told["total"]) == ("FAILED_FINAL", 3, 6)
    assert told["result"] == {
        "officerId": "o-1",
        "moved": 3,
        "left": 3,
        "leftCaseIds": cases[3:],
        "reason": "no officer named has room",
    }
    assert [load(api, officer) for officer in ("o-1", "o-2", "o-3")] == [3, 2, 1]
    assert status(api, "o-1") == "INACTIVE"


def test_closed_cases_stay_and_are_not_counted_as_left(api: Api, works: Works) -> None:
    case_id = api.submitted()
    api.officer("o-2", max_load=0)
    api.post(f"/cases/{case_id}/approvals", {"expectedVersion": 3}, actor=REVIEWER)
    closed = {"resolution": "Filed", "expectedVersion": 4}
    assert api.post(f"/cases/{case_id}/closures", closed, actor=SUPERVISOR).status == 200
    open_case = given(api, "REG-2")
    command_id = command_of(leave(api, {"toOfficerIds": ["o-2"]}))
    works.drain(command_id)
    result = works.command(command_id)["result"]
    assert (result["left"], result["leftCaseIds"]) == (1, [open_case])
    assert api.get(f"/cases/{case_id}").body["officerId"] == "o-1"


def test_what_was_left_moves_with_a_new_offboarding(api: Api, works: Works) -> None:
    cases = team(api, 3, {"o-2": 1, "o-3": 5})
    works.drain(command_of(leave(api, {"toOfficerIds": ["o-2"]})))
    works.drain(command_of(leave(api, {"toOfficerIds": ["o-3"]}, key="again")))
    assert_moved_once(api, cases, {"o-2": 1, "o-3": 5})


def test_who_leaves_is_given_no_case_and_does_not_leave_twice(api: Api, works: Works) -> None:
    team(api, 1, ROOMS)
    free = api.case("REG-9").body["caseId"]
    elsewhere = given(api, "REG-8", "o-2")
    command_of(leave(api))
    assert status(api, "o-1") == "LEAVING"
    assert assign(api, free, "o-1").code == "officer-unavailable"
    assert transfer(api, elsewhere, "o-1").code == "officer-unavailable"
    again = leave(api, key="another")
    assert (again.status, again.code) == (409, "invalid-state")


def test_a_target_that_is_deactivated_midway_gets_no_more(api: Api, works: Works) -> None:
    cases = team(api, 6, {"o-2": 9, "o-3": 9})
    command_id = command_of(leave(api, {"toOfficerIds": ["o-2", "o-3"]}))

    def deactivate() -> None:
        seen = {"expectedVersion": 1}
        assert api.post("/officers/o-2/deactivations", seen, actor=ADMIN).status == 200

    second_commit = 14
    works.wire.before[second_commit] = deactivate
    works.drain(command_id)
    assert works.wire.calls[second_commit - 1] == "transact_write_items"
    assert works.command(command_id)["status"] == "COMPLETED"
    assert (load(api, "o-2"), load(api, "o-3")) == (1, 5)
    assert_moved_once(api, cases, {"o-2": 9, "o-3": 9})


def test_a_case_that_changes_meanwhile_is_looked_at_again(api: Api, works: Works) -> None:
    cases = team(api, 2, ROOMS)
    command_id = command_of(leave(api))

    def edit() -> None:
        edited = {"title": "Corrected", "expectedVersion": 2}
        assert api.call("PATCH", f"/cases/{cases[0]}", edited, actor=OFFICER).status == 200

    first_commit = 8
    works.wire.before[first_commit] = edit
    works.drain(command_id)
    assert works.wire.calls[first_commit - 1] == "transact_write_items"
    assert api.get(f"/cases/{cases[0]}").body["title"] == "Corrected"
    assert_moved_once(api, cases, ROOMS)


def test_a_case_given_while_it_is_accepted_counts(api: Api, works: Works) -> None:
    """The load that was read has moved before the commit: it is read again, once."""
    team(api, 1, ROOMS)
    free = api.case("REG-9").body["caseId"]
    api.officer("o-1", max_load=2)
    raised = {"maxLoad": 5, "expectedVersion": 1}
    assert api.call("PUT", "/officers/o-1/max-load", raised, actor=SUPERVISOR).status == 200
    api.table.client, client = Racing(api, free), api.table.client
    accepted = leave(api)
    api.table.client = client
    assert accepted.body["total"] == 2
    works.drain(command_of(accepted))
    assert works.command(accepted.body["commandId"])["done"] == 2


class Racing:
    """A client before whose first transaction a supervisor gives `o-1` a case."""

    def __init__(self, api: Api, case_id: str) -> None:
        self.api, self.case_id, self.client = api, case_id, api.table.client

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def transact_write_items(self, **request: Any) -> Any:
        self.api.table.client = self.client
        assert assign(self.api, self.case_id, "o-1").status == 200
        return self.client.transact_write_items(**request)


def test_an_offboarding_that_was_given_up_may_be_taken_over(api: Api, works: Works) -> None:
    cases = team(api, 3, ROOMS)
    first = command_of(leave(api))
    give_up(works)
    second = command_of(leave(api, key="another"))
    assert leave(api).status == 202
    works.drain(first)
    told = works.command(first)
    assert (told["status"], told["done"]) == ("FAILED_FINAL", 0)
    assert told["result"]["reason"] == "another offboarding of this officer took over"
    works.drain(second)
    assert works.command(second)["status"] == "COMPLETED"
    assert_moved_once(api, cases, ROOMS)


def test_an_officer_whose_record_expired_can_leave_again(api: Api, works: Works) -> None:
    cases = team(api, 2, ROOMS)
    first = command_of(leave(api))
    expired = keys.command(TENANT, first).attributes
    api.table.client.delete_item(
        TableName=api.table.name, Key={name: {"S": value} for name, value in expired.items()}
    )
    works.drain(first)
    works.drain(command_of(leave(api, key="another")))
    assert_moved_once(api, cases, ROOMS)
