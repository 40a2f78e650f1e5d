"""Members, loads and leases of cases under real threads: limits hold, and counts recount."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from holdfast.domain.case_leases import AcquireLease
from holdfast.domain.cases import AssignCase, TransferCase
from holdfast.domain.enforcement import OpenEnforcement
from holdfast.domain.members import AddInvestigator, AddNote, CloseTask, OpenTask
from holdfast.domain.reviews import ApproveCase, CloseCase, SubmitForReview
from holdfast.patterns import keys
from holdfast.writes.outcomes import Committed, Outcome, Refused, Unsettled
from holdfast.writes.refusals import Refusal
from holdfast.writes.table import Table
from tests.commands import OFFICER, SUPERVISOR, TENANT, Item, Office, made
from tests.conftest import dynamodb
from tests.racing import race

RACERS, LOAD_MAX = 20, 4
DESKS = ("o-1", "o-2", "o-3", "o-4")


@pytest.fixture
def offices(office: Office, endpoint: str) -> list[Office]:
    """An office for each racer, which waits for real between its attempts."""
    client = dynamodb(endpoint, max_pool_connections=RACERS)
    return [Office(Table(client, office.table.name)) for _ in range(RACERS)]


def all_at_once(offices: list[Office], make: Callable[[int], Any]) -> Counter[str]:
    """One command from each office; how many were committed, or refused and why."""
    jobs = [partial(office.send, make(number)) for number, office in enumerate(offices)]
    return Counter(named(result.outcome) for result in race(jobs))


def named(outcome: Outcome) -> str:
    return str(outcome.refusal) if isinstance(outcome, Refused) else type(outcome).__name__


def case_key(case: Item) -> Any:
    return keys.case(TENANT, case["caseId"])


def test_of_20_investigators_three_are_taken(office: Office, offices: list[Office]) -> None:
    """Field report 19: three succeed, seventeen are refused, the guard says three."""
    office.register()
    case = office.case()
    told = all_at_once(
        offices, lambda n: made(AddInvestigator, case_id=case["caseId"], user_id=f"u-{n}")
    )
    assert told == {"Committed": 3, Refusal.LIMIT_REACHED: 17}
    assert office.stored(keys.investigator_guard(case_key(case)))["activeCount"] == 3
    assert len(list(office.table.partition(case_key(case).pk, "INVESTIGATOR#"))) == 3


def test_one_user_asked_for_by_20_investigates_once(office: Office, offices: list[Office]) -> None:
    office.register()
    case = office.case()
    told = all_at_once(
        offices, lambda _: made(AddInvestigator, case_id=case["caseId"], user_id="u-1")
    )
    assert told == {"Committed": 1, Refusal.ALREADY_EXISTS: 19}
    assert office.stored(keys.investigator_guard(case_key(case)))["activeCount"] == 1


def test_of_20_enforcements_one_is_active(office: Office, offices: list[Office]) -> None:
    office.register()
    case = office.case("APPROVED")
    told = all_at_once(
        offices, lambda _: made(OpenEnforcement, case_id=case["caseId"], kind="FINE")
    )
    assert told == {"Committed": 1, Refusal.ALREADY_ACTIVE: 19}
    [active] = office.table.partition(case_key(case).pk, "ENFORCEMENT#")
    guard = office.stored(keys.enforcement_guard(case_key(case)))
    assert guard["enforcementId"] == active["enforcementId"]


def test_20_notes_at_once_are_20_notes(office: Office, offices: list[Office]) -> None:
    office.register()
    case = office.case()
    told = all_at_once(offices, lambda n: made(AddNote, case_id=case["caseId"], text=f"{n}"))
    assert told == {"Committed": RACERS}
    assert office.stored(case_key(case))["noteCount"] == RACERS
    assert len(list(office.table.partition(case_key(case).pk, "NOTE#"))) == RACERS


def test_tasks_that_open_and_close_at_once_are_counted(
    office: Office, offices: list[Office]
) -> None:
    office.register()
    case = office.case()
    opened = [
        office.do(OpenTask, case_id=case["caseId"], title="Call")["taskId"] for _ in range(10)
    ]

    def command(number: int) -> Any:
        if number < 10:
            return made(CloseTask, case_id=case["caseId"], task_id=opened[number])
        return made(OpenTask, case_id=case["caseId"], title="More")

    assert all_at_once(offices, command) == {"Committed": RACERS}
    tasks = list(office.table.partition(case_key(case).pk, "TASK#"))
    still_open = sum(task["status"] == "OPEN" for task in tasks)
    assert office.stored(keys.task_guard(case_key(case)))["openCount"] == still_open == 10


def test_of_20_who_acquire_a_lease_one_holds_it(office: Office, offices: list[Office]) -> None:
    office.register()
    case = office.case()
    told = all_at_once(
        offices,
        lambda n: made(AcquireLease, case_id=case["caseId"], caller=f"x-{n}", seconds=60),
    )
    assert told == {"Committed": 1, Refusal.LEASE_HELD: 19}
    assert office.stored(keys.lease(TENANT, case["caseId"]))["version"] == 1


def test_twenty_transfers_of_one_case_move_the_load_once(
    office: Office, offices: list[Office]
) -> None:
    for desk in DESKS:
        office.register(desk)
    case = office.case()
    told = all_at_once(
        offices,
        lambda n: made(
            TransferCase,
            **SUPERVISOR,
            case_id=case["caseId"],
            expected_version=case["version"],
            to_officer_id=DESKS[1 + n % 3],
        ),
    )
    assert told.pop("Committed") == 1
    assert told.keys() <= {Refusal.STALE_VERSION, Refusal.CASE_ASSIGNED}
    assert_loads(office, {OFFICER: 0})
    assert sum(loads(office).values()) == 1


def loads(office: Office) -> dict[str, int]:
    return {
        desk: office.stored(keys.officer_workload(TENANT, desk))["activeLoad"] for desk in DESKS
    }


def assert_loads(office: Office, known: dict[str, int] | None = None) -> None:
    """Every officer's load is the number of their cases that are not closed."""
    cases = [item for item in office.items().values() if item["SK"] == "META"]
    recount = Counter(case.get("officerId") for case in cases if case["status"] != "CLOSED")
    found = loads(office)
    assert found == {desk: recount[desk] for desk in DESKS}
    assert (known or {}).items() <= found.items()


