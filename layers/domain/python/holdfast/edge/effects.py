"""Makes the external effects of events: ledger, call, ledger.

A redelivery finds the ledger: CONFIRMED and FAILED_FINAL are the end, SENT means that the
provider is asked before it is called again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.domain.effects import effects_of
from holdfast.edge.providers import Done, Never, NotDone, Provider, Unheard, Verdict
from holdfast.edge.telemetry import Telemetry
from holdfast.patterns import keys, side_effects
from holdfast.patterns.envelope import Envelope
from holdfast.patterns.side_effects import (
    ATTEMPTS_MAX,
    CONFIRMED,
    FAILED_FINAL,
    FAILED_RETRYABLE,
    REDRIVEN,
    SENT,
    Operation,
    retry_seconds,
)
from holdfast.writes.outcomes import Refused
from holdfast.writes.plan import Plan, Write
from holdfast.writes.table import Table

Image = Mapping[str, Any]
SETTLED = None
"""Nothing is left to do; any other answer is the seconds to wait before the next try."""


@dataclass(frozen=True)
class Effects:
    """`providers` by name; `now` and `now_ms` tell the time, in ISO 8601 and milliseconds."""

    table: Table
    providers: Mapping[str, Provider]
    telemetry: Telemetry
    now: Callable[[], str]
    now_ms: Callable[[], int]

    def perform(self, envelope: Envelope) -> int | None:
        """Make every effect of one event; the seconds to wait if one of them must be retried.

        Raises Unsettled when the ledger could not be written.
        """
        if envelope.type == REDRIVEN:
            return self._redriven(envelope)
        waits = [self._one(_operation(name, envelope), envelope) for name in self._asked(envelope)]
        return max((wait for wait in waits if wait is not None), default=SETTLED)

    def _asked(self, envelope: Envelope) -> list[str]:
        """A stage may do without a provider; then its effects do not exist there."""
        return [name for name in effects_of(envelope.type) if name in self.providers]

    def _redriven(self, envelope: Envelope) -> int | None:
        """The event of an operation that an administrator sent again, from its audit trail."""
        named = keys.side_effect(envelope.data["provider"], envelope.data["operationId"])
        ledger = self.table.get(named)
        if ledger is None:
            return SETTLED
        operation = side_effects.operation_of(ledger)
        owner = keys.owner_of(operation.aggregate)
        fact = self.table.get(keys.event(owner, operation.version))
        if fact is None:
            return SETTLED
        event = Envelope(
            event_id=fact["eventId"],
            type=fact["type"],
            aggregate=operation.aggregate,
            version=fact["version"],
            at=fact["at"],
            actor=fact["actor"],
            tenant=fact["tenant"],
            data=fact["data"],
        )
        return self._one(operation, event)

    def _one(self, operation: Operation, envelope: Envelope) -> int | None:
        refused = self._commit(
            side_effects.begin(operation, at=self.now(), now_ms=self.now_ms()), operation
        )
        if refused is None:
            return self._call(operation, envelope, 1)
        seen = refused.old or {}
        if seen["status"] in {CONFIRMED, FAILED_FINAL}:
            return SETTLED
        held_ms = int(seen.get("heldUntil", 0)) - self.now_ms()
        if held_ms >= 0:
            return held_ms // 1000 + 1
        return self._resume(operation, envelope, seen)

    def _resume(self, operation: Operation, envelope: Envelope, seen: Image) -> int | None:
        """Go on from a call whose end is known to have failed, or is not known at all."""
        provider, attempts = self.providers[operation.provider], int(seen["attempts"])
        if seen["status"] == SENT:
            said = provider.ask(operation.operation_id)
            if isinstance(said, Done):
                return self._settle(operation, attempts, said)
            if isinstance(said, Unheard) and not provider.repeatable:
                return self._settle(operation, attempts, Never("OUTCOME_UNKNOWN"))
            if attempts >= ATTEMPTS_MAX:
                return self._settle(operation, attempts, Never("NO_ANSWER"))
        write = side_effects.again(operation, seen, now_ms=self.now_ms())
        if self._commit(write, operation):
            return retry_seconds(1)
        return self._call(operation, envelope, attempts + 1)

    def _call(self, operation: Operation, envelope: Envelope, attempt: int) -> int | None:
        provider = self.providers[operation.provider]
        return self._settle(
            operation, attempt, provider.call(envelope, operation.operation_id, attempt)
        )

    def _settle(self, operation: Operation, attempt: int, verdict: Verdict) -> int | None:
        """Write down how the call ended; a later attempt's word is not overwritten."""
        write, wait = self._end(operation, attempt, verdict)
        self.telemetry.effect(
            type(verdict).__name__,
            provider=operation.provider,
            operationId=operation.operation_id,
            eventId=operation.event_id,
            attempt=attempt,
        )
        if self._commit(write, operation):
            self.telemetry.count("lease.lost.count")
            return retry_seconds(1)
        return wait

    def _end(
        self, operation: Operation, attempt: int, verdict: Verdict
    ) -> tuple[Write, int | None]:
        count, at = self.telemetry.count, self.now()
        wait: int | None = retry_seconds(attempt)
        match verdict:
            case Done(reference):
                count("side_effect.confirmed.count")
                return side_effects.confirm(operation, attempt, reference=reference, at=at), SETTLED
            case Unheard(reason):
                status = SENT
            case NotDone(reason) if attempt < ATTEMPTS_MAX:
                status = FAILED_RETRYABLE
            case NotDone(reason) | Never(reason):
                count("side_effect.failed_final.count")
                status, wait = FAILED_FINAL, SETTLED
        return side_effects.fail(operation, attempt, status=status, reason=reason, at=at), wait

    def _commit(self, write: Write, operation: Operation) -> Refused | None:
        intent = f"effect {operation.operation_id} {uuid.uuid4().hex}"
        outcome = self.table.commit(Plan(intent, (write,)))
        return outcome if isinstance(outcome, Refused) else None


def _operation(provider: str, envelope: Envelope) -> Operation:
    """One event asks each provider once at most, so its id names the operation there."""
    return Operation(
        provider=provider,
        operation_id=envelope.event_id,
        event_id=envelope.event_id,
        type=envelope.type,
        aggregate=envelope.aggregate,
        version=envelope.version,
        tenant=envelope.tenant,
    )
