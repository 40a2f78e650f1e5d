"""The projector's function: what it counts, what it leaves alone, what it puts aside."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.patterns import keys
from holdfast.writes.codec import encode_item
from holdfast.writes.plan import Key
from holdfast.writes.table import Table
from tests.api import Api
from tests.commands import Office
from tests.conftest import dynamodb
from tests.metering import Meter
from tests.projecting import Counting, Record
from tests.proxy import Proxy
from tests.pump import Pump, Stream
from tests.worlds import record_of

CASE = keys.case("acme", "c-1")
OTHER = keys.case("acme", "c-2")
CREATED = {"region": "EU", "status": "OPEN"}
LIFE: list[tuple[str, dict[str, Any]]] = [
    ("CaseCreated", CREATED),
    ("CaseAssigned", {"officerId": "o-1"}),
    ("CaseSubmittedForReview", {"reviewerId": "r-1", "status": "UNDER_REVIEW"}),
    ("CaseApproved", {"status": "APPROVED"}),
    ("CaseClosed", {"status": "CLOSED"}),
    ("CaseRedacted", {"redacted": True}),
]


@pytest.fixture
def counting(table: Table) -> Counting:
    return Counting(table)


def life(owner: Key = CASE, first: int = 0) -> list[Record]:
    return [
        record_of(owner, version, kind, data, number=first + version)
        for version, (kind, data) in enumerate(LIFE, start=1)
    ]


def written(table: Table, records: list[Record]) -> list[Record]:
    """Put the trail of `records` in place."""
    for record in records:
        table.client.put_item(TableName=table.name, Item=record["dynamodb"]["NewImage"])
    return records


def test_each_event_moves_a_case_from_count_to_count(counting: Counting) -> None:
    seen = []
    for record in life():
        assert counting.deliver(record) == []
        seen.append((counting.counts("cases-by-status"), counting.counts("cases-by-officer")))
    mine = {"o-1": 1}
    assert seen == [
        ({"OPEN": 1}, {}),
        ({"OPEN": 1}, mine),
        ({"UNDER_REVIEW": 1}, mine),
        ({"APPROVED": 1}, mine),
        ({"CLOSED": 1}, mine),
        ({}, {}),
    ]


def test_tasks_and_orders_have_counts_of_their_own(counting: Counting) -> None:
    task, order = keys.task(CASE, "k-1"), keys.order("acme", "r-1")
    placed = {"total": 250, "currency": "EUR"}
    counting.deliver(
        record_of(task, 1, "TaskOpened", {}), record_of(order, 1, "OrderPlaced", placed)
    )
    assert counting.counts("open-tasks") == {"OPEN": 1}
    assert counting.counts("order-value") == {"2030-01-02/EUR": 250}
    counting.deliver(
        record_of(task, 2, "TaskClosed", {}), record_of(order, 2, "OrderCancelled", {})
    )
    assert counting.counts("open-tasks") == counting.counts("order-value") == {}


def test_a_gap_is_closed_from_the_trail(counting: Counting, table: Table) -> None:
    records = written(table, life())
    assert counting.deliver(records[0], records[3]) == []
    assert counting.counts("cases-by-officer") == {"o-1": 1}
    assert counting.deliver(*records[1:3]) == []
    assert counting.counts("cases-by-status") == {"APPROVED": 1}


def test_what_was_counted_before_costs_one_read_and_no_write(counting: Counting) -> None:
    records = life()
    counting.deliver(*records)
    meter = Meter(counting.table.client)
    assert counting.deliver(*records) == []
    assert meter.requests == ["BatchGetItem"]


def test_a_batch_of_one_lane_is_one_transaction(counting: Counting) -> None:
    meter = Meter(counting.table.client)
    counting.deliver(*life())
    assert meter.requests == ["BatchGetItem", "TransactWriteItems"]


IGNORED: dict[str, Callable[[Record], Record]] = {
    "expired by the service": lambda record: {
        **record,
        "eventName": "REMOVE",
        "userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"},
    },
    "redacted": lambda record: {**record, "eventName": "MODIFY"},
    "an outbox entry": lambda record: moved(record, PK="OUTBOX#2030-01-02#00"),
    "another owner's": lambda record: moved(record, SK="EVENT#NOTE#n-1#0000000001"),
    "no event at all": lambda record: moved(record, SK="META"),
}


def moved(record: Record, **key: str) -> Record:
    record = copy.deepcopy(record)
    record["dynamodb"]["Keys"].update(encode_item(dict(key)))
    record["dynamodb"]["NewImage"].update(encode_item(dict(key)))
    return record


@pytest.mark.parametrize("change", IGNORED.values(), ids=IGNORED)
def test_a_record_that_counts_for_nothing_has_no_effect(
    counting: Counting, change: Callable[[Record], Record]
) -> None:
    assert counting.deliver(change(life()[0])) == []
    assert (counting.counts("cases-by-status"), counting.aside) == ({}, [])


def test_a_record_counts_for_its_own_tenant_alone(counting: Counting) -> None:
    foreign = keys.case("globex", "c-1")
    counting.deliver(life()[0], record_of(foreign, 1, "CaseCreated", CREATED))
    assert counting.counts("cases-by-status") == {"OPEN": 1}
    assert counting.counts("cases-by-status", "globex") == {"OPEN": 1}


POISON: dict[str, dict[str, Any]] = {
    "UNKNOWN_SCHEMA": {"schema": 2},
    "UNREADABLE_DATA": {"data": {"status": 5}},
}


@pytest.mark.parametrize(("cause", "change"), POISON.items(), ids=POISON)
def test_poison_is_put_aside_with_its_cause_and_holds_up_nobody(
    counting: Counting, cause: str, change: dict[str, Any]
) -> None:
    bad = record_of(CASE, 1, "CaseCreated", CREATED)
    bad["dynamodb"]["NewImage"].update(encode_item(change))
    assert counting.deliver(bad, record_of(OTHER, 1, "CaseCreated", CREATED, number=1)) == []
    assert [one["cause"] for one in counting.aside] == [cause]
    assert counting.counts("cases-by-status") == {"OPEN": 1}


def test_an_event_without_a_version_is_put_aside(counting: Counting) -> None:
    record = moved(record_of(CASE, 1, "CaseCreated", CREATED), SK="EVENT#META#000000000x")
    assert counting.deliver(record) == []
    assert [one["cause"] for one in counting.aside] == ["NO_VERSION"]


def test_an_event_counts_for_the_tenant_and_version_of_its_key(counting: Counting) -> None:
    record = record_of(CASE, 1, "CaseCreated", CREATED)
    record["dynamodb"]["NewImage"].update(encode_item({"tenant": "globex", "version": 7}))
    assert counting.deliver(record) == []
    assert counting.counts("cases-by-status") == {"OPEN": 1}
    assert counting.counts("cases-by-status", "globex") == {}


def test_a_redrive_counts_what_was_put_aside_exactly_once(counting: Counting, table: Table) -> None:
    good = written(table, life())
    bad = record_of(CASE, 2, "CaseAssigned", {"officerId": "o-1"}, number=2, schema=9)
    table.client.put_item(TableName=table.name, Item=bad["dynamodb"]["NewImage"])
    counting.deliver(good[0], bad)
    counting.deliver(good[2])
    assert [one["cause"] for one in counting.aside] == ["UNKNOWN_SCHEMA"] * 2
    assert len(counting.redrive()) == 2, "nothing has changed yet"
    table.client.put_item(TableName=table.name, Item=good[1]["dynamodb"]["NewImage"])
    counting.aside[0]["record"] = good[1]
    assert counting.redrive() == counting.redrive() == []
    assert counting.counts("cases-by-status") == {"UNDER_REVIEW": 1}
    assert counting.counts("cases-by-officer") == {"o-1": 1}


def test_as_of_is_the_time_up_to_which_events_are_counted(counting: Counting) -> None:
    first, second, *_ = life()
    assert counting.as_of("cases-by-status") is None
    counting.deliver(first)
    assert counting.as_of("cases-by-status") == first["dynamodb"]["NewImage"]["at"]["S"]
    counting.deliver(second)
    assert counting.as_of("cases-by-status") == second["dynamodb"]["NewImage"]["at"]["S"]


def test_as_of_stays_before_an_event_that_cannot_be_counted(
    counting: Counting, table: Table
) -> None:
    bad = record_of(CASE, 1, "CaseCreated", CREATED, number=1, schema=2)
    counting.deliver(bad, record_of(OTHER, 1, "CaseCreated", CREATED, number=9))
    assert counting.as_of("cases-by-status") == "2030-01-02T03:04:06.000Z", "as the stream says"
    counting.aside[0]["record"] = written(table, life())[0]
    assert counting.redrive() == []
    assert counting.as_of("cases-by-status") == "2030-01-02T03:04:09.000Z"


def test_poison_comes_again_while_the_failure_queue_is_down(counting: Counting) -> None:
    counting.queue_is_down = True
    bad = record_of(CASE, 1, "CaseCreated", CREATED, number=4, schema=2)
    assert counting.deliver(bad) == [{"itemIdentifier": f"{4:021d}"}]


def test_of_three_bad_records_the_first_is_named_and_all_are_counted(
    faults: Proxy, table_name: str
) -> None:
    """Field report 10: no blind exception."""
    faults.rules({"operation": "BatchGetItem", "error": {"code": "ThrottlingException"}})
    counting = Counting(Table(dynamodb(faults.url), table_name, sleep=lambda seconds: None))
    owners = [keys.case("acme", f"c-{n}") for n in range(3)]
    records = [
        record_of(owner, 1, "CaseCreated", CREATED, number=n) for n, owner in enumerate(owners)
    ]
    assert counting.deliver(*records) == [{"itemIdentifier": f"{0:021d}"}]
    assert counting.metrics.metric_set["projection.failed.count"]["Value"] == [3.0]
    assert faults.fired()


def test_lag_is_how_long_the_oldest_event_of_a_batch_has_waited(counting: Counting) -> None:
    counting.deliver(record_of(CASE, 1, "CaseCreated", CREATED, number=15))
    assert counting.metrics.metric_set["projection.lag.seconds"]["Value"] == [40.0]


def test_the_pumped_stream_of_real_commands_equals_the_recount(
    api: Api, endpoint: str, client: Any
) -> None:
    stream = Stream(endpoint, client, api.table.name)
    api.submitted("REG-1")
    api.case("REG-2")
    api.case("REG-3")
    counting = Counting(api.table)
    pump = Pump(counting.handle, batch_size=4)
    pump.deliver(stream.read())
    assert pump.dead == counting.aside == []
    assert api.get("/projections/cases-by-status").body["counts"] == {"OPEN": 2, "UNDER_REVIEW": 1}
    assert api.get("/projections/cases-by-region").body["counts"] == {"EU-WEST": 3}
    assert api.get("/projections/cases-by-officer").body["counts"] == {"o-1": 1}
    newest = max(event["at"]["S"] for event in api.items() if event["SK"]["S"][:10] == "EVENT#META")
    assert api.get("/projections/cases-by-status").body["asOf"] == newest
    assert api.get("/counters/intake?region=EU-WEST").body["count"] == 3


def test_a_record_that_only_meets_trouble_is_given_up_by_the_stream_and_healed_by_the_next(
    counting: Counting, table: Table
) -> None:
    first, second, *_ = written(table, life())
    down = Pump(
        lambda records: {
            "batchItemFailures": [{"itemIdentifier": first["dynamodb"]["SequenceNumber"]}]
        }
    )
    down.deliver([first])
    assert down.dead == [first]
    Pump(counting.handle).deliver([second])
    assert counting.counts("cases-by-officer") == {"o-1": 1}


def test_capacity_units_of_one_event_and_of_many(table: Table) -> None:
    """Alone, a case's first event takes 8: lane, mark and two counters, in a transaction."""
    meter = Meter(table.client)
    counting = Counting(table)
    counting.deliver(life()[0])
    assert meter.units == 8
    meter.reset()
    many = [record for n in range(20) for record in life(keys.case("acme", f"m-{n}"), first=6 * n)]
    counting.deliver(*many)
    assert meter.units / len(many) < 1.0
    assert Office(table).items()
