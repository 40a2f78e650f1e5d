"""A committed change is told in the trail and in the outbox, under ids that a retry makes again."""

from __future__ import annotations

from holdfast.patterns import keys
from holdfast.patterns.outbox import Event, announce
from holdfast.writes.outcomes import Committed, Refused
from holdfast.writes.plan import Plan, Write
from holdfast.writes.refusals import Refusal
from holdfast.writes.table import Table

OWNER = keys.case("acme", "1")
AT = "2030-01-02T03:04:05.678Z"


def facts(version: int = 3, command_id: str = "c1") -> list[Write]:
    event = Event("CaseApproved", OWNER, version, {"status": "APPROVED"})
    return announce(event, command_id=command_id, tenant="acme", actor="r-1", at=AT)


def test_a_fact_is_kept_in_the_trail_and_waits_in_the_outbox(table: Table) -> None:
    assert isinstance(table.commit(Plan(table.name, tuple(facts()))), Committed)
    event = table.get(keys.event(OWNER, 3)) or {}
    entry = table.get(keys.outbox(OWNER, 3, "2030-01-02")) or {}
    told = {
        "type": "CaseApproved",
        "at": AT,
        "actor": "r-1",
        "tenant": "acme",
        "version": 3,
        "data": {"status": "APPROVED"},
    }
    assert told.items() <= event.items()
    assert told.items() <= entry.items()
    assert (event["owner"], event["commandId"]) == ("META", "c1")
    assert event["eventId"] == entry["eventId"]
    assert (entry["status"], entry["attempts"], entry["aggregate"]) == (
        "NEW",
        0,
        "CASE#acme#1#META",
    )


def test_an_entry_that_waits_is_in_the_index_of_its_shard(table: Table) -> None:
    table.commit(Plan(table.name, tuple(facts())))
    shard = keys.outbox(OWNER, 3, "2030-01-02").pk[-2:]
    found, _ = table.query(
        IndexName="outbox-open",
        KeyConditionExpression="outboxState = :state",
        ExpressionAttributeValues={":state": f"PENDING#{shard}"},
    )
    assert [item["eventId"] for item in found] == [facts()[0].item["eventId"]]


def test_a_version_of_an_owner_is_announced_once(table: Table) -> None:
    table.commit(Plan(f"one {table.name}", tuple(facts(command_id="c1"))))
    outcome = table.commit(Plan(f"two {table.name}", tuple(facts(command_id="c2"))))
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.ALREADY_EXISTS
    assert (table.get(keys.event(OWNER, 3)) or {})["commandId"] == "c1"


def test_a_retry_announces_the_same_fact_under_the_same_id() -> None:
    assert facts() == facts()
    ids = {write.item["eventId"] for write in facts()}
    others = {facts(version=4)[0].item["eventId"], facts(command_id="c2")[0].item["eventId"]}
    assert len(ids) == 1
    assert len(ids | others) == 3
