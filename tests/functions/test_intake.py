"""Case intake by region: counted in the create transaction, on shards that may be raised."""

from __future__ import annotations

from typing import Any

from holdfast.writes.recent import AGE_SECONDS_MAX
from holdfast.writes.table import Table
from tests.api import ADMIN, Api


def intake(api: Api, region: str) -> int:
    return int(api.get(f"/counters/intake?region={region}").body["count"])


def test_intake_is_live_and_exact(api: Api) -> None:
    for number in range(5):
        api.case(f"REG-{number}", key=f"key-{number}")
    api.case("REG-0")
    assert api.case("REG-1", key="key-1").headers["Idempotency-Replayed"] == "true"
    assert intake(api, "EU-WEST") == 5
    assert intake(api, "EU-EAST") == 0


def test_more_shards_lose_nothing_and_take_effect_within_a_minute(
    api: Api, client: Any, table_name: str
) -> None:
    for number in range(3):
        api.case(f"REG-{number}")
    raised = api.call("PUT", "/counters/intake/shards", {"shards": 16}, actor=ADMIN)
    assert raised.status == 200
    seconds = [0.0]
    later = Api(Table(client, table_name, clock=lambda: seconds[0]))
    seconds[0] = AGE_SECONDS_MAX
    for number in range(3, 30):
        (api, later)[number % 2].case(f"REG-{number}")
    assert intake(api, "EU-WEST") == 30
    used = list(later.table.partition("COUNTER#acme#intake#EU-WEST", "SHARD#"))
    assert len(used) > 4


def test_of_two_who_raise_the_shards_as_read_the_second_plans_anew(api: Api) -> None:
    for shards in (8, 16):
        answer = api.call("PUT", "/counters/intake/shards", {"shards": shards}, actor=ADMIN)
        assert answer.status == 200
    assert intake(api, "EU-WEST") == 0
