"""Advances many-step commands: one plan per step, until the time is nearly up.

Stopped anywhere, it is started again by the queue and goes on from the command's cursor;
a commit that was not the first to take a step is refused and read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.edge.telemetry import Telemetry
from holdfast.patterns import keys, workflows
from holdfast.patterns.commands import IN_PROGRESS, STUCK_MILLISECONDS
from holdfast.patterns.workflows import (
    PUSHES_MAX,
    RUNNING,
    Finish,
    Later,
    Progress,
    Step,
    Workflow,
)
from holdfast.writes.outcomes import Refused, Unsettled
from holdfast.writes.plan import Key
from holdfast.writes.table import Table

STEP_REFUSALS_MAX = 25
"""How often one step is planned anew in one run, before the queue is left to try later."""


class NotNow(Exception):
    """The command cannot go on at this moment; its message comes back later."""


@dataclass(frozen=True)
class Runner:
    """Takes steps of the commands that its queue names.

    `now` tells the time that steps carry, `send` puts (tenant, command id, deduplication
    id) on the queue.
    """

    table: Table
    known: Mapping[str, Workflow]
    telemetry: Telemetry
    now: Callable[[], str]
    send: Callable[[str, str, str], None]

    def advance(self, tenant: str, command_id: str, *, until: float) -> None:
        """Take steps, at least one, until the command ends or the table's clock passes `until`.

        A command that has not ended by then is sent on, under the name of a step that its
        message had not reached, which the queue has therefore not seen. Raises NotNow when
        its next step must wait, and Unsettled when a commit stays unsettled.
        """
        key = keys.command(tenant, command_id)
        progress = self._progress(key)
        while progress is not None:
            self._step(progress, until)
            progress = self._progress(key)
            if progress is not None and self.table.clock() >= until:
                self.send(tenant, command_id, f"{command_id}-{progress.attempt}-{progress.step}")
                return

    def sweep(self, *, until: float) -> None:
        """Push commands that made no progress; leave those that no push has helped.

        What one of them runs into does not keep the others waiting, nor do commands that run
        well; those that are not reached before `until` are first next time.
        """
        count = 0
        for key in self._running():
            if self.table.clock() >= until:
                break
            try:
                progress = self._stuck(key)
                if progress is not None:
                    count += 1
                    self._push(progress)
            except Unsettled as error:
                self.telemetry.failed(error, recordKey=key.pk)
        self.telemetry.count("command.stuck_in_progress.count", count)

    def _running(self) -> Iterator[Key]:
        """The commands that run, by the index, those that were accepted first before others."""
        start: dict[str, Any] = {}
        while True:
            listed, last = self.table.query(
                IndexName="commands-running",
                KeyConditionExpression="runningState = :running",
                ExpressionAttributeValues={":running": RUNNING},
                **start,
            )
            yield from (Key(item["PK"], item["SK"]) for item in listed)
            if last is None:
                return
            start = {"ExclusiveStartKey": last}

    def _progress(self, key: Key) -> Progress | None:
        """Where a running command is now; None when it runs no more."""
        record = self.table.get(key)
        if record is None or record["status"] != IN_PROGRESS:
            return None
        return workflows.progress_of(record, self.now())

    def _step(self, progress: Progress, until: float) -> None:
        """One step, planned again while something other than the cursor stood in its way."""
        refusals = list[Refused]()
        while len(refusals) < STEP_REFUSALS_MAX:
            decision = self._decision(progress, tuple(refusals))
            outcome = self.table.commit(workflows.advanced(progress, decision))
            if not isinstance(outcome, Refused):
                self._tell(progress, type(decision).__name__)
                return
            if any(write.key == progress.key for write, _ in outcome.failed):
                return
            refusals.append(outcome)
            if self.table.clock() >= until:
                break
        raise NotNow(progress.command_id)

    def _decision(self, progress: Progress, refusals: tuple[Refused, ...]) -> Step | Finish:
        """What to do next. Raises NotNow while that is open, as it is to a version of this
        service that does not know the command's workflow."""
        workflow = self.known.get(progress.workflow)
        if workflow is None:
            raise NotNow(progress.command_id)
        found = workflow.find(self.table, progress)
        decision = workflow.decide(progress, found, refusals)
        if isinstance(decision, Later):
            raise NotNow(progress.command_id)
        return decision

    def _stuck(self, key: Key) -> Progress | None:
        progress = self._progress(key)
        if progress is None or progress.workflow not in self.known:
            return None
        idle = progress.now_ms - progress.progress_at_ms
        return progress if idle > STUCK_MILLISECONDS else None

    def _push(self, progress: Progress) -> None:
        if progress.pushes >= PUSHES_MAX:
            if not isinstance(self.table.commit(workflows.given_up(progress)), Refused):
                self._tell(progress, "GivenUp")
            return
        if not isinstance(self.table.commit(workflows.pushed(progress)), Refused):
            number = f"{progress.attempt}-{progress.step}-push-{progress.pushes}"
            self.send(progress.tenant, progress.command_id, f"{progress.command_id}-{number}")

    def _tell(self, progress: Progress, what: str) -> None:
        self.telemetry.logger.info(
            "workflow",
            outcome=what,
            workflow=progress.workflow,
            commandId=progress.command_id,
            step=progress.step,
            done=progress.done,
        )
