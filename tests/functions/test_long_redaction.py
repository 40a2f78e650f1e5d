"""Redaction of a long trail: step by step, killed, resumed, and hidden from the first moment."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.patterns import keys
from holdfast.patterns.commands import RECORD_HOURS, expiry
from holdfast.patterns.outbox import Event, announce
from holdfast.writes.codec import encode_item
from holdfast.writes.plan import Key, Plan, create
from tests.api import OFFICER, REVIEWER, SUPERVISOR, Api
from tests.functions.test_redaction import CANARY, assert_dense, found, redact, trail
from tests.working import TENANT, Works, command_of

EVENTS = 1000
EDITS = EVENTS - 5
BATCH = 25


@pytest.fixture
def works(api: Api) -> Works:
    return Works.of(api, budget=1.5)


def edited(api: Api, case_id: str, edits: int) -> str:
    """Give a case at version 2 a history of this many edits, as its officer would have."""
    case = keys.case(TENANT, case_id)
    client, name = api.table.client, api.table.name
    requests = [
        {"PutRequest": {"Item": encode_item(item)}}
        for number in range(3, 3 + edits)
        for item in edit(case, number)
    ]
    for start in range(0, len(requests), BATCH):
        client.batch_write_item(RequestItems={name: requests[start : start + BATCH]})
    client.update_item(
        TableName=name,
        Key=encode_item(case.attributes),
        UpdateExpression="SET version = :v, title = :t",
        ExpressionAttributeValues=encode_item({":v": 2 + edits, ":t": f"{CANARY} {edits + 2}"}),
    )
    return case_id


def edit(case: Key, version: int) -> list[dict[str, Any]]:
    """The items of an edit beside META: its event, its outbox entry and its command's record."""
    at, command_id = "2030-01-02T03:04:05.678Z", f"edit{version:06d}"
    title = {"title": f"{CANARY} {version}"}
    about = {"command_id": command_id, "tenant": TENANT, "actor": "o-1", "at": at}
    facts = announce(Event("CaseEdited", case, version, title), **about)
    record = {
        "status": "COMPLETED",
        "caller": "o-1",
        "attempt": 1,
        "requestHash": "h",
        "response": {"status": 200, "headers": {}, "body": json.dumps({**title, "version": 1})},
        "expiresAt": expiry(at, RECORD_HOURS),
    }
    writes = [*facts, create(keys.command(TENANT, command_id), record, "As it was.")]
    Plan("as an edit leaves it", tuple(writes))
    return [{**write.key.attributes, **write.item} for write in writes]


def closed(api: Api, case_id: str, version: int) -> int:
    """Bring a case at `version` to its end; its version then."""
    path, seen = f"/cases/{case_id}", {"expectedVersion": version}
    api.post(f"{path}/submissions", {"reviewerId": "r-1", **seen}, actor=OFFICER)
    seen = {"expectedVersion": version + 1}
    api.post(f"{path}/approvals", seen, actor=REVIEWER)
    filed = {"resolution": f"{CANARY} end", "expectedVersion": version + 2}
    assert api.post(f"{path}/closures", filed, actor=SUPERVISOR).status == 200
    return version + 3


def whole_trail(api: Api, case_id: str) -> list[dict[str, Any]]:
    return list(api.table.partition(keys.case(TENANT, case_id).pk, "EVENT#"))


def test_a_trail_of_a_thousand_events_keeps_every_event_and_no_text(api: Api, works: Works) -> None:
    case_id = edited(api, api.assigned(), EDITS)
    version = closed(api, case_id, 2 + EDITS)
    assert version == EVENTS
    before = [event["eventId"] for event in whole_trail(api, case_id)]
    command_id = command_of(redact(api, f"/cases/{case_id}", version))
    works.wire.kill(30, before=False)
    works.wire.kill(75, before=True)
    works.wire.landed = lambda: hidden(api, case_id)
    works.drain(command_id)
    assert works.deaths == 2
    told = works.command(command_id)
    assert (told["status"], told["result"]["items"]) == ("COMPLETED", told["done"])
    assert found(api) == []
    after = whole_trail(api, case_id)
    assert [event["eventId"] for event in after] == [*before, after[-1]["eventId"]]
    assert after[-1]["type"] == "CaseRedacted"
    assert_dense(after)


def hidden(api: Api, case_id: str) -> None:
    """The case reads as redacted and refuses commands, however far the redaction has come."""
    shown = api.get(f"/cases/{case_id}")
    assert (shown.body["redacted"], shown.body["version"]) == (True, EVENTS + 1)
    for path in ("", "/events?limit=100", "/notes"):
        assert CANARY not in api.get(f"/cases/{case_id}{path}").text
    note = api.post(f"/cases/{case_id}/notes", {"text": "Late"}, actor=OFFICER)
    assert (note.status, note.code) == (409, "invalid-state")


def test_a_redaction_that_was_given_up_is_resumed_though_little_is_left(
    api: Api, works: Works
) -> None:
    """What is left would fit one transaction, but the case is redacted already."""
    case_id = edited(api, api.assigned(), 60)
    version = closed(api, case_id, 62)
    answer = api.call(
        "DELETE", f"/cases/{case_id}?expectedVersion={version}", actor=SUPERVISOR, key="gone"
    )
    command_id = command_of(answer)
    works.budget = 0
    works.accepted(command_id)
    works.deliver()
    works.queue.waiting.clear()
    while works.later(200) or works.sweep():
        works.queue.waiting.clear()
    assert works.command(command_id)["status"] == "FAILED_RETRYABLE"
    again = api.call(
        "DELETE", f"/cases/{case_id}?expectedVersion={version}", actor=SUPERVISOR, key="gone"
    )
    assert again.status == 202, again.text
    works.drain(command_id)
    assert works.command(command_id)["status"] == "COMPLETED"
    assert found(api) == []
    assert_dense(trail(api, f"/cases/{case_id}"))


def test_a_record_that_expires_before_it_is_redacted_is_passed_over(api: Api, works: Works) -> None:
    case_id = edited(api, api.assigned(), 60)
    command_id = command_of(redact(api, f"/cases/{case_id}", closed(api, case_id, 62)))
    gone = encode_item(keys.command(TENANT, "edit000003").attributes)
    client = api.table.client
    first_commit = 4
    works.wire.before[first_commit] = lambda: client.delete_item(TableName=api.table.name, Key=gone)
    works.drain(command_id)
    assert works.wire.calls[first_commit - 1] == "transact_write_items"
    assert works.command(command_id)["status"] == "COMPLETED"
    assert found(api) == []
    assert api.table.get(keys.command(TENANT, "edit000003")) is None
