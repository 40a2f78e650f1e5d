"""Headers, versions and bodies as clients really send them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.api import ADMIN, OFFICER, REVIEWER, SUPERVISOR, Api, case_body, event_of


def create(api: Api, headers: dict[str, str], **event: Any) -> Any:
    return api.send(event_of("POST", "/cases", case_body(), OFFICER, headers) | event)


def test_a_quoted_key_and_the_bare_one_are_the_same(api: Api) -> None:
    assert api.case(key="k-1").status == 201
    assert api.case(key='"k-1"').headers["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize(
    "key",
    ["", " ", "a b", "ä", '"', '""', '"open', '"a"b"', "x" * 256, "a\tb", '"a b"'],
)
def test_a_key_is_1_to_255_visible_ascii_characters(api: Api, key: str) -> None:
    answer = create(api, {"Idempotency-Key": key})
    assert (answer.status, answer.code) == (400, "idempotency-key-invalid")
    assert "X-Command-Id" not in answer.headers
    assert api.items() == []


def test_two_different_keys_in_one_request_are_malformed(api: Api) -> None:
    answer = create(api, {}, multiValueHeaders={"Idempotency-Key": ["a", "b"]})
    assert answer.code == "idempotency-key-invalid"


def test_if_match_stands_in_for_the_expected_version(api: Api) -> None:
    path = f"/cases/{api.submitted()}/approvals"
    assert api.post(path, actor=REVIEWER, headers={"if-match": '"v3"'}).status == 200


@pytest.mark.parametrize("tag", ["v3", '"3"', 'W/"v3"', "*", '"v3", "v4"', '"v0"', ""])
def test_if_match_takes_one_strong_tag_of_ours(api: Api, tag: str) -> None:
    path = f"/cases/{api.submitted()}/approvals"
    answer = api.post(path, actor=REVIEWER, headers={"If-Match": tag})
    assert (answer.status, answer.code) == (400, "malformed-request")


def test_if_match_and_body_may_agree_but_not_differ(api: Api) -> None:
    path = f"/cases/{api.submitted()}/approvals"
    tag = {"If-Match": '"v3"'}
    differ = api.post(path, {"expectedVersion": 2}, actor=REVIEWER, headers=tag)
    assert (differ.code, differ.body["errors"][0]["path"]) == (
        "validation-failed",
        "expectedVersion",
    )
    assert api.post(path, {"expectedVersion": 3}, actor=REVIEWER, headers=tag).status == 200


def test_a_deletion_takes_the_version_from_its_query_or_if_match(api: Api) -> None:
    path = f"/cases/{api.submitted()}"
    for query in ("?expectedVersion=x", "?expectedVersion=1.0", "?expectedVersion=1e2", "?nope=1"):
        assert api.call("DELETE", path + query, actor=SUPERVISOR).code == "validation-failed"
    assert api.call("DELETE", path, actor=SUPERVISOR).code == "precondition-required"
    assert api.call("DELETE", f"{path}?expectedVersion=3", actor=SUPERVISOR).code == "invalid-state"


@pytest.mark.parametrize("number", ["x", "0", "-1", "1.5", ""])
def test_a_fencing_number_is_a_whole_number(api: Api, number: str) -> None:
    path = f"/cases/{api.assigned()}"
    body = {"title": "New", "expectedVersion": 2}
    answer = api.call("PATCH", path, body, headers={"Lease-Fencing-Number": number})
    assert (answer.status, answer.code) == (400, "malformed-request")


def test_a_base64_body_is_decoded(api: Api) -> None:
    event = event_of("POST", "/cases", case_body(), OFFICER, {"Idempotency-Key": "k"})
    encoded = base64.b64encode(event["body"].encode()).decode()
    assert api.send(event | {"body": encoded, "isBase64Encoded": True}).status == 201
    assert api.case(key="k").headers["Idempotency-Replayed"] == "true"
    broken = api.send(event | {"body": "%%%", "isBase64Encoded": True})
    assert broken.code == "malformed-request"


def test_an_encoded_path_is_the_path_that_it_encodes(api: Api) -> None:
    person = {"officerId": "ann@acme", "name": "Ann", "email": "a@b.org", "maxLoad": 1}
    assert api.post("/officers", person, actor=ADMIN).status == 201
    body = {"expectedVersion": 1}
    path = "/officers/{}/deactivations"
    first = api.post(path.format("ann%40acme"), body, actor=ADMIN, key="k")
    again = api.post(path.format("ann@acme"), body, actor=ADMIN, key="k")
    assert (first.status, again.headers.get("Idempotency-Replayed")) == (200, "true")


def test_groups_come_as_a_list_or_joined_by_the_gateway(api: Api) -> None:
    for number, groups in enumerate(
        ("officer,reviewer", "[officer reviewer]", ["officer", "reviewer"], "reviewer officer")
    ):
        event = event_of(
            "POST", "/cases", case_body(f"R{number}"), OFFICER, {"Idempotency-Key": f"k{number}"}
        )
        event["requestContext"]["authorizer"]["claims"]["cognito:groups"] = groups
        assert api.send(event).status == 201
