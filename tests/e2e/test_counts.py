"""Counts of the deployed service: after a storm over three regions, everything agrees."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from holdfast.patterns import keys
from tests.e2e.conftest import Tenant
from tests.worlds import record_of
from tools.stack import client

REGIONS = ("EU-1", "EU-2", "EU-3")
CASES = 36
WORKERS = 6
Item = dict[str, Any]


def until(true: Callable[[], Any], *, seconds: float = 90) -> Any:
    end = time.monotonic() + seconds
    while not (answer := true()) and time.monotonic() < end:
        time.sleep(0.5)
    return answer


def hire(tenant: Tenant) -> None:
    for name in ("omar", "olga"):
        body = {"officerId": name, "name": name, "email": f"{name}@example.org", "maxLoad": 100}
        assert tenant.admin.post("/officers", body).status == 201


def live(tenant: Tenant, number: int) -> None:
    """One case on its way; every third is transferred, submitted and worked on."""
    body = {
        "externalRef": f"R-{number}",
        "title": "Dust",
        "region": REGIONS[number % 3],
        "priority": "LOW",
    }
    case = tenant.officer.post("/cases", body, key=f"create-{number}").body["caseId"]
    again = tenant.officer.post("/cases", body, key=f"create-{number}")
    assert again.body["caseId"] == case
    path = f"/cases/{case}"
    if number % 2:
        given = {"officerId": "omar", "expectedVersion": 1}
        assert tenant.supervisor.post(f"{path}/assignments", given).status == 200
    if number % 3 == 1 and number % 2:
        assert tenant.officer.post(f"{path}/tasks", {"title": "look"}).status == 201
        sent = {"reviewerId": "rita", "expectedVersion": 2}
        assert tenant.officer.post(f"{path}/submissions", sent).status == 200
        assert tenant.reviewer.post(f"{path}/approvals", {"expectedVersion": 3}).status == 200


def cases(tenant: Tenant) -> Iterator[Item]:
    for region in REGIONS:
        yield from tenant.officer.get(f"/cases?region={region}&limit=100").body["items"]


def counts(tenant: Tenant, name: str) -> Item:
    answer = tenant.officer.get(f"/projections/{name}")
    assert answer.status == 200, answer.body
    return dict(answer.body["counts"])


def reconciled(tenant: Tenant, **body: Any) -> dict[str, int]:
    accepted = tenant.admin.post("/ops/reconciliations", body)
    assert accepted.status == 202, accepted.body
    where = accepted.headers["location"]
    done = until(lambda: (a := tenant.admin.get(where)).body["status"] == "COMPLETED" and a)
    assert done, tenant.admin.get(where).body
    latest = tenant.admin.get("/ops/reconciliations/latest").body
    return {check["name"]: check["drift"] for check in latest["checks"]}


@pytest.fixture(scope="module")
def stormy(api: Any) -> Tenant:
    """A tenant after a storm, in whose midst its intake is spread over more shards."""
    tenant = Tenant(api)
    hire(tenant)
    with ThreadPoolExecutor(WORKERS) as pool:
        storm = [pool.submit(live, tenant, number) for number in range(CASES)]
        spread = tenant.admin.call("PUT", "/counters/intake/shards", {"shards": 16})
        for one in storm:
            one.result()
    assert spread.status == 200, spread.body
    return tenant


def test_after_a_storm_projections_equal_the_recount_and_intake_equals_creates(
    stormy: Tenant,
) -> None:
    found = list(cases(stormy))
    assert len(found) == CASES
    for name, field in (
        ("cases-by-status", "status"),
        ("cases-by-region", "region"),
        ("cases-by-officer", "officerId"),
    ):
        recount = Counter(case[field] for case in found if field in case)
        assert until(lambda n=name, r=recount: counts(stormy, n) == r), counts(stormy, name)
    assert until(lambda: counts(stormy, "open-tasks") == {"OPEN": CASES // 6})
    for region in REGIONS:
        intake = stormy.officer.get(f"/counters/intake?region={region}").body
        assert intake["count"] == CASES // 3


def test_after_a_storm_reconciliation_finds_no_drift(stormy: Tenant) -> None:
    drift = reconciled(stormy)
    assert drift
    assert not any(drift.values()), drift


def test_planted_drift_is_found_and_repaired_over_http(
    stormy: Tenant, stack: dict[str, Any]
) -> None:
    dynamodb = client("dynamodb", stack["endpointUrl"])
    load = {"PK": {"S": f"OFFICER#{stormy.name}#omar"}, "SK": {"S": "WORKLOAD"}}
    dynamodb.update_item(
        TableName=stack["tableName"],
        Key=load,
        UpdateExpression="SET activeLoad = :wrong",
        ExpressionAttributeValues={":wrong": {"N": "77"}},
    )
    assert reconciled(stormy, names=["loads"])["loads"] == 1
    assert reconciled(stormy, names=["loads"], repair=True)["loads"] == 1
    assert stormy.officer.get("/officers/omar").body["activeLoad"] == CASES // 2
    assert reconciled(stormy, names=["loads"])["loads"] == 0


def test_poison_reaches_the_failure_queue_with_its_cause(
    tenant: Tenant, stack: dict[str, Any]
) -> None:
    image = record_of(keys.case(tenant.name, "c-1"), 1, "CaseCreated", {"region": "EU"}, schema=9)
    item = image["dynamodb"]["NewImage"]
    client("dynamodb", stack["endpointUrl"]).put_item(TableName=stack["tableName"], Item=item)
    queue, url = client("sqs", stack["endpointUrl"]), stack["queues"]["projection-failures"]

    def poison() -> Item | None:
        for message in queue.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get(
            "Messages", ()
        ):
            body = json.loads(message["Body"])
            if body["record"]["dynamodb"]["Keys"]["PK"] == item["PK"]:
                return dict(body)
        return None

    assert until(poison)["cause"] == "UNKNOWN_SCHEMA"
