"""The plans of many-step commands: who may take a step, resume, push, or give up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holdfast.domain.officers import RegisterOfficer
from holdfast.patterns import keys, workflows
from holdfast.patterns.commands import FAILED_RETRYABLE, RUNNING_INDEX, epoch_ms
from holdfast.patterns.workflows import Finish, Progress, Step, progress_of
from holdfast.writes.outcomes import Committed, Duplicate, Refused
from holdfast.writes.plan import Key, Plan, accumulate
from holdfast.writes.refusals import Refusal
from holdfast.writes.table import Table
from tests.commands import AT, TENANT, Office, made

LATER = "2030-01-02T03:14:05.678Z"
COUNTED = Key("COUNTER#acme#steps", "N")


@pytest.fixture
def cmd() -> Any:
    """A command that takes many steps, whatever it is for."""
    return made(RegisterOfficer)


@pytest.fixture
def progress(table: Table, cmd: Any) -> Progress:
    """How it stands just after it was accepted."""
    accepted = workflows.accept(cmd, "example", {"of": "three"}, total=3)
    assert isinstance(table.commit(accepted), Committed)
    return now(table, cmd)


def now(table: Table, cmd: Any, at: str = LATER) -> Progress:
    record = table.get(keys.command(TENANT, cmd.command_id))
    assert record is not None
    return progress_of(record, at)


def step(progress: Progress) -> Plan:
    counted = accumulate(COUNTED, "Each step is counted once.", {"n": 1})
    return workflows.advanced(progress, Step([counted], {"at": progress.step + 1}))


def resumption(cmd: Any, progress: Progress, table: Table, at: str = LATER) -> Plan:
    record = table.get(progress.key)
    again = replace(cmd, attempt=progress.attempt + 1, resumed=record, at=at)
    return workflows.accept(again, "example", {"of": "three"}, total=9)


def test_a_step_is_taken_once_and_moves_cursor_and_count(
    office: Office, table: Table, cmd: Any, progress: Progress
) -> None:
    assert isinstance(table.commit(step(progress)), Committed)
    after = now(table, cmd)
    assert (after.step, after.done, after.cursor) == (1, 1, {"at": 1})
    assert after.progress_at_ms == epoch_ms(LATER)
    late = step(replace(progress, now=AT))
    outcome = table.commit(late)
    assert isinstance(outcome, Refused)
    assert [write.key for write, _ in outcome.failed] == [progress.key]
    assert office.stored(COUNTED)["n"] == 1


@pytest.mark.parametrize("first", ["push", "resume", "give up", "finish"])
def test_whatever_moves_the_record_leaves_older_progress_behind(
    table: Table, cmd: Any, progress: Progress, first: str
) -> None:
    moves = {
        "push": workflows.pushed(progress),
        "resume": resumption(cmd, progress, table),
        "give up": workflows.given_up(progress),
        "finish": workflows.advanced(progress, Finish({"ok": True})),
    }
    assert isinstance(table.commit(moves.pop(first)), Committed)
    for name, plan in moves.items():
        assert not isinstance(table.commit(plan), Committed), name
    assert isinstance(table.commit(step(progress)), Refused)


def test_of_two_resumptions_one_lands(table: Table, cmd: Any, progress: Progress) -> None:
    table.commit(workflows.given_up(progress))
    left = now(table, cmd)
    first, second = (resumption(cmd, left, table, at) for at in (AT, LATER))
    assert isinstance(table.commit(first), Committed)
    assert isinstance(table.commit(second), Duplicate)
    after = now(table, cmd)
    assert (after.attempt, after.step, after.total, after.input) == (2, 1, 3, {"of": "three"})


def test_a_record_that_expired_is_not_resumed(table: Table, cmd: Any, progress: Progress) -> None:
    plan = resumption(cmd, progress, table)
    table.client.delete_item(
        TableName=table.name,
        Key={name: {"S": part} for name, part in progress.key.attributes.items()},
    )
    outcome = table.commit(plan)
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.STALE_READ
    assert table.get(progress.key) is None


def test_the_fence_of_a_resumption_keeps_where_the_command_stood(
    table: Table, cmd: Any, progress: Progress
) -> None:
    """It may be resumed for as long as before, and is not listed as running."""
    before = table.get(progress.key) or {}
    fence = resumption(cmd, progress, table).fence
    assert fence is not None
    assert isinstance(table.commit(Plan("fence", (fence,))), Committed)
    after = table.get(progress.key) or {}
    assert (after["status"], after["attempt"]) == (FAILED_RETRYABLE, 2)
    assert not after.keys() & set(RUNNING_INDEX)
    kept = ("expiresAt", "workflow", "cursor", "step", "done", "total", "input")
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}


def test_a_command_that_ended_leaves_the_index_and_expires_in_a_day(
    table: Table, cmd: Any, progress: Progress
) -> None:
    table.commit(workflows.advanced(progress, Finish({"left": 2}, failed=True)))
    after = table.get(progress.key) or {}
    assert (after["status"], after["result"]) == ("FAILED_FINAL", {"left": 2})
    assert not after.keys() & set(RUNNING_INDEX)
    assert after["expiresAt"] == epoch_ms(LATER) // 1000 + 24 * 3600
