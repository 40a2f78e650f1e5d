"""A command takes effect at most once: fresh, repeated, refused, fenced, or run twice at once."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyValidationError,
)
from boto3.dynamodb.conditions import Attr

from holdfast.patterns import keys
from holdfast.patterns.commands import (
    FAILED_FINAL,
    FAILED_RETRYABLE,
    IN_PROGRESS,
    Command,
    command_id,
    plan,
    request_hash,
)
from holdfast.patterns.idempotency import run
from holdfast.writes.outcomes import (
    Committed,
    Duplicate,
    Effort,
    Fenced,
    Outcome,
    Refused,
    Throttled,
)
from holdfast.writes.plan import Key, Plan, accumulate, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule
from holdfast.writes.table import Table
from tests.commands import Office, explain, made
from tests.metering import Meter
from tests.proxy import Proxy

COUNTER = Key("COUNTER#acme", "N")


@dataclass(frozen=True, kw_only=True)
class Count(Command):
    """Adds to a sum, which would show each time that it took effect."""

    more: int = 1
    limit: int | None = None


def count(cmd: Count, told: str = "counted") -> Plan:
    if cmd.limit is None:
        write = accumulate(COUNTER, "Counted.", add={"n": cmd.more})
    else:
        room = Rule(Refusal.LIMIT_REACHED, Attr("n").lt(cmd.limit))
        write = update(COUNTER, "Below its limit.", [room], add={"n": cmd.more})
    return plan(cmd, write, returns={"told": told, "version": 7}, status=201, location="/counts/1")


def send(table: Table, cmd: Count, told: str = "counted") -> Any:
    return run(cmd, lambda c: table.commit(count(c, told)), settle=table.commit, explain=explain)


def total(table: Table) -> int:
    return (table.get(COUNTER) or {}).get("n", 0)


def record(table: Table, cmd: Command) -> dict[str, Any]:
    return table.get(keys.command(cmd.tenant, cmd.command_id)) or {}


def fenced(table: Table, cmd: Count) -> Plan:
    """A first attempt that got lost on its way, and is fenced now."""
    lost = count(cmd)
    assert lost.fence
    assert isinstance(table.commit(Plan(f"fence {cmd.command_id}", (lost.fence,))), Committed)
    return lost


def test_a_fresh_command_takes_one_round_trip(metered: tuple[Table, Meter]) -> None:
    table, meter = metered
    result = send(table, made(Count))
    assert meter.requests == ["TransactWriteItems"]
    assert (result.replayed, result.response.status) == (False, 201)


def test_the_record_remembers_the_answer_with_the_change_itself(table: Table) -> None:
    cmd = made(Count, operation="POST /counts", client_key="key-1", request_hash="abc")
    answer = send(table, cmd).response
    stored = record(table, cmd)
    assert stored["response"] == {
        "status": 201,
        "headers": {"ETag": '"v7"', "Location": "/counts/1"},
        "body": answer.body,
    }
    named = ("status", "attempt", "requestHash", "operation", "clientKey", "caller", "at")
    assert [stored[name] for name in named] == [
        "COMPLETED",
        1,
        "abc",
        "POST /counts",
        "key-1",
        cmd.caller,
        cmd.at,
    ]
    assert stored["expiresAt"] == 1893639845, "24 hours after the command, in epoch seconds"


def test_a_repeated_command_is_answered_from_the_cancelled_transaction(
    metered: tuple[Table, Meter],
) -> None:
    table, meter = metered
    cmd = made(Count)
    first = send(table, cmd)
    meter.reset()
    again = send(table, replace(cmd, at="2030-01-02T04:00:00.000Z"), told="another answer")
    assert meter.requests == ["TransactWriteItems"]
    assert again.replayed
    assert again.response == first.response
    assert total(table) == 1


def test_the_same_bytes_within_the_tokens_life_are_still_one_effect(table: Table) -> None:
    cmd = made(Count)
    answers = [send(table, cmd).response for _ in range(3)]
    assert answers == [answers[0]] * 3
    assert total(table) == 1


@pytest.mark.parametrize("limit", [None, 0], ids=["after success", "after a refusal"])
def test_a_key_with_another_payload_is_refused(table: Table, limit: int | None) -> None:
    """Field report 6, 7: the mismatch is found each time, and the true repeat still answered."""
    cmd = made(Count, more=10, limit=limit)
    table.commit(Plan(table.name, (accumulate(COUNTER, "There.", add={"n": 1}),)))
    first = send(table, cmd)
    for _ in range(2):
        with pytest.raises(IdempotencyValidationError):
            send(table, replace(cmd, more=20, request_hash="other"))
        assert send(table, cmd).response == first.response
    assert total(table) == (11 if limit is None else 1)


def test_a_key_with_another_payload_is_refused_while_the_first_still_runs(table: Table) -> None:
    """Field report 6: also while in progress."""
    cmd = made(Count)
    record_plan = count(cmd)
    running = replace(
        record_plan.writes[0],
        item={"status": IN_PROGRESS, "requestHash": "mine", "progressAt": cmd.at_ms, "attempt": 1},
    )
    table.commit(Plan(f"claim {cmd.command_id}", (running,)))
    with pytest.raises(IdempotencyValidationError):
        send(table, replace(cmd, request_hash="other"))
    with pytest.raises(IdempotencyAlreadyInProgressError):
        send(table, replace(cmd, request_hash="mine"))
    assert total(table) == 0


def test_a_refusal_is_stored_once_and_stays_though_the_state_has_changed(
    metered: tuple[Table, Meter],
) -> None:
    table, meter = metered
    cmd = made(Count, limit=3)
    table.commit(Plan(table.name, (accumulate(COUNTER, "There.", add={"n": 3}),)))
    meter.reset()
    first = send(table, cmd)
    assert meter.requests == ["TransactWriteItems", "PutItem"]
    assert isinstance(first.outcome, Refused)
    assert record(table, cmd)["status"] == FAILED_FINAL
    table.commit(Plan(f"less {table.name}", (accumulate(COUNTER, "Less.", add={"n": -3}),)))
    meter.reset()
    again = send(table, cmd)
    assert meter.requests == ["TransactWriteItems"]
    assert again.replayed
    assert again.response == first.response
    assert json.loads(again.response.body) == {"refusal": "LIMIT_REACHED"}
    assert total(table) == 0


def test_an_unsettled_command_is_forgotten_and_may_be_sent_again(
    faults: Proxy, faulty_table: Table
) -> None:
    cmd = made(Count)
    error = {"code": "ProvisionedThroughputExceededException"}
    faults.rules({"operation": "TransactWriteItems", "error": error})
    with pytest.raises(Throttled):
        run(
            cmd,
            lambda c: faulty_table.commit(count(c), deadline=faulty_table.clock()),
            settle=faulty_table.commit,
            explain=explain,
        )
    assert faults.fired() == ["TransactWriteItems"]
    faults.rules()
    assert record(faulty_table, cmd) == {}
    assert not send(faulty_table, cmd).replayed
    assert total(faulty_table) == 1


def test_after_a_fence_the_next_try_runs_as_attempt_two(metered: tuple[Table, Meter]) -> None:
    table, meter = metered
    cmd = made(Count)
    fenced(table, cmd)
    assert record(table, cmd)["status"] == FAILED_RETRYABLE
    meter.reset()
    result = send(table, cmd)
    assert meter.requests == ["TransactWriteItems"] * 2
    assert (result.replayed, result.response.status) == (False, 201)
    assert (record(table, cmd)["status"], record(table, cmd)["attempt"]) == ("COMPLETED", 2)
    assert total(table) == 1


def test_a_fence_still_checks_the_payload(table: Table) -> None:
    cmd = made(Count)
    fenced(table, cmd)
    with pytest.raises(IdempotencyValidationError):
        send(table, replace(cmd, request_hash="other"))


@pytest.mark.parametrize("after_retry", [False, True], ids=["before the retry", "after it"])
def test_an_attempt_that_arrives_after_its_fence_never_lands(
    table: Table, after_retry: bool
) -> None:
    cmd = made(Count)
    late = fenced(table, cmd)
    if after_retry:
        send(table, cmd)
    outcome = table.commit(late)
    assert isinstance(outcome, Duplicate)
    assert total(table) == (1 if after_retry else 0)
    assert record(table, cmd)["attempt"] == (2 if after_retry else 1)


def test_attempt_two_can_be_fenced_as_well(table: Table) -> None:
    cmd = made(Count)
    first = fenced(table, cmd)
    second = fenced(table, replace(cmd, attempt=2))
    assert record(table, cmd)["attempt"] == 2
    for late in (first, second):
        assert isinstance(table.commit(late), Duplicate)
    assert send(table, cmd).response.status == 201
    assert record(table, cmd)["attempt"] == 3
    for late in (first, second):
        assert isinstance(table.commit(late), Duplicate)
    assert total(table) == 1


def test_of_two_attempts_at_one_command_only_one_lands(table: Table) -> None:
    """Two processes saw the same fence and both run attempt two."""
    cmd = made(Count)
    fenced(table, cmd)
    plans = [count(replace(cmd, attempt=2, at=at)) for at in (cmd.at, "2030-01-02T04:00:00.000Z")]
    assert isinstance(table.commit(plans[0]), Committed)
    assert isinstance(table.commit(plans[1]), Duplicate)
    assert total(table) == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_duplicates_at_once_get_one_stored_answer(table: Table, order: tuple[int, int]) -> None:
    cmd = made(Count)
    racers = [cmd, replace(cmd, at="2030-01-02T04:00:00.000Z")]
    plans = [count(racer, told=f"racer {n}") for n, racer in enumerate(racers)]
    results = {}
    for n in order:
        results[n] = run(
            racers[n],
            lambda _, n=n: table.commit(plans[n]),
            settle=table.commit,
            explain=explain,
        )
    first, second = order
    assert json.loads(results[first].response.body)["told"] == f"racer {first}"
    assert results[second].response == results[first].response
    assert [results[n].replayed for n in order] == [False, True]
    assert total(table) == 1


def test_a_refusal_that_meets_a_duplicates_success_tells_the_success(table: Table) -> None:
    """Its twin took the last place between the two requests of the refused one."""
    cmd = made(Count, limit=1)
    table.commit(Plan(table.name, (accumulate(COUNTER, "There.", add={"n": 0}),)))
    twin = replace(cmd, at="2030-01-02T04:00:00.000Z")

    def settle(refusal: Plan) -> Outcome:
        assert send(table, twin, told="twin").response.status == 201
        return table.commit(refusal)

    full = replace(count(cmd).writes[1], rules=(Rule(Refusal.LIMIT_REACHED, Attr("n").lt(0)),))
    refused = Plan("refused", (count(cmd).writes[0], full), fence=count(cmd).fence)
    result = run(cmd, lambda _: table.commit(refused), settle=settle, explain=explain)
    assert result.response.status == 201 or result.replayed
    assert json.loads(result.response.body)["told"] == "twin"
    assert total(table) == 1


# What the stock layer leaks, and ours does not: a worker pauses, another one does the work
# meanwhile, and then the first one wakes up late or fails.


class Stock:
    """One command under Powertools' own DynamoDB layer, on the same table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.layer = DynamoDBPersistenceLayer(
            table_name=table.name,
            key_attr="PK",
            static_pk_value="STOCK",
            sort_key_attr="SK",
            boto3_client=table.client,
        )

    def run(self, body: Any) -> Any:
        class Context:
            @staticmethod
            def get_remaining_time_in_millis() -> int:
                return 1000

        config = IdempotencyConfig(lambda_context=Context)

        @idempotent_function(
            data_keyword_argument="request", persistence_store=self.layer, config=config
        )
        def once(*, request: dict[str, str]) -> dict[str, str]:
            return {"told": body()}

        return once(request={"key": "one"})["told"]

    def let_the_claim_expire(self) -> None:
        [item] = self.items()
        self.table.client.update_item(
            TableName=self.table.name,
            Key={"PK": item["PK"], "SK": item["SK"]},
            UpdateExpression="SET in_progress_expiration = :past",
            ExpressionAttributeValues={":past": {"N": "1"}},
        )

    def items(self) -> list[dict[str, Any]]:
        return self.table.client.scan(TableName=self.table.name)["Items"]


