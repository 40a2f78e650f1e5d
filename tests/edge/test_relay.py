"""Nothing committed is lost, marked wrongly or sent out of order, whatever dies where."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.edge.claiming import CLAIMS_MAX, LEASE_MILLISECONDS
from holdfast.edge.relay import CHUNK_MILLISECONDS_MAX, SEND_MILLISECONDS_MAX
from holdfast.patterns import outbox
from holdfast.patterns.outbox import ATTEMPTS_MAX, KEPT_DAYS
from holdfast.writes.outcomes import Committed, Effort, InDoubt, Refused
from holdfast.writes.plan import Plan
from holdfast.writes.refusals import Refusal
from holdfast.writes.table import Table
from tests.conftest import dynamodb
from tests.proxy import Proxy
from tests.relaying import AT, AT_MS, Desk, Killed, owner

LEASE_SECONDS = LEASE_MILLISECONDS / 1000 + 2


@pytest.fixture
def desk(table: Table) -> Desk:
    return Desk(table)


def test_an_entry_is_sent_and_marked_with_the_providers_id(desk: Desk) -> None:
    [entry] = desk.happened(owner(), 1)
    report = desk.announce(entry)
    assert report.published == {entry.key}
    stored = desk.stored(entry)
    assert (stored["status"], stored["attempts"]) == ("PUBLISHED", 1)
    assert stored["messageId"].startswith("message-")
    assert stored["publishedAt"] == AT
    assert stored["expiresAt"] == AT_MS // 1000 + KEPT_DAYS * 86_400
    assert not {"outboxState", "outboxSort", "claimedUntil"} & stored.keys()


def test_the_message_is_the_versioned_envelope_of_the_fact(desk: Desk) -> None:
    [entry] = desk.happened(owner(), 1)
    desk.announce(entry)
    assert json.loads(desk.outlet.sent[0].body) == {
        "envelopeVersion": 1,
        "eventId": entry.event_id,
        "type": "CaseEdited",
        "aggregate": "CASE#acme#case-1#META",
        "version": 1,
        "at": AT,
        "actor": "o-1",
        "tenant": "acme",
        "data": {"priority": "HIGH"},
    }


def test_what_is_published_already_is_not_sent_again(desk: Desk) -> None:
    [entry] = desk.happened(owner(), 1)
    desk.announce(entry)
    desk.relay = desk.fresh()
    assert desk.announce(entry).published == set()
    assert desk.outlet.ids == [entry.event_id]


def test_versions_of_one_aggregate_go_in_order_however_they_come(desk: Desk) -> None:
    entries = desk.happened(owner(), 1, 2, 3)
    desk.announce(*reversed(entries))
    assert desk.outlet.ids == [entry.event_id for entry in entries]
    assert desk.outlet.batches == [1, 1, 1]


def test_a_later_version_waits_for_the_earlier_one_outside_its_batch(desk: Desk) -> None:
    first, second = desk.happened(owner(), 1, 2)
    report = desk.announce(second)
    assert (report.published, report.failed) == (set(), set())
    assert (desk.status(second), desk.stored(second)["attempts"]) == ("NEW", 0)
    desk.announce(first)
    desk.relay = desk.fresh()
    assert desk.announce(second).published == {second.key}
    assert desk.outlet.versions() == {"CASE#acme#case-1#META": [1, 2]}


def test_the_earlier_version_is_found_under_the_day_on_which_it_happened(desk: Desk) -> None:
    [first] = desk.happened(owner(), 1, at="2030-01-01T23:59:59.999Z")
    [second] = desk.happened(owner(), 2, at="2030-01-02T00:00:00.000Z")
    assert first.key.pk != second.key.pk
    assert desk.announce(second).published == set()
    desk.announce(first)
    desk.relay = desk.fresh()
    assert desk.announce(second).published == {second.key}


def test_an_earlier_version_whose_entry_has_expired_does_not_hold_up_the_next(desk: Desk) -> None:
    first, second = desk.happened(owner(), 1, 2)
    desk.table.client.delete_item(
        TableName=desk.table.name, Key={n: {"S": v} for n, v in first.key.attributes.items()}
    )
    assert desk.announce(second).published == {second.key}


def test_a_partial_failure_leaves_the_entry_and_what_is_behind_it(desk: Desk) -> None:
    """Report 29: entry 2 of 3 fails; 1 and 3 are PUBLISHED, 2 is retried and published once."""
    entries = [entry for number in (1, 2, 3) for entry in desk.happened(owner(number), 1)]
    behind = desk.happened(owner(2), 2)
    desk.outlet.refuses = {entries[1].event_id}
    report = desk.announce(*entries, *behind)
    assert [desk.status(entry) for entry in entries] == ["PUBLISHED", "NEW", "PUBLISHED"]
    assert report.failed == {entries[1].key}
    assert desk.stored(entries[1])["attempts"] == 1
    assert desk.stored(behind[0])["attempts"] == 0
    assert desk.metric("outbox.publish_failed.count") == 1
    desk.outlet.refuses = set()
    desk.sweep()
    assert desk.status(entries[1]) == desk.status(behind[0]) == "PUBLISHED"
    assert sorted(desk.outlet.ids) == sorted(e.event_id for e in (*entries, *behind))


def test_a_send_whose_answer_was_lost_is_sent_again_and_never_marked_before(desk: Desk) -> None:
    [entry] = desk.happened(owner(), 1)
    desk.outlet.lost_answers = 1
    assert desk.announce(entry).failed == {entry.key}
    assert "messageId" not in desk.stored(entry)
    desk.announce(entry)
    assert desk.outlet.ids == [entry.event_id] * 2
    assert (desk.status(entry), desk.stored(entry)["attempts"]) == ("PUBLISHED", 2)


def test_killed_before_the_send_it_is_sent_when_the_claim_has_ended(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    [entry] = desk.happened(owner(), 1)
    _die(monkeypatch, desk.outlet, "publish")
    with pytest.raises(Killed):
        desk.announce(entry)
    monkeypatch.undo()
    assert desk.status(entry) == "PUBLISHING"
    desk.sweep()
    assert desk.outlet.ids == []
    desk.later(LEASE_SECONDS)
    desk.sweep()
    assert (desk.status(entry), desk.outlet.ids) == ("PUBLISHED", [entry.event_id])


def test_killed_between_send_and_mark_it_is_sent_again_under_the_same_id(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    [entry] = desk.happened(owner(), 1)
    _die(monkeypatch, outbox, "mark_published")
    with pytest.raises(Killed):
        desk.announce(entry)
    monkeypatch.undo()
    assert (desk.status(entry), desk.outlet.ids) == ("PUBLISHING", [entry.event_id])
    desk.later(LEASE_SECONDS)
    desk.sweep()
    assert (desk.status(entry), desk.outlet.ids) == ("PUBLISHED", [entry.event_id] * 2)


def test_killed_on_the_last_attempt_it_ends_dead_visible_and_redrivable(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Report 28: attempts exhausted -> visible, alarmed, and a redrive publishes it."""
    [first] = desk.happened(owner(), 1)
    _die(monkeypatch, desk.outlet, "publish")
    for _ in range(ATTEMPTS_MAX):
        with pytest.raises(Killed):
            desk.sweep()
        desk.later(LEASE_SECONDS)
    monkeypatch.undo()
    desk.sweep()
    assert (desk.status(first), desk.stored(first)["outboxState"]) == ("DEAD", "DEAD")
    assert desk.metric("outbox.dead.count") == 1
    [second] = desk.happened(owner(), 2)
    assert desk.announce(second).published == set()
    assert desk.status(second) == "NEW"
    write = outbox.redrive(first.key, tenant="acme", event_id=first.event_id)
    assert isinstance(desk.table.commit(Plan("redrive", (write,))), Committed)
    desk.sweep()
    assert desk.status(first) == desk.status(second) == "PUBLISHED"
    assert desk.outlet.versions() == {first.aggregate: [1, 2]}
    assert desk.metric("outbox.dead.count") == 0


