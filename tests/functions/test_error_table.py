"""Each row of the contract's error table that the command routes give, and their precedence."""

from __future__ import annotations

import time
from typing import Any

import pytest

from holdfast.edge import problems
from tests.api import (
    ADMIN,
    OFFICER,
    OTHER_OFFICER,
    REVIEWER,
    STRANGER,
    SUPERVISOR,
    Actor,
    Answer,
    Api,
    case_body,
    event_of,
)


def told(answer: Answer) -> tuple[int, str | None]:
    return answer.status, answer.code


def test_a_problem_says_all_that_the_contract_promises(api: Api) -> None:
    case_id = api.submitted()
    path = f"/cases/{case_id}/approvals"
    answer = api.post(path, {"expectedVersion": 2}, actor=REVIEWER)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.body == {
        "type": "urn:problem:version-conflict",
        "title": problems.VERSION_CONFLICT.title,
        "status": 409,
        "detail": "Read it again, then decide again.",
        "instance": path,
        "code": "version-conflict",
        "commandId": answer.headers["X-Command-Id"],
        "retryable": False,
        "currentVersion": 3,
        "currentState": "UNDER_REVIEW",
    }


def test_without_an_id_token_401_unauthenticated(api: Api) -> None:
    event = event_of("POST", "/cases", case_body(), None, {"Idempotency-Key": "k"})
    answer = api.send(event)
    assert told(answer) == (401, "unauthenticated")
    assert "X-Command-Id" not in answer.headers
    access = event_of("POST", "/cases", case_body(), OFFICER, {"Idempotency-Key": "k"})
    access["requestContext"]["authorizer"]["claims"]["token_use"] = "access"
    assert told(api.send(access)) == (401, "unauthenticated")


def test_without_a_tenant_403_forbidden(api: Api) -> None:
    assert told(api.case(actor=Actor("o-1", "officer", tenant=""))) == (403, "forbidden")
    assert told(api.case(actor=Actor("o-1", "officer", tenant="a#b"))) == (403, "forbidden")


def test_in_another_group_403_forbidden_and_not_stored(api: Api) -> None:
    answer = api.case(actor=REVIEWER)
    assert told(answer) == (403, "forbidden")
    assert "X-Command-Id" in answer.headers
    assert api.items() == []


def test_no_key_400_and_malformed_key_400(api: Api) -> None:
    missing = api.send(event_of("POST", "/cases", case_body(), OFFICER, {}))
    assert told(missing) == (400, "idempotency-key-missing")
    assert told(api.case(key="x" * 300)) == (400, "idempotency-key-invalid")


def test_key_used_with_another_payload_422(api: Api) -> None:
    api.case("REG-1", key="k")
    assert told(api.case("REG-2", key="k")) == (422, "idempotency-key-reused")


def test_key_used_on_another_path_of_the_operation_422(api: Api) -> None:
    first, second = api.case("REG-1").body["caseId"], api.case("REG-2").body["caseId"]
    api.post(f"/cases/{first}/notes", {"text": "Seen"}, key="k")
    answer = api.post(f"/cases/{second}/notes", {"text": "Seen"}, key="k")
    assert told(answer) == (422, "idempotency-key-reused")


def test_same_key_still_running_409_with_retry_after(api: Api) -> None:
    created = api.case(key="k")
    record = {
        "PK": {"S": f"IDEMPOTENCY#acme#{created.headers['X-Command-Id']}"},
        "SK": {"S": "COMMAND"},
    }
    api.table.client.update_item(
        TableName=api.table.name,
        Key=record,
        UpdateExpression="SET #status = :status, progressAt = :now",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={
            ":status": {"S": "IN_PROGRESS"},
            ":now": {"N": str(round(time.time() * 1000))},
        },
    )
    answer = api.case(key="k")
    assert told(answer) == (409, "command-in-progress")
    assert answer.headers["Retry-After"] == "1"
    assert answer.body["retryable"] is True


def test_stale_version_in_the_body_409_and_in_if_match_412(api: Api) -> None:
    path = f"/cases/{api.submitted()}/approvals"
    in_body = api.post(path, {"expectedVersion": 2}, actor=REVIEWER)
    assert told(in_body) == (409, "version-conflict")
    in_tag = api.post(path, actor=REVIEWER, headers={"If-Match": '"v2"'})
    assert told(in_tag) == (412, "precondition-failed")
    assert in_tag.body["currentVersion"] == 3


def test_version_needed_and_absent_428(api: Api) -> None:
    path = f"/cases/{api.submitted()}/approvals"
    assert told(api.post(path, {}, actor=REVIEWER)) == (428, "precondition-required")


def test_wrong_state_409(api: Api) -> None:
    case_id = api.assigned()
    answer = api.post(f"/cases/{case_id}/reopenings", {"expectedVersion": 2})
    assert told(answer) == (409, "invalid-state")
    assert answer.body["currentState"] == "OPEN"


def test_not_its_officer_or_reviewer_403_and_nothing_about_its_state(api: Api) -> None:
    case_id = api.submitted()
    body = {"reviewerId": "r-1", "expectedVersion": 9}
    answer = api.post(f"/cases/{case_id}/submissions", body, actor=OTHER_OFFICER)
    assert told(answer) == (403, "forbidden")
    assert not {"currentState", "currentVersion"} & answer.body.keys()


def test_value_taken_409(api: Api) -> None:
    api.case("REG-1")
    assert told(api.case(" reg-1 ")) == (409, "already-exists")


