"""Redaction: no item of the table holds the case's text any more, and everything else stays."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest

from holdfast.domain.redaction import NAME, REDACTION
from holdfast.edge.executor import utc_now
from holdfast.edge.workflow_runner import Runner
from tests import scenes
from tests.api import ADMIN, OFFICER, OTHER_OFFICER, REVIEWER, SUPERVISOR, Answer, Api

CANARY = "Canary"
FIRST_REF, SECOND_REF = f"{CANARY}-1", f"{CANARY}-2"


def planted(api: Api) -> tuple[str, list[tuple[str, Answer]]]:
    """A closed case at version 10, a canary in each text it can have, and each answer by key."""
    api.officer()
    answers: list[tuple[str, Answer]] = []

    def sent(method: str, path: str, body: Any, actor: Any = OFFICER) -> dict[str, Any]:
        key = f"plant-{len(answers)}"
        answer = api.call(method, path, body, actor=actor, key=key)
        assert answer.status in {200, 201}, answer.text
        answers.append((key, answer))
        return answer.body

    title = {"title": f"{CANARY} title", "region": "EU", "priority": "LOW"}
    case = f"/cases/{sent('POST', '/cases', {**title, 'externalRef': FIRST_REF})['caseId']}"
    seen = iter(range(1, 100))

    def step(method: str, path: str, body: Any, actor: Any = OFFICER) -> None:
        sent(method, f"{case}{path}", {**body, "expectedVersion": next(seen)}, actor)

    step("POST", "/assignments", {"officerId": "o-1"}, SUPERVISOR)
    step("PATCH", "", {"title": f"{CANARY} corrected"})
    step("PUT", "/external-ref", {"externalRef": SECOND_REF})
    same = {"externalRef": SECOND_REF, "expectedVersion": 4}
    assert sent("PUT", f"{case}/external-ref", same)["version"] == 4
    step("POST", "/submissions", {"reviewerId": "r-1"})
    step("POST", "/rejections", {"reason": f"{CANARY} reason"}, REVIEWER)
    step("POST", "/reopenings", {})
    step("POST", "/submissions", {"reviewerId": "r-1"})
    step("POST", "/approvals", {}, REVIEWER)
    sent("POST", f"{case}/notes", {"text": f"{CANARY} note"}, OTHER_OFFICER)
    sent("POST", f"{case}/investigators", {"userId": "u-1"})
    task = sent("POST", f"{case}/tasks", {"title": f"{CANARY} task"})["taskId"]
    sent("POST", f"{case}/tasks/{task}/closures", {})
    kind = {"kind": f"{CANARY} kind"}
    enforcement = sent("POST", f"{case}/enforcements", kind)["enforcementId"]
    done = {"outcome": f"{CANARY} outcome"}
    sent("POST", f"{case}/enforcements/{enforcement}/completions", done)
    refused = {"title": f"{CANARY} refused", "expectedVersion": 1}
    assert api.call("PATCH", case, refused).code == "version-conflict"
    step("POST", "/closures", {"resolution": f"{CANARY} resolution"})
    return case, answers


def redact(api: Api, case: str, version: int) -> Answer:
    return api.call("DELETE", f"{case}?expectedVersion={version}", actor=SUPERVISOR)


def found(api: Api) -> list[str]:
    """The keys of all items that hold a canary."""
    return [item["SK"]["S"] for item in api.items() if CANARY in json.dumps(item)]


def trail(api: Api, case: str) -> list[dict[str, Any]]:
    return api.get(f"{case}/events?limit=100").body["items"]


def assert_dense(events: list[dict[str, Any]]) -> None:
    versions = defaultdict(list)
    for event in events:
        versions[event["owner"]].append(event["version"])
    for owner, seen in versions.items():
        assert sorted(seen) == list(range(1, len(seen) + 1)), owner


@pytest.fixture
def redacted(api: Api) -> tuple[str, list[tuple[str, Answer]], list[dict[str, Any]]]:
    """A redacted case, the answers to its commands, and its trail before."""
    case, answers = planted(api)
    assert len(found(api)) > 20
    before = trail(api, case)
    gone = redact(api, case, 10)
    assert (gone.status, gone.body["redacted"]) == (200, True), gone.text
    return case, answers, before


def test_no_item_holds_personal_text_any_more(api: Api, redacted: Any) -> None:
    assert found(api) == []


def test_the_trail_keeps_every_event_but_for_its_text(api: Api, redacted: Any) -> None:
    case, _, before = redacted
    after = trail(api, case)
    assert_dense(after)
    assert [event["eventId"] for event in after[:-1]] == [event["eventId"] for event in before]
    assert after[-1]["type"] == "CaseRedacted"
    rejected = next(event for event in after if event["type"] == "CaseRejected")
    assert rejected["data"] == {"status": "REJECTED"}


def test_the_reference_is_still_taken_and_the_one_given_back_is_free(
    api: Api, redacted: Any
) -> None:
    assert api.case(SECOND_REF.upper()).code == "already-exists"
    assert api.case(FIRST_REF).status == 201


def test_a_replay_of_an_old_command_answers_without_the_text(api: Api, redacted: Any) -> None:
    case, answers, _ = redacted
    for key, answer in answers:
        known = api.get(f"/commands/{answer.headers['X-Command-Id']}", ADMIN)
        assert (known.status, CANARY in known.text) == (200, False), key
    title = {"title": f"{CANARY} corrected", "expectedVersion": 2}
    replay = api.call("PATCH", case, title, key="plant-2")
    assert (replay.status, replay.headers["Idempotency-Replayed"]) == (200, "true")
    assert replay.body == {"caseId": case.rpartition("/")[2], "version": 3}


def test_members_are_listed_without_their_text(api: Api, redacted: Any) -> None:
    case, _, _ = redacted
    for kind in ("notes", "tasks", "enforcements", "investigators"):
        listed = api.get(f"{case}/{kind}")
        assert len(listed.body["items"]) == 1
        assert CANARY not in listed.text
    assert api.get("/cases?status=CLOSED").body["items"] == []


def test_a_long_trail_is_redacted_step_by_step_and_hidden_from_the_first(api: Api) -> None:
    case_id = scenes.case(api, "approved")
    case = f"/cases/{case_id}"
    for number in range(50):
        text = {"text": f"{CANARY} {number}"}
        assert api.post(f"{case}/notes", text, key=f"note-{number}").status == 201
    scenes.advance(api, case_id, "closed")
    accepted = redact(api, case, 5)
    assert (accepted.status, accepted.body["status"]) == (202, "IN_PROGRESS")
    assert len(found(api)) == 100
    assert CANARY not in api.get(f"{case}/notes?limit=100").text
    assert redact(api, case, 6).code == "invalid-state"

    command_id = accepted.body["commandId"]
    runner = Runner(api.table, {NAME: REDACTION}, api.telemetry, utc_now, lambda *_: None)
    runner.advance("acme", command_id, until=api.table.clock() + 60)
    assert found(api) == []
    done = api.get(f"/commands/{command_id}", ADMIN).body
    assert (done["status"], done["result"]["items"]) == ("COMPLETED", done["done"])
    assert_dense(trail(api, case))


ON_CASE: dict[str, tuple[Any, Any]] = {
    "PATCH": ({"title": "T", "expectedVersion": 6}, OFFICER),
    "PUT /external-ref": ({"externalRef": "R", "expectedVersion": 6}, SUPERVISOR),
    "POST /assignments": ({"officerId": "o-1", "expectedVersion": 6}, SUPERVISOR),
    "POST /transfers": ({"toOfficerId": "o-2", "expectedVersion": 6}, SUPERVISOR),
    "POST /submissions": ({"reviewerId": "r-1", "expectedVersion": 6}, OFFICER),
    "POST /approvals": ({"expectedVersion": 6}, REVIEWER),
    "POST /rejections": ({"reason": "No", "expectedVersion": 6}, REVIEWER),
    "POST /reopenings": ({"expectedVersion": 6}, OFFICER),
    "POST /closures": ({"resolution": "Done", "expectedVersion": 6}, SUPERVISOR),
    "POST /notes": ({"text": "Late"}, OFFICER),
    "POST /investigators": ({"userId": "u-2"}, SUPERVISOR),
    "DELETE /investigators/u-1": (None, SUPERVISOR),
    "POST /tasks": ({"title": "Call"}, OFFICER),
    "POST /enforcements": ({"kind": "FINE"}, OFFICER),
    "PUT /legal-hold": ({"hold": True, "expectedVersion": 6}, SUPERVISOR),
    "POST /leases": ({"seconds": 9}, OFFICER),
}


def test_a_redacted_case_refuses_every_command(api: Api) -> None:
    case = f"/cases/{scenes.case(api, 'redacted')}"
    for request, (body, actor) in ON_CASE.items():
        method, _, path = request.partition(" ")
        answer = api.call(method, f"{case}{path}", body, actor=actor)
        assert (answer.status, answer.code) == (409, "invalid-state"), (request, answer.text)
    shown = {"caseId", "status", "version", "redacted", "redactedAt"}
    assert api.get(case).body.keys() == shown
