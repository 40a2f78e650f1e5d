"""Investigators, tasks, notes, enforcement, transfer, hold: each refusal, and what it leaves."""

from __future__ import annotations

import pytest

from tests import scenes
from tests.api import ADMIN, OTHER_OFFICER, STRANGER, SUPERVISOR, Api
from tests.refusing import Row, Sent, check

NOT_FOUND, FORBIDDEN = (404, "not-found"), (403, "forbidden")
STATE, STALE = (409, "invalid-state"), (409, "version-conflict")
LIMIT, OPEN_WORK = (409, "limit-reached"), (409, "open-work")
UNAVAILABLE = (409, "officer-unavailable")

CASE = "/cases/{case}"
MEMBER, TASK, ENFORCEMENT = {"userId": "u-2"}, {"title": "Call"}, {"kind": "FINE"}
TO_2 = {"toOfficerId": "o-2", "expectedVersion": 2}
CLOSE = {"resolution": "Filed", "expectedVersion": 4}


def post(path: str, body: object = None, actor: object = None) -> Sent:
    return Sent("POST", f"{CASE}{path}", body, *([actor] if actor else []))


ADD, LEAVE = post("/investigators", MEMBER), Sent("DELETE", f"{CASE}/investigators/u-1")
DONE = post("/tasks/{task}/closures")
COMPLETE = post("/enforcements/{enforcement}/completions", {"outcome": "Paid"})

