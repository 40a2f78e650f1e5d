"""The projector's figures: parsing against the SDK's deserializer, wrong runs of 200 storms,
and capacity units per event.

    python -m benchmarks.projecting

Parsing is a ratio of interleaved runs on the same records; the others are counts.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

from boto3.dynamodb.types import TypeDeserializer

from holdfast.domain.projections import PROJECTIONS
from holdfast.edge.projector import Projector
from holdfast.patterns import keys
from holdfast.patterns.facts import fact_of
from holdfast.writes.table import Table
from tests.conftest import create_table, dynamodb
from tests.metering import Meter
from tests.storms import marked, plain, storm, wrong
from tests.worlds import record_of
from tools.emulator import emulator

RUNS = 200
PARSE_BUDGET = 0.05
ROUNDS, REPEATS = 15, 40
LIFE = (
    ("CaseCreated", {"region": "EU", "status": "OPEN", "priority": "LOW", "title": "A title"}),
    ("CaseAssigned", {"officerId": "o-1"}),
    ("CaseSubmittedForReview", {"reviewerId": "r-1", "status": "UNDER_REVIEW"}),
    ("CaseApproved", {"status": "APPROVED"}),
    ("CaseClosed", {"resolution": "done", "status": "CLOSED"}),
)


def records(cases: int) -> list[dict[str, Any]]:
    """The events of so many cases, in the order of a day: all are opened, then all assigned."""
    return [
        record_of(keys.case("bench", f"c-{case:04d}"), version, kind, data, number=case)
        for version, (kind, data) in enumerate(LIFE, start=1)
        for case in range(cases)
    ]


def parse_ratio() -> float:
    """Our time per record, of that of boto3's TypeDeserializer on the same images.

    Ours finds key and schema, and keeps the rest raw; the one to three attributes that a fold
    then reads are read in place.
    """
    images = [record["dynamodb"]["NewImage"] for record in records(20)]
    deserialize = TypeDeserializer().deserialize

    def standard() -> None:
        for image in images:
            {name: deserialize(value) for name, value in image.items()}

    def ours() -> None:
        for image in images:
            fact_of(image)

    return median(_timed(ours) / _timed(standard) for _ in range(ROUNDS))


def _timed(work: Callable[[], None]) -> float:
    started = time.process_time()
    for _ in range(REPEATS):
        work()
    return time.process_time() - started


def wrong_runs(
    client: Any, name: str, handler: Any, counts: list[str], seeds: Iterable[int]
) -> int:
    """How many storms end in a wrong count; no two sessions share a tenant, nor so a token."""
    session, table = uuid.uuid4().hex[:8], Table(client, name)
    runs = (storm(client, name, seed, handler, f"{session}-{seed}") for seed in seeds)
    return sum(bool(wrong(table, run.world, counts)) for run in runs)


def units_per_event(client: Any, name: str, batch: int) -> float:
    """Write units of counting 60 cases' lives in batches of so many records."""
    meter, table = Meter(client), Table(client, name)
    facts = [fact_of(one["dynamodb"]["NewImage"]) for one in records(60)]
    for start in range(0, len(facts), batch):
        assert Projector(table).count(facts[start : start + batch]) == []
    return meter.units / len(facts)


def results(runs: int = RUNS) -> list[dict[str, object]]:
    """The budgets of `docs/performance.md` that the projector has to meet."""
    ratio, names = parse_ratio(), [projection.name for projection in PROJECTIONS]
    with emulator() as url:
        client = dynamodb(url)
        create_table(client, "bench")
        ours = wrong_runs(client, "bench", marked, names, range(runs))
        theirs = wrong_runs(client, "bench", plain, ["cases-by-status"], range(runs))
        units = {}
        for batch in (1, 10, 100):
            create_table(client, f"units-{batch}")
            units[batch] = units_per_event(dynamodb(url), f"units-{batch}", batch)
    told = {f"projector: write units per event, batches of {n}": u for n, u in units.items()}
    return [
        _budget("projector: parsing, of TypeDeserializer", PARSE_BUDGET, round(ratio, 4)),
        _budget(f"projector: wrong results in {runs} storms", 0, ours),
        {"name": f"plain ADD projector: wrong results in {runs} storms", "measured": theirs},
        *({"name": name, "measured": round(measured, 2)} for name, measured in told.items()),
    ]


def _budget(name: str, budget: float, measured: float) -> dict[str, object]:
    return {"name": name, "budget": budget, "measured": measured, "met": measured <= budget}


def main() -> None:
    for row in results():
        print(*(f"{name}={value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
