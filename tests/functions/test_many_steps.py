"""Commands of many steps: started surely, run once, resumed by their key, pushed when stuck."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from holdfast.edge.workflows_app import workflows_handler
from holdfast.patterns import keys
from holdfast.patterns.commands import STUCK_MILLISECONDS
from holdfast.patterns.workflows import PUSHES_MAX
from holdfast.writes.codec import encode_item
from tests.api import ADMIN, Answer, Api
from tests.leaving import assert_moved_once, give_up, leave, team
from tests.scripted import failure
from tests.working import TENANT, Context, Wire, Works, command_of

ROOMS = {"o-2": 9}
BODY = {"toOfficerIds": ["o-2"]}
STUCK_SECONDS = STUCK_MILLISECONDS / 1000


@pytest.fixture
def works(api: Api) -> Works:
    return Works.of(api)


def started(api: Api, count: int = 3) -> tuple[list[str], str]:
    """The cases of an officer who leaves, and the command."""
    return team(api, count, ROOMS), command_of(leave(api, BODY))


def record(api: Api, command_id: str) -> dict[str, Any]:
    found = api.table.get(keys.command(TENANT, command_id))
    assert found is not None
    return found


def assert_in_progress(answer: Answer, command_id: str) -> None:
    assert (answer.status, answer.code) == (409, "command-in-progress"), answer.text
    assert answer.headers["Location"] == f"/commands/{command_id}"
    assert int(answer.headers["Retry-After"]) >= 1


def test_a_command_killed_after_it_was_accepted_is_taken_up_by_its_key_and_runs_once(
    api: Api, works: Works
) -> None:
    """Field report 1: before the in-progress deadline 409, after it the command goes on."""
    cases, command_id = started(api)
    second_commit = 12
    works.wire.kill(second_commit, before=True)
    works.accepted(command_id)
    assert works.deliver() is False
    works.queue.waiting.clear()
    assert_in_progress(leave(api, BODY), command_id)
    works.later(STUCK_SECONDS - 10)
    assert_in_progress(leave(api, BODY), command_id)
    works.later(20)
    resumed = leave(api, BODY)
    assert (resumed.status, resumed.body["commandId"]) == (202, command_id)
    assert works.command(command_id)["done"] == 1
    assert_in_progress(leave(api, BODY), command_id)
    works.drain(command_id)
    told = works.command(command_id)
    assert (told["status"], told["done"], told["attempt"]) == ("COMPLETED", 3, 2)
    assert_moved_once(api, cases, ROOMS)


def test_the_key_of_a_command_that_ended_gives_its_first_answer(api: Api, works: Works) -> None:
    _, command_id = started(api)
    works.drain(command_id)
    replay = leave(api, BODY)
    assert (replay.status, replay.headers["Idempotency-Replayed"]) == (202, "true")
    assert replay.headers["Location"] == f"/commands/{command_id}"
    assert command_of(replay) == command_id


def test_a_command_that_was_given_up_is_resumed_by_its_key_from_its_cursor(
    api: Api, works: Works
) -> None:
    cases, command_id = started(api)
    works.wire.kill(12, before=True)
    works.accepted(command_id)
    works.deliver()
    give_up(works)
    told = works.command(command_id)
    assert (told["status"], told["done"]) == ("FAILED_RETRYABLE", 1)
    other = leave(api, {"toOfficerIds": ["o-3"]})
    assert (other.status, other.code) == (422, "idempotency-key-reused")
    assert works.command(command_id)["status"] == "FAILED_RETRYABLE"
    resumed = leave(api, BODY)
    assert (resumed.status, resumed.body["total"]) == (202, 3)
    works.drain(command_id)
    assert works.command(command_id)["status"] == "COMPLETED"
    assert_moved_once(api, cases, ROOMS)


def test_a_record_that_expires_while_it_is_resumed_is_not_made_anew(api: Api, works: Works) -> None:
    """The officer is LEAVING by a command that is gone, so another may take over."""
    cases, command_id = started(api)
    give_up(works)
    gone, client = encode_item(keys.command(TENANT, command_id).attributes), api.table.client
    api.table.client = api.table.reader = wire = Wire(client)
    api.table.clock = works.clock
    resumption = 8
    wire.before[resumption] = lambda: client.delete_item(TableName=api.table.name, Key=gone)
    answer = leave(api, BODY)
    assert wire.calls[resumption - 1] == "transact_write_items"
    assert (answer.status, answer.code) == (503, "temporarily-unavailable")
    assert api.table.get(keys.command(TENANT, command_id)) is None
    works.drain(command_of(leave(api, BODY, key="another")))
    assert_moved_once(api, cases, ROOMS)


def test_a_late_message_changes_nothing_after_the_end(api: Api, works: Works) -> None:
    _, command_id = started(api)
    works.drain(command_id)
    before = api.items()
    works.wire.calls.clear()
    works.drain(command_id)
    assert (api.items(), works.wire.calls) == (before, ["get_item"])


def test_a_late_message_changes_nothing_after_the_command_was_given_up(
    api: Api, works: Works
) -> None:
    _, command_id = started(api)
    give_up(works)
    before = api.items()
    works.drain(command_id)
    assert api.items() == before


def test_a_run_that_is_out_of_time_sends_the_command_on(api: Api, works: Works) -> None:
    cases, command_id = started(api, count=4)
    works.budget = 0
    works.accepted(command_id)
    done = []
    while works.queue.waiting:
        works.deliver()
        done.append(works.command(command_id)["done"])
    assert done == [1, 2, 3, 4, 4]
    assert_moved_once(api, cases, ROOMS)


def test_the_sweep_pushes_a_stuck_command_and_counts_it(api: Api, works: Works) -> None:
    cases, command_id = started(api)
    assert works.sweep() == 0
    works.later(STUCK_SECONDS + 10)
    assert works.sweep() == 1
    assert len(works.queue.waiting) == 1
    assert works.sweep() == 0
    works.drain()
    assert works.command(command_id)["status"] == "COMPLETED"
    works.later(STUCK_SECONDS + 10)
    assert works.sweep() == 0
    assert_moved_once(api, cases, ROOMS)


def test_the_sweep_gives_a_command_up_after_its_last_push(api: Api, works: Works) -> None:
    _, command_id = started(api)
    for number in range(1, PUSHES_MAX + 1):
        works.later(STUCK_SECONDS + 10)
        assert works.sweep() == 1
        assert record(api, command_id)["pushes"] == number
    assert works.command(command_id)["status"] == "IN_PROGRESS"
    assert len(works.queue.waiting) == PUSHES_MAX
    works.later(STUCK_SECONDS + 10)
    assert works.sweep() == 1
    assert works.command(command_id)["status"] == "FAILED_RETRYABLE"
    works.later(STUCK_SECONDS + 10)
    assert works.sweep() == 0
    assert "runningState" not in record(api, command_id)


def test_a_step_forgives_earlier_pushes(api: Api, works: Works) -> None:
    _, command_id = started(api)
    works.later(STUCK_SECONDS + 10)
    works.sweep()
    works.wire.kill(len(works.wire.calls) + 10, before=True)
    works.deliver()
    found = record(api, command_id)
    assert (found["done"], found["pushes"]) == (1, 0)


def test_what_one_stuck_command_runs_into_does_not_keep_the_others_waiting(
    api: Api, works: Works
) -> None:
    _, first = started(api)
    api.officer("o-5")
    body = {"toOfficerIds": ["o-2"]}
    second = command_of(api.post("/officers/o-5/offboardings", body, actor=ADMIN))
    works.later(STUCK_SECONDS + 10)
    works.wire.client = Throttling(works.wire.client, first)
    assert works.sweep() == 2
    assert (record(api, first)["pushes"], record(api, second)["pushes"]) == (0, 1)


@dataclass(frozen=True)
class Throttling:
    """A client that takes in no transaction on one command."""

    client: Any
    command_id: str

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def transact_write_items(self, **request: Any) -> Any:
        if self.command_id in str(request["TransactItems"]):
            raise failure("ThrottlingException")
        return self.client.transact_write_items(**request)


def test_a_workflow_of_another_version_waits_for_the_version_that_knows_it(
    api: Api, works: Works
) -> None:
    _, command_id = started(api)
    works.accepted(command_id)
    [message] = works.queue.waiting
    runner, queue = works.process()
    handler = workflows_handler(replace(runner, known={}), queue)
    answer = handler({"Records": [message]}, Context(1))
    assert answer == {"batchItemFailures": [{"itemIdentifier": message["messageId"]}]}
    assert works.queue.put_off == [message["receiptHandle"]]
    works.drain()
    assert works.command(command_id)["status"] == "COMPLETED"


@pytest.mark.parametrize("body", ["", "{}", "[]", '{"tenant": 1, "data": {}}'])
def test_a_message_that_cannot_be_read_comes_back_until_it_is_dead(works: Works, body: str) -> None:
    record = {"messageId": "m-1", "receiptHandle": "r-1", "body": body}
    answer = works.invoke({"Records": [record]})
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m-1"}]}
    assert works.wire.calls == []


def test_a_message_of_a_command_that_is_not_there_is_done_with(works: Works) -> None:
    works.drain("c-unknown")


def test_messages_behind_a_failed_one_come_back_untried(api: Api, works: Works) -> None:
    _, command_id = started(api)
    works.accepted(command_id)
    [message] = works.queue.waiting
    broken = {"messageId": "m-1", "receiptHandle": "r-1", "body": "{"}
    answer = works.invoke({"Records": [broken, message]})
    assert [one["itemIdentifier"] for one in answer["batchItemFailures"]] == [
        "m-1",
        message["messageId"],
    ]
    assert works.wire.calls == []


def test_steps_and_ends_are_told_with_the_command_they_belong_to(api: Api, works: Works) -> None:
    _, command_id = started(api)
    works.drain(command_id)
    lines = [line for line in api.lines() if line["message"] == "workflow"]
    assert [line["outcome"] for line in lines] == ["Step", "Step", "Step", "Finish"]
    assert {line["commandId"] for line in lines} == {command_id}
    assert [line["step"] for line in lines] == [0, 1, 2, 3]
