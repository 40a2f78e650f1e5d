"""The matrix: every errand through every fault, its caller trying again until it is done.

`make faults` prints a table, writes `benchmarks/faults.json` and puts the table into README.md;
with REPLAY= it runs one seed again and says what it found.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from tests.conftest import dynamodb
from tests.faults import report
from tests.faults.catalogue import FAULTS
from tests.faults.company import Company, Process, Template, template
from tests.faults.errands import ERRANDS, Errand
from tests.faults.judge import judge
from tests.faults.report import Run
from tests.faults.wire import CALM, Fault, Killed, Storm
from tools.emulator import emulator

TRIES_MAX = 8
RUNS, WORKERS = 2_400, 2
COUNTED_SECONDS = 31
"""What a queue waits before it delivers again: longer than a claim's or a call's hold."""


@dataclass
class Matrix:
    """Runs on one emulator; what errands start from is prepared once and copied."""

    client: Any
    errands: Sequence[Errand] = ERRANDS
    faults: Sequence[Fault] = FAULTS
    templates: dict[str, Template] = field(default_factory=dict)
    calls: dict[str, list[str]] = field(default_factory=dict)

    def cell(self, seed: int) -> tuple[Errand, Fault]:
        """Seeds go through all cells, and begin again."""
        number = seed % (len(self.errands) * len(self.faults))
        return self.errands[number % len(self.errands)], self.faults[number // len(self.errands)]

    def seed(self, errand: str, fault: str, again: int = 0) -> int:
        """A seed of one cell; with `again`, others of it."""
        rows, columns = [e.name for e in self.errands], [f.name for f in self.faults]
        number = columns.index(fault) * len(rows) + rows.index(errand)
        return number + again * len(rows) * len(columns)

    def run(self, seed: int) -> Run | None:
        """None for a fault that this errand cannot meet: it makes no such call."""
        errand, fault = self.cell(seed)
        start = self.start(errand)
        hits = sum(name in fault.hits for name in self.calls[errand.name])
        if (fault.act and not hits) or (fault.for_commands and not errand.command):
            return None
        if fault.skew_ms and errand.once:
            return None
        chance = random.Random(seed)
        storm = Storm(fault, self._place(fault, hits, chance), chance)
        company = start.copy(self.client, seed)
        try:
            violations = [*Course(errand, company, start.ids, storm).violations()]
        finally:
            self.client.delete_table(TableName=company.name)
        return Run(seed, errand.name, fault.name, storm.fired, tuple(violations))

    def start(self, errand: Errand) -> Template:
        """What the errand starts from; and the calls that it makes in calm weather."""
        if errand.name not in self.templates:
            kept = template(self.client, errand.prepare)
            company, calm = kept.copy(self.client, 0), Storm(CALM)
            assert errand.send(company.process(calm), kept.ids), f"{errand.name} is not done"
            self.calls[errand.name] = calm.seen
            self.client.delete_table(TableName=company.name)
            self.templates[errand.name] = kept
        return self.templates[errand.name]

    @staticmethod
    def _place(fault: Fault, hits: int, chance: random.Random) -> int:
        """Where the fault strikes first; some need room behind it for what follows."""
        return chance.randrange(hits) if fault.act and fault.times == 1 else 0


@dataclass
class Course:
    """One run, from the first try to the judge."""

    errand: Errand
    company: Company
    ids: Any
    storm: Storm
    raised: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.storm.meanwhile = self._overtake
        self.storm.keeps_tokens = self.errand.once

    def violations(self) -> Iterator[str]:
        yield from self.tries()
        yield from self.ends()

    def tries(self) -> Iterator[str]:
        """The caller's part: until there is a final answer, and once more."""
        if not self._tried():
            yield f"caller: not done after {TRIES_MAX} tries"
        if self.storm.fault.expires:
            self._expire()
        self.storm.over = self.storm.over or self.storm.fault.lasts == 1
        if self._repeated() and not self._try(self.company.process(self.storm)):
            yield "caller: a repetition has no answer"
        self.storm.over = True
        self.storm.land()

    def ends(self) -> Iterator[str]:
        """The judge's part, after everything else that the service does has been done."""
        if not self.company.settle():
            yield "caller: the outbox or the projections do not settle"
        yield from self.raised
        yield from self._unexpected()
        yield from self.errand.check(self.company)
        yield from judge(self.company.evidence())

    def _repeated(self) -> bool:
        """Requests always come once more; deliveries do so now and then."""
        return self.errand.command or (not self.errand.once and self.storm.chance.random() < 0.5)

    def _tried(self) -> bool:
        """Send, as a caller does, until there is a final answer."""
        process = self.company.process(self.storm, self.storm.fault.skew_ms)
        for _ in range(TRIES_MAX):
            done = self._try(process)
            self.storm.answered()
            if done or self.errand.once:
                return True
            self.company.clock.sleep(1.1 if self.errand.command else COUNTED_SECONDS)
            if done is None or self.storm.chance.random() < 0.5:
                process = self.company.process(self.storm)
            process.skew_ms = 0
        return False

    def _try(self, process: Process) -> bool | None:
        """None when the process died."""
        try:
            return self.errand.send(process, self.ids)
        except Killed:
            return None
        except Exception as error:  # noqa: BLE001 -- what a function raises, it is to be blamed for
            self.raised.append(f"caller: raised {error!r}")
            return False

    def _overtake(self, pause_ms: int) -> None:
        """Another process does the same while the first one stands still."""
        self.company.clock.sleep(pause_ms / 1000)
        if not self.errand.once:
            self._try(self.company.process())

    def _expire(self) -> None:
        """The record of the command has outlived its time, and is still there."""
        for item in self.company.typed():
            if item["PK"]["S"].split("#")[-1] in self.company.told:
                self.storm.fired += 1
                self.company.put([item | {"expiresAt": {"N": "1"}}])

    def _unexpected(self) -> Iterator[str]:
        """Nobody else was there, so what is answered otherwise is so for the fault alone."""
        fault = self.storm.fault
        if self.errand.timed and (fault.skew_ms or fault.pause_ms):
            return
        for told in self.company.told.values():
            for answer in told:
                running = answer.code == "command-in-progress"
                if answer.status < 500 and not running and answer.status not in self.errand.final:
                    yield f"caller: answered {answer.status} {answer.code}"


def run_all(matrix: Matrix, numbers: Iterable[int]) -> Iterator[Run]:
    for seed in numbers:
        done = matrix.run(seed)
        if done is not None:
            yield done


def _worker(numbers: range) -> list[Run]:
    with emulator() as url:
        return list(run_all(Matrix(dynamodb(url)), numbers))


def main() -> int:
    """The exit code: 0 when every fault fired in every run, and nothing was wrong."""
    options = argparse.ArgumentParser(prog="make faults")
    options.add_argument("--runs", default="")
    options.add_argument("--replay", default="", help="the seed of a run to see again")
    chosen = options.parse_args()
    if chosen.replay:
        seed = int(chosen.replay)
        return report.show(_worker(range(seed, seed + 1)))
    started, last = monotonic(), int(chosen.runs or RUNS)
    parts = [range(part, last, WORKERS) for part in range(WORKERS)]
    with ProcessPoolExecutor(WORKERS) as pool:
        runs = [run for part in pool.map(_worker, parts) for run in part]
    return report.write(runs, monotonic() - started)


if __name__ == "__main__":
    sys.exit(main())
