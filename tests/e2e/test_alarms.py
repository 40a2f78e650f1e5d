"""Alarms ring within a minute of a planted cause, and none rings in normal traffic."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast.domain.offboarding import OFFBOARDING
from holdfast.patterns.outbox import PUBLISHING
from holdfast.patterns.workflows import PUSHES_MAX, RUNNING
from holdfast.writes.codec import encode_item
from tests.e2e.conftest import Tenant
from tools.bridge import Bridge
from tools.stack import client

CASE = {"externalRef": "REG-1", "title": "Dust", "region": "EU-1", "priority": "HIGH"}
RING_SECONDS = 60
Stack = dict[str, Any]
Plant = Callable[[dict[str, Any]], None]


@pytest.fixture
def bridge(stack: Stack) -> Bridge:
    """A bridge that carries what comes from now on, and alarms that are quiet."""
    found = Bridge(stack)
    for alarm in found.ringing():
        found.cloudwatch.set_alarm_state(AlarmName=alarm, StateValue="OK", StateReason="a new test")
    return found


def rings(bridge: Bridge, name: str) -> bool:
    """True as soon as the alarm rings; false after the time in which it must."""
    until = time.monotonic() + RING_SECONDS
    while time.monotonic() < until:
        bridge.carry()
        if f"holdfast-local-{name}" in bridge.ringing():
            return True
        time.sleep(0.5)
    return False


def invoke(stack: Stack, function: str) -> None:
    """Call a worker as its schedule does."""
    answer = client("lambda", stack["endpointUrl"]).invoke(
        FunctionName=stack["functions"][function], Payload=b"{}"
    )
    assert "FunctionError" not in answer, answer["Payload"].read()


@pytest.fixture
def put(stack: Stack) -> Iterator[Plant]:
    """Writes an item past the service, and removes it after the test."""
    table, planted = client("dynamodb", stack["endpointUrl"]), list[dict[str, Any]]()

    def plant(item: dict[str, Any]) -> None:
        table.put_item(TableName=stack["tableName"], Item=encode_item(item))
        planted.append(encode_item({"PK": item["PK"], "SK": item["SK"]}))

    yield plant
    for key in planted:
        table.delete_item(TableName=stack["tableName"], Key=key)


def test_nothing_rings_in_an_hour_of_normal_traffic(
    bridge: Bridge, tenant: Tenant, stack: Stack
) -> None:
    """An hour of a small office, in a few seconds: some are refused, some ask twice."""
    for number in range(40):
        body = {**CASE, "externalRef": f"REG-{number // 2 if number % 10 == 1 else number}-n"}
        first = tenant.officer.post("/cases", body, key=f"k-{number}")
        assert first.status in {201, 409}
        if number % 4 == 0:
            assert tenant.officer.post("/cases", body, key=f"k-{number}").status == 201
        tenant.officer.get("/cases?status=OPEN")
    invoke(stack, "relay_outbox")
    time.sleep(1)
    assert bridge.carry() >= 40
    assert bridge.ringing() == {}


def test_a_spike_of_conflicts_rings(bridge: Bridge, tenant: Tenant) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: tenant.officer.post("/cases", CASE).status, range(120)))
    assert answers.count(409) == 119
    assert rings(bridge, "conflict-spike")


def test_one_key_with_two_requests_rings(bridge: Bridge, tenant: Tenant) -> None:
    tenant.officer.post("/cases", CASE, key="one")
    assert tenant.officer.post("/cases", {**CASE, "title": "Noise"}, key="one").status == 422
    assert rings(bridge, "reuse-mismatch")


def test_an_entry_that_is_not_announced_rings(bridge: Bridge, stack: Stack, put: Plant) -> None:
    """It has been claimed by a relay that does not come back, and is ten minutes old."""
    at = (datetime.now(UTC) - timedelta(minutes=10)).isoformat(timespec="milliseconds")
    put(
        {
            "PK": f"OUTBOX#{at[:10]}#00",
            "SK": "EVENT#CASE#planted#00000000000000000001",
            "aggregate": "CASE#planted",
            "version": 1,
            "status": PUBLISHING,
            "attempts": 1,
            "at": at,
            "claimedUntil": int(time.time() * 1000) + 600_000,
            "outboxState": "PENDING#00",
            "outboxSort": at,
        },
    )
    invoke(stack, "relay_outbox")
    assert rings(bridge, "outbox-age")


def test_a_dead_letter_rings(bridge: Bridge, stack: Stack) -> None:
    sqs, url = client("sqs", stack["endpointUrl"]), stack["queues"]["workflows-dead"]
    group = {"MessageGroupId": "planted", "MessageDeduplicationId": str(time.time_ns())}
    sqs.send_message(QueueUrl=url, MessageBody="{}", **group)
    assert rings(bridge, "dead-letters-workflows-dead.fifo")
    sqs.purge_queue(QueueUrl=url)


def test_a_command_that_is_stuck_rings(bridge: Bridge, stack: Stack, put: Plant) -> None:
    """No worker has moved it for ten minutes, and no push has helped."""
    began = int(time.time() * 1000) - 600_000
    put(
        {
            "PK": f"IDEMPOTENCY#t-planted#{'c' * 32}",
            "SK": "COMMAND",
            "tenant": "t-planted",
            "commandId": "c" * 32,
            "caller": "root",
            "status": "IN_PROGRESS",
            "workflow": OFFBOARDING.name,
            "input": {},
            "cursor": {},
            "step": 0,
            "done": 0,
            "attempt": 1,
            "pushes": PUSHES_MAX,
            "progressAt": began,
            "runningState": RUNNING,
            "runningSort": str(began),
        },
    )
    invoke(stack, "run_workflows")
    assert rings(bridge, "stuck-commands")
