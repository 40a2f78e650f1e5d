"""Advances many-step commands: one plan per step, until the time is nearly up.

Stopped anywhere, it is started again by the queue and goes on from the command's cursor;
a commit that was not the first to take a step is refused and read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.edge.telemetry import Telemetry
from holdfast.patterns import keys, workflows
from holdfast.patterns.commands import IN_PROGRESS, STUCK_MILLISECONDS
from holdfast.patterns.workflows import PUSHES_MAX, RUNNING, Later, Progress, Workflow
from holdfast.writes.outcomes import Refused
from holdfast.writes.plan import Key
from holdfast.writes.table import Table

STEP_REFUSALS_MAX = 25
"""How often one step is planned anew in one run, before the queue is left to try later."""
SWEPT_MAX = 100


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
        """Take steps until the command ends or the table's clock passes `until`.

        A command that has not ended by then is sent on. Raises NotNow when its next step
        must wait, and Unsettled when a commit stays unsettled.
        """
        while True:
            progress = self._progress(keys.command(tenant, command_id))
            if progress is None:
                return
            if self.table.clock() >= until:
                self.send(tenant, command_id, f"{command_id}-{progress.step}")
                return
            self._step(progress)

    def sweep(self) -> None:
        """Push commands that made no progress; leave those that no push has helped."""
        listed, _ = self.table.query(
            IndexName="commands-running",
            KeyConditionExpression="runningState = :running",
            ExpressionAttributeValues={":running": RUNNING},
            Limit=SWEPT_MAX,
        )
        stuck = [one for item in listed if (one := self._stuck(Key(item["PK"], item["SK"])))]
        self.telemetry.count("command.stuck_in_progress.count", len(stuck))
        for progress in stuck:
            self._push(progress)

    def _progress(self, key: Key) -> Progress | None:
        """Where a running command is now; None when it runs no more."""
        record = self.table.get(key)
        if record is None or record["status"] != IN_PROGRESS:
            return None
        return workflows.progress_of(record, self.now())

    def _step(self, progress: Progress) -> None:
        """One step, planned again while something other than the cursor stood in its way."""
        workflow, refusals = self.known[progress.workflow], list[Refused]()
        while len(refusals) < STEP_REFUSALS_MAX:
            found = workflow.find(self.table, progress)
            decision = workflow.decide(progress, found, tuple(refusals))
            if isinstance(decision, Later):
                raise NotNow(progress.command_id)
            outcome = self.table.commit(workflows.advanced(progress, decision, progress.now_ms))
            if not isinstance(outcome, Refused):
                self._tell(progress, type(decision).__name__)
                return
            if outcome.write.key == progress.key:
                return
            refusals.append(outcome)
        raise NotNow(progress.command_id)

    def _stuck(self, key: Key) -> Progress | None:
        progress = self._progress(key)
        if progress is None or progress.workflow not in self.known:
            return None
        idle = progress.now_ms - progress.progress_at_ms
        return progress if idle > STUCK_MILLISECONDS else None

    def _push(self, progress: Progress) -> None:
        if progress.pushes >= PUSHES_MAX:
            self.table.commit(workflows.given_up(progress))
            self._tell(progress, "GivenUp")
            return
        outcome = self.table.commit(workflows.pushed(progress, progress.now_ms))
        if not isinstance(outcome, Refused):
            again = f"{progress.command_id}-{progress.step}-push-{progress.pushes}"
            self.send(progress.tenant, progress.command_id, again)

    def _tell(self, progress: Progress, what: str) -> None:
        self.telemetry.logger.info(
            "workflow",
            outcome=what,
            workflow=progress.workflow,
            commandId=progress.command_id,
            step=progress.step,
            done=progress.done,
        )


def named(message: Mapping[str, Any]) -> tuple[str, str]:
    """Tenant and command id of a queue message's body. Raises `KeyError` when it names none."""
    return message["tenant"], message["data"]["commandId"]
