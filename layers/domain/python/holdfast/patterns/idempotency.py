"""Runs a command at most once, through Powertools' `idempotent_function`.

The persistence layer does no I/O of its own: the commit carries the command record, and a
cancelled commit brings back the record that stands. Final answers are returned and stored;
unsettled failures are raised and forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import msgspec
from aws_lambda_powertools.utilities.idempotency.config import IdempotencyConfig
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyInconsistentStateError,
    IdempotencyItemAlreadyExistsError,
    IdempotencyItemNotFoundError,
)
from aws_lambda_powertools.utilities.idempotency.idempotency import idempotent_function
from aws_lambda_powertools.utilities.idempotency.persistence.base import BasePersistenceLayer
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import DataRecord

from holdfast.patterns.commands import (
    FAILED_RETRYABLE,
    IN_PROGRESS,
    STUCK_MILLISECONDS,
    Command,
    Response,
    refusal,
    told,
)
from holdfast.writes.outcomes import Committed, Duplicate, Outcome, Refused
from holdfast.writes.plan import Plan
from holdfast.writes.refusals import Refusal

UNSTORED = frozenset({Refusal.UNKNOWN_SKU})
"""Refusals of a request that cannot be valid, which like other invalid ones are not stored."""


class CommandMemory(BasePersistenceLayer):
    """Powertools' view of one command's record, which the commit itself writes.

    `_put_record` stages: it lets the command run, or raises with the record that a cancelled
    commit brought back. Nothing is updated or deleted afterwards, so no late or failing
    worker can touch a result that is not its own.
    """

    def __init__(self, cmd: Command) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.command = cmd
        self.found: dict[str, Any] | None = None

    def _put_record(self, data_record: DataRecord) -> None:
        found, self.found = self.found, None
        if found is None:
            return
        record = self._as_data_record(data_record.idempotency_key, found)
        self._validate_payload(data_record, record)
        if self._may_go_on(found):
            again = found if "workflow" in found else None
            self.command = replace(self.command, attempt=int(found["attempt"]) + 1, resumed=again)
            return
        raise IdempotencyItemAlreadyExistsError(old_data_record=record)

    def _may_go_on(self, found: Mapping[str, Any]) -> bool:
        """The attempt on record was fenced or given up, or runs no more by all appearances."""
        if found["status"] == IN_PROGRESS and "workflow" in found:
            return self.command.at_ms - int(found["progressAt"]) > STUCK_MILLISECONDS
        return bool(found["status"] == FAILED_RETRYABLE)

    def _as_data_record(self, key: str, found: Mapping[str, Any]) -> DataRecord:
        """A record that has outlived `expiresAt` but is still there is still an answer."""
        running = found["status"] == IN_PROGRESS
        return DataRecord(
            idempotency_key=key,
            status="INPROGRESS" if running else "COMPLETED",
            response_data=msgspec.json.encode(found.get("response", {})).decode(),
            payload_hash=self._get_hashed_payload({"requestHash": found["requestHash"]}),
        )

    def save_success(self, data: dict[str, Any], result: dict[str, Any]) -> None:
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
    outcomes: list[Outcome] = []

    def once(*, request: Mapping[str, str]) -> dict[str, Any]:
        del request  # Powertools keys and checks by it; the command says the rest.
        outcomes.append(attempt(memory.command))
        answer = _answer(memory.command, outcomes[-1], settle, explain)
        if isinstance(answer, Duplicate):
            memory.found = answer.record
            raise IdempotencyInconsistentStateError("the command record exists")
        return told(answer)

    idempotent = idempotent_function(
        once, data_keyword_argument="request", persistence_store=memory, config=_config()
    )
    final = idempotent(request={"commandId": cmd.command_id, "requestHash": cmd.request_hash})
    response = Response(int(final["status"]), final["headers"], final["body"])
    return Result(response, "replayed" in final, outcomes[-1])


def _answer(
    cmd: Command,
    outcome: Outcome,
    settle: Callable[[Plan], Outcome],
    explain: Callable[[Command, Refused], Response],
) -> Response | Duplicate:
    """The answer that an outcome means, made final; or the record that was there first."""
    if isinstance(outcome, Committed):
        return cast("Response", outcome.answer)
    if isinstance(outcome, Duplicate):
        return outcome
    answer = explain(cmd, outcome)
    if outcome.refusal in UNSTORED:
        return answer
    stored = settle(refusal(cmd, answer))
    return stored if isinstance(stored, Duplicate) else answer


def _config() -> IdempotencyConfig:
    return IdempotencyConfig(
        event_key_jmespath="commandId",
        payload_validation_jmespath="requestHash",
        hash_function="sha256",
        lambda_context=cast("Any", _Context),
        response_hook=lambda stored, _: {**stored, "replayed": True},
    )
