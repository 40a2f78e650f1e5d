"""Measure everything that `budgets.json` limits, beside the peers, and say what is met.

    make bench

Counts decide; times are printed as ratios and decide nothing. The exit code is 1 when a budget
is not met.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from benchmarks import hot_stock, projecting, relaying, report
from benchmarks.environments import ASSETS, HERE, OURS, PEERS, TYPICAL, BenchFailed, prepare
from benchmarks.instructions import Cost, costs, seconds
from benchmarks.meaning import Scene, scenes
from benchmarks.stub import stub
from benchmarks.units import units
from tools.steps import step

Row = dict[str, Any]


def main() -> None:
    try:
        prepare()
    except BenchFailed as error:
        sys.exit(f"make bench: {error}")
    with step("played the scenes against the emulator"):
        played, charged = scenes(), units()
    with stub() as endpoint:
        with step("counted instructions"):
            counted = costs(endpoint)
        with step("compared CPU times"):
            timed = seconds(endpoint)
    with step("relayed, projected and simulated"):
        others = [*relaying.results(), *projecting.results(), *hot_stock.results()]
    budgets = [*_judged(_measured(played, counted, charged)), *others]
    report.write(budgets, [_peer(peer.name, played, counted, timed) for peer in PEERS])
    _tell(budgets)


def _measured(
    played: Mapping[str, Mapping[str, Scene]],
    counted: Mapping[str, Cost],
    charged: Mapping[str, float],
) -> dict[str, float]:
    """What was found, by the name of its budget."""
    ours, typical, scene = counted[OURS.name], counted[TYPICAL.name], played[OURS.name]
    return {
        "round trips: a fresh command": scene["create"].requests,
        "round trips: a replay": scene["replay"].requests,
        "round trips: a conflict, diagnosed and stored": scene["conflict"].requests,
        "round trips: a stale version, diagnosed and stored": scene["stale"].requests,
        **charged,
        "capacity units: POST /cases, with the live intake count": scene["create"].units,
        "capacity units: submit for review": scene["submit"].units,
        "instructions: init and first command, of typical": round(ours.first / typical.first, 3),
        "instructions: a warm create case, of typical": round(ours.create / typical.create, 3),
        "peak memory, of typical": round(ours.kilobytes / typical.kilobytes, 3),
        "third-party packages imported by commands_api": len(
            set(ours.packages) - {"holdfast", OURS.module}
        ),
        "root certificates that a TLS connection loads": _certificates(),
    }


def _certificates() -> int:
    bundle = ASSETS / "dependencies" / "botocore" / "cacert.pem"
    return bundle.read_text().count("BEGIN CERTIFICATE")


def _judged(measured: Mapping[str, float]) -> list[Row]:
    rows = []
    for budget in json.loads((HERE / "budgets.json").read_text()):
        found = measured[budget["name"]]
        row = {"name": budget["name"], "budget": budget["at_most"], "measured": found}
        stretch = {"stretch": budget["stretch"]} if "stretch" in budget else {}
        rows.append({**row, "met": found <= budget["at_most"], **stretch})
    return rows


def _peer(
    name: str,
    played: Mapping[str, Mapping[str, Scene]],
    counted: Mapping[str, Cost],
    timed: Mapping[str, tuple[float, float]],
) -> Row:
    cost, typical = counted[name], timed[TYPICAL.name]
    first, create = timed[name]
    return {
        "name": name,
        "title": next(peer.title for peer in PEERS if peer.name == name),
        "first": cost.first,
        "create": round(cost.create),
        "submit": round(cost.submit),
        "kilobytes": cost.kilobytes,
        "modules": cost.modules,
        "packages": cost.packages,
        "cpu_first": round(first / typical[0], 2),
        "cpu_create": round(create / typical[1], 2),
        "requests": {scene: found.requests for scene, found in played[name].items()},
        "units": {scene: found.units for scene, found in played[name].items()},
        "answers": {scene: found.answer for scene, found in played[name].items()},
    }


def _tell(budgets: list[Row]) -> None:
    for row in budgets:
        verdict = "" if "met" not in row else "met" if row["met"] else "NOT MET"
        print(f"{row['measured']:>8}  of {row.get('budget', '-'):>5}  {verdict:8} {row['name']}")
    print(f"Written: {report.shown(report.RESULTS)}, {report.shown(report.PAGE)}")
    if any(row.get("met") is False for row in budgets):
        sys.exit("make bench: a budget is not met.")


if __name__ == "__main__":
    main()
