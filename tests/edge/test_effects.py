"""No effect twice, none forgotten: what the ledger and the webhook show after every failure."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics

from holdfast.edge.effects import Effects
from holdfast.edge.effects_app import POISON_SECONDS, Queue, effects_handler
from holdfast.edge.providers import Done, Never, NotDone, Unheard, webhook
from holdfast.edge.providers.webhook import Webhook
from holdfast.edge.telemetry import Telemetry
from holdfast.patterns import envelope, keys, side_effects
from holdfast.patterns.envelope import Envelope
from holdfast.patterns.outbox import Event, announce
from holdfast.patterns.side_effects import ATTEMPTS_MAX, HOLD_MILLISECONDS
from holdfast.writes.plan import Plan
from holdfast.writes.table import Table
from tests.relaying import AT, AT_MS, Killed
from tools.webhook import Server, receiving

SECRET = "a secret of this test"
_NUMBERS = itertools.count(1)


@pytest.fixture
def receiver() -> Iterator[Server]:
    with receiving() as server:
        yield server


class Visibility:
    """The queue's client: notes after how many seconds a message shall come back."""

    def __init__(self) -> None:
        self.waits: dict[str, int] = {}

    def change_message_visibility_batch(self, *, QueueUrl: str, Entries: list[Any]) -> None:  # noqa: N803
        self.waits |= {entry["ReceiptHandle"]: entry["VisibilityTimeout"] for entry in Entries}


class Context:
    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 60_000


@dataclass
class Bench:
    """The function on a table, a provider, and a clock that stands."""

    table: Table
    provider: Any
    now_ms: int = AT_MS
    visibility: Visibility = field(default_factory=Visibility)

    def __post_init__(self) -> None:
        self.metrics = EphemeralMetrics(namespace="Test", service="test")
        self.log = io.StringIO()
        logger = Logger(service=f"effects-{next(_NUMBERS)}", stream=self.log)
        self.effects = Effects(
            self.table,
            {"webhook": self.provider},
            Telemetry(logger, self.metrics),
            lambda: AT,
            lambda: self.now_ms,
        )
        self.handler = effects_handler(self.effects, Queue(self.visibility, "any-url"))

    def deliver(self, *events: Envelope) -> list[str]:
        """Hand messages over; the ids of the events that come back."""
        return self.deliver_raw(*(record(one) for one in events))

    def deliver_raw(self, *records: dict[str, Any]) -> list[str]:
        answer = self.handler({"Records": list(records)}, Context)
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]

    def ledger(self, event: Envelope) -> dict[str, Any]:
        return self.table.get(keys.side_effect("webhook", event.event_id)) or {}


def record(event: Envelope, body: str | None = None) -> dict[str, Any]:
    return {
        "messageId": event.event_id,
        "receiptHandle": event.event_id,
        "body": envelope.encode(event) if body is None else body,
        "attributes": {"MessageGroupId": event.aggregate, "ApproximateReceiveCount": "1"},
    }


def happened(case: str = "1", version: int = 1, type: str = "CaseEdited") -> Envelope:
    return Envelope(
        event_id=f"event-{next(_NUMBERS)}",
        type=type,
        aggregate=f"CASE#acme#{case}#META",
        version=version,
        at=AT,
        actor="o-1",
        tenant="acme",
        data={"priority": "HIGH"},
    )


class Scripted:
    """A provider that ends its calls as written beforehand, and counts them."""

    repeatable = True

    def __init__(self, *verdicts: Any, asked: Any = None) -> None:
        self.verdicts = list(verdicts)
        self.asked = asked or Unheard("CANNOT_SAY")
        self.calls: list[tuple[str, int]] = []

    def call(self, envelope: Envelope, operation_id: str, attempt: int) -> Any:
        self.calls.append((operation_id, attempt))
        verdict = self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]
        if isinstance(verdict, BaseException):
            raise verdict
        return verdict

    def ask(self, operation_id: str) -> Any:
        return self.asked


