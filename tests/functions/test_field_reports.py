"""Faults that others hit, at the edge of HTTP; each docstring names the report."""

from __future__ import annotations

import json

from tests.api import ADMIN, OFFICER, REVIEWER, Actor, Api, case_body, event_of


def test_the_order_of_json_keys_does_not_matter(api: Api) -> None:
    """Report 3 (powertools-lambda-python#638)."""
    body = case_body()
    first = api.post("/cases", json.dumps(body), key="k")
    backwards = json.dumps(dict(reversed(body.items())), indent=3)
    again = api.post("/cases", backwards, key="k")
    assert (again.status, again.text) == (201, first.text)
    assert again.headers["Idempotency-Replayed"] == "true"


def test_one_key_text_on_two_operations_is_two_commands(api: Api) -> None:
    """Report 4 (powertools-lambda-typescript#5409, dotnet#1123)."""
    case_id = api.case(key="k").body["caseId"]
    note = api.post(f"/cases/{case_id}/notes", {"text": "Seen"}, key="k")
    assert (note.status, "Idempotency-Replayed" in note.headers) == (201, False)


def test_a_payload_mismatch_is_found_on_every_path(api: Api) -> None:
    """Report 6 (powertools-lambda-java#2261)."""
    case_id = api.assigned()
    path = f"/cases/{case_id}"
    api.call("PATCH", path, {"priority": "LOW", "expectedVersion": 2}, key="k")
    other = api.call("PATCH", path, {"priority": "HIGH", "expectedVersion": 2}, key="k")
    assert (other.status, other.code) == (422, "idempotency-key-reused")
    assert api.get(path).body["version"] == 3


def test_a_mismatch_does_not_spoil_the_replay_that_follows(api: Api) -> None:
    """Report 7 (powertools-lambda-python#3821)."""
    first = api.case("REG-1", key="k")
    assert api.case("REG-2", key="k").status == 422
    again = api.case("REG-1", key="k")
    assert (again.status, again.text) == (201, first.text)


def test_a_logged_command_can_be_looked_up(api: Api) -> None:
    """Report 8 (powertools-lambda-python#5620)."""
    api.case("REG-1")
    api.case("REG-1")
    for line in api.lines():
        assert line["recordKey"] == f"IDEMPOTENCY#acme#{line['commandId']}"
        assert api.get(f"/commands/{line['commandId']}").status == 200
    assert [line["outcome"] for line in api.lines()] == ["committed", "refused"]
    assert api.lines()[1]["refusal"] == "ALREADY_EXISTS"
    assert api.lines()[1]["conditionFailed"] == "A value of CASE_REF has one owner in a tenant."


def test_header_names_come_in_any_case_and_in_either_place(api: Api) -> None:
    """Report 9 (powertools-lambda-python#3142)."""
    ids = set()
    for name in ("Idempotency-Key", "IDEMPOTENCY-KEY", "idempotency-key"):
        event = event_of("POST", "/cases", case_body(), OFFICER, {name: "k"})
        ids |= {
            api.send(event | {"multiValueHeaders": None}).headers["X-Command-Id"],
            api.send(event | {"headers": None}).headers["X-Command-Id"],
            api.send(event).headers["X-Command-Id"],
        }
    assert len(ids) == 1


def test_missing_stale_and_foreign_are_told_apart(api: Api) -> None:
    """Report 15 (aws-sdk-net#1332)."""
    path = f"/cases/{api.submitted()}/approvals"
    missing = api.post("/cases/none/approvals", {"expectedVersion": 3}, actor=REVIEWER)
    stale = api.post(path, {"expectedVersion": 2}, actor=REVIEWER)
    foreign = api.post(path, {"expectedVersion": 3}, actor=Actor("r-2", "reviewer"))
    assert [missing.status, stale.status, foreign.status] == [404, 409, 403]


def test_a_key_belongs_to_a_tenant_a_caller_and_a_route(api: Api) -> None:
    """Report 30 (Truxify#2869, suna#5267)."""
    elsewhere = Actor("o-1", "officer", tenant="globex")
    ours, theirs = api.case(key="k"), api.case(key="k", actor=elsewhere)
    assert (ours.status, theirs.status) == (201, 201)
    assert ours.body["caseId"] != theirs.body["caseId"]
    path = f"/commands/{ours.headers['X-Command-Id']}"
    assert api.get(path, Actor("root", "admin", tenant="globex")).status == 404
    assert api.get(path, Actor("o-9", "officer")).status == 404
    assert api.get(path, ADMIN).status == 200


def test_a_refused_request_stays_refused_under_its_key(api: Api) -> None:
    first = api.case("REG-1")
    refused = api.case("REG-1", key="k")
    again = api.case("REG-1", key="k")
    assert (first.status, refused.status, again.status) == (201, 409, 409)
    assert (again.text, again.headers["Idempotency-Replayed"]) == (refused.text, "true")
