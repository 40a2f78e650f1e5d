"""What a command costs in requests to the table."""

from __future__ import annotations

from tests.api import REVIEWER, SUPERVISOR, Api, counted

FRESH, STORED = "TransactWriteItems", "PutItem"


def test_a_fresh_command_takes_one_request(api: Api) -> None:
    api.officer()
    with counted(api.table.client) as sent:
        case_id = api.case().body["caseId"]
    assert sent == [FRESH]
    body = {"officerId": "o-1", "expectedVersion": 1}
    with counted(api.table.client) as sent:
        assert api.post(f"/cases/{case_id}/assignments", body, actor=SUPERVISOR).status == 200
    assert sent == [FRESH]


def test_a_replay_takes_one_request(api: Api) -> None:
    api.case(key="k")
    with counted(api.table.client) as sent:
        assert api.case(key="k").headers["Idempotency-Replayed"] == "true"
    assert sent == [FRESH]


def test_a_reused_key_takes_one_request(api: Api) -> None:
    api.case("REG-1", key="k")
    with counted(api.table.client) as sent:
        assert api.case("REG-2", key="k").status == 422
    assert sent == [FRESH]


def test_a_conflict_takes_one_request_and_one_to_store_it(api: Api) -> None:
    api.case()
    with counted(api.table.client) as sent:
        assert api.case().code == "already-exists"
    assert sent == [FRESH, STORED]


def test_a_stale_version_takes_one_request_and_one_to_store_it(api: Api) -> None:
    path = f"/cases/{api.submitted()}/approvals"
    with counted(api.table.client) as sent:
        answer = api.post(path, {"expectedVersion": 2}, actor=REVIEWER, key="k")
    assert (answer.code, sent) == ("version-conflict", [FRESH, STORED])
    with counted(api.table.client) as sent:
        again = api.post(path, {"expectedVersion": 2}, actor=REVIEWER, key="k")
    assert (again.headers["Idempotency-Replayed"], sent) == ("true", [FRESH])


def test_a_request_that_fails_validation_takes_none(api: Api) -> None:
    with counted(api.table.client) as sent:
        assert api.post("/cases", {}).status == 422
    assert sent == []
