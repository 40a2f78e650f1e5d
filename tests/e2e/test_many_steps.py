"""Commands of many steps through the deployed stack: accepted, relayed, queued, done, watched."""

from __future__ import annotations

import io
import json
import time
from typing import Any

import pytest
from rich.console import Console

from tests.e2e.conftest import Tenant
from tools.http import Actor
from tools.watch import NotShown, watch

PATIENCE_SECONDS = 90


def case_row(reference: str, region: str = "EU-1") -> dict[str, str]:
    return {"externalRef": reference, "title": "Dust", "region": region, "priority": "LOW"}


def finished(actor: Actor, location: str) -> tuple[dict[str, Any], list[int]]:
    """The command at its end, and what `done` was on the way there."""
    seen, deadline = [], time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        told = actor.get(location).body
        seen.append(told["done"])
        if told["status"] != "IN_PROGRESS":
            return told, seen
        time.sleep(0.1)
    raise AssertionError(f"still running: {told}")


def officer(tenant: Tenant, officer_id: str, max_load: int) -> None:
    body = {"officerId": officer_id, "name": "Ada", "maxLoad": max_load}
    made = tenant.admin.post("/officers", {**body, "email": f"{officer_id}@example.org"})
    assert made.status == 201, made.body


def test_an_officer_leaves_and_their_cases_move(tenant: Tenant) -> None:
    for officer_id in ("o-1", "o-2", "o-3"):
        officer(tenant, officer_id, max_load=10)
    cases = [
        tenant.officer.post("/cases", case_row(f"REG-{number}")).headers["location"]
        for number in range(6)
    ]
    for case in cases:
        assigned = {"officerId": "o-1", "expectedVersion": 1}
        assert tenant.supervisor.post(f"{case}/assignments", assigned).status == 200
    body = {"toOfficerIds": ["o-2", "o-3"]}
    accepted = tenant.admin.post("/officers/o-1/offboardings", body, key="leave")
    assert (accepted.status, accepted.body["total"]) == (202, 6)
    assert int(accepted.headers["retry-after"]) >= 1
    told, seen = finished(tenant.admin, accepted.headers["location"])
    assert (told["status"], told["done"]) == ("COMPLETED", 6)
    assert seen == sorted(seen)
    loads = [tenant.admin.get(f"/officers/o-{n}").body["activeLoad"] for n in (1, 2, 3)]
    assert loads == [0, 3, 3]
    assert tenant.admin.get("/officers/o-1").body["status"] == "INACTIVE"
    assert {tenant.officer.get(case).body["version"] for case in cases} == {3}
    again = tenant.admin.post("/officers/o-1/offboardings", body, key="leave")
    assert (again.status, again.headers["idempotency-replayed"]) == (202, "true")


def test_a_file_is_taken_in_watched_and_not_taken_in_twice(tenant: Tenant) -> None:
    rows = [json.dumps(case_row(f"ROW-{number}")) for number in range(38)]
    lines = [*rows, json.dumps(case_row("BAD", region="?")), rows[0]]
    accepted = tenant.admin.post("/imports", "\n".join(lines))
    assert accepted.status == 202
    drawn = io.StringIO()
    assert watch(tenant.admin, accepted.body["commandId"], Console(file=drawn))
    assert "COMPLETED" in drawn.getvalue()
    told, _ = finished(tenant.admin, accepted.headers["location"])
    counts = {name: told["result"][name] for name in ("created", "refused", "invalid")}
    assert counts == {"created": 38, "refused": 1, "invalid": 1}
    outcomes = tenant.admin.get(f"{accepted.headers['location']}/rows?limit=100").body["items"]
    assert [outcome["row"] for outcome in outcomes] == list(range(1, 41))
    twice = tenant.admin.post("/imports", "\n".join(lines))
    told, _ = finished(tenant.admin, twice.headers["location"])
    assert told["result"]["created"] == 38
    listed = tenant.officer.get("/cases?status=OPEN&limit=100").body["items"]
    assert len(listed) == 38


def test_a_command_that_nobody_sent_is_not_watched(tenant: Tenant) -> None:
    with pytest.raises(NotShown, match="404"):
        watch(tenant.admin, "c-unknown", Console(file=io.StringIO()))
