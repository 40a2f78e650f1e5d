"""At most one effect per command: the command record owns it, its absence is the condition.

The record is the first write of the same transaction as the change it remembers, so that
record and effect cannot disagree and a fresh command takes one round trip. It plugs into
Powertools' `idempotent_function` as a persistence layer that does no I/O of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent_function
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyInconsistentStateError,
    IdempotencyItemAlreadyExistsError,
    IdempotencyItemNotFoundError,
)
from aws_lambda_powertools.utilities.idempotency.persistence.base import BasePersistenceLayer
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import DataRecord
from boto3.dynamodb.conditions import Attr

from holdfast.patterns import keys
from holdfast.patterns.outbox import Event, announce
from holdfast.writes.outcomes import Committed, Duplicate, Outcome, Refused
from holdfast.writes.plan import Key, Plan, Write, create, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

RECORD_HOURS = 24
"""How long a command is remembered, at least: its record's `expiresAt`."""

UNSTORED = frozenset({Refusal.UNKNOWN_SKU})
"""Refusals of a request that cannot be valid, which like other invalid ones are not stored."""

IN_PROGRESS, COMPLETED = "IN_PROGRESS", "COMPLETED"
FAILED_RETRYABLE, FAILED_FINAL = "FAILED_RETRYABLE", "FAILED_FINAL"


@dataclass(frozen=True, kw_only=True)
class Command:
    """A request as a frozen value: all that its planner may know.

    `at` is ISO 8601 in UTC with milliseconds; `request_hash` covers the concrete path and
    the parsed body; `attempt` is 1 unless earlier attempts were fenced.
    """

    tenant: str
    caller: str
    command_id: str
    at: str
    roles: frozenset[str] = frozenset()
    request_hash: str = ""
    operation: str = ""
    client_key: str = ""
    attempt: int = 1

    @property
    def at_ms(self) -> int:
        """`at` in epoch milliseconds, the unit of leases."""
        return round(datetime.fromisoformat(self.at).timestamp() * 1000)

    def new_id(self, purpose: str) -> str:
        """An id that follows from this command, so that retries converge on it."""
        return keys.derived_id(self.command_id, purpose)


@dataclass(frozen=True)
class Response:
    """What the caller is told, as it is stored and sent: `body` is JSON text already."""

    status: int
    headers: Mapping[str, str]
    body: str


def command_id(tenant: str, caller: str, operation: str, client_key: str) -> str:
    """32 hexadecimal digits from who asks, for what (method and route template), by which key."""
    parts = f"{tenant}\n{caller}\n{operation}\n{client_key}"
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def request_hash(path: str, body: Any) -> str:
    """64 hexadecimal digits, equal for equal concrete paths and parsed bodies."""
    text = msgspec.json.encode([path, body], order="sorted")
    return hashlib.sha256(text).hexdigest()


def plan(
    cmd: Command,
    *writes: Write,
    emits: Event | Iterable[Event] = (),
    returns: Mapping[str, Any],
    status: int = 200,
    location: str | None = None,
    remember: tuple[Key, ...] = (),
) -> Plan:
    """The plan of a command: its record first, then `writes`, then its events.

    `returns` is the body of the answer, `status` its HTTP status, `location` the address of
    what was made. A `version` in the body becomes the answer's ETag.
    """
    headers = {"ETag": f'"v{returns["version"]}"'} if "version" in returns else {}
    if location:
        headers["Location"] = location
    answer = Response(status, headers, msgspec.json.encode(returns).decode())
    events = [emits] if isinstance(emits, Event) else emits
    about = {"command_id": cmd.command_id, "tenant": cmd.tenant, "actor": cmd.caller, "at": cmd.at}
    facts = [write for event in events for write in announce(event, **about)]
    return _remembered(cmd, COMPLETED, answer, (*writes, *facts), remember)


def refusal(cmd: Command, answer: Response) -> Plan:
    """The plan that makes a refusal final: its record alone, so a retry stays refused."""
    return _remembered(cmd, FAILED_FINAL, answer, ())


def _remembered(
    cmd: Command,
    status: str,
    answer: Response,
    writes: Iterable[Write],
    remember: tuple[Key, ...] = (),
) -> Plan:
    stored = {
        "response": _told(answer),
        "responseHash": hashlib.sha256(answer.body.encode()).hexdigest(),
    }
    return Plan(
        f"{type(cmd).__name__} {cmd.command_id}",
        (_record(cmd, status, stored), *writes),
        fence=_record(cmd, FAILED_RETRYABLE, {}),
        answer=answer,
        remember=remember,
    )


