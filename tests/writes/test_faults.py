"""The essential rows of the settling table on the wire: a fault proxy before the emulator."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.writes.outcomes import Committed, Contended, Duplicate, Fenced, InDoubt, Throttled
from holdfast.writes.plan import Key, Plan, accumulate, create
from holdfast.writes.table import Table
from tests.conftest import dynamodb
from tests.proxy import Proxy

RECORD, COUNTER = Key("IDEMPOTENCY#t#c", "COMMAND"), Key("COUNTER#t", "N")
FENCE = create(RECORD, {"status": "FAILED_RETRYABLE", "attempt": 1}, "A fence.")
TRANSACTION = {"operation": "TransactWriteItems"}
SINGLE = {"operation": "PutItem"}
IMPATIENT_SECONDS = 0.4


def conflict(at: int, writes: int) -> dict[str, Any]:
    reasons: list[dict[str, str]] = [{"Code": "None"}] * writes
    reasons[at] = {"Code": "TransactionConflict", "Message": "held"}
    fields = {"CancellationReasons": reasons}
    return {"code": "TransactionCanceledException", "message": "held", "fields": fields}


THROTTLED = {"code": "ProvisionedThroughputExceededException"}
DROPPED = {"response": {"abort_bytes": 0}}
SILENT = {"response": {"bandwidth_kbps": 0.0001}}


def counted(table: Table) -> Plan:
    """A record and an addition, which would show in the sum if it were applied twice.

    The intent names the table, since a token is an account's, and each test has its own table.
    """
    record = create(RECORD, {"status": "COMPLETED", "answer": "kept"}, "Once.")
    counter = accumulate(COUNTER, "Counted.", add={"n": 1})
    return Plan(f"count in {table.name}", (record, counter), fence=FENCE, answer="fresh")


def unremembered(table: Table) -> Plan:
    counter = accumulate(COUNTER, "Counted.", add={"n": 1})
    return Plan(f"count in {table.name}", (counter,), answer="fresh")


def single() -> Plan:
    return Plan("create", (create(COUNTER, {"n": 1}, "Once."),), answer="fresh")


def count(table: Table) -> int:
    """What is in the table, past the proxy."""
    return (table.get(COUNTER) or {}).get("n", 0)


@pytest.fixture
def impatient(faults: Proxy, table_name: str) -> Table:
    """A table whose client soon stops waiting for an answer."""
    client = dynamodb(faults.url, read_timeout=IMPATIENT_SECONDS)
    return Table(client, table_name, sleep=lambda seconds: None)


@pytest.mark.parametrize("error", [THROTTLED, conflict(1, 2)], ids=["throttle", "conflict"])
def test_two_passing_failures_are_success_at_attempt_three(
    faults: Proxy, faulty_table: Table, error: dict[str, Any]
) -> None:
    """Field report 11: success at attempt 3, and one effect."""
    faults.rules({**TRANSACTION, "times": 2, "error": error})
    outcome = faulty_table.commit(counted(faulty_table))
    assert outcome == Committed("fresh")
    assert outcome.effort.attempts == 3
    assert len(faults.fired()) == 2
    assert count(faulty_table) == 1


@pytest.mark.parametrize(
    "code", ["TransactionConflictException", "ProvisionedThroughputExceededException"]
)
def test_a_single_write_meets_two_failures_and_succeeds(
    faults: Proxy, faulty_table: Table, code: str
) -> None:
    """Field report 11: the same for a plain write."""
    faults.rules({**SINGLE, "times": 2, "error": {"code": code}})
    assert faulty_table.commit(single()).effort.attempts == 3
    assert len(faults.fired()) == 2
    assert count(faulty_table) == 1


@pytest.mark.parametrize(
    ("error", "expected"),
    [(THROTTLED, Throttled), (conflict(0, 2), Contended)],
    ids=["slow", "held"],
)
def test_a_failure_that_lasts_ends_unsettled_and_writes_nothing(
    faults: Proxy, faulty_table: Table, error: dict[str, Any], expected: type[Exception]
) -> None:
    """Field report 11, 16: it is raised within the deadline, as what it was."""
    faults.rules({**TRANSACTION, "error": error})
    until = faulty_table.clock() + 0.5
    with pytest.raises(expected):
        faulty_table.commit(counted(faulty_table), deadline=until)
    assert faulty_table.clock() < until + 0.5
    assert len(faults.fired()) >= 2
    assert count(faulty_table) == 0


@pytest.mark.parametrize("plan", [counted, unremembered], ids=["record", "no record"])
def test_an_answer_dropped_after_the_commit_changes_nothing(
    faults: Proxy, faulty_table: Table, plan: Any
) -> None:
    """Field report 14, 18: the retry of a committed write is success, and counts once."""
    faults.rules({**TRANSACTION, "times": 1, **DROPPED})
    outcome = faulty_table.commit(plan(faulty_table))
    assert outcome == Committed("fresh")
    assert outcome.effort.doubts == 1
    assert faults.fired() == ["TransactWriteItems"]
    assert count(faulty_table) == 1


def test_a_single_create_whose_answer_was_dropped_is_committed(
    faults: Proxy, faulty_table: Table
) -> None:
    """Field report 14: not 409, though the item stands when it is sent again."""
    faults.rules({**SINGLE, "times": 1, **DROPPED})
    assert faulty_table.commit(single()) == Committed("fresh")
    assert faults.fired() == ["PutItem"]
    assert count(faulty_table) == 1


def test_a_read_timeout_after_the_commit_is_sent_again_and_counts_once(
    faults: Proxy, impatient: Table
) -> None:
    faults.rules({**TRANSACTION, "times": 1, **SILENT})
    outcome = impatient.commit(counted(impatient))
    assert outcome == Committed("fresh")
    assert outcome.effort.doubts == 1
    assert faults.fired() == ["TransactWriteItems"]
    assert count(impatient) == 1


def test_a_reset_before_forwarding_is_sent_again(faults: Proxy, faulty_table: Table) -> None:
    faults.rules({**TRANSACTION, "times": 1, "reset": True})
    outcome = faulty_table.commit(counted(faulty_table))
    assert outcome == Committed("fresh")
    assert outcome.effort.doubts == 1
    assert faults.fired() == ["TransactWriteItems"]
    assert count(faulty_table) == 1


def test_a_commit_lost_at_the_deadline_is_found_by_the_fence(
    faults: Proxy, faulty_table: Table
) -> None:
    faults.rules({**TRANSACTION, **DROPPED})
    outcome = faulty_table.commit(counted(faulty_table), deadline=faulty_table.clock())
    assert isinstance(outcome, Duplicate)
    assert outcome.record["answer"] == "kept"
    assert faults.fired() == ["TransactWriteItems"]
    assert count(faulty_table) == 1


def test_a_request_lost_on_its_way_is_fenced_and_can_never_land(
    faults: Proxy, faulty_table: Table
) -> None:
    faults.rules({**TRANSACTION, "reset": True})
    with pytest.raises(Fenced):
        faulty_table.commit(counted(faulty_table), deadline=faulty_table.clock())
    assert faults.fired() == ["TransactWriteItems"]
    faults.rules()
    late = faulty_table.commit(counted(faulty_table))
    assert isinstance(late, Duplicate)
    assert late.record["status"] == "FAILED_RETRYABLE"
    assert count(faulty_table) == 0


def test_a_commit_that_arrives_after_the_client_gave_up_and_fenced_is_refused(
    faults: Proxy, impatient: Table
) -> None:
    faults.rules({**TRANSACTION, "times": 1, "latency": 1000})
    answers = faults.answers
    with pytest.raises(Fenced):
        impatient.commit(counted(impatient), deadline=impatient.clock())
    assert faults.fired() == ["TransactWriteItems"]
    assert faults.answers == answers + 1, "only the fence has been answered so far"
    faults.await_answers(answers + 2)
    assert (impatient.get(RECORD) or {})["status"] == "FAILED_RETRYABLE"
    assert count(impatient) == 0


def test_a_commit_that_arrives_after_the_client_gave_up_and_before_the_fence_stands(
    faults: Proxy, impatient: Table
) -> None:
    faults.rules({**TRANSACTION, "times": 1, **SILENT})
    outcome = impatient.commit(counted(impatient), deadline=impatient.clock())
    assert isinstance(outcome, Duplicate)
    assert outcome.record["answer"] == "kept"
    assert faults.fired() == ["TransactWriteItems"]
    assert count(impatient) == 1


def test_a_fence_that_is_sent_twice_recognises_itself(faults: Proxy, faulty_table: Table) -> None:
    faults.rules({**TRANSACTION, "reset": True}, {**SINGLE, "times": 1, **DROPPED})
    with pytest.raises(Fenced):
        faulty_table.commit(counted(faulty_table), deadline=faulty_table.clock())
    assert faults.fired() == ["TransactWriteItems", "PutItem"]


def test_a_fence_that_is_never_answered_leaves_doubt(faults: Proxy, faulty_table: Table) -> None:
    faults.rules({**TRANSACTION, "reset": True}, {**SINGLE, "reset": True})
    with pytest.raises(InDoubt):
        faulty_table.commit(counted(faulty_table), deadline=faulty_table.clock())
    assert faults.fired() == ["TransactWriteItems", "PutItem", "PutItem", "PutItem"]


def test_a_slow_reader_is_told_throttled(faults: Proxy, faulty_table: Table) -> None:
    faults.rules({"operation": "GetItem", "error": THROTTLED})
    with pytest.raises(Throttled):
        faulty_table.get(RECORD)
    assert faults.fired() == ["GetItem"]
