"""What the matrix found: printed, as JSON, and as the table in README.md."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
JSON, README = ROOT / "benchmarks" / "faults.json", ROOT / "README.md"
PAGE = ROOT / "docs" / "faults.md"


@dataclass(frozen=True)
class Caught:
    """Who noticed a planted defect: rules of the judge, or its caller; empty when nobody did."""

    mutant: str
    by: str
    errand: str = ""
    fault: str = ""


@dataclass(frozen=True)
class Run:
    """One errand through one fault. `seed` alone says which, and repeats it."""

    seed: int
    errand: str
    fault: str
    fired: int
    violations: tuple[str, ...]


def cells(runs: Sequence[Run]) -> list[dict[str, str | int]]:
    """Command by fault: runs, the runs in which the fault fired, and what was wrong."""
    grouped: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        grouped[run.errand, run.fault].append(run)
    return [
        {
            "command": errand,
            "fault": fault,
            "runs": len(some),
            "fired": sum(run.fired > 0 for run in some),
            "violations": sum(len(run.violations) for run in some),
        }
        for (errand, fault), some in sorted(grouped.items())
    ]


def table(runs: Sequence[Run]) -> str:
    """By fault, in Markdown."""
    lines = ["| Fault | Commands | Runs | Fired | Violations |", "|---|---:|---:|---:|---:|"]
    faults: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        faults[run.fault].append(run)
    for name, some in [*faults.items(), ("all", list(runs))]:
        commands = len({run.errand for run in some})
        fired, wrong = sum(r.fired > 0 for r in some), sum(len(r.violations) for r in some)
        lines.append(f"| {name} | {commands} | {len(some)} | {fired} | {wrong} |")
    return "\n".join(lines)


def show(runs: Sequence[Run]) -> int:
    """Print the table and what was wrong; 0 when nothing was, and every fault fired."""
    print(table(runs))
    bad = [run for run in runs if run.violations or not run.fired]
    for run in bad:
        print(f"\n{run.errand}, {run.fault}; see it again: make faults REPLAY={run.seed}")
        print(*(run.violations or ["the fault did not fire"]), sep="\n")
    return 1 if bad else 0


def write(runs: Sequence[Run], seconds: float) -> int:
    """Show the runs, and keep them where they are read."""
    runs = sorted(runs, key=lambda run: run.seed)
    code = show(runs)
    print(f"\nseeds {runs[0].seed} to {runs[-1].seed}, {len(runs)} runs in {seconds:.0f} s")
    JSON.parent.mkdir(exist_ok=True)
    JSON.write_text(json.dumps(cells(runs), indent=1) + "\n")
    _replace(README, "faults", table(runs))
    return code


def write_mutants(caught: Sequence[Caught]) -> int:
    """Print who caught what, and put it into docs/faults.md."""
    rows = [
        f"| {one.mutant} | {one.by or 'nobody'} | {one.errand}, {one.fault} |" for one in caught
    ]
    shown = "\n".join(["| Planted defect | Caught by | In |", "|---|---|---|", *rows])
    print(shown)
    _replace(PAGE, "mutants", shown)
    return 0 if all(one.by for one in caught) else 1


def _replace(page: Path, name: str, shown: str) -> None:
    """Put `shown` between the page's markers of that name, if it has them."""
    begin, end, text = f"<!-- {name}:begin -->", f"<!-- {name}:end -->", page.read_text()
    if begin in text:
        before, rest = text.split(begin)
        page.write_text(f"{before}{begin}\n{shown}\n{end}{rest.split(end)[1]}")
