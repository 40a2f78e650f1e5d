"""Real threads against the emulator: one effect, one winner, equal answers.

The endpoints are called past the resolver, which keeps the request it works on in one place
for the whole process: a Lambda instance serves one request at a time, threads do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from holdfast.edge.command_routes import COMMANDS
from holdfast.edge.commands_app import CommandEndpoint
from holdfast.edge.executor import Executor
from holdfast.patterns.commands import Response
from tests.api import OFFICER, REVIEWER, Api, Context, case_body, event_of

RACERS = 20


def endpoint(api: Api, method: str, path: str) -> CommandEndpoint:
    route = next(route for route in COMMANDS if (route.method, route.path) == (method, path))
    return CommandEndpoint(route, Executor(api.table, api.telemetry))


def race(call: Callable[[int], Response], racers: int = RACERS) -> list[Response]:
    """The answers of calls that start together."""
    start = Barrier(racers)

    def run(number: int) -> Response:
        start.wait(30)
        return call(number)

    with ThreadPoolExecutor(racers) as pool:
        return list(pool.map(run, range(racers)))


def test_of_twenty_creates_with_one_reference_one_wins(api: Api) -> None:
    create = endpoint(api, "POST", "/cases")

    def call(number: int) -> Response:
        headers = {"Idempotency-Key": f"k{number}"}
        return create(event_of("POST", "/cases", case_body(), OFFICER, headers), Context, {})

    assert Counter(answer.status for answer in race(call)) == {201: 1, 409: 19}
    assert sum(item["SK"]["S"] == "META" for item in api.items()) == 1


def test_twenty_identical_requests_have_one_effect_and_one_answer(api: Api) -> None:
    create = endpoint(api, "POST", "/cases")
    event = event_of("POST", "/cases", case_body(), OFFICER, {"Idempotency-Key": "k"})
    answers = race(lambda _: create(event, Context, {}))
    assert {answer.status for answer in answers} == {201}
    assert len({answer.body for answer in answers}) == 1
    # Twins of one millisecond have one token, under which DynamoDB itself answers them alike.
    assert not all("Idempotency-Replayed" in answer.headers for answer in answers)
    assert sum(item["SK"]["S"] == "META" for item in api.items()) == 1


def test_of_two_approvals_at_one_version_one_wins(api: Api) -> None:
    case_id = api.submitted()
    approve = endpoint(api, "POST", "/cases/{caseId}/approvals")

    def call(number: int) -> Response:
        headers = {"Idempotency-Key": f"a{number}"}
        event = event_of("POST", "/a", {"expectedVersion": 3}, REVIEWER, headers)
        return approve(event, Context, {"case_id": case_id})

    assert Counter(answer.status for answer in race(call, 2)) == {200: 1, 409: 1}
    assert api.get(f"/cases/{case_id}").body["version"] == 4
