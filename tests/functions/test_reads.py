"""Reads: resources, lists with cursors, the audit trail, commands, and who sees what."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.edge import cursors
from holdfast.writes.outcomes import Effort, Throttled
from tests.api import ADMIN, OFFICER, REVIEWER, STRANGER, SUPERVISOR, Actor, Api, event_of


def walk(api: Api, path: str) -> list[dict[str, Any]]:
    """Every item of a list, page by page."""
    items, cursor = [], ""
    while cursor is not None:
        page = api.get(f"{path}&cursor={cursor}" if cursor else path)
        assert page.status == 200
        items, cursor = items + page.body["items"], page.body["nextCursor"]
    return items


def test_a_resource_has_its_version_as_etag_and_no_inside_attributes(api: Api) -> None:
    case = api.get(f"/cases/{api.assigned()}")
    assert (case.status, case.headers["ETag"]) == (200, '"v2"')
    inside = {"PK", "SK", "byStatus", "byRegion", "byOfficer", "listedAt", "tenant"}
    assert not inside & case.body.keys()
    assert case.body["officerId"] == "o-1"


def test_only_administrators_and_supervisors_see_an_email_address(api: Api) -> None:
    api.officer()
    seen = {
        actor.groups: "email" in api.get("/officers/o-1", actor).body
        for actor in (ADMIN, SUPERVISOR, OFFICER, REVIEWER)
    }
    assert seen == {"admin": True, "supervisor": True, "officer": False, "reviewer": False}


def test_another_tenants_things_are_not_there(api: Api) -> None:
    case_id = api.assigned()
    command = api.lines()[0]["commandId"]
    for path in (f"/cases/{case_id}", f"/cases/{case_id}/events", "/officers/o-1"):
        assert api.get(path, STRANGER).status == 404
    assert api.get(f"/commands/{command}", STRANGER).status == 404
    assert api.get("/cases?status=OPEN", STRANGER).body["items"] == []


def test_cases_are_listed_by_status_region_and_officer(api: Api) -> None:
    case_id = api.assigned("REG-1")
    api.case("REG-2")
    assert [c["externalRef"] for c in walk(api, "/cases?status=OPEN")] == ["REG-1", "REG-2"]
    assert len(walk(api, "/cases?region=EU-WEST")) == 2
    assert [c["caseId"] for c in walk(api, "/cases?officerId=o-1")] == [case_id]
    assert [c["caseId"] for c in walk(api, "/cases?officerId=o-1&status=OPEN")] == [case_id]
    assert walk(api, "/cases?officerId=o-1&status=CLOSED") == []


def test_pages_follow_each_other_without_gap_or_repetition(api: Api) -> None:
    for number in range(7):
        api.case(f"REG-{number}")
    listed = walk(api, "/cases?status=OPEN&limit=3")
    assert [case["externalRef"] for case in listed] == [f"REG-{number}" for number in range(7)]


def test_a_filtered_page_may_be_empty_and_still_have_a_cursor(api: Api) -> None:
    api.assigned("REG-0")
    for number in range(1, 9):
        api.case(f"REG-{number}")
    path = f"/cases/{api.case('REG-9').body['caseId']}/assignments"
    api.post(path, {"officerId": "o-1", "expectedVersion": 1}, actor=SUPERVISOR)
    filtered = "/cases?status=OPEN&region=EU-WEST&limit=1"
    assert len(walk(api, filtered)) == 10


def test_without_a_filter_all_cases_are_listed_by_status(api: Api) -> None:
    api.submitted()
    api.case("REG-2")
    listed = walk(api, "/cases?limit=1")
    assert [case["status"] for case in listed] == ["OPEN", "UNDER_REVIEW"]
    assert [case["caseId"] for case in api.get("/cases").body["items"]] == [
        case["caseId"] for case in listed
    ]


@pytest.mark.parametrize("limit", ["0", "101", "x", "1.0", "-1", "9" * 400])
def test_a_limit_is_1_to_100(api: Api, limit: str) -> None:
    answer = api.get(f"/cases?status=OPEN&limit={limit}")
    assert (answer.status, answer.body["errors"][0]["path"]) == (422, "limit")


def test_a_parameter_given_twice_or_unknown_is_refused(api: Api) -> None:
    assert api.get("/cases?status=OPEN&colour=red").status == 422
    event = event_of("GET", "/cases", None, OFFICER, {})
    twice = {"multiValueQueryStringParameters": {"status": ["OPEN", "CLOSED"]}}
    assert api.send(event | twice).status == 422


def test_a_broken_or_foreign_cursor_is_refused(api: Api) -> None:
    for number in range(3):
        api.case(f"REG-{number}")
    cursor = api.get("/cases?status=OPEN&limit=1").body["nextCursor"]
    forged = cursors.seal("0|2026#", "acme", "cases", "status=OPEN")
    misplaced = cursors.seal("7|2026#c", "acme", "cases", "status=OPEN")
    for path, actor in (
        (f"/cases?status=CLOSED&cursor={cursor}", OFFICER),
        (f"/cases?status=OPEN&region=EU-WEST&cursor={cursor}", OFFICER),
        (f"/cases?status=OPEN&cursor={cursor[:-2]}", OFFICER),
        (f"/cases?status=OPEN&cursor={cursor}", STRANGER),
        (f"/cases?status=OPEN&cursor={forged}", OFFICER),
        (f"/cases?status=OPEN&cursor={misplaced}", OFFICER),
        ("/cases?status=OPEN&cursor=%25%00", OFFICER),
        ("/cases?status=OPEN&cursor=", OFFICER),
    ):
        answer = api.get(path, actor)
        assert (answer.status, answer.code) == (400, "invalid-cursor")


def test_the_trail_is_dense_and_oldest_first_across_owners(api: Api) -> None:
    case_id = api.submitted()
    api.post(f"/cases/{case_id}/notes", {"text": "Seen"})
    events = walk(api, f"/cases/{case_id}/events?limit=2")
    assert [event["type"] for event in events] == [
        "CaseCreated",
        "CaseAssigned",
        "CaseSubmittedForReview",
        "NoteAdded",
    ]
    assert [event["version"] for event in events if event["owner"] == "META"] == [1, 2, 3]
    names = {"eventId", "type", "at", "actor", "owner", "version", "data"}
    assert all(event.keys() == names for event in events)


def test_what_hangs_on_a_missing_case_is_missing(api: Api) -> None:
    for name in ("events", "tasks", "notes", "investigators", "enforcements"):
        assert api.get(f"/cases/none/{name}").status == 404
    case_id = api.case().body["caseId"]
    assert api.get(f"/cases/{case_id}/tasks").body["items"] == []


def test_a_command_is_shown_to_its_caller_and_to_administrators(api: Api) -> None:
    created = api.case()
    path = f"/commands/{created.headers['X-Command-Id']}"
    shown = api.get(path).body
    assert (shown["status"], shown["operation"], shown["attempt"]) == (
        "COMPLETED",
        "POST /cases",
        1,
    )
    assert shown["answer"]["status"] == 201
    assert shown["answer"]["body"] == created.body
    assert api.get(path, ADMIN).status == 200
    assert api.get(path, Actor("o-2", "officer,supervisor")).status == 404
    assert api.get("/commands/none").status == 404


def test_reading_needs_an_id_token_too(api: Api) -> None:
    answer = api.send(event_of("GET", "/cases/x", None, None, {}))
    assert (answer.status, answer.code) == (401, "unauthenticated")


def test_a_throttled_read_may_be_asked_again(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def throttled(*_: Any, **__: Any) -> None:
        raise Throttled(Effort(attempts=1))

    for name in ("get", "snapshot", "query"):
        monkeypatch.setattr(api.table, name, throttled)
    for path in ("/cases/x", "/cases?status=OPEN", "/officers/x", "/commands/x"):
        answer = api.get(path)
        assert (answer.status, answer.code) == (503, "temporarily-unavailable")
        assert answer.headers["Retry-After"] == "1"


def test_anyone_may_read_health_and_the_documents(api: Api) -> None:
    def public(path: str) -> Any:
        return api.send(event_of("GET", path, None, None, {}))

    assert public("/health").body == {"status": "ok"}
    assert public("/openapi.json").body["openapi"] == "3.1.0"
    page = public("/docs")
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "SwaggerUIBundle" in page.text
    assert "src=" not in page.text.rpartition("</script>\n<script>")[2]


def test_an_address_of_nothing_is_404(api: Api) -> None:
    for path in ("/", "/case", "/cases/x/y/z", "/docs/x"):
        answer = api.get(path)
        assert (answer.status, answer.code) == (404, "not-found")
        assert answer.headers["Content-Type"] == "application/problem+json"