def test_limit_used_up_409(api: Api) -> None:
    api.officer(max_load=1)
    answers = [
        api.post(
            f"/cases/{api.case(reference).body['caseId']}/assignments",
            {"officerId": "o-1", "expectedVersion": 1},
            actor=SUPERVISOR,
        )
        for reference in ("REG-1", "REG-2")
    ]
    assert [answer.status for answer in answers] == [200, 409]
    assert answers[1].code == "limit-reached"


def test_another_active_one_409_and_open_work_409(api: Api) -> None:
    case_id = api.submitted()
    api.post(f"/cases/{case_id}/approvals", {"expectedVersion": 3}, actor=REVIEWER)
    assert api.post(f"/cases/{case_id}/enforcements", {"kind": "FINE"}).status == 201
    second = api.post(f"/cases/{case_id}/enforcements", {"kind": "FINE"})
    assert told(second) == (409, "already-active")
    closing = {"resolution": "Filed", "expectedVersion": 4}
    assert told(api.post(f"/cases/{case_id}/closures", closing)) == (409, "open-work")


def test_lease_held_409_and_lease_lost_409(api: Api) -> None:
    case_id = api.assigned()
    lease = api.post(f"/cases/{case_id}/leases", {"seconds": 60}).body
    second = api.post(f"/cases/{case_id}/leases", {"seconds": 60}, actor=OTHER_OFFICER)
    assert told(second) == (409, "lease-held")
    address = f"/cases/{case_id}/leases/{lease['leaseId']}"
    foreign = api.call("PUT", address, {"fencingNumber": 1, "seconds": 9}, actor=OTHER_OFFICER)
    assert told(foreign) == (409, "lease-held")
    stale = api.call("PUT", address, {"fencingNumber": 7, "seconds": 9})
    assert told(stale) == (409, "lease-lost")


def test_under_legal_hold_409(api: Api) -> None:
    case_id = api.submitted()
    api.post(f"/cases/{case_id}/approvals", {"expectedVersion": 3}, actor=REVIEWER)
    api.post(f"/cases/{case_id}/closures", {"resolution": "Filed", "expectedVersion": 4})
    hold = {"hold": True, "expectedVersion": 5}
    assert api.call("PUT", f"/cases/{case_id}/legal-hold", hold, actor=SUPERVISOR).status == 200
    gone = api.call("DELETE", f"/cases/{case_id}", actor=SUPERVISOR, headers={"If-Match": '"v6"'})
    assert told(gone) == (409, "legal-hold")


def test_officer_inactive_or_unknown_as_a_target_409(api: Api) -> None:
    case_id = api.case().body["caseId"]
    body = {"officerId": "nobody", "expectedVersion": 1}
    answer = api.post(f"/cases/{case_id}/assignments", body, actor=SUPERVISOR)
    assert told(answer) == (409, "officer-unavailable")


def test_not_there_404_and_not_yours_to_see_404(api: Api) -> None:
    case_id = api.submitted()
    body = {"expectedVersion": 3}
    there = api.post("/cases/none/approvals", body, actor=REVIEWER)
    foreign = api.post(f"/cases/{case_id}/approvals", body, actor=STRANGER)
    nowhere = api.post("/nothing", {}, actor=ADMIN)
    assert {told(there), told(foreign), told(nowhere)} == {(404, "not-found")}


def test_malformed_json_400_and_unfit_422_with_errors(api: Api) -> None:
    assert told(api.post("/cases", "{")) == (400, "malformed-request")
    answer = api.post("/cases", case_body(priority="SOON", extra=1))
    assert told(answer) == (422, "validation-failed")
    assert [error["path"] for error in answer.body["errors"]] == ["priority", "extra"]


def test_body_over_the_limit_413(api: Api) -> None:
    answer = api.post("/cases", case_body(title="x" * 300_000))
    assert told(answer) == (413, "too-large")


def test_anything_else_500_without_a_word_about_why(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("canary-of-an-exception")

    monkeypatch.setattr(api.table, "commit", broken)
    answer = api.case()
    assert told(answer) == (500, "internal-error")
    assert "canary" not in answer.text + api.log.getvalue()
    assert any(line.get("causes", [{}])[0].get("type") == "RuntimeError" for line in api.lines())


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (("role", "key", "body", "reuse"), "forbidden"),
        (("key", "body", "reuse"), "idempotency-key-invalid"),
        (("body", "reuse"), "validation-failed"),
        (("reuse", "existence"), "idempotency-key-reused"),
        (("existence", "actor"), "not-found"),
        (("actor", "state", "version"), "forbidden"),
        (("state", "version"), "invalid-state"),
        (("version",), "version-conflict"),
    ],
)
def test_of_several_things_wrong_the_first_in_the_contract_is_told(
    api: Api, wrong: tuple[str, ...], code: str
) -> None:
    case_id = api.submitted()
    if "state" in wrong:
        api.post(f"/cases/{case_id}/approvals", {"expectedVersion": 3}, actor=REVIEWER)
    if "reuse" in wrong:
        api.post(f"/cases/{case_id}/approvals", {"expectedVersion": 1}, actor=REVIEWER, key="k")
    reviewer = Actor("r-9", "reviewer") if "actor" in wrong else REVIEWER
    body: dict[str, Any] = {"expectedVersion": 9}
    answer = api.post(
        f"/cases/{'none' if 'existence' in wrong else case_id}/approvals",
        body | {"extra": 1} if "body" in wrong else body,
        actor=OFFICER if "role" in wrong else reviewer,
        key="bad key" if "key" in wrong else "k" if "reuse" in wrong else None,
    )
    assert answer.code == code
