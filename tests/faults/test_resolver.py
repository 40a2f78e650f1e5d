"""The resolver, branch by branch, as the caller of a command sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from tests.api import Answer
from tests.faults import beginnings
from tests.faults.beginnings import CUSTOMER
from tests.faults.company import Company, Template, template
from tests.faults.evidence import plain
from tests.faults.judge import judge
from tests.faults.wire import CALM, WRITES, Call, Storm


@pytest.fixture(scope="module")
def start(client: Any) -> Template:
    return template(client, beginnings.wallet)


@pytest.fixture
def company(client: Any, start: Template) -> Iterator[Company]:
    """A wallet of 100,001; every test ends before the judge."""
    one = start.copy(client, 0)
    yield one
    assert one.settle()
    assert judge(one.evidence()) == []
    client.delete_table(TableName=one.name)


class Weather(Storm):
    """Says what happens to transactions and to fences, the last of them for ever: passed, lost
    on the way, done and unanswered, or late."""

    def __init__(self, transactions: Sequence[str], fence: str = "passed") -> None:
        super().__init__(CALM)
        self.transactions, self.fence = list(transactions), fence

    def strike(self, call: Call) -> Any:
        if call.name not in WRITES:
            return call.send()
        self.seen.append("fence" if call.fences else "transaction")
        left = self.transactions
        fate = self.fence if call.fences else left.pop(0) if len(left) > 1 else left[0]
        if fate == "late":
            self.held.append(call)
        elif fate != "lost":
            answer = call.send()
            if fate == "passed":
                return answer
        raise ReadTimeoutError(endpoint_url="http://any")


def deposit(company: Company, start: Template, weather: Storm | None = None) -> Answer:
    path = f"/wallets/{start.ids['wallet']}/deposits"
    api = company.process(weather).api
    return api.post(path, {"amount": 500}, actor=CUSTOMER, key="the-key")


def record(company: Company) -> dict[str, Any]:
    [found] = [
        item
        for item in map(plain, company.typed())
        if item["PK"].startswith("IDEMPOTENCY#") and item["clientKey"] == "the-key"
    ]
    return found


def balance(company: Company) -> int:
    [found] = [i for i in map(plain, company.typed()) if i["SK"] == "BALANCE"]
    return int(found["balance"])


def test_committed_and_answered_by_the_retry(company: Company, start: Template) -> None:
    """The answer was lost; the same token again brings it."""
    weather = Weather(["done", "passed"])
    first = deposit(company, start, weather)
    assert (first.status, weather.seen) == (200, ["transaction"] * 2)
    assert "Idempotency-Replayed" not in first.headers
    assert balance(company) == 100_501
    again = deposit(company, start)
    assert (again.text, again.headers["Idempotency-Replayed"]) == (first.text, "true")


def test_committed_and_found_in_the_record(company: Company, start: Template) -> None:
    """Every answer is lost until the deadline; the fence is refused by the record that stands."""
    weather = Weather(["done"])
    answer = deposit(company, start, weather)
    assert answer.status == 200
    assert weather.seen.count("fence") == 1
    assert balance(company) == 100_501
    assert record(company)["status"] == "COMPLETED"
    assert deposit(company, start).text == answer.text


def test_fenced_and_the_late_transaction_refused(company: Company, start: Template) -> None:
    """Nothing was done, and never can be; the same key does it at the next try, once."""
    weather = Weather(["late"])
    answer = deposit(company, start, weather)
    assert (answer.status, answer.code) == (503, "temporarily-unavailable")
    assert record(company)["status"] == "FAILED_RETRYABLE"
    weather.land()
    assert balance(company) == 100_001
    retried = deposit(company, start)
    assert (retried.status, balance(company)) == (200, 100_501)
    assert record(company)["attempt"] == 2


def test_a_transaction_that_lands_after_the_next_attempt_is_refused(
    company: Company, start: Template
) -> None:
    """A retry after a fence is attempt 2, which an attempt 1 that wakes up cannot overwrite."""
    weather = Weather(["late"])
    assert deposit(company, start, weather).status == 503
    retried = deposit(company, start)
    stored = record(company)
    weather.land()
    assert record(company) == stored
    assert (retried.status, balance(company)) == (200, 100_501)


def test_two_fences_in_a_row_leave_the_third_attempt_to_succeed(
    company: Company, start: Template
) -> None:
    weathers = [Weather(["late"]) for _ in range(2)]
    assert [deposit(company, start, one).status for one in weathers] == [503, 503]
    assert record(company)["attempt"] == 2
    for weather in weathers:
        weather.land()
    assert deposit(company, start).status == 200
    assert (record(company)["attempt"], balance(company)) == (3, 100_501)


@pytest.mark.parametrize(
    ("transaction", "fence", "told"),
    [
        ("lost", "lost", "outcome-unknown"),
        ("late", "lost", "outcome-unknown"),
        ("done", "lost", "outcome-unknown"),
        ("lost", "done", "temporarily-unavailable"),
        ("done", "done", None),
    ],
)
def test_even_the_fence_unanswered_and_then_the_same_key_is_right(
    company: Company, start: Template, transaction: str, fence: str, told: str | None
) -> None:
    """A fence that was done and unanswered is recognised when it is sent again; behind one that
    was lost nobody knows anything. Asked again, the same key has the right answer."""
    weather = Weather([transaction], fence)
    answer = deposit(company, start, weather)
    assert (answer.status, answer.code) == (503 if told else 200, told)
    weather.land()
    retried = deposit(company, start)
    assert (retried.status, balance(company)) == (200, 100_501)
    assert deposit(company, start).text == retried.text