def test_the_stock_layer_lets_a_paused_worker_overwrite_a_newer_result(table: Table) -> None:
    stock = Stock(table)

    def paused() -> str:
        stock.let_the_claim_expire()
        assert stock.run(lambda: "newer") == "newer"
        return "late"

    assert stock.run(paused) == "late"
    assert json.loads(stock.items()[0]["data"]["S"]) == {"told": "late"}


def test_the_stock_layer_lets_a_failing_worker_delete_a_newer_result(table: Table) -> None:
    stock = Stock(table)

    def failing() -> str:
        stock.let_the_claim_expire()
        assert stock.run(lambda: "newer") == "newer"
        raise TimeoutError

    with pytest.raises(TimeoutError):
        stock.run(failing)
    assert stock.items() == []


def test_a_paused_worker_cannot_overwrite_a_newer_result(table: Table) -> None:
    cmd = made(Count)

    def paused(command: Command) -> Outcome:
        late = count(cmd, told="late")
        assert json.loads(send(table, cmd, told="newer").response.body)["told"] == "newer"
        return table.commit(late)

    result = run(cmd, paused, settle=table.commit, explain=explain)
    assert result.replayed
    assert json.loads(result.response.body)["told"] == "newer"
    assert json.loads(record(table, cmd)["response"]["body"])["told"] == "newer"
    assert total(table) == 1


