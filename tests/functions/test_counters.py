"""Intake: counted in the transaction that opens a case, on shards whose number may change."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from holdfast.domain.intake import INTAKE
from holdfast.patterns import keys
from holdfast.patterns.counters import SHARDS_DEFAULT
from holdfast.writes.table import Table
from tests.api import ADMIN, OFFICER, STRANGER, Api, counted
from tests.conftest import dynamodb
from tests.metering import Meter
from tests.proxy import Proxy
from tests.racing import race
from tests.scripted import Clock

REGION = "EU-WEST"
LIMIT_SHARDS = 16


def intake(api: Api, **more: Any) -> int:
    return int(api.get(f"/counters/intake?region={REGION}", **more).body["count"])


def shards(api: Api) -> Counter[int]:
    """How much each shard of the region holds."""
    pk = keys.counter_shard("acme", INTAKE, REGION, 0).pk
    found = api.table.partition(pk, "SHARD#")
    return Counter({int(one["SK"].removeprefix("SHARD#")): one["count"] for one in found})


def spread(api: Api, number: int) -> Any:
    return api.call("PUT", "/counters/intake/shards", {"shards": number}, actor=ADMIN)


def test_each_opened_case_counts_once_however_often_it_is_sent(api: Api) -> None:
    for _ in range(3):
        api.case("REG-1", key="same")
    api.case("REG-2")
    assert api.case("REG-2").code == "already-exists"
    assert intake(api) == 2
    assert intake(api, actor=STRANGER) == 0
    assert api.get("/counters/intake", OFFICER).status == 422


def test_an_opened_case_costs_two_units_more_than_its_plan(api: Api) -> None:
    """See docs/decisions: ten for the five items of the case, two for the live counter."""
    api.case("REG-0")
    meter = Meter(api.table.client)
    assert api.case("REG-1").status == 201
    assert (meter.requests, meter.units) == (["TransactWriteItems"], 12)


def test_an_answer_lost_after_the_commit_counts_once(
    faults: Proxy, faulty_table: Table, table: Table
) -> None:
    """Field report 18: +1 exactly."""
    faults.rules({"operation": "TransactWriteItems", "times": 1, "response": {"abort_bytes": 0}})
    assert Api(faulty_table).case().status == 201
    assert faults.fired() == ["TransactWriteItems"]
    assert intake(Api(table)) == 1


def test_writers_learn_the_number_of_shards_without_a_trip_per_command(
    client: Any, table_name: str
) -> None:
    clock = Clock()
    api = Api(Table(client, table_name, clock=clock, sleep=clock.sleep))
    spread(Api(Table(client, table_name)), LIMIT_SHARDS)
    with counted(client) as sent:
        api.case("REG-1")
    assert sent == ["TransactWriteItems"], "a young process guesses"
    clock.now += 61
    with counted(client) as sent:
        api.case("REG-2")
        api.case("REG-3")
    assert sent == ["GetItem", "TransactWriteItems", "TransactWriteItems"], "once a minute"


def test_a_process_that_guessed_the_default_may_still_change_the_number(
    client: Any, table_name: str
) -> None:
    clock = Clock()
    api = Api(Table(client, table_name, clock=clock, sleep=clock.sleep))
    clock.now += 61
    api.case("REG-1")
    assert spread(api, LIMIT_SHARDS).body["version"] == 1
    clock.now += 61
    api.case("REG-2")
    assert spread(api, 8).body["version"] == 2


def test_the_number_of_shards_is_changed_by_a_command_with_a_record_and_an_event(api: Api) -> None:
    answer = spread(api, LIMIT_SHARDS)
    assert (answer.status, answer.body["shards"], answer.body["version"]) == (200, 16, 1)
    assert spread(api, 8).body["version"] == 2
    owner = keys.counter("acme", INTAKE)
    events = [event["data"] for event in api.table.partition(owner.pk, "EVENT#")]
    assert events == [{"shards": 16}, {"shards": 8}]
    assert spread(api, 65).status == 422
    body = {"shards": 8}
    assert api.call("PUT", "/counters/intake/shards", body, actor=OFFICER).status == 403


@pytest.mark.parametrize("writers", [8])
def test_shards_raised_from_four_to_sixteen_under_load_lose_nothing(
    endpoint: str, table_name: str, writers: int
) -> None:
    """Half of the writers learn of it at once, the others go on with four."""
    each = 10
    apis = [Api(Table(dynamodb(endpoint), table_name)) for _ in range(writers)]

    def write(number: int) -> None:
        for turn in range(each):
            if turn == each // 2 and number % 2:
                spread(apis[number], LIMIT_SHARDS)
            assert apis[number].case(f"REG-{number}-{turn}").status == 201

    race([lambda n=number: write(n) for number in range(writers)])
    assert intake(apis[0]) == writers * each
    assert max(shards(apis[0])) >= SHARDS_DEFAULT
    assert shards(apis[0]).total() == writers * each
