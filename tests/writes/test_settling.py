"""Every row of the settling table, with a client that fails as the row says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from boto3.dynamodb.conditions import Attr
from botocore import exceptions as sdk
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError

from holdfast.writes.outcomes import (
    Committed,
    Contended,
    Duplicate,
    Effort,
    Fenced,
    InDoubt,
    Refused,
    Throttled,
    TokenMismatch,
)
from holdfast.writes.plan import Key, Plan, create, require, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule
from holdfast.writes.settling import Sign, classify
from tests.scripted import cancelled, failure, refused, scripted

RECORD, CASE, LOAD = Key("IDEMPOTENCY#t#c", "COMMAND"), Key("CASE#t#1", "META"), Key("O#1", "LOAD")
FENCE = create(RECORD, {"status": "FAILED_RETRYABLE", "attempt": 1}, "A fence.")
STORED = {"PK": RECORD.pk, "SK": RECORD.sk, "status": "COMPLETED", "attempt": 1, "answer": "kept"}
STANDING_FENCE = {"PK": RECORD.pk, "SK": RECORD.sk, "status": "FAILED_RETRYABLE", "attempt": 1}
OK: dict[str, Any] = {}

TIMEOUT = sdk.ReadTimeoutError(endpoint_url="http://any")
CONFLICT = cancelled("None", "TransactionConflict", "None")
THROTTLE = cancelled("None", "ThrottlingError", "None")
ALWAYS_TAKEN = cancelled(("ConditionalCheckFailed", STORED), "None", "None")


def remembered(answer: Any = "fresh") -> Plan:
    """Three writes, the first of them a command record that can be fenced."""
    record = create(RECORD, {"status": "COMPLETED"}, "Once.")
    return Plan("remembered", (record, *writes()), fence=FENCE, answer=answer)


def unremembered() -> Plan:
    return Plan("unremembered", (create(Key("N#1", "N"), {}, "Once."), *writes()), answer="fresh")


def single() -> Plan:
    """One create goes without a transaction."""
    return Plan("single", (create(CASE, {"title": "mine"}, "Once."),), answer="fresh")


def writes() -> tuple[Any, ...]:
    officer = Rule(Refusal.NOT_CASE_OFFICER, Attr("officer").eq("me"))
    version = Rule(Refusal.STALE_VERSION, Attr("version").eq(7))
    room = Rule(Refusal.LIMIT_REACHED, Attr("load").lt(3))
    return (
        update(CASE, "Its officer changes it.", [officer, version], set={"status": "SHUT"}),
        require(LOAD, "There is room.", [room], missing=Refusal.OFFICER_UNAVAILABLE),
    )


@pytest.mark.parametrize(
    ("error", "sign"),
    [
        (failure("ConditionalCheckFailedException"), Sign.REFUSED),
        (failure("TransactionConflictException"), Sign.CONFLICT),
        (failure("ReplicatedWriteConflictException"), Sign.CONFLICT),
        (failure("ProvisionedThroughputExceededException"), Sign.THROTTLE),
        (failure("ThrottlingException"), Sign.THROTTLE),
        (failure("RequestLimitExceeded"), Sign.THROTTLE),
        (failure("TransactionInProgressException"), Sign.DOUBT),
        (failure("InternalServerError", status=500), Sign.DOUBT),
        (failure("ServiceUnavailable", status=503), Sign.DOUBT),
        (failure("NobodyKnowsThis", status=502), Sign.DOUBT),
        (failure("IdempotentParameterMismatchException"), Sign.MISMATCH),
        (sdk.EndpointConnectionError(endpoint_url="http://any"), Sign.THROTTLE),
        (sdk.ConnectTimeoutError(endpoint_url="http://any"), Sign.THROTTLE),
        (sdk.ProxyConnectionError(proxy_url="http://any"), Sign.THROTTLE),
        (sdk.ReadTimeoutError(endpoint_url="http://any"), Sign.DOUBT),
        (sdk.ConnectionClosedError(endpoint_url="http://any"), Sign.DOUBT),
        (sdk.HTTPClientError(error="reset"), Sign.DOUBT),
        (sdk.IncompleteReadError(actual_bytes=1, expected_bytes=2), Sign.DOUBT),
        (sdk.ResponseStreamingError(error="cut"), Sign.DOUBT),
        (ResponseParserError("half a document"), Sign.DOUBT),
        (cancelled("None", "TransactionConflict"), Sign.CONFLICT),
        (cancelled("ThrottlingError", "None"), Sign.THROTTLE),
        (cancelled("ProvisionedThroughputExceeded", "None"), Sign.THROTTLE),
        (cancelled("ThrottlingError", "TransactionConflict"), Sign.CONFLICT),
        (cancelled("TransactionConflict", "ConditionalCheckFailed"), Sign.REFUSED),
        (cancelled("ThrottlingError", "ConditionalCheckFailed"), Sign.REFUSED),
        (cancelled("ValidationError", "ConditionalCheckFailed"), Sign.REFUSED),
    ],
    ids=lambda value: value.name if isinstance(value, Sign) else None,
)
def test_an_error_is_classified_by_the_table(error: Exception, sign: Sign) -> None:
    assert classify(error).sign is sign


@pytest.mark.parametrize(
    "error",
    [
        failure("ValidationException"),
        failure("AccessDeniedException"),
        failure("ResourceNotFoundException"),
        failure("ItemCollectionSizeLimitExceededException"),
        failure("NobodyKnowsThis"),
        cancelled("None", "ValidationError"),
        cancelled("None", "ItemCollectionSizeLimitExceeded"),
        cancelled("ValidationError", "TransactionConflict"),
        cancelled("NobodyKnowsThis", "None"),
        cancelled("None", "None"),
        sdk.ParamValidationError(report="wrong"),
        sdk.NoCredentialsError(),
        sdk.NoRegionError(),
    ],
    ids=repr,
)
def test_what_the_table_does_not_know_propagates_and_is_sent_once(error: Exception) -> None:
    table, script, _ = scripted(error)
    with pytest.raises(type(error)) as raised:
        table.commit(remembered())
    assert raised.value is error
    assert len(script.requests) == 1


def test_success_is_committed_with_the_plans_answer_in_one_request() -> None:
    table, script, clock = scripted(OK)
    assert table.commit(remembered()) == Committed("fresh")
    assert script.tokens == [remembered().token]
    assert clock.slept == []


@pytest.mark.parametrize(
    "passing",
    [
        CONFLICT,
        THROTTLE,
        failure("ProvisionedThroughputExceededException"),
        sdk.ConnectTimeoutError(endpoint_url="http://any"),
        failure("TransactionInProgressException"),
        failure("InternalServerError", status=500),
        TIMEOUT,
    ],
    ids=["conflict", "throttle", "door", "unsent", "progress", "server", "silence"],
)
@pytest.mark.parametrize("plan", [remembered, unremembered, single])
def test_a_passing_failure_twice_is_success_at_attempt_three(
    passing: Exception, plan: Callable[[], Plan]
) -> None:
    """Field report 11: conflicts are retried, in a transaction and outside of one."""
    table, script, clock = scripted(passing, passing, OK)
    outcome = table.commit(plan())
    assert outcome == Committed("fresh")
    assert outcome.effort.attempts == len(script.requests) == 3
    assert len(clock.slept) == 2


def test_a_single_write_in_conflict_is_retried() -> None:
    """Field report 11: a plain write meets the conflict as an error of its own."""
    table, script, _ = scripted(failure("TransactionConflictException"), OK)
    assert table.commit(single()).effort.conflicts == 1
    assert script.tokens == [None, None]


@pytest.mark.parametrize(
    ("always", "expected"),
    [
        (CONFLICT, Contended),
        (THROTTLE, Throttled),
        (failure("ThrottlingException"), Throttled),
        (sdk.EndpointConnectionError(endpoint_url="http://any"), Throttled),
    ],
    ids=["conflict", "throttle in a transaction", "throttle at the door", "never sent"],
)
def test_a_lasting_failure_is_raised_at_the_deadline(
    always: Exception, expected: type[Exception]
) -> None:
    """Field report 11, 16: contention and throttling never end as a refusal."""
    table, script, clock = scripted(always)
    with pytest.raises(expected) as raised:
        table.commit(remembered())
    assert raised.value.effort.attempts == len(script.requests) > 10
    assert raised.value.retry_after_seconds >= 1
    assert 102.5 < clock.now < 103.0


def test_a_callers_earlier_deadline_is_kept() -> None:
    table, _, clock = scripted(CONFLICT)
    with pytest.raises(Contended):
        table.commit(remembered(), deadline=clock.now + 0.5)
    assert clock.now < 100.5


def test_a_deadline_in_the_past_still_sends_once() -> None:
    table, script, clock = scripted(OK)
    assert table.commit(remembered(), deadline=clock.now - 1) == Committed("fresh")
    table, script, clock = scripted(CONFLICT)
    with pytest.raises(Contended):
        table.commit(remembered(), deadline=clock.now - 1)
    assert len(script.requests) == 1


def test_each_certain_cancellation_takes_the_next_token_of_the_series() -> None:
    plan = remembered()
    table, script, _ = scripted(CONFLICT, THROTTLE, failure("ThrottlingException"), OK)
    table.commit(plan)
    assert script.tokens == [plan.token_of(series) for series in range(4)]


def test_doubt_sends_the_same_token_again() -> None:
    plan = remembered()
    in_progress = failure("TransactionInProgressException")
    table, script, _ = scripted(TIMEOUT, in_progress, failure("InternalServerError"), OK)
    assert table.commit(plan).effort.doubts == 3
    assert set(script.tokens) == {plan.token}


def test_after_doubt_a_plan_without_a_record_keeps_its_token() -> None:
    """A late first attempt would be recognised by nothing else."""
    plan = unremembered()
    table, script, _ = scripted(TIMEOUT, THROTTLE, CONFLICT, OK)
    table.commit(plan)
    assert set(script.tokens) == {plan.token}


def test_after_doubt_a_plan_with_a_record_may_change_its_token() -> None:
    plan = remembered()
    table, script, _ = scripted(TIMEOUT, THROTTLE, OK)
    table.commit(plan)
    assert script.tokens == [plan.token_of(0), plan.token_of(0), plan.token_of(1)]


@pytest.mark.parametrize("later", [THROTTLE, CONFLICT], ids=["throttle", "conflict"])
def test_doubt_is_sticky(later: Exception) -> None:
    table, script, _ = scripted(TIMEOUT, later)
    with pytest.raises(InDoubt):
        table.commit(unremembered())
    assert len(script.requests) > 10


def test_a_failed_condition_is_refused_and_never_retried() -> None:
    image = {"PK": "p", "SK": "s", "officer": "me", "version": 9}
    table, script, _ = scripted(cancelled("None", ("ConditionalCheckFailed", image), "None"))
    outcome = table.commit(remembered())
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.STALE_VERSION
    assert len(script.requests) == 1


def test_a_refusal_names_the_action_that_failed_and_its_old_item() -> None:
    """Field report 12: the second of five actions fails, and the refusal says so."""
    image = {"PK": "K#1", "SK": "K", "version": 9, "title": "as it was"}
    version = Rule(Refusal.STALE_VERSION, Attr("version").eq(7))
    five = [update(Key(f"K#{n}", "K"), f"Reason {n}.", [version], set={"x": n}) for n in range(5)]
    failed = cancelled("None", ("ConditionalCheckFailed", image), "None", "None", "None")
    table, _, _ = scripted(failed)
    outcome = table.commit(Plan("five", tuple(five)))
    assert outcome == Refused(Refusal.STALE_VERSION, five[1], image)


@pytest.mark.parametrize(
    ("case", "load", "expected"),
    [
        ({"officer": "you", "version": 1}, {"load": 3}, Refusal.NOT_CASE_OFFICER),
        ({"officer": "me", "version": 1}, {"load": 3}, Refusal.STALE_VERSION),
        ({"officer": "me", "version": 1}, None, Refusal.STALE_VERSION),
        (None, {"load": 3}, Refusal.NOT_FOUND),
    ],
    ids=str,
)
def test_of_several_failed_conditions_the_first_in_the_catalogue_is_told(
    case: dict[str, Any] | None, load: dict[str, Any] | None, expected: Refusal
) -> None:
    ends = {"PK": "p", "SK": "s"}
    images = [image and {**ends, **image} for image in (case, load)]
    reasons = [("ConditionalCheckFailed", image) for image in images]
    for first in ("None", "TransactionConflict", "ThrottlingError"):
        table, script, _ = scripted(cancelled(first, *reasons))
        outcome = table.commit(remembered())
        assert isinstance(outcome, Refused)
        assert outcome.refusal is expected
        assert len(script.requests) == 1


def test_the_least_of_the_refusals_wins_whatever_the_order_of_the_writes() -> None:
    load = {"PK": "p", "SK": "s", "load": 3}
    case = {"PK": "p", "SK": "s", "officer": "me", "version": 1}
    first, last = writes()
    for order, images in (((first, last), (case, load)), ((last, first), (load, case))):
        table, _, _ = scripted(cancelled(*(("ConditionalCheckFailed", image) for image in images)))
        outcome = table.commit(Plan("ordered", order))
        assert isinstance(outcome, Refused)
        assert (outcome.refusal, outcome.write) == (Refusal.STALE_VERSION, first)


def test_a_refusal_tells_every_write_that_failed_so_that_a_batch_can_go_on_without_them() -> None:
    plan = unremembered()
    stale = {**CASE.attributes, "officer": "me", "version": 6}
    table, _, _ = scripted(
        cancelled("None", ("ConditionalCheckFailed", stale), ("ConditionalCheckFailed", None))
    )
    outcome = table.commit(plan)
    assert isinstance(outcome, Refused)
    assert outcome.failed == ((plan.writes[1], stale), (plan.writes[2], None))


def test_a_refusal_that_no_rule_explains_is_loud() -> None:
    image = {"PK": "p", "SK": "s", "officer": "me", "version": 7}
    table, _, _ = scripted(cancelled("None", ("ConditionalCheckFailed", image), "None"))
    with pytest.raises(RuntimeError, match="every rule holds"):
        table.commit(remembered())


def test_a_record_that_exists_already_is_a_duplicate_with_its_image() -> None:
    failed = ("ConditionalCheckFailed", STORED)
    for reasons in ((failed, "None", "None"), (failed, ("ConditionalCheckFailed", None), "None")):
        table, script, _ = scripted(cancelled(*reasons))
        assert table.commit(remembered()) == Duplicate(STORED)
        assert len(script.requests) == 1


def test_a_mismatched_token_with_a_record_is_a_duplicate() -> None:
    """Field report 17: the record tells whose token it was; hashes are compared by it."""
    table, script, _ = scripted(failure("IdempotentParameterMismatchException"), stored=STORED)
    assert table.commit(remembered()) == Duplicate(STORED)
    assert len(script.requests) == 1


@pytest.mark.parametrize("plan", [remembered, unremembered])
def test_a_mismatched_token_without_a_record_is_a_loud_error(plan: Callable[[], Plan]) -> None:
    table, script, _ = scripted(failure("IdempotentParameterMismatchException"))
    with pytest.raises(TokenMismatch):
        table.commit(plan())
    assert len(script.requests) == 1


def test_a_single_create_that_landed_unheard_is_committed() -> None:
    """Field report 14: the item that refuses the second attempt is our own."""
    mine = {"PK": CASE.pk, "SK": CASE.sk, "title": "mine"}
    table, _, _ = scripted(TIMEOUT, refused(mine))
    assert table.commit(single()) == Committed("fresh")


def test_a_single_create_refused_without_doubt_is_refused_even_by_its_equal() -> None:
    mine = {"PK": CASE.pk, "SK": CASE.sk, "title": "mine"}
    table, _, _ = scripted(refused(mine))
    outcome = table.commit(single())
    assert isinstance(outcome, Refused)
    assert (outcome.refusal, outcome.old) == (Refusal.ALREADY_EXISTS, mine)


def test_a_single_create_refused_by_anothers_item_is_refused() -> None:
    table, _, _ = scripted(TIMEOUT, refused({"PK": CASE.pk, "SK": CASE.sk, "title": "other"}))
    assert isinstance(table.commit(single()), Refused)


def lost(*fence_answers: Any, stored: dict[str, Any] | None = None) -> Any:
    """A table whose deadline passes in doubt at once; the resolver gets `fence_answers`."""
    table, script, clock = scripted(TIMEOUT, *fence_answers, stored=stored)
    return table, script, clock.now


def test_a_fence_that_lands_is_raised_as_fenced() -> None:
    table, script, now = lost(OK)
    with pytest.raises(Fenced) as raised:
        table.commit(remembered(), deadline=now)
    assert raised.value.effort.doubts == 1
    assert script.requests[1]["Item"]["status"] == {"S": "FAILED_RETRYABLE"}


def test_a_fence_refused_by_our_own_lost_attempt_is_answered_with_what_it_stored() -> None:
    table, _, now = lost(refused(STORED))
    assert table.commit(remembered(), deadline=now) == Duplicate(STORED)


@pytest.mark.parametrize("unheard", [TIMEOUT, CONFLICT, THROTTLE], ids=["lost", "held", "slowed"])
def test_a_fence_that_is_never_answered_leaves_doubt(unheard: ClientError) -> None:
    table, script, now = lost(unheard)
    with pytest.raises(InDoubt) as raised:
        table.commit(remembered(), deadline=now)
    assert len(script.requests) == 4
    assert raised.value.retry_after_seconds == 2


def test_a_fence_sent_twice_recognises_itself() -> None:
    table, _, now = lost(TIMEOUT, refused(STANDING_FENCE))
    with pytest.raises(Fenced):
        table.commit(remembered(), deadline=now)


def test_a_fence_refused_without_an_image_leaves_doubt() -> None:
    table, _, now = lost(refused(None))
    with pytest.raises(InDoubt):
        table.commit(remembered(), deadline=now)


def test_a_fence_of_another_attempt_is_not_taken_for_ours() -> None:
    later = {**STANDING_FENCE, "attempt": 2}
    table, _, now = lost(refused(later))
    assert table.commit(remembered(), deadline=now) == Duplicate(later)


def test_the_resolver_ends_within_its_own_bounds() -> None:
    table, _, clock = scripted(TIMEOUT, chance=lambda: 0.999)
    with pytest.raises(InDoubt):
        table.commit(remembered())
    assert clock.now < 104.0


MOVED = {"PK": "p", "SK": "s", "seen": 2}
STALE = cancelled("None", ("ConditionalCheckFailed", MOVED), "None")


def computed(seen: int) -> Plan:
    moved = Rule(Refusal.STALE_READ, Attr("seen").eq(seen))
    change = update(CASE, "It rests on what was read.", [moved], set={"x": seen})
    return Plan("computed", (create(Key("N#1", "N"), {}, "Once."), change), answer=seen)


def test_a_plan_made_from_a_moved_read_is_made_again_from_a_new_one() -> None:
    table, script, clock = scripted(STALE, STALE, OK)
    reads, told = iter([1, 1, 2]), []

    def read(stale: Refused | None) -> int:
        told.append(stale and stale.old)
        return next(reads)

    assert table.commit_from(read, computed) == Committed(2)
    assert len(set(script.tokens)) == 2
    assert told == [None, MOVED, None], "the image is given at once, and is too old after a wait"
    assert len(clock.slept) == 1


def test_a_throttled_read_is_read_again_within_the_deadline() -> None:
    table, _, clock = scripted(OK)
    reads = iter([Throttled(Effort()), Throttled(Effort()), 2])

    def read(stale: Refused | None) -> int:
        found = next(reads)
        if isinstance(found, Throttled):
            raise found
        return found

    assert table.commit_from(read, computed) == Committed(2)
    assert len(clock.slept) == 2


def test_a_read_that_stays_throttled_is_throttled() -> None:
    table, script, clock = scripted(OK)

    def read(stale: Refused | None) -> int:
        raise Throttled(Effort())

    with pytest.raises(Throttled):
        table.commit_from(read, computed)
    assert (script.requests, clock.now < 103.0) == ([], True)


def test_a_read_that_keeps_moving_is_contention() -> None:
    table, script, clock = scripted(STALE)
    with pytest.raises(Contended):
        table.commit_from(lambda stale: 1, computed)
    assert len(script.requests) > 5
    assert clock.now < 103.0


def test_another_refusal_ends_a_read_compute_write() -> None:
    table, script, _ = scripted(cancelled("None", ("ConditionalCheckFailed", None), "None"))
    outcome = table.commit_from(lambda stale: 1, computed)
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.NOT_FOUND
    assert len(script.requests) == 1