ROWS = {
    # investigators
    "a case that is not there": Row(
        "assigned", ADD._replace(path="/cases/x/investigators"), NOT_FOUND
    ),
    "another tenant's case": Row("assigned", ADD._replace(actor=STRANGER), NOT_FOUND),
    "another's case": Row("assigned", ADD._replace(actor=OTHER_OFFICER), FORBIDDEN),
    "twice the same": Row(
        "assigned", ADD._replace(body={"userId": "u-1"}), (409, "already-exists")
    ),
    "a fourth one": Row(
        "assigned",
        ADD,
        LIMIT,
        [ADD._replace(body={"userId": "u-3"}), ADD._replace(body={"userId": "u-4"})],
    ),
    "one more on a closed case": Row("closed", ADD, STATE),
    "one more on a redacted case": Row("redacted", ADD, STATE),
    "who does not investigate": Row(
        "assigned", LEAVE._replace(path=f"{CASE}/investigators/u-9"), NOT_FOUND
    ),
    "who has left already": Row("assigned", LEAVE, NOT_FOUND, [LEAVE]),
    "whom another's officer removes": Row(
        "assigned", LEAVE._replace(actor=OTHER_OFFICER), FORBIDDEN
    ),
    "who leaves a closed case": Row("closed", LEAVE, STATE),
    # tasks and notes
    "a task of a closed case": Row("closed", post("/tasks", TASK), STATE),
    "a task by another": Row("assigned", post("/tasks", TASK, OTHER_OFFICER), FORBIDDEN),
    "a task of no case": Row("assigned", Sent("POST", "/cases/x/tasks", TASK), NOT_FOUND),
    "a task that is not there": Row("assigned", post("/tasks/x/closures"), NOT_FOUND),
    "a task that is closed": Row("assigned", DONE, STATE, [DONE]),
    "a task closed by another": Row("assigned", DONE._replace(actor=OTHER_OFFICER), FORBIDDEN),
    "a note on a closed case": Row("closed", post("/notes", {"text": "Late"}), STATE),
    "a note on no case": Row("assigned", Sent("POST", "/cases/x/notes", {"text": "n"}), NOT_FOUND),
    # enforcement
    "enforcing an open case": Row("assigned", post("/enforcements", ENFORCEMENT), STATE),
    "enforcing a closed case": Row("closed", post("/enforcements", ENFORCEMENT), STATE),
    "enforcing another's case": Row(
        "approved", post("/enforcements", ENFORCEMENT, OTHER_OFFICER), FORBIDDEN
    ),
    "a second enforcement": Row(
        "enforced", post("/enforcements", ENFORCEMENT), (409, "already-active")
    ),
    "completing none": Row(
        "enforced",
        COMPLETE._replace(path=f"{CASE}/enforcements/x/completions"),
        NOT_FOUND,
    ),
    "completing twice": Row("enforced", COMPLETE, STATE, [COMPLETE]),
    "completing another's": Row("enforced", COMPLETE._replace(actor=OTHER_OFFICER), FORBIDDEN),
    # closing
    "closing with an open task": Row(
        "approved", post("/closures", CLOSE), OPEN_WORK, [post("/tasks", TASK)]
    ),
    "closing while enforced": Row("enforced", post("/closures", CLOSE), OPEN_WORK),
    # transfer
    "to nobody": Row("assigned", post("/transfers", TO_2 | {"toOfficerId": "x"}), UNAVAILABLE),
    "to one who is inactive": Row(
        "assigned",
        post("/transfers", TO_2),
        UNAVAILABLE,
        [Sent("POST", "/officers/o-2/deactivations", {"expectedVersion": 1}, ADMIN)],
    ),
    "to one without room": Row(
        "assigned", post("/transfers", TO_2 | {"toOfficerId": "o-3"}), LIMIT
    ),
    "to the same officer": Row(
        "assigned", post("/transfers", TO_2 | {"toOfficerId": "o-1"}), STATE
    ),
    "at a stale version": Row("assigned", post("/transfers", TO_2 | {"expectedVersion": 1}), STALE),
    "by another": Row("assigned", post("/transfers", TO_2, OTHER_OFFICER), FORBIDDEN),
    "of a closed case": Row("closed", post("/transfers", TO_2 | {"expectedVersion": 5}), STATE),
    "of no case": Row("assigned", Sent("POST", "/cases/x/transfers", TO_2), NOT_FOUND),
    # hold and redaction
    "a hold at a stale version": Row(
        "assigned",
        Sent("PUT", f"{CASE}/legal-hold", {"hold": True, "expectedVersion": 1}, SUPERVISOR),
        STALE,
    ),
    "a hold on a redacted case": Row(
        "redacted",
        Sent("PUT", f"{CASE}/legal-hold", {"hold": True, "expectedVersion": 6}, SUPERVISOR),
        STATE,
    ),
    "redacting an approved case": Row(
        "approved", Sent("DELETE", f"{CASE}?expectedVersion=4", None, SUPERVISOR), STATE
    ),
    "redacting under a hold": Row(
        "closed",
        Sent("DELETE", f"{CASE}?expectedVersion=6", None, SUPERVISOR),
        (409, "legal-hold"),
        [Sent("PUT", f"{CASE}/legal-hold", {"hold": True, "expectedVersion": 5}, SUPERVISOR)],
    ),
    "redacting at a stale version": Row(
        "closed", Sent("DELETE", f"{CASE}?expectedVersion=4", None, SUPERVISOR), STALE
    ),
    "redacting twice": Row(
        "redacted", Sent("DELETE", f"{CASE}?expectedVersion=6", None, SUPERVISOR), STATE
    ),
    "redacting no case": Row(
        "assigned", Sent("DELETE", "/cases/x?expectedVersion=1", None, SUPERVISOR), NOT_FOUND
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_refused_command_leaves_its_record_alone(api: Api, name: str) -> None:
    row = ROWS[name]
    enforced = row.scene == "enforced"
    ids = {"case": scenes.case(api, "approved" if enforced else row.scene)}
    if enforced:
        ids["enforcement"] = scenes.open_enforcement(api, ids["case"])
    if "{task}" in row.refused.path:
        ids["task"] = scenes.open_task(api, ids["case"])
    check(api, row, ids)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/investigators", MEMBER),
        ("POST", "/tasks", TASK),
        ("POST", "/enforcements", ENFORCEMENT),
        ("POST", "/transfers", TO_2),
        ("PUT", "/legal-hold", {"hold": True, "expectedVersion": 2}),
        ("DELETE", "?expectedVersion=2", None),
        ("POST", "/leases", {"seconds": 60}),
    ],
)
def test_a_customer_touches_no_case_and_nothing_is_stored(
    api: Api, method: str, path: str, body: object
) -> None:
    case_id = scenes.case(api)
    before = api.items()
    answer = api.call(method, f"/cases/{case_id}{path}", body, actor=scenes.CUSTOMER)
    assert (answer.status, answer.code) == FORBIDDEN
    assert api.items() == before


