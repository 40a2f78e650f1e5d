"""Commands that take many steps: the command record owns where they are.

The transaction that accepts such a command writes its record as IN_PROGRESS, with a cursor,
together with an outbox entry; the relay puts that on a FIFO queue whose group is the
command, and a worker takes one plan per step. Each step moves the cursor in its own
transaction under the step number that was read, so a repeated, late or resurrected message
finds the cursor moved and changes nothing. The engine is the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from boto3.dynamodb.conditions import Attr

from holdfast.patterns import keys, outbox
from holdfast.patterns.commands import (
    COMPLETED,
    FAILED_FINAL,
    FAILED_RETRYABLE,
    IN_PROGRESS,
    RECORD_HOURS,
    RUNNING_INDEX,
    Command,
    Response,
    epoch_ms,
    expiry,
    remembered,
)
from holdfast.patterns.outbox import Event, announce
from holdfast.writes.outcomes import Refused
from holdfast.writes.plan import Key, Plan, Write, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

RUNNING = "RUNNING"
RUNNING_HOURS = 24 * 14
"""A running command's record outlives any pause; it expires a day after the command ended."""
PUSHES_MAX = 5
"""How often the sweep pushes a stuck command before it is left as FAILED_RETRYABLE."""
RETRY_AFTER_SECONDS = 2


@dataclass(frozen=True)
class Progress:
    """Where a many-step command is, as its record was read. `now` is ISO 8601 in UTC."""

    tenant: str
    command_id: str
    caller: str
    workflow: str
    status: str
    input: Mapping[str, Any]
    cursor: Mapping[str, Any]
    step: int
    done: int
    total: int | None
    attempt: int
    pushes: int
    progress_at_ms: int
    now: str

    @property
    def key(self) -> Key:
        return keys.command(self.tenant, self.command_id)

    @property
    def now_ms(self) -> int:
        """`now` in epoch milliseconds."""
        return epoch_ms(self.now)

    @property
    def about(self) -> dict[str, str]:
        """What an event of a step says of its cause."""
        return {
            "command_id": self.command_id,
            "tenant": self.tenant,
            "actor": self.caller,
            "at": self.now,
        }


@dataclass(frozen=True)
class Step:
    """One step forward: its writes and events, where the cursor stands afterwards, and how
    many units of the whole it did."""

    writes: Sequence[Write]
    cursor: Mapping[str, Any]
    done: int = 1
    emits: Sequence[Event] = ()


@dataclass(frozen=True)
class Finish:
    """The end: `result` says what was done; with `failed`, also what was not, and why."""

    result: Mapping[str, Any]
    failed: bool = False
    writes: Sequence[Write] = ()
    emits: Sequence[Event] = ()


@dataclass(frozen=True)
class Later:
    """Nothing can be decided yet; the queue brings the command back."""


Decision = Step | Finish | Later


@dataclass(frozen=True)
class Workflow:
    """What one kind of many-step command does.

    `find(table, progress)` reads what the next step needs; `decide(progress, found,
    refusals)` is pure, and is told how earlier plans of this same step were refused.
    """

    name: str
    find: Callable[[Any, Progress], Any]
    decide: Callable[[Progress, Any, tuple[Refused, ...]], Decision]


def accept(
    cmd: Command,
    workflow: str,
    input: Mapping[str, Any],
    *writes: Write,
    emits: Sequence[Event] = (),
    cursor: Mapping[str, Any] | None = None,
    total: int | None = None,
    channel: str = outbox.WORKFLOWS,
) -> Plan:
    """The plan that accepts a many-step command with its first changes; answered with 202.

    For a command that is resumed nothing is accepted again: its record goes on from where
    its cursor stands.
    """
    start = {
        "workflow": workflow,
        "input": dict(input),
        "cursor": dict(cursor or {}),
        "step": 0,
        "done": 0,
        **({"total": total} if total is not None else {}),
    }
    about = {"command_id": cmd.command_id, "tenant": cmd.tenant, "actor": cmd.caller, "at": cmd.at}
    fresh = [*writes, *(fact for event in emits for fact in announce(event, **about))]
    record = keys.command(cmd.tenant, cmd.command_id)
    go = Event("CommandAdvanced", record, cmd.attempt, {"commandId": cmd.command_id})
    return remembered(
        cmd,
        IN_PROGRESS,
        _accepted(cmd, cmd.resumed.get("total") if cmd.resumed else total),
        [*([] if cmd.resumed else fresh), outbox.advance(go, **about, channel=channel)],
        more={**({} if cmd.resumed else start), **_running(cmd)},
    )


