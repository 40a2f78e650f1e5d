"""Hostile and broken input: the documented 4xx, nothing written, nothing personal logged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api import ADMIN, REVIEWER, SUPERVISOR, Api, case_body, event_of

CANARY = "canary@example.org"
HUGE = "9" * 5000
NOT_JSON = [
    "{",
    "nonsense",
    '{"title": NaN}',
    '{"title": Infinity}',
    "{'a': 1}",
    '{"a":1}}',
    "\ufeff{}",
]
UNFIT: list[Any] = [
    "[]",
    "null",
    '"text"',
    "7",
    "",
    "{}",
    '{"title": "\\ud800"}',
    f'{{"title": {HUGE}}}',
    '{"title": 1.0e500}',
    '{"a":' + "[" * 5000 + "]" * 5000 + "}",
    case_body(externalRef=""),
    case_body(externalRef=" \u3000 "),
    case_body(externalRef="x" * 129),
    case_body(externalRef="a\u0000b"),
    case_body(externalRef=7),
    case_body(title="two\nlines"),
    case_body(title="tail\n"),
    case_body(title="\u0085"),
    case_body(title="x" * 201),
    case_body(title=None),
    case_body(title=["x"]),
    case_body(region="eu"),
    case_body(region="EU\n"),
    case_body(region="E"),
    case_body(priority="high"),
    case_body(priority=True),
    case_body(tenant="globex"),
    case_body(caseId="mine"),
]


@pytest.mark.parametrize("body", NOT_JSON)
def test_what_is_not_json_is_malformed(api: Api, body: str) -> None:
    answer = api.post("/cases", body)
    assert (answer.status, answer.code) == (400, "malformed-request")
    assert api.items() == []


@pytest.mark.parametrize("body", UNFIT, ids=lambda body: repr(body)[:40])
def test_what_does_not_fit_is_told_field_by_field(api: Api, body: Any) -> None:
    answer = api.post("/cases", body)
    assert (answer.status, answer.code) == (422, "validation-failed")
    assert all(error.keys() == {"path", "message"} for error in answer.body["errors"])
    assert answer.body["errors"]
    assert api.items() == []


@pytest.mark.parametrize(
    "number", ["1.0", "1e2", '"3"', "true", "null", "-1", "0.5", "10001", HUGE, "{}"]
)
def test_a_number_is_a_whole_number_in_range(api: Api, number: str) -> None:
    body = f'{{"officerId":"o-1","name":"A","email":"a@b.org","maxLoad":{number}}}'
    answer = api.post("/officers", body, actor=ADMIN)
    assert (answer.status, answer.code) == (422, "validation-failed")
    assert api.items() == []


@pytest.mark.parametrize(
    "email",
    ["", "a", "a@b", "@b.org", "a@", "a b@c.org", "a@b..org", "a@-b.org", "a@b.org\n", "a@b@c.org"],
)
def test_an_email_address_has_its_syntax(api: Api, email: str) -> None:
    body = {"officerId": "o-1", "name": "A", "email": email, "maxLoad": 1}
    answer = api.post("/officers", body, actor=ADMIN)
    assert (answer.status, answer.body["errors"][0]["path"]) == (422, "email")
    assert api.items() == []


@pytest.mark.parametrize("email", ["a@b.org", "A.B+c@Sub.Example.ORG", "a\uff20b.org", " a@b.org "])
def test_an_email_address_is_checked_after_normalisation(api: Api, email: str) -> None:
    body = {"officerId": "o-1", "name": "A", "email": email, "maxLoad": 1}
    assert api.post("/officers", body, actor=ADMIN).status == 201


@pytest.mark.parametrize("officer_id", ["", "a#b", "a/b", "x" * 65, "a b", "o\n", "ö", "\u0000"])
def test_an_id_given_by_a_caller_is_plain(api: Api, officer_id: str) -> None:
    body = {"officerId": officer_id, "name": "A", "email": "a@b.org", "maxLoad": 1}
    answer = api.post("/officers", body, actor=ADMIN)
    assert (answer.status, answer.body["errors"][0]["path"]) == (422, "officerId")
    assert api.items() == []


@pytest.mark.parametrize("case_id", ["a%23b", "a#b", "x" * 129, "%00", "a%2Fb", "%20", "%ff", "%"])
def test_an_id_that_cannot_exist_names_nothing(api: Api, case_id: str) -> None:
    path = f"/cases/{case_id}/approvals".replace("#", "%23")
    answer = api.post(path, {"expectedVersion": 1}, actor=REVIEWER)
    assert (answer.status, answer.code) == (404, "not-found")
    assert api.get(f"/cases/{case_id}".replace("#", "%23")).status == 404
    assert api.items() == []


def test_a_raw_separator_in_a_path_reaches_no_item(api: Api) -> None:
    event = event_of("POST", "/x", {"expectedVersion": 1}, REVIEWER, {"Idempotency-Key": "k"})
    assert api.send(event | {"path": "/cases/x#y/approvals"}).status == 404


def test_nothing_personal_is_ever_logged(
    api: Api,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level("DEBUG", logger="aws_lambda_powertools")
    person = {"officerId": "o-1", "name": f"Name {CANARY}", "email": CANARY, "maxLoad": 1}
    api.post("/officers", person, actor=ADMIN, key=CANARY)
    api.post("/officers", person, actor=ADMIN)
    api.post("/officers", person | {"email": f"{CANARY}@"}, actor=ADMIN)
    api.post("/officers", person | {CANARY: CANARY, "maxLoad": CANARY}, actor=ADMIN)
    api.post("/officers", json.dumps(person)[:-1], actor=ADMIN)
    created = api.post("/cases", case_body(CANARY))
    path = f"/cases/{created.body['caseId']}"
    api.post(f"{path}/notes", {"text": CANARY})
    api.post(f"{path}/notes", {"text": f"\u0000{CANARY}"})
    api.call("PATCH", path, {"title": CANARY, "expectedVersion": 1})
    api.get(f"/cases?status={CANARY}", SUPERVISOR)

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError(CANARY) from ValueError(CANARY)

    monkeypatch.setattr(api.table, "commit", broken)
    monkeypatch.setattr(api.table, "get", broken)
    monkeypatch.setattr(api.table, "snapshot", broken)
    assert api.post("/cases", case_body(CANARY)).status == 500
    assert api.get(path).status == 500
    out, err = capfd.readouterr()
    assert "unexpected failure" in api.log.getvalue()
    for written in (api.log.getvalue(), caplog.text, out, err):
        assert "canary" not in written