@pytest.mark.parametrize("failure", [Fenced(Effort()), Throttled(Effort()), TimeoutError()])
def test_a_failing_worker_cannot_delete_a_newer_result(table: Table, failure: Exception) -> None:
    cmd = made(Count)

    def failing(command: Command) -> Outcome:
        send(table, cmd, told="newer")
        raise failure

    with pytest.raises(type(failure)):
        run(cmd, failing, settle=table.commit, explain=explain)
    assert json.loads(record(table, cmd)["response"]["body"])["told"] == "newer"
    assert send(table, cmd).replayed


def test_one_key_is_another_command_for_each_tenant_caller_and_operation() -> None:
    """Field report 4, 30: the scope of a key is who asks, and for what."""
    scopes = [
        ("t1", "u1", "op1", "k1"),
        ("t2", "u1", "op1", "k1"),
        ("t1", "u2", "op1", "k1"),
        ("t1", "u1", "op2", "k1"),
        ("t1", "u1", "op1", "k2"),
        ("t1", "u1op1", "", "k1"),
    ]
    assert len({command_id(*scope) for scope in scopes}) == len(scopes)


def test_a_request_is_the_same_whatever_the_order_of_its_fields() -> None:
    """Field report 3."""
    assert request_hash("/c", {"a": 1, "b": {"x": 1, "y": 2}}) == request_hash(
        "/c", {"b": {"y": 2, "x": 1}, "a": 1}
    )
    assert request_hash("/c", {"a": 1}) != request_hash("/c", {"a": "1"})
    assert request_hash("/c", {"a": 1}) != request_hash("/d", {"a": 1})


def test_one_key_for_two_commands_executes_both(office: Office) -> None:
    """Field report 4."""
    for operation in ("POST /a", "POST /b"):
        cmd = made(Count, command_id=command_id("acme", "o-1", operation, "one key"))
        send(office.table, cmd)
    assert total(office.table) == 2
