"""What a caller hears when the table gives no final answer in time; nothing of it is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import botocore.session
import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ReadTimeoutError

from holdfast.writes.table import Table
from tests.api import OFFICER, Answer, Api, case_body, event_of


def failing(fail: Callable[[str], Any]) -> Api:
    """The API on a client that never reaches a table: `fail` answers by operation name."""
    client = botocore.session.get_session().create_client(
        "dynamodb", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
    )
    client.meta.events.register("before-call.dynamodb", lambda model, **_: fail(model.name))
    return Api(Table(client, "nowhere", clock=Clock(), sleep=lambda _: None))


class Clock:
    """Each look at it costs 50 ms, so that a deadline comes without waiting."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 0.05
        return self.now


def error(code: str, **more: Any) -> tuple[AWSResponse, dict[str, Any]]:
    return AWSResponse("", 400, {}, None), {"Error": {"Code": code, "Message": "no"}, **more}


def cancelled(reason: str) -> Any:
    reasons = [{"Code": "None"}, {"Code": reason}]
    return error("TransactionCanceledException", CancellationReasons=reasons)


def lost(operation: str) -> Any:
    raise ReadTimeoutError(endpoint_url=operation)


def fenced(operation: str) -> Any:
    return lost(operation) if operation == "TransactWriteItems" else (OK, {})


OK = AWSResponse("", 200, {}, None)
CASES: list[tuple[Callable[[str], Any], str, str, str]] = [
    (lambda _: error("ThrottlingException"), "temporarily-unavailable", "1", "Throttled"),
    (lambda _: cancelled("ThrottlingError"), "temporarily-unavailable", "1", "Throttled"),
    (lambda _: cancelled("TransactionConflict"), "temporarily-unavailable", "1", "Contended"),
    (fenced, "temporarily-unavailable", "1", "Fenced"),
    (lost, "outcome-unknown", "2", "InDoubt"),
]


@pytest.mark.parametrize(("fail", "code", "after", "cause"), CASES, ids=[c[3] for c in CASES])
def test_an_unsettled_command_may_be_sent_again(
    fail: Callable[[str], Any], code: str, after: str, cause: str
) -> None:
    api = failing(fail)
    answer: Answer = api.case()
    assert (answer.status, answer.code) == (503, code)
    assert answer.headers["Retry-After"] == after
    assert answer.body["retryable"] is True
    assert answer.headers["X-Command-Id"] == answer.body["commandId"]
    [line] = api.lines()
    assert (line["outcome"], line["cause"]) == (code, cause)


def test_what_attempts_ran_into_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    failing(lambda _: cancelled("TransactionConflict")).case()
    failing(lambda _: error("ThrottlingException")).case()
    failing(lost).case()
    counted = capsys.readouterr().out
    for name in (
        "command.transaction_conflict.count",
        "command.throttled.count",
        "command.ambiguous_timeout.count",
        "command.retry.count",
    ):
        assert name in counted


def test_an_unknown_error_of_the_table_is_our_failure() -> None:
    answer = failing(lambda _: error("AccessDeniedException")).case()
    assert (answer.status, answer.code) == (500, "internal-error")
    assert "AccessDenied" not in answer.text


def test_a_short_invocation_gives_up_before_it_is_killed() -> None:
    class Hurried:
        @staticmethod
        def get_remaining_time_in_millis() -> int:
            return 2_200

    sent: list[str] = []
    api = failing(lambda name: sent.append(name) or error("ThrottlingException"))  # type: ignore[func-returns-value]
    event = event_of("POST", "/cases", case_body(), OFFICER, {"Idempotency-Key": "k"})
    assert api.send(event, Hurried).status == 503
    assert len(sent) < 5