@pytest.fixture
def hooked(table: Table, receiver: Server, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(webhook, "TIMEOUT", 0.2)
    hook = Webhook(receiver.url, lambda: SECRET, private=True, now_seconds=lambda: AT_MS / 1000)
    return Bench(table, hook)


def test_an_event_is_delivered_once_and_confirmed(hooked: Bench, receiver: Server) -> None:
    event = happened()
    assert hooked.deliver(event) == hooked.deliver(event) == []
    assert receiver.receiver.deliveries == [
        {
            "eventId": event.event_id,
            "aggregate": event.aggregate,
            "version": 1,
            "type": "CaseEdited",
            "at": AT,
            "attempt": 1,
        }
    ]
    ledger = hooked.ledger(event)
    assert (ledger["status"], ledger["attempts"], ledger["reference"]) == (
        "CONFIRMED",
        1,
        "HTTP_200",
    )
    assert not {"effectState", "effectSort", "heldUntil", "data"} & ledger.keys()


def test_three_failures_a_hang_and_a_lost_answer_are_one_effect(
    hooked: Bench, receiver: Server
) -> None:
    receiver.receiver.behave([{"status": 500, "times": 3}, {"hang": 0.5}, {"drop": True}])
    event = happened()
    seen = []
    for _ in range(5):
        assert hooked.deliver(event) == [event.event_id]
        seen.append((hooked.ledger(event)["status"], hooked.ledger(event)["attempts"]))
    assert seen == [
        ("FAILED_RETRYABLE", 1),
        ("FAILED_RETRYABLE", 2),
        ("FAILED_RETRYABLE", 3),
        ("SENT", 4),
        ("SENT", 5),
    ]
    assert hooked.deliver(event) == []
    assert (hooked.ledger(event)["status"], hooked.ledger(event)["attempts"]) == ("CONFIRMED", 5)
    assert len(receiver.receiver.ran) == 1
    assert [one["attempt"] for one in receiver.receiver.deliveries] == [1, 2, 3, 4, 5]


def test_failures_come_back_later_and_later_with_the_rest_of_their_group(
    hooked: Bench, receiver: Server
) -> None:
    first, second, other = happened("1", 1), happened("1", 2), happened("2", 1)
    receiver.receiver.behave([{"status": 503, "times": 2, "aggregate": first.aggregate}])
    assert hooked.deliver(first, other, second) == [first.event_id, second.event_id]
    assert hooked.visibility.waits == {first.event_id: 2, second.event_id: 2}
    assert hooked.deliver(first, second) == [first.event_id, second.event_id]
    assert hooked.visibility.waits[first.event_id] == 4
    assert hooked.deliver(first, second) == []
    assert [one["version"] for one in receiver.receiver.ran.values()] == [1, 1, 2]


def test_a_permanent_refusal_ends_for_good_and_blocks_nobody(
    hooked: Bench, receiver: Server
) -> None:
    refused, behind, other = happened("1", 1), happened("1", 2), happened("2", 1)
    receiver.receiver.behave([{"status": 410, "aggregate": refused.aggregate}])
    assert hooked.deliver(refused, behind, other) == []
    ledger = hooked.ledger(refused)
    assert (ledger["status"], ledger["reason"]) == ("FAILED_FINAL", "HTTP_410")
    assert ledger["effectState"] == "acme#FAILED_FINAL"
    assert {hooked.ledger(one)["status"] for one in (behind, other)} == {"CONFIRMED"}


def test_a_time_out_after_the_call_does_not_call_twice(table: Table, receiver: Server) -> None:
    """Report 2: the handler dies after the provider's call; the retry finds the ledger and asks."""
    event = happened()
    hook = Webhook(receiver.url, lambda: SECRET, private=True, now_seconds=lambda: AT_MS / 1000)

    class Dying:
        repeatable = True
        ask = hook.ask

        def call(self, *call: Any) -> Any:
            assert isinstance(hook.call(*call), Done)
            raise Killed

    with pytest.raises(Killed):
        Bench(table, Dying()).deliver(event)
    bench = Bench(table, hook, now_ms=AT_MS + HOLD_MILLISECONDS + 1)
    assert bench.ledger(event)["status"] == "SENT"
    assert bench.deliver(event) == []
    assert bench.ledger(event)["status"] == "CONFIRMED"
    assert [one["attempt"] for one in receiver.receiver.deliveries] == [1]


def test_killed_before_the_call_it_is_called_when_the_hold_has_ended(table: Table) -> None:
    event = happened()
    with pytest.raises(Killed):
        Bench(table, Scripted(Killed())).deliver(event)
    provider = Scripted(Done("r-1"), asked=NotDone("NOT_SEEN"))
    bench = Bench(table, provider)
    assert bench.deliver(event) == [event.event_id]
    assert bench.visibility.waits[event.event_id] == HOLD_MILLISECONDS // 1000 + 1
    assert provider.calls == []
    bench.now_ms += HOLD_MILLISECONDS + 1
    assert bench.deliver(event) == []
    assert provider.calls == [(event.event_id, 2)]


def test_a_provider_that_cannot_say_is_called_again_only_if_it_honours_our_key(
    table: Table,
) -> None:
    repeatable, other = Scripted(Unheard("any"), Done("r")), Scripted(Unheard("any"))
    other.repeatable = False
    first, second = happened("1"), happened("2")
    for provider, event in ((repeatable, first), (other, second)):
        bench = Bench(table, provider)
        assert bench.deliver(event) == [event.event_id]
        assert bench.deliver(event) == []
    assert (len(repeatable.calls), len(other.calls)) == (2, 1)
    assert bench.ledger(first)["status"] == "CONFIRMED"
    assert bench.ledger(second)["reason"] == "OUTCOME_UNKNOWN"
    assert bench.ledger(second)["status"] == "FAILED_FINAL"


@pytest.mark.parametrize("verdict", [NotDone("HTTP_503"), Unheard("any")])
def test_what_never_succeeds_ends_for_good_after_the_stated_number_of_attempts(
    table: Table, verdict: Any
) -> None:
    provider, event = Scripted(verdict), happened()
    bench = Bench(table, provider)
    for _ in range(ATTEMPTS_MAX + 2):
        bench.deliver(event)
    assert len(provider.calls) == ATTEMPTS_MAX
    assert bench.ledger(event)["status"] == "FAILED_FINAL"


def test_a_late_attempt_does_not_overwrite_what_a_later_one_wrote(table: Table) -> None:
    event = happened()
    bench = Bench(table, Scripted(Done("second")))

    class Slow(Scripted):
        def call(self, *call: Any) -> Any:
            bench.now_ms += HOLD_MILLISECONDS + 1
            assert bench.deliver(event) == []
            return Never("late")

    slow = Bench(table, Slow(Done("unused")))
    assert slow.deliver(event) == [event.event_id]
    assert (bench.ledger(event)["status"], bench.ledger(event)["reference"]) == (
        "CONFIRMED",
        "second",
    )


def test_a_message_that_is_no_event_fails_alone_and_soon_ends_in_the_dead_letter_queue(
    table: Table,
) -> None:
    bad, good = happened("1"), happened("2")
    bench = Bench(table, Scripted(Done("r")))
    later = json.dumps({**json.loads(envelope.encode(bad)), "envelopeVersion": 2})
    for body in ("no JSON", "{}", later):
        assert bench.deliver_raw(record(bad, body), record(good)) == [bad.event_id]
        assert bench.visibility.waits[bad.event_id] == POISON_SECONDS
    assert bench.ledger(good)["status"] == "CONFIRMED"


def test_an_unforeseen_error_brings_its_message_back_and_says_nothing_personal(
    table: Table,
) -> None:
    event = happened()
    bench = Bench(table, Scripted(RuntimeError("Ada Example, ada@example.org")))
    assert bench.deliver(event) == [event.event_id]
    assert "RuntimeError" in bench.log.getvalue()
    assert "Ada" not in bench.log.getvalue()


def test_a_redriven_effect_is_made_from_the_trail_of_its_event(table: Table) -> None:
    owner = keys.case("acme", "1")
    [trail, _] = announce(
        Event("CaseEdited", owner, 1, {"priority": "LOW"}),
        command_id="c",
        tenant="acme",
        actor="o-1",
        at=AT,
    )
    table.commit(Plan(table.name, (trail,)))
    event = Envelope(
        event_id=trail.item["eventId"],
        type="CaseEdited",
        aggregate=keys.aggregate(owner),
        version=1,
        at=AT,
        actor="o-1",
        tenant="acme",
        data={"priority": "LOW"},
    )
    bench = Bench(table, Scripted(Never("HTTP_410")))
    bench.deliver(event)
    ledger = keys.side_effect("webhook", event.event_id)
    write = side_effects.redrive(ledger, bench.ledger(event), tenant="acme")
    table.commit(Plan(f"redrive {table.name}", (write,)))
    provider = Scripted(Done("r"))
    again = Envelope(
        event_id="redrive-1",
        type="SideEffectRedriven",
        aggregate=keys.aggregate(ledger),
        version=1,
        at=AT,
        actor="root",
        tenant="acme",
        data={"provider": "webhook", "operationId": event.event_id},
    )
    bench = Bench(table, provider)
    assert bench.deliver(again) == []
    assert provider.calls == [(event.event_id, 1)]
    assert bench.ledger(event)["status"] == "CONFIRMED"
