"""Runs one command: commit or stored answer, one log line, its metrics, its headers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from holdfast.edge import problems
from holdfast.edge.routes import Route
from holdfast.edge.telemetry import Telemetry
from holdfast.patterns import keys
from holdfast.patterns.commands import Command, Response
from holdfast.patterns.idempotency import Result, run
from holdfast.writes.outcomes import Contended, Effort, Outcome, Refused, Unsettled
from holdfast.writes.refusals import Refusal
from holdfast.writes.table import RESOLVE_SECONDS_MAX, Table

MARGIN_SECONDS = RESOLVE_SECONDS_MAX + 1.0
"""What a commit leaves of the invocation's time: for the resolver, and to answer."""


def utc_now() -> str:
    """Now as commands carry it: ISO 8601 in UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True)
class Errand:
    """A command on its way: how it came in, and what its answer is called."""

    route: Route
    command: Command
    instance: str
    by_tag: bool = False
    aggregate_id: str | None = None


@dataclass(frozen=True)
class Executor:
    """Runs commands on one table; `now` tells the time that they carry."""

    table: Table
    telemetry: Telemetry
    now: Callable[[], str] = utc_now

    def execute(self, errand: Errand, remaining_seconds: float | None) -> Response:
        """The command's answer, final or not; raises only what nobody foresaw."""
        started = self.table.clock()
        deadline = None if remaining_seconds is None else started + remaining_seconds
        try:
            result = self._run(errand, deadline and deadline - MARGIN_SECONDS)
        except Exception as error:
            known = problems.failure(error)
            if known is None:
                raise
            return self._unanswered(errand, error, *known, started=started)
        return self._answered(errand, result, started=started)

    def _run(self, errand: Errand, deadline: float | None) -> Result:
        def explain(cmd: Command, refused: Refused) -> Response:
            return problems.refused(
                refused,
                instance=errand.instance,
                command_id=cmd.command_id,
                by_tag=errand.by_tag,
            )

        return run(
            errand.command,
            lambda cmd: self._attempt(errand.route, cmd, deadline),
            settle=lambda plan: self.table.commit(plan, deadline=deadline),
            explain=explain,
        )

    def _attempt(self, route: Route, cmd: Command, deadline: float | None) -> Outcome:
        reads, planner = route.reads, route.planner
        for first in route.before(cmd) if route.before and not cmd.resumed else ():
            self.table.commit(first, deadline=deadline)
        if reads is None:
            outcome = self.table.commit(planner(cmd), deadline=deadline)
        else:
            outcome = self.table.commit_from(
                lambda stale: reads(self.table, cmd, stale),
                lambda found: planner(cmd, found),
                deadline=deadline,
            )
        if isinstance(outcome, Refused) and outcome.refusal is Refusal.STALE_READ:
            raise Contended(outcome.effort)
        return outcome

    def _answered(self, errand: Errand, result: Result, *, started: float) -> Response:
        refused = result.outcome if isinstance(result.outcome, Refused) else None
        name = "replayed" if result.replayed else "refused" if refused else "committed"
        self.telemetry.count(_METRICS[name])
        if refused and refused.refusal is Refusal.LEASE_LOST:
            self.telemetry.count("lease.lost.count")
        self._tell(
            errand,
            name,
            result.outcome.effort,
            started,
            status=result.response.status,
            made=_made(result.response),
            refusal=refused and refused.refusal.value,
            conditionFailed=refused and refused.write.because,
        )
        replayed = {"Idempotency-Replayed": "true"} if result.replayed else {}
        return with_headers(
            result.response, {**replayed, "X-Command-Id": errand.command.command_id}
        )

    def _unanswered(
        self, errand: Errand, error: Exception, kind: problems.Kind, detail: str, *, started: float
    ) -> Response:
        if kind is problems.KEY_REUSED:
            self.telemetry.count("command.idempotency.reuse_mismatch.count")
        effort = error.effort if isinstance(error, Unsettled) else Effort()
        self._tell(
            errand, kind.code, effort, started, status=kind.status, cause=type(error).__name__
        )
        if isinstance(error, Unsettled):
            kind = replace(kind, retry_after_seconds=error.retry_after_seconds)
        command_id = errand.command.command_id
        answer = problems.problem(kind, detail, instance=errand.instance, command_id=command_id)
        running = kind.code == problems.IN_PROGRESS.code
        address = {"Location": f"/commands/{command_id}"} if running else {}
        return with_headers(answer, {**address, "X-Command-Id": command_id})

    def _tell(
        self,
        errand: Errand,
        outcome: str,
        effort: Effort,
        started: float,
        *,
        made: str | None = None,
        **more: Any,
    ) -> None:
        cmd = errand.command
        self.telemetry.effort(effort)
        self.telemetry.command(
            outcome,
            operation=cmd.operation,
            commandId=cmd.command_id,
            recordKey=keys.command(cmd.tenant, cmd.command_id).pk,
            aggregateId=errand.aggregate_id or made,
            expectedVersion=getattr(cmd, "expected_version", None),
            attempts=effort.attempts,
            latencyMs=round((self.table.clock() - started) * 1000, 1),
            **more,
        )


_METRICS = {
    "committed": "command.success.count",
    "refused": "command.conflict.count",
    "replayed": "command.idempotency.hit.count",
}


def _made(answer: Response) -> str | None:
    """The id of what a command made: the end of its address."""
    return answer.headers.get("Location", "").rpartition("/")[2] or None


def with_headers(answer: Response, more: dict[str, str]) -> Response:
    return replace(answer, headers={**answer.headers, **more})