def _accepted(cmd: Command, total: int | None) -> Response:
    body = {"commandId": cmd.command_id, "status": IN_PROGRESS, "total": total}
    headers = {
        "Location": f"/commands/{cmd.command_id}",
        "Retry-After": str(RETRY_AFTER_SECONDS),
    }
    return Response(202, headers, msgspec.json.encode(body).decode())


def _running(cmd: Command) -> dict[str, Any]:
    """The attributes of a record while it runs, its place in the sparse index among them."""
    return {
        "runningState": RUNNING,
        "runningSort": f"{cmd.at}#{cmd.tenant}#{cmd.command_id}",
        "progressAt": cmd.at_ms,
        "pushes": 0,
        "expiresAt": expiry(cmd.at, RUNNING_HOURS),
    }


def progress_of(record: Mapping[str, Any], now: str) -> Progress:
    """A command record, as it was read, as the progress of its command."""
    _, tenant, command_id = record["PK"].split("#")
    return Progress(
        tenant=tenant,
        command_id=command_id,
        caller=record["caller"],
        workflow=record["workflow"],
        status=record["status"],
        input=record["input"],
        cursor=record.get("cursor", {}),
        step=record["step"],
        done=record["done"],
        total=record.get("total"),
        attempt=record["attempt"],
        pushes=record["pushes"],
        progress_at_ms=record["progressAt"],
        now=now,
    )


def advanced(progress: Progress, decision: Step | Finish) -> Plan:
    """The plan of one step, or of the end: the record moves in the same transaction."""
    facts = [fact for event in decision.emits for fact in announce(event, **progress.about)]
    if isinstance(decision, Step):
        change = {"cursor": dict(decision.cursor), "progressAt": progress.now_ms, "pushes": 0}
        moved = _moved(progress, set=change, add={"step": 1, "done": decision.done})
    else:
        moved = _ended(
            progress,
            FAILED_FINAL if decision.failed else COMPLETED,
            {"result": dict(decision.result), "progressAt": progress.now_ms},
        )
    intent = f"{progress.workflow} {progress.command_id} step {progress.step}"
    return Plan(intent, (moved, *decision.writes, *facts))


def pushed(progress: Progress) -> Plan:
    """A stuck command is about to be sent to its worker again, which is counted."""
    moved = _moved(progress, set={"progressAt": progress.now_ms}, add={"pushes": 1})
    return Plan(f"push {progress.command_id} {progress.step} {progress.pushes}", (moved,))


def given_up(progress: Progress) -> Plan:
    """A command that no push helped: FAILED_RETRYABLE, resumable by its own key."""
    ended = _ended(progress, FAILED_RETRYABLE, {})
    return Plan(f"give up {progress.command_id} {progress.step}", (ended,))


def _ended(progress: Progress, status: str, more: Mapping[str, Any]) -> Write:
    expires = (
        {} if status == FAILED_RETRYABLE else {"expiresAt": expiry(progress.now, RECORD_HOURS)}
    )
    return _moved(
        progress,
        set={"status": status, **expires, **more},
        add={"step": 1},
        remove=RUNNING_INDEX,
    )


def _moved(progress: Progress, **change: Any) -> Write:
    here = (
        Attr("status").eq(IN_PROGRESS)
        & Attr("step").eq(progress.step)
        & Attr("attempt").eq(progress.attempt)
        & Attr("pushes").eq(progress.pushes)
    )
    return update(
        progress.key,
        "Each step of a command is taken once, from where the one before it ended.",
        [Rule(Refusal.STALE_READ, here)],
        missing=Refusal.STALE_READ,
        **change,
    )