def _record(cmd: Command, status: str, more: Mapping[str, Any]) -> Write:
    """The command record; the n+1-th attempt stands on the fence that ended the n-th."""
    key = keys.command(cmd.tenant, cmd.command_id)
    expires = datetime.fromisoformat(cmd.at) + timedelta(hours=RECORD_HOURS)
    item = {
        "status": status,
        "attempt": cmd.attempt,
        "requestHash": cmd.request_hash,
        "operation": cmd.operation,
        "clientKey": cmd.client_key,
        "caller": cmd.caller,
        "at": cmd.at,
        "expiresAt": int(expires.timestamp()),
        **more,
    }
    if cmd.attempt == 1:
        return create(key, item, "A command takes effect at most once.")
    fenced = Attr("status").eq(FAILED_RETRYABLE) & Attr("attempt").eq(cmd.attempt - 1)
    return update(
        key,
        "An attempt follows only the fence of the one before it.",
        [Rule(Refusal.ALREADY_EXISTS, Attr("PK").not_exists() | fenced)],
        set=item,
        missing=None,
    )


class CommandMemory(BasePersistenceLayer):
    """Powertools' view of one command's record, which the commit itself writes.

    `_put_record` stages: it lets the command run, or raises with the record that a cancelled
    commit brought back. Nothing is updated or deleted afterwards, so no late or failing
    worker can touch a result that is not its own.
    """

    def __init__(self, cmd: Command) -> None:
        super().__init__()
        self.command = cmd
        self.found: dict[str, Any] | None = None

    def _put_record(self, data_record: DataRecord) -> None:
        found, self.found = self.found, None
        if found is None:
            return
        record = self._as_data_record(data_record.idempotency_key, found)
        self._validate_payload(data_record, record)
        if found["status"] == FAILED_RETRYABLE:
            self.command = replace(self.command, attempt=int(found["attempt"]) + 1)
            return
        raise IdempotencyItemAlreadyExistsError(old_data_record=record)

    def _as_data_record(self, key: str, found: Mapping[str, Any]) -> DataRecord:
        """A record that has outlived `expiresAt` but is still there is still an answer."""
        running = found["status"] == IN_PROGRESS
        return DataRecord(
            idempotency_key=key,
            status="INPROGRESS" if running else "COMPLETED",
            response_data=msgspec.json.encode(found.get("response", {})).decode(),
            payload_hash=self._get_hashed_payload({"requestHash": found["requestHash"]}),
        )

    def save_success(self, data: dict[str, Any], result: dict) -> None:
        """The commit has stored the answer, in the transaction of its effect."""

    def delete_record(self, data: dict[str, Any], exception: Exception) -> None:
        """An unsettled command left no record, and another's is not ours to delete."""

    def _get_record(self, idempotency_key: str) -> DataRecord:
        raise IdempotencyItemNotFoundError

    def _update_record(self, data_record: DataRecord) -> None:
        raise AssertionError("the commit is the only writer of a command record")

    def _delete_record(self, data_record: DataRecord) -> None:
        raise AssertionError("a command record is never deleted, it expires")


@dataclass(frozen=True)
class Result:
    """A command's final answer, whether it was a stored one, and how it came about."""

    response: Response
    replayed: bool
    outcome: Outcome


class _Context:
    """Stands in for the Lambda context where Powertools only asks for a claim's expiry."""

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 0


def run(
    cmd: Command,
    attempt: Callable[[Command], Outcome],
    *,
    settle: Callable[[Plan], Outcome],
    explain: Callable[[Command, Refused], Response],
) -> Result:
    """Run a command at most once and return its final answer, fresh or stored.

    `attempt` plans and commits; a refusal is put into words by `explain` and stored by
    `settle`. Raises Powertools' IdempotencyValidationError when the key was used with
    another payload, IdempotencyAlreadyInProgressError while a many-step command runs,
    IdempotencyInconsistentStateError when fences kept moving, and every Unsettled.
    """
    memory = CommandMemory(cmd)
    last: list[Outcome] = []
    config = IdempotencyConfig(
        event_key_jmespath="commandId",
        payload_validation_jmespath="requestHash",
        hash_function="sha256",
        lambda_context=_Context,
        response_hook=lambda stored, _: {**stored, "replayed": True},
    )

    @idempotent_function(data_keyword_argument="request", persistence_store=memory, config=config)
    def once(*, request: Mapping[str, str]) -> dict[str, Any]:
        del request
        last[:] = [attempt(memory.command)]
        answer = None
        if isinstance(last[0], Refused):
            answer = explain(memory.command, last[0])
            if last[0].refusal in UNSTORED:
                return _told(answer)
            stored = settle(refusal(memory.command, answer))
            last[:] = [stored] if isinstance(stored, Duplicate) else last
        match last[0]:
            case Committed(answer=answer):
                pass
            case Duplicate(record=record):
                memory.found = record
                raise IdempotencyInconsistentStateError("the command record exists")
        return _told(answer)

    told = once(request={"commandId": cmd.command_id, "requestHash": cmd.request_hash})
    response = Response(int(told["status"]), told["headers"], told["body"])
    return Result(response, "replayed" in told, last[0])


def _told(answer: Response) -> dict[str, Any]:
    return {"status": answer.status, "headers": answer.headers, "body": answer.body}
