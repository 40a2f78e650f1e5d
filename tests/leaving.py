"""An officer with cases who leaves, the others with their room, and what must hold afterwards."""

from __future__ import annotations

from collections import Counter
from typing import Any

from holdfast.patterns import keys
from tests.api import ADMIN, SUPERVISOR, Answer, Api
from tests.working import TENANT, Works

ROOMS = {"o-2": 20, "o-3": 15, "o-4": 3}
BODY = {"toOfficerIds": list(ROOMS)}


def team(api: Api, count: int, rooms: dict[str, int]) -> list[str]:
    """The ids of `count` cases of officer `o-1`, beside officers with this much room."""
    api.officer("o-1", max_load=count)
    for officer, room in rooms.items():
        api.officer(officer, max_load=room)
    return [given(api, f"REG-{number}") for number in range(count)]


def given(api: Api, reference: str, officer: str = "o-1") -> str:
    case_id = str(api.case(reference).body["caseId"])
    assert assign(api, case_id, officer).status == 200
    return case_id


def assign(api: Api, case_id: str, officer: str) -> Answer:
    body = {"officerId": officer, "expectedVersion": 1}
    return api.post(f"/cases/{case_id}/assignments", body, actor=SUPERVISOR)


def transfer(api: Api, case_id: str, officer: str, version: int = 2) -> Answer:
    body = {"toOfficerId": officer, "expectedVersion": version}
    return api.post(f"/cases/{case_id}/transfers", body, actor=SUPERVISOR)


def leave(api: Api, body: Any = None, key: str = "leave") -> Answer:
    key = f"{key}-{api.table.name}"  # tests that share ids would share tokens
    return api.post("/officers/o-1/offboardings", body or BODY, actor=ADMIN, key=key)


def load(api: Api, officer: str) -> int:
    return int(api.get(f"/officers/{officer}").body["activeLoad"])


def stored_load(api: Api, officer: str) -> int:
    item = api.table.get(keys.officer_workload(TENANT, officer))
    assert item is not None
    return int(item["activeLoad"])


def status(api: Api, officer: str) -> str:
    return str(api.get(f"/officers/{officer}").body["status"])


def moves(api: Api, case_id: str) -> list[str]:
    events = api.get(f"/cases/{case_id}/events").body["items"]
    return [event["data"]["officerId"] for event in events if event["type"] == "CaseTransferred"]


def assert_moved_once(api: Api, cases: list[str], rooms: dict[str, int]) -> None:
    """Every case has left, once; loads are the cases held, below every limit."""
    holders = Counter()
    for case_id in cases:
        [holder] = moves(api, case_id)
        assert api.get(f"/cases/{case_id}").body["officerId"] == holder
        holders[holder] += 1
    assert load(api, "o-1") == 0
    for officer, room in rooms.items():
        assert load(api, officer) == holders[officer] <= room


def give_up(works: Works) -> None:
    """The sweep pushes a command whose messages are all lost until it gives it up."""
    while works.later(200) or works.sweep():
        works.queue.waiting.clear()
