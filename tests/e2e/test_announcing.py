"""What happened is announced, once, in order: through stream, relay, queue, ledger and webhook."""

from __future__ import annotations

import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import urllib3

from holdfast.writes.codec import decode_item
from tests.e2e.conftest import Tenant
from tools.stack import client

COMMANDS = 200
Item = dict[str, Any]


@pytest.fixture
def table(stack: Item) -> Callable[[str], list[Item]]:
    """All items whose partition key starts as given."""
    dynamodb = client("dynamodb", stack["endpointUrl"])

    def items(prefix: str) -> list[Item]:
        pages = dynamodb.get_paginator("scan").paginate(
            TableName=stack["tableName"],
            FilterExpression="begins_with(PK, :prefix)",
            ExpressionAttributeValues={":prefix": {"S": prefix}},
        )
        return [decode_item(item) for page in pages for item in page["Items"]]

    return items


def received(stack: Item, event_id: str | None = None) -> list[Item]:
    query = f"?eventId={event_id}" if event_id else ""
    return list(
        urllib3.request("GET", f"{stack['webhookUrl']}/received{query}").json()["deliveries"]
    )


def behave(stack: Item, *rules: Item) -> None:
    url = f"{stack['webhookUrl']}/behaviour"
    assert urllib3.request("PUT", url, json=list(rules)).status == 200


def until(true: Callable[[], Any], *, seconds: float) -> Any:
    """The first true answer within so many seconds, or the last one."""
    end = time.monotonic() + seconds
    while not (answer := true()) and time.monotonic() < end:
        time.sleep(0.25)
    return answer


def random_commands(tenant: Tenant, chance: random.Random) -> Iterator[int]:
    """The statuses of `COMMANDS` commands on a few officers, cases and notes."""
    officers = [f"o-{number}" for number in range(3)]
    for officer in officers:
        body = {
            "officerId": officer,
            "name": "Ada Example",
            "email": f"{officer}@example.org",
            "maxLoad": 50,
        }
        yield tenant.admin.post("/officers", body).status
    cases: list[str] = []
    versions: Counter[str] = Counter()
    for number in range(COMMANDS - len(officers)):
        kind = chance.choice(("case", "assign", "note", "hold", "again"))
        if kind == "case" or not cases:
            body = {
                "externalRef": f"R-{number}",
                "title": "Dust",
                "region": "EU",
                "priority": "LOW",
            }
            answer = tenant.officer.post("/cases", body)
            cases.append(answer.body["caseId"])
            versions[cases[-1]] = 1
        elif kind == "note":
            path = f"/cases/{chance.choice(cases)}/notes"
            answer = tenant.officer.post(path, {"text": "Seen."})
        else:
            case = chance.choice(cases)
            seen = {"expectedVersion": versions[case] - (kind == "again")}
            if kind == "assign":
                body = {"officerId": chance.choice(officers), **seen}
                answer = tenant.supervisor.post(f"/cases/{case}/assignments", body)
            else:
                body = {"hold": chance.random() < 0.5, **seen}
                answer = tenant.supervisor.call("PUT", f"/cases/{case}/legal-hold", body)
            versions[case] += answer.status == 200
        yield answer.status


def test_after_random_commands_each_event_has_arrived_once_and_in_order(
    tenant: Tenant, stack: Item, table: Callable[[str], list[Item]]
) -> None:
    statuses = Counter(random_commands(tenant, random.Random(5)))
    assert statuses[200] + statuses[201] > COMMANDS / 2
    assert not {status for status in statuses if status >= 500}

    def ours() -> list[Item]:
        return [entry for entry in table("OUTBOX#") if entry["tenant"] == tenant.name]

    def arrived() -> list[Item]:
        return [one for one in received(stack) if f"#{tenant.name}#" in one["aggregate"]]

    expected = {entry["eventId"] for entry in ours()}
    assert len(expected) == statuses[200] + statuses[201]
    until(lambda: {one["eventId"] for one in arrived()} == expected, seconds=120)
    deliveries = arrived()
    assert Counter(one["eventId"] for one in deliveries) == dict.fromkeys(expected, 1)
    orders = defaultdict(list)
    for one in deliveries:
        orders[one["aggregate"]].append(one["version"])
    assert all(order == list(range(1, len(order) + 1)) for order in orders.values())
    until(lambda: tenant.admin.get("/ops/outbox").body["pending"] == 0, seconds=90)
    assert tenant.admin.get("/ops/outbox").body["pending"] == 0
    assert all(entry["status"] == "PUBLISHED" and entry["messageId"] for entry in ours())
    ledgers = [one for one in table("SIDE_EFFECT#webhook#") if one.get("tenant") == tenant.name]
    assert {one["eventId"] for one in ledgers if one["status"] == "CONFIRMED"} == expected


def test_a_failing_webhook_has_one_effect_in_the_end(tenant: Tenant, stack: Item) -> None:
    behave(
        stack,
        {"status": 500, "times": 3, "type": "CaseCreated"},
        {"drop": True, "type": "CaseCreated"},
    )
    body = {"externalRef": "REG-1", "title": "Dust", "region": "EU", "priority": "HIGH"}
    case = tenant.officer.post("/cases", body).body["caseId"]
    [event] = tenant.officer.get(f"/cases/{case}/events").body["items"]
    path = f"/ops/side-effects/webhook/{event['eventId']}"

    def confirmed() -> bool:
        answer = tenant.admin.get(path)
        return answer.status == 200 and answer.body["status"] == "CONFIRMED"

    assert until(confirmed, seconds=120)
    assert tenant.admin.get(path).body["attempts"] == 4
    assert [one["attempt"] for one in received(stack, event["eventId"])] == [1, 2, 3, 4]
    effects = f"{stack['webhookUrl']}/effects?eventId={event['eventId']}"
    assert len(urllib3.request("GET", effects).json()["effects"]) == 1


def test_a_registered_officer_gets_a_mail(tenant: Tenant, table: Any) -> None:
    body = {"officerId": "o-1", "name": "Ada", "email": "ada@example.org", "maxLoad": 3}
    assert tenant.admin.post("/officers", body).status == 201

    def mailed() -> list[Item]:
        ledgers = table("SIDE_EFFECT#email#")
        return [
            one for one in ledgers if (one["tenant"], one["status"]) == (tenant.name, "CONFIRMED")
        ]

    assert len(until(mailed, seconds=60)) == 1
    assert "ada@example.org" not in json.dumps(mailed(), default=str)
