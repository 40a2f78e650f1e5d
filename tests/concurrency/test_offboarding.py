"""Real threads: an officer leaves while supervisors assign and transfer the same cases."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import pytest

from holdfast.domain.cases import AssignCase, TransferCase
from holdfast.domain.offboarding import OFFBOARDING, Leaver, OffboardOfficer, offboard_officer
from holdfast.edge.executor import utc_now
from holdfast.edge.telemetry import Telemetry
from holdfast.edge.workflow_runner import NotNow, Runner
from holdfast.patterns import keys
from holdfast.writes.outcomes import Committed, Unsettled
from holdfast.writes.table import Table
from tests.commands import SUPERVISOR, TENANT, Office, made
from tests.conftest import dynamodb

CASES, SUPERVISORS, TRIES = 30, 4, 15
LEAVER, ROOMS = "o-1", {"o-2": 20, "o-3": 20, "o-4": 5}


@pytest.fixture
def desks(office: Office, endpoint: str) -> list[Office]:
    """An office for each supervisor and worker: each waits for real between its attempts."""
    client = dynamodb(endpoint, max_pool_connections=SUPERVISORS + 2)
    return [Office(Table(client, office.table.name)) for _ in range(SUPERVISORS + 2)]


def supervise(desk: Office, case_ids: list[str], seed: int) -> None:
    """Assign and transfer whatever case comes up, as it is read, to whoever comes up."""
    chance = random.Random(seed)
    for _ in range(TRIES):
        case = desk.stored(keys.case(TENANT, chance.choice(case_ids)))
        seen = {"case_id": case["caseId"], "expected_version": case["version"], **SUPERVISOR}
        target = chance.choice([LEAVER, *ROOMS])
        if "officerId" in case:
            cmd = made(TransferCase, to_officer_id=target, **seen)
        else:
            cmd = made(AssignCase, officer_id=target, **seen)
        with suppress(Unsettled):
            desk.send(cmd)


def work(desk: Office, command_id: str) -> None:
    """A worker takes steps until the end; its messages come again while it must wait."""
    known = {OFFBOARDING.name: OFFBOARDING}
    runner = Runner(desk.table, known, Telemetry(), utc_now, lambda *_: None)
    record = keys.command(TENANT, command_id)
    while desk.stored(record)["status"] == "IN_PROGRESS":
        with suppress(NotNow, Unsettled):
            runner.advance(TENANT, command_id, until=float("inf"))


def test_nothing_is_lost_and_no_load_is_above_its_limit(
    office: Office, desks: list[Office]
) -> None:
    office.register(LEAVER, max_load=CASES)
    for officer, room in ROOMS.items():
        office.register(officer, max_load=room)
    held = [office.case(external_ref=f"R-{number}")["caseId"] for number in range(CASES - 10)]
    free = [
        office.case(assigned=False, external_ref=f"F-{number}")["caseId"] for number in range(10)
    ]
    cmd = made(OffboardOfficer, officer_id=LEAVER, to_officer_ids=tuple(ROOMS))
    leaver = Leaver(office.stored(cmd.key), load=len(held))
    assert isinstance(office.table.commit(offboard_officer(cmd, leaver)), Committed)

    workers = [partial(work, desk, cmd.command_id) for desk in desks[SUPERVISORS:]]
    supervisors = [
        partial(supervise, desk, held + free, seed) for seed, desk in enumerate(desks[:SUPERVISORS])
    ]
    run(workers + supervisors)

    cases = [office.stored(keys.case(TENANT, case_id)) for case_id in held + free]
    holders = Counter(case["officerId"] for case in cases if "officerId" in case)
    for officer, limit in {LEAVER: 0, **ROOMS}.items():
        load = office.stored(keys.officer_workload(TENANT, officer))["activeLoad"]
        assert load == holders[officer] <= limit
    record = office.stored(keys.command(TENANT, cmd.command_id))
    assert (record["status"], record["result"]["moved"]) == ("COMPLETED", record["done"])
    assert office.stored(cmd.key)["status"] == "INACTIVE"
    for case in cases:
        assert versions(office, case["caseId"]) == list(range(1, case["version"] + 1))


def versions(office: Office, case_id: str) -> list[int]:
    events = office.table.partition(keys.case(TENANT, case_id).pk, "EVENT#META#")
    return [event["version"] for event in events]


def run(jobs: list[Callable[[], None]]) -> None:
    with ThreadPoolExecutor(len(jobs)) as pool:
        for done in [pool.submit(job) for job in jobs]:
            done.result()
