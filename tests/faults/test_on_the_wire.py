"""The faults that are the wire's own: a proxy drops, delays and refuses real connections."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.conftest import dynamodb
from tests.faults.errands import ERRANDS, Errand
from tests.faults.matrix import Course, Matrix
from tests.faults.wire import CALM, Storm
from tests.proxy import Proxy

IMPATIENT_SECONDS = 0.4
LATE_SECONDS = 0.9
CONFLICT = {
    "code": "TransactionCanceledException",
    "message": "held",
    "fields": {"CancellationReasons": [{"Code": "TransactionConflict", "Message": "held"}]},
}
RULES: dict[str, dict[str, Any]] = {
    "throttled": {"times": 2, "error": {"code": "ProvisionedThroughputExceededException"}},
    "conflict twice": {"times": 2, "error": CONFLICT},
    "reset before sending": {"times": 1, "reset": True},
    "never forwarded": {"times": 1, "timeout_ms": 500},
    "commit, answer dropped": {"times": 1, "response": {"abort_bytes": 0}},
    "commit, answer timed out": {"times": 1, "response": {"bandwidth_kbps": 0.0001}},
    "commit lands after the client gave up": {"times": 1, "latency": int(LATE_SECONDS * 1000)},
}
NAMES = ("deposit", "place an order", "transfer a case", "announce a batch")


@pytest.fixture(scope="module", params=NAMES)
def errand(request: pytest.FixtureRequest) -> Errand:
    return next(one for one in ERRANDS if one.name == request.param)


@pytest.mark.parametrize("rule", RULES)
def test_a_broken_wire_loses_nothing_and_doubles_nothing(
    matrix: Matrix, faults: Proxy, errand: Errand, rule: str
) -> None:
    start = matrix.start(errand)
    company = start.copy(matrix.client, 0)
    company.through = dynamodb(faults.url, read_timeout=IMPATIENT_SECONDS)
    answers = faults.answers
    faults.rules({"operation": "TransactWriteItems", **RULES[rule]})
    course = Course(errand, company, start.ids, Storm(CALM))
    violations = [*course.tries()]
    assert faults.fired()
    if "latency" in RULES[rule]:
        time.sleep(LATE_SECONDS)
        faults.await_answers(answers + 2)
    company.through = None
    assert [*violations, *course.ends()] == []
    matrix.client.delete_table(TableName=company.name)