def one_move(office: Office, chance: random.Random, case_id: str) -> str:
    """Something that a case in its present state may have done to it, at the version it has."""
    case = office.stored(keys.case(TENANT, case_id))
    at = {"case_id": case_id, "expected_version": case["version"]}
    desk = chance.choice(DESKS)
    transfer = made(TransferCase, **SUPERVISOR, **at, to_officer_id=desk)
    onward = {
        "OPEN": made(SubmitForReview, **at, caller=case.get("officerId", OFFICER)),
        "UNDER_REVIEW": made(ApproveCase, **at),
        "APPROVED": made(CloseCase, **at, **SUPERVISOR),
    }.get(case["status"], transfer)
    if "officerId" not in case:
        onward = made(AssignCase, **at, officer_id=desk)
    try:
        outcome = office.send(chance.choice([onward, onward, transfer])).outcome
    except Unsettled as error:
        return type(error).__name__
    return named(outcome)


def test_after_a_storm_the_loads_are_the_recount_of_the_cases(
    office: Office, offices: list[Office]
) -> None:
    """Assignments, transfers and closures at random: no load is over its limit, none drifts."""
    for desk in DESKS:
        office.register(desk, max_load=LOAD_MAX)
    cases = [office.case(assigned=False, external_ref=f"R-{n}")["caseId"] for n in range(24)]

    def job(number: int) -> Counter[str]:
        chance = random.Random(number)
        return Counter(one_move(offices[number], chance, chance.choice(cases)) for _ in range(12))

    storm = sum(race([partial(job, number) for number in range(12)]), Counter[str]())
    assert storm[Committed.__name__] > 40
    assert storm.keys() & {Refusal.STALE_VERSION, Refusal.LIMIT_REACHED}
    assert_loads(office)
    assert max(loads(office).values()) <= LOAD_MAX
