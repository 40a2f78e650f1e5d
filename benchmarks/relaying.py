"""What announcing costs: requests per event of a batch, its messages sent ten at a time.

python -m benchmarks.relaying
"""

from __future__ import annotations

from holdfast.writes.table import Table
from tests.conftest import create_table, dynamodb
from tests.metering import Meter
from tests.relaying import Desk, owner
from tools.emulator import emulator

BUDGET = 0.25


def requests_per_event(client: object, name: str, events: int) -> float:
    """Claims, sends and marks for so many events of different aggregates, of each event."""
    meter = Meter(client)
    desk = Desk(Table(client, name, sleep=lambda seconds: None))
    entries = [desk.happened(owner(number), 1)[0] for number in range(events)]
    meter.reset()
    report = desk.announce(*entries)
    assert len(report.published) == events
    return (len(meter.requests) + len(desk.outlet.batches)) / events


def results() -> list[dict[str, object]]:
    """The relay's budget, and the same for a batch of ten alone."""
    with emulator() as url:
        create_table(dynamodb(url), "relay")
        many = requests_per_event(dynamodb(url), "relay", 50)
        create_table(dynamodb(url), "relay-10")
        ten = requests_per_event(dynamodb(url), "relay-10", 10)
    return [
        {
            "name": "relay: requests per event, 50 waiting, sent ten at a time",
            "budget": BUDGET,
            "measured": round(many, 2),
            "met": many <= BUDGET,
        },
        {"name": "relay: requests per event, only 10 waiting", "measured": round(ten, 2)},
    ]


if __name__ == "__main__":
    for row in results():
        print(row)
