"""What operators see and send again: the outbox and the side effects of their own tenant."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.edge.providers import Done, Never
from holdfast.patterns import keys, outbox
from holdfast.patterns.envelope import envelope_of
from holdfast.patterns.outbox import ATTEMPTS_MAX, Entry, entry_of
from holdfast.writes.codec import decode_item
from tests.api import ADMIN, OFFICER, STRANGER, Api
from tests.edge.test_effects import Bench, Scripted
from tests.relaying import Desk

FOREIGN_ADMIN = STRANGER


@pytest.fixture
def desk(api: Api) -> Desk:
    return Desk(api.table)


def entries(api: Api) -> list[Entry]:
    images = map(decode_item, api.items())
    return [entry_of(image) for image in images if image["PK"].startswith("OUTBOX#")]


def dead_entry(api: Api, desk: Desk) -> Entry:
    """The entry of a case's creation, after all attempts failed."""
    assert api.case().status == 201
    [entry] = entries(api)
    desk.outlet.down = True
    desk.later(10**9)
    for _ in range(ATTEMPTS_MAX):
        desk.sweep()
        desk.later(20 * 60)
    desk.outlet.down = False
    assert desk.status(entry) == outbox.DEAD
    return entry


def test_the_outbox_says_what_waits_and_since_when_and_what_is_dead(api: Api, desk: Desk) -> None:
    """Report 28: a dead letter is visible, and a redrive publishes it."""
    entry = dead_entry(api, desk)
    api.case("REG-2")
    shown = api.get("/ops/outbox", ADMIN).body
    assert shown["pending"] == 1
    assert 0 <= shown["oldestPendingSeconds"] < 60
    [dead] = shown["dead"]
    assert (dead["eventId"], dead["attempts"]) == (entry.event_id, ATTEMPTS_MAX)
    answer = api.post(f"/ops/outbox/{entry.event_id}/redrives", actor=ADMIN)
    assert (answer.status, answer.body["status"]) == (200, "NEW")
    desk.sweep()
    assert desk.status(entry) == "PUBLISHED"
    assert api.get("/ops/outbox", ADMIN).body["dead"] == []


def test_a_redrive_is_a_command_done_once(api: Api, desk: Desk) -> None:
    entry = dead_entry(api, desk)
    path = f"/ops/outbox/{entry.event_id}/redrives"
    first = api.post(path, actor=ADMIN, key="once")
    again = api.post(path, actor=ADMIN, key="once")
    assert (first.status, again.status) == (200, 200)
    assert again.headers["Idempotency-Replayed"] == "true"


def test_an_entry_that_is_not_dead_or_not_theirs_is_not_found(api: Api, desk: Desk) -> None:
    entry = dead_entry(api, desk)
    path = f"/ops/outbox/{entry.event_id}/redrives"
    assert api.post(path, actor=FOREIGN_ADMIN).status == 404
    assert api.get("/ops/outbox", FOREIGN_ADMIN).body["dead"] == []
    assert api.post("/ops/outbox/unknown/redrives", actor=ADMIN).status == 404
    assert api.post(path, actor=ADMIN).status == 200
    assert api.post(path, actor=ADMIN).status == 404


def failed_effect(api: Api) -> str:
    """The operation of a case's creation, which the webhook refused for good."""
    api.case()
    [entry] = entries(api)
    Bench(api.table, Scripted(Never("HTTP_410"))).deliver(envelope_of(entry))
    return entry.event_id


def test_failed_effects_are_listed_read_and_sent_again(api: Api) -> None:
    operation = failed_effect(api)
    listed = api.get("/ops/side-effects?status=FAILED_FINAL", ADMIN).body["items"]
    assert [(one["provider"], one["operationId"]) for one in listed] == [("webhook", operation)]
    path = f"/ops/side-effects/webhook/{operation}"
    shown = api.get(path, ADMIN).body
    assert (shown["status"], shown["reason"], shown["type"]) == (
        "FAILED_FINAL",
        "HTTP_410",
        "CaseCreated",
    )
    answer = api.post(f"{path}/redrives", actor=ADMIN)
    assert (answer.status, answer.body["status"]) == (200, "FAILED_RETRYABLE")
    assert api.post(f"{path}/redrives", actor=ADMIN).code == "invalid-state"
    provider = Scripted(Done("r"))
    _announce_all(api, Bench(api.table, provider))
    assert provider.calls[-1] == (operation, 1)
    shown = api.get(path, ADMIN).body
    assert (shown["status"], shown["redrives"]) == ("CONFIRMED", 1)
    assert api.get("/ops/side-effects?status=FAILED_FINAL", ADMIN).body["items"] == []


def test_an_effect_may_fail_and_be_sent_again_more_than_once(api: Api) -> None:
    operation = failed_effect(api)
    for number in (1, 2):
        path = f"/ops/side-effects/webhook/{operation}"
        assert api.post(f"{path}/redrives", actor=ADMIN).status == 200
        _announce_all(api, Bench(api.table, Scripted(Never("HTTP_410"))))
        assert api.get(path, ADMIN).body["redrives"] == number
    ledger = keys.side_effect("webhook", operation)
    versions = [event["version"] for event in api.table.partition(ledger.pk, "EVENT#")]
    assert versions == [1, 2]


def test_effects_are_shown_to_administrators_of_their_tenant_alone(api: Api) -> None:
    operation = failed_effect(api)
    path = f"/ops/side-effects/webhook/{operation}"
    assert api.get(path, FOREIGN_ADMIN).status == 404
    assert api.post(f"{path}/redrives", actor=FOREIGN_ADMIN).status == 404
    assert api.get("/ops/side-effects?status=FAILED_FINAL", FOREIGN_ADMIN).body["items"] == []
    assert api.get("/ops/side-effects?status=CONFIRMED", ADMIN).status == 422
    for address in (path, "/ops/side-effects", "/ops/outbox"):
        assert api.get(address, OFFICER).status == 403


def _announce_all(api: Api, bench: Bench) -> None:
    """What relay and queue do, without them: every event is delivered, in order."""
    waiting: list[Any] = sorted(entries(api), key=lambda entry: (entry.aggregate, entry.version))
    bench.deliver(*map(envelope_of, waiting))