def test_what_fails_to_the_end_is_buried_after_the_stated_number_of_tries(desk: Desk) -> None:
    [entry] = desk.happened(owner(), 1)
    desk.outlet.down = True
    for _ in range(ATTEMPTS_MAX + 3):
        desk.sweep()
        desk.later(20 * 60)
    assert (desk.status(entry), len(desk.outlet.batches)) == ("DEAD", ATTEMPTS_MAX)


def test_failed_tries_back_off_so_that_an_outage_does_not_use_them_up(desk: Desk) -> None:
    [entry] = desk.happened(owner(), 1)
    desk.outlet.down = True
    for _ in range(30):
        desk.sweep()
        desk.later(60)
    assert desk.status(entry) == "NEW"
    desk.outlet.down = False
    desk.later(15 * 60)
    desk.sweep()
    assert desk.status(entry) == "PUBLISHED"


def test_a_claim_outlived_by_its_lease_may_not_mark(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease ends in mid-batch: what was sent stays unmarked and is sent again."""
    entries = [entry for number in (1, 2) for entry in desk.happened(owner(number), 1)]
    publish = desk.outlet.publish

    def slow(messages: Any) -> Any:
        desk.later(LEASE_SECONDS)
        return publish(messages)

    monkeypatch.setattr(desk.outlet, "publish", slow)
    assert desk.announce(*entries).published == set()
    assert {desk.status(entry) for entry in entries} == {"PUBLISHING"}
    assert desk.metric("lease.lost.count") == 2
    monkeypatch.undo()
    desk.later(LEASE_SECONDS)
    desk.sweep()
    assert {desk.status(entry) for entry in entries} == {"PUBLISHED"}


def test_a_claim_that_was_taken_over_may_not_mark_give_back_or_bury(desk: Desk) -> None:
    [entry] = desk.happened(owner(), 1)
    old = outbox.Claim(entry, AT_MS + 10_000)
    assert isinstance(desk.table.commit(Plan("a", (outbox.claim(old, AT_MS),))), Committed)
    later = AT_MS + 20_000
    new = outbox.Claim(outbox.entry_of(desk.stored(entry)), later + 10_000)
    assert isinstance(desk.table.commit(Plan("b", (outbox.claim(new, later),))), Committed)
    for number, write in enumerate(
        (
            outbox.mark_published(old, message_id="m", at=AT, now_ms=later),
            outbox.give_back(old, now_ms=later, tried=True),
            outbox.bury(old, at=AT, now_ms=later),
        )
    ):
        outcome = desk.table.commit(Plan(f"late {number}", (write,)))
        assert isinstance(outcome, Refused)
        assert outcome.refusal is Refusal.LEASE_LOST
    assert desk.stored(entry)["attempts"] == 2


def test_two_relays_with_the_same_entry_send_it_once(desk: Desk) -> None:
    entries = [entry for number in range(1, 4) for entry in desk.happened(owner(number), 1)]
    other = Desk(desk.table, outlet=desk.outlet)
    claims, _ = desk.relay.claimer.claim(entries[:2])
    assert len(claims) == 2
    assert other.announce(*entries).published == {entries[2].key}
    assert desk.outlet.ids == [entries[2].event_id]


def test_at_the_end_of_its_time_the_rest_is_left_to_the_next_sweep(desk: Desk) -> None:
    entries = [entry for number in range(1, 4) for entry in desk.happened(owner(number), 1)]
    report = desk.announce(*entries, seconds=CHUNK_MILLISECONDS_MAX // 1000 - 1)
    assert (report.published, report.failed) == (set(), set())
    assert {desk.stored(entry)["attempts"] for entry in entries} == {0}
    desk.sweep()
    assert {desk.status(entry) for entry in entries} == {"PUBLISHED"}


def test_a_send_that_could_outlast_the_claim_is_not_begun_and_not_counted(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = desk.happened(owner(), 1, 2)
    publish = desk.outlet.publish

    def slow(messages: Any) -> Any:
        desk.now_ms += LEASE_MILLISECONDS - SEND_MILLISECONDS_MAX + 1
        return publish(messages)

    monkeypatch.setattr(desk.outlet, "publish", slow)
    assert desk.announce(first, second).published == {first.key}
    assert (desk.status(second), desk.stored(second)["attempts"]) == ("NEW", 0)


def test_a_throttled_claim_is_a_failure_to_retry_and_nothing_else(
    desk: Desk, faults: Proxy
) -> None:
    """Report 16: cancelled by throttling alone is not settled, and is never taken for gone."""
    [entry] = desk.happened(owner(), 1)
    relay = Desk(Table(dynamodb(faults.url), desk.table.name, clock=_Hurry(), sleep=lambda s: None))
    faults.rules(
        {
            "operation": "TransactWriteItems",
            "error": {
                "code": "TransactionCanceledException",
                "message": "any",
                "fields": {"CancellationReasons": [{"Code": "ThrottlingError"}]},
            },
        }
    )
    report = relay.announce(entry)
    assert faults.fired()
    assert (report.failed, report.published) == ({entry.key}, set())
    assert desk.stored(entry)["attempts"] == 0


def test_a_mark_in_doubt_leaves_the_entry_to_the_sweep(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    [entry] = desk.happened(owner(), 1)
    commit = desk.table.commit

    def doubtful(plan: Plan, **more: Any) -> Any:
        if plan.intent.startswith("settle"):
            raise InDoubt(Effort())
        return commit(plan, **more)

    monkeypatch.setattr(desk.table, "commit", doubtful)
    report = desk.announce(entry)
    monkeypatch.undo()
    assert (report.published, report.failed) == (set(), set())
    desk.later(LEASE_SECONDS)
    desk.sweep()
    assert desk.status(entry) == "PUBLISHED"


def test_more_than_one_claim_holds_goes_in_several(desk: Desk) -> None:
    entries = [
        entry for number in range(CLAIMS_MAX + 5) for entry in desk.happened(owner(number), 1)
    ]
    assert desk.announce(*entries, seconds=120).published == {entry.key for entry in entries}
    assert desk.outlet.batches == [10] * 5 + [5]


def test_the_sweep_says_what_is_left_and_how_old_it_is(desk: Desk) -> None:
    desk.happened(owner(1), 1)
    desk.outlet.down = True
    desk.later(90)
    desk.sweep()
    assert desk.metric("outbox.pending.count") == 1
    assert desk.metric("outbox.oldest_pending.seconds") == 90
    desk.outlet.down = False
    desk.sweep()
    assert desk.metric("outbox.pending.count") == 0
    assert desk.metric("outbox.oldest_pending.seconds") == 0


class _Hurry:
    """A clock on which every look takes a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def _die(monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> None:
    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    monkeypatch.setattr(place, name, killed)
