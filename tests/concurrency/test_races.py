"""Real threads against the emulator: what two plans in both orders promise also holds for many."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial

import pytest

from holdfast.domain.cases import AssignCase, CreateCase
from holdfast.domain.reviews import ApproveCase, CloseCase, RejectCase
from holdfast.patterns import keys
from holdfast.patterns.commands import Command
from holdfast.patterns.idempotency import Result
from holdfast.writes.outcomes import Committed, Refused
from holdfast.writes.plan import Key, Plan, accumulate
from holdfast.writes.refusals import Refusal
from holdfast.writes.table import Table
from tests.commands import OFFICER, TENANT, Office, made
from tests.conftest import dynamodb
from tests.racing import race

RACERS = 20


@pytest.fixture
def crowd(office: Office, endpoint: str) -> list[Office]:
    """As many offices as racers, with one client: each waits for real between its attempts."""
    client = dynamodb(endpoint, max_pool_connections=RACERS)
    return [Office(Table(client, office.table.name)) for _ in range(RACERS)]


def outcomes(results: list[Result]) -> Counter[str]:
    """How many were committed, replayed, or refused and why."""

    def named(result: Result) -> str:
        if result.replayed:
            return "replayed"
        refused = isinstance(result.outcome, Refused)
        return result.outcome.refusal.value if refused else "committed"

    return Counter(map(named, results))


def send(crowd: list[Office], commands: list[Command]) -> list[Result]:
    return race([partial(office.send, cmd) for office, cmd in zip(crowd, commands, strict=True)])


def test_of_twenty_creates_with_one_reference_one_succeeds(
    office: Office, crowd: list[Office]
) -> None:
    results = send(crowd, [made(CreateCase, external_ref="REG-1") for _ in crowd])
    assert outcomes(results) == {"committed": 1, Refusal.ALREADY_EXISTS: 19}
    assert len([key for key in office.items() if key.sk == "META"]) == 1


def test_twenty_creates_with_references_of_their_own_all_succeed(
    office: Office, crowd: list[Office]
) -> None:
    """Field report 20: twenty ids, none lost."""
    results = send(crowd, [made(CreateCase, external_ref=f"R-{n}") for n in range(RACERS)])
    assert outcomes(results) == {"committed": RACERS}
    bodies = [json.loads(result.response.body) for result in results]
    assert len({body["caseId"] for body in bodies}) == RACERS
    assert len([key for key in office.items() if key.sk == "META"]) == RACERS


def test_of_twenty_identical_requests_one_takes_effect_and_all_get_its_answer(
    office: Office, crowd: list[Office]
) -> None:
    cmd = made(CreateCase)
    results = send(crowd, [cmd] * RACERS)
    assert {result.response.body for result in results} == {results[0].response.body}
    items = office.items()
    kinds = Counter(key.sk.partition("#")[0] for key in items)
    assert kinds == {"COMMAND": 1, "META": 1, "UNIQUE": 1, "EVENT": 2}


def test_of_twenty_assignments_three_fit_an_officers_limit(
    office: Office, crowd: list[Office]
) -> None:
    """Field report 19: exactly 3 succeed, 17 are refused, and the guard says 3."""
    office.register(max_load=3)
    found = [office.case(assigned=False, external_ref=f"R-{n}") for n in range(RACERS)]
    commands = [made(AssignCase, case_id=case["caseId"], expected_version=1) for case in found]
    results = send(crowd, commands)
    assert outcomes(results) == {"committed": 3, Refusal.LIMIT_REACHED: 17}
    workload = office.stored(keys.officer_workload(TENANT, OFFICER))
    assert workload["activeLoad"] == 3
    cases = [item for item in office.items().values() if item["SK"] == "META"]
    assert Counter(case.get("officerId") for case in cases) == {OFFICER: 3, None: 17}


@pytest.mark.parametrize("kinds", [(ApproveCase, ApproveCase), (ApproveCase, RejectCase)])
def test_of_two_decisions_at_one_version_one_succeeds(
    office: Office, crowd: list[Office], kinds: tuple[type[Command], type[Command]]
) -> None:
    office.register()
    for n in range(5):
        case = office.case("UNDER_REVIEW", external_ref=f"R-{n}")
        commands = [
            made(kind, case_id=case["caseId"], expected_version=case["version"]) for kind in kinds
        ]
        results = send(crowd[:2], commands)
        assert outcomes(results) == {"committed": 1, Refusal.CASE_NOT_UNDER_REVIEW: 1}
        decided = office.stored(keys.case(TENANT, case["caseId"]))
        assert decided["version"] == case["version"] + 1


def test_closing_twenty_cases_at_once_frees_every_place(
    office: Office, crowd: list[Office]
) -> None:
    office.register(max_load=RACERS)
    found = [office.case("APPROVED", external_ref=f"R-{n}") for n in range(RACERS)]
    commands = [
        made(CloseCase, case_id=case["caseId"], expected_version=case["version"]) for case in found
    ]
    assert outcomes(send(crowd, commands)) == {"committed": RACERS}
    assert office.stored(keys.officer_workload(TENANT, OFFICER))["activeLoad"] == 0


def test_twenty_additions_at_once_are_all_counted(office: Office, crowd: list[Office]) -> None:
    """Field report 18: ADD, neither lost nor doubled."""
    counter = Key("COUNTER#acme", "N")
    plans = [
        Plan(f"{n} in {office.table.name}", (accumulate(counter, "Counted.", add={"n": 1}),))
        for n in range(RACERS)
    ]
    results = race([partial(crowd[n].table.commit, plan) for n, plan in enumerate(plans)])
    assert all(isinstance(result, Committed) for result in results)
    assert office.stored(counter)["n"] == RACERS
