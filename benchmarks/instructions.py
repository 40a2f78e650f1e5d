"""What a peer's process costs: instructions by callgrind, and CPU time, memory and modules.

Callgrind counts every instruction of the process, with a fixed hash seed, and cuts its counts
where the child says that a stage has ended; the server's process is not counted. CPU times are
of interleaved runs in one session and are only ever given as ratios.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.environments import PEERS, BenchFailed, Peer, command, variables

STAGES = 5
WARM, COUNT = 5, 10
TIMED_WARM, TIMED_COUNT, ROUNDS = 50, 150, 3
TIMES_SLOWER = "50"


@dataclass(frozen=True)
class Cost:
    """Instructions of the first command with all that precedes it, and of each later one."""

    first: int
    create: float
    submit: float
    kilobytes: int
    modules: int
    packages: tuple[str, ...]


def costs(endpoint: str) -> dict[str, Cost]:
    """By peer. Two at a time: counts do not care who else is running."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        found = pool.map(partial(cost, endpoint), PEERS)
        return {peer.name: each for peer, each in zip(PEERS, found, strict=True)}


def cost(endpoint: str, peer: Peer) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile"
        tool = ["valgrind", "--tool=callgrind", "--dump-after=getloadavg"]
        run = [*tool, f"--callgrind-out-file={profile}"]
        _child(peer, endpoint, (WARM, COUNT), prefix=run, TIMES_SLOWER=TIMES_SLOWER)
        counted = [_total(Path(f"{profile}.{stage}")) for stage in range(1, STAGES + 1)]
    plain = _child(peer, endpoint, (TIMED_WARM, COUNT))
    return Cost(
        first=counted[0],
        create=counted[2] / COUNT,
        submit=counted[4] / COUNT,
        kilobytes=plain["kilobytes"],
        modules=plain["modules"],
        packages=tuple(plain["packages"]),
    )


def _total(profile: Path) -> int:
    found = re.search(r"^totals: (\d+)", profile.read_text(), re.MULTILINE)
    if found is None:
        raise BenchFailed(f"callgrind wrote no total into {profile.name}")
    return int(found[1])


def seconds(endpoint: str) -> dict[str, tuple[float, float]]:
    """CPU seconds of the first command and of each later one, by peer: medians of `ROUNDS`."""
    found: dict[str, list[tuple[float, float]]] = {peer.name: [] for peer in PEERS}
    for _ in range(ROUNDS):
        for peer in PEERS:
            ends = _child(peer, endpoint, (TIMED_WARM, TIMED_COUNT))["seconds"]
            found[peer.name].append((ends[0], (ends[2] - ends[1]) / TIMED_COUNT))
    return {
        name: (median(first for first, _ in runs), median(each for _, each in runs))
        for name, runs in found.items()
    }


def _child(
    peer: Peer, endpoint: str, times: tuple[int, int], *, prefix: Sequence[str] = (), **more: str
) -> dict[str, Any]:
    """Run the child and return its report."""
    ours, theirs = os.pipe()
    with os.fdopen(ours) as report:
        try:
            ran = subprocess.run(
                [*prefix, *command(peer, "child.py", *map(str, times))],
                env=variables(peer, endpoint) | {"REPORT_TO": str(theirs)} | more,
                pass_fds=[theirs],
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            os.close(theirs)
        told = report.read()
    if not told:
        raise BenchFailed(f"{peer.name} failed:\n{ran.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(told)
    return answer
