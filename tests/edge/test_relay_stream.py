"""Stream batches of every kind: the right answer to Lambda, and nothing lost."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.edge.relay import Relay
from holdfast.edge.relay_app import relay_handler
from holdfast.patterns import keys
from holdfast.patterns.outbox import Entry, Event, announce, entry_of
from holdfast.writes.plan import Plan, create
from holdfast.writes.table import Table
from tests.metering import Meter
from tests.pump import Pump, Stream
from tests.relaying import AT, Desk, owner

Record = dict[str, Any]


@pytest.fixture
def desk(table: Table) -> Desk:
    return Desk(table)


@pytest.fixture
def stream(endpoint: str, client: Any, table_name: str) -> Stream:
    return Stream(endpoint, client, table_name)


def spoiled(record: Record) -> Record:
    image = {n: value for n, value in record["dynamodb"]["NewImage"].items() if n != "eventId"}
    return {**record, "dynamodb": {**record["dynamodb"], "NewImage": image}}


def of(records: list[Record], entry: Entry) -> Record:
    return next(
        r
        for r in records
        if r["dynamodb"]["Keys"]["PK"]["S"] == entry.key.pk
        and r["dynamodb"]["Keys"]["SK"]["S"] == entry.key.sk
    )


def sequence(record: Record) -> str:
    return str(record["dynamodb"]["SequenceNumber"])


def outbox_records(stream: Stream) -> list[Record]:
    records = stream.read()
    return [r for r in records if r["dynamodb"]["Keys"]["PK"]["S"].startswith("OUTBOX#")]


def test_what_a_command_wrote_is_announced_from_the_stream(desk: Desk, stream: Stream) -> None:
    entries = [entry for number in (1, 2) for entry in desk.happened(owner(number), 1, 2)]
    assert desk.stream(stream.read()) == {"batchItemFailures": []}
    assert {desk.status(entry) for entry in entries} == {"PUBLISHED"}


def test_when_all_records_are_bad_the_first_is_named_and_all_are_counted(
    desk: Desk, stream: Stream
) -> None:
    """Report 10: the response names the first, metrics say 3, and nothing is raised blindly."""
    for number in (1, 2, 3):
        desk.happened(owner(number), 1)
    records = [spoiled(record) for record in outbox_records(stream)]
    assert desk.stream(records) == {"batchItemFailures": [{"itemIdentifier": sequence(records[0])}]}
    assert desk.metric("outbox.publish_failed.count") == 3


def test_one_bad_record_in_the_middle_ends_alone_in_the_failure_queue(
    desk: Desk, stream: Stream
) -> None:
    entries = [entry for number in range(5) for entry in desk.happened(owner(number), 1)]
    records = outbox_records(stream)
    bad = of(records, entries[2])
    sent = [spoiled(bad) if record is bad else record for record in records]
    assert desk.stream(sent) == {"batchItemFailures": [{"itemIdentifier": sequence(bad)}]}
    pump = Pump(desk.stream)
    pump.deliver(sent)
    assert [sequence(record) for record in pump.dead] == [sequence(bad)]
    assert [desk.status(entry) for entry in entries] == [
        "PUBLISHED",
        "PUBLISHED",
        "NEW",
        "PUBLISHED",
        "PUBLISHED",
    ]
    assert len(desk.outlet.ids) == len(set(desk.outlet.ids)) == 4
    desk.sweep()
    assert desk.status(entries[2]) == "PUBLISHED"


def test_duplicates_in_a_batch_and_of_a_batch_are_sent_once(desk: Desk, stream: Stream) -> None:
    entries = desk.happened(owner(), 1, 2)
    records = stream.read()
    desk.stream([*records, *records])
    desk.relay = desk.fresh()
    assert desk.stream(records) == {"batchItemFailures": []}
    assert desk.outlet.ids == [entry.event_id for entry in entries]


def test_an_expiry_and_an_unrelated_change_are_no_failures_and_announce_nothing(
    desk: Desk, stream: Stream
) -> None:
    desk.table.commit(Plan(desk.table.name, (create(keys.case("acme", "1"), {}, "Once."),)))
    [entry] = desk.happened(owner(), 1)
    records = stream.read()
    key = {name: {"S": value} for name, value in entry.key.attributes.items()}
    removal = {
        "eventName": "REMOVE",
        "userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"},
        "dynamodb": {"Keys": key, "SequenceNumber": "9" * 21},
    }
    unrelated = [record for record in records if record is not of(records, entry)]
    assert desk.stream([removal, *unrelated]) == {"batchItemFailures": []}
    desk.stream(records)
    change = {**of(stream.read(), entry), "eventName": "MODIFY"}
    assert desk.stream([change]) == {"batchItemFailures": []}
    assert desk.outlet.ids == [entry.event_id]


def test_a_failed_send_is_tried_again_from_its_record(desk: Desk, stream: Stream) -> None:
    """Report 29, through the stream: the second of three fails once."""
    entries = [entry for number in range(3) for entry in desk.happened(owner(number), 1)]
    records = outbox_records(stream)
    desk.outlet.refuses = {entries[1].event_id}
    failed = sequence(of(records, entries[1]))
    assert desk.stream(records) == {"batchItemFailures": [{"itemIdentifier": failed}]}
    desk.outlet.refuses = set()
    pump = Pump(desk.stream)
    pump.deliver(records)
    assert pump.dead == []
    assert {desk.status(entry) for entry in entries} == {"PUBLISHED"}
    assert len(desk.outlet.ids) == 3


def test_an_outage_does_not_hold_the_shard_for_longer_than_a_few_tries(
    desk: Desk, stream: Stream
) -> None:
    entries = [entry for number in range(3) for entry in desk.happened(owner(number), 1)]
    desk.outlet.down = True
    pump = Pump(desk.stream, retries=10)
    pump.deliver(outbox_records(stream))
    assert pump.dead == []
    assert {desk.stored(entry)["attempts"] for entry in entries} == {3}
    desk.outlet.down = False
    desk.later(60)
    desk.sweep()
    assert {desk.status(entry) for entry in entries} == {"PUBLISHED"}


def test_the_handler_tells_a_stream_event_from_the_schedule(desk: Desk, stream: Stream) -> None:
    class Context:
        @staticmethod
        def get_remaining_time_in_millis() -> int:
            return 60_000

    handler = relay_handler(desk.relay)
    [first] = desk.happened(owner(1), 1)
    [second] = desk.happened(owner(2), 1)
    record = of(stream.read(), first)
    assert handler({"Records": [record]}, Context) == {"batchItemFailures": []}
    assert (desk.status(first), desk.status(second)) == ("PUBLISHED", "NEW")
    assert handler({"source": "aws.events"}, Context) is None
    assert desk.status(second) == "PUBLISHED"


@pytest.mark.parametrize(("events", "requests"), [(10, 0.3), (50, 0.15)])
def test_requests_and_units_of_a_published_event_stay_within_their_budget(
    metered: tuple[Table, Meter], events: int, requests: float
) -> None:
    """Ten to a send: one claim and one mark carry fifty. Claim and mark cost two units each,
    since they are transactional, after the two of the entry's own creation.
    """
    table, meter = metered
    desk = Desk(table)
    facts = [
        announce(
            Event("CaseEdited", owner(number), 1, {}),
            command_id=f"c{number}",
            tenant="acme",
            actor="o",
            at=AT,
        )
        for number in range(events)
    ]
    entries = []
    for trail, entry in facts:
        table.commit(Plan(table.name, (trail, entry)))
        entries.append(entry.key)
    desk.relay = Relay(table, {"events": desk.outlet}, desk.telemetry, lambda: desk.now_ms)
    images = [table.get(key) or {} for key in entries]
    meter.reset()
    desk.announce(*map(entry_of, images))
    sends = len(desk.outlet.batches)
    assert desk.outlet.batches == [10] * (events // 10)
    assert (len(meter.requests) + sends) / events <= requests
    assert meter.units / events == 4