def test_a_legal_hold_is_set_and_lifted_by_a_supervisor(api: Api) -> None:
    case_id = scenes.case(api, "closed")
    path = f"/cases/{case_id}"
    held = {"hold": True, "expectedVersion": 5}
    assert api.call("PUT", f"{path}/legal-hold", held, actor=SUPERVISOR).body["legalHold"] is True
    assert api.get(path).body["legalHold"] is True
    lifted = {"hold": False, "expectedVersion": 6}
    assert api.call("PUT", f"{path}/legal-hold", lifted, actor=SUPERVISOR).status == 200
    assert "legalHold" not in api.get(path).body
    assert api.call("DELETE", f"{path}?expectedVersion=7", actor=SUPERVISOR).status == 200


def test_a_transfer_moves_the_case_and_its_load(api: Api) -> None:
    case_id = scenes.case(api)
    moved = api.post(f"/cases/{case_id}/transfers", TO_2)
    assert (moved.status, moved.body["officerId"], moved.headers["ETag"]) == (200, "o-2", '"v3"')
    loads = [api.get(f"/officers/{officer}").body["activeLoad"] for officer in ("o-1", "o-2")]
    assert loads == [0, 1]
    assert (
        api.post(f"/cases/{case_id}/transfers", TO_2 | {"expectedVersion": 3}).code == "forbidden"
    )


def test_who_leaves_gives_a_place_back_once_and_may_come_again(api: Api) -> None:
    case_id = scenes.case(api)
    path = f"/cases/{case_id}/investigators"
    for user in ("u-2", "u-3"):
        assert api.post(path, {"userId": user}).status == 201
    assert api.call("DELETE", f"{path}/u-1", key="once").status == 200
    assert api.call("DELETE", f"{path}/u-1", key="once").headers["Idempotency-Replayed"] == "true"
    assert api.get(f"/cases/{case_id}").body["investigatorCount"] == 2
    again = api.post(path, {"userId": "u-1"}, actor=SUPERVISOR)
    assert (again.status, again.headers["Location"]) == (201, f"{path}/u-1")
    assert api.get(f"/cases/{case_id}").body["investigatorCount"] == 3
    assert api.call("DELETE", f"{path}/u-1", key="once").status == 200
    assert api.get(f"/cases/{case_id}").body["investigatorCount"] == 3


def test_a_closed_task_leaves_the_index_of_open_ones(api: Api) -> None:
    case_id = scenes.case(api)
    task_id = scenes.open_task(api, case_id)

    def indexed() -> list[dict]:
        return [item for item in api.items() if "openTasks" in item]

    assert len(indexed()) == 1
    assert api.post(f"/cases/{case_id}/tasks/{task_id}/closures").body["status"] == "CLOSED"
    assert indexed() == []


def test_an_enforcement_ends_and_makes_room_for_the_next(api: Api) -> None:
    case_id = scenes.case(api, "approved")
    first = scenes.open_enforcement(api, case_id)
    path = f"/cases/{case_id}/enforcements/{first}/completions"
    assert api.post(path, {"outcome": "Paid"}).body["status"] == "COMPLETED"
    second = scenes.open_enforcement(api, case_id)
    assert api.post(path, {"outcome": "Again"}).code == "invalid-state"
    assert api.get(f"/cases/{case_id}").body["activeEnforcementId"] == second
