"""A DynamoDB client whose answers are written beforehand, and a clock that only sleep moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from holdfast.writes.codec import encode_item
from holdfast.writes.table import Table


def failure(code: str, *, status: int = 400, **fields: Any) -> ClientError:
    """The error that botocore makes of an answer with `code`; `fields` are the shape's own."""
    answer = {
        "Error": {"Code": code, "Message": "any text"},
        "ResponseMetadata": {"HTTPStatusCode": status},
        **fields,
    }
    return ClientError(answer, "TransactWriteItems")


def cancelled(*reasons: str | tuple[str, dict[str, Any] | None]) -> ClientError:
    """A cancelled transaction: one reason for each write, with its old image if there is one."""
    listed = []
    for reason in reasons:
        code, image = (reason, None) if isinstance(reason, str) else reason
        listed.append({"Code": code, **({"Item": encode_item(image)} if image else {})})
    return failure("TransactionCanceledException", CancellationReasons=listed)


def refused(image: dict[str, Any] | None = None) -> ClientError:
    """A failed condition of a single write."""
    fields = {"Item": encode_item(image)} if image else {}
    return failure("ConditionalCheckFailedException", **fields)


class Clock:
    """Seconds, which pass only in `sleep`."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Script:
    """Gives the next of `answers` to each write, the last one for ever; reads find `stored`."""

    def __init__(self, *answers: Any, stored: dict[str, Any] | None = None) -> None:
        self.answers = list(answers)
        self.stored = stored
        self.requests: list[dict[str, Any]] = []

    def transact_write_items(self, **request: Any) -> dict[str, Any]:
        return self._next(request)

    def put_item(self, **request: Any) -> dict[str, Any]:
        return self._next(request)

    def get_item(self, **request: Any) -> dict[str, Any]:
        assert request["ConsistentRead"]
        return {"Item": encode_item(self.stored)} if self.stored else {}

    def _next(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    @property
    def tokens(self) -> list[str | None]:
        return [request.get("ClientRequestToken") for request in self.requests]


def scripted(
    *answers: Any,
    stored: dict[str, Any] | None = None,
    chance: Callable[[], float] = lambda: 0.5,
) -> tuple[Table, Script, Clock]:
    """A table over a script; a `chance` of 0.5 is half of each longest wait."""
    script, clock = Script(*answers, stored=stored), Clock()
    table = Table(script, "any-table", clock=clock, sleep=clock.sleep, random=chance)
    return table, script, clock
