"""The wire between a process and what it calls, and everything that can go wrong on it.

A `Fault` says what happens to a call; a `Storm` is one fault in one run: it strikes at one
place among the calls that the fault can hit, keeps what it holds back, and counts how often
it has fired. All that processes see are exceptions that botocore really raises.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from tests.scripted import cancelled, failure

MINUTES_MS = 60_000
URL = "http://dynamodb.invalid"
WRITES = frozenset({"transact_write_items", "put_item", "update_item", "delete_item"})
READS = frozenset({"get_item", "query", "transact_get_items", "batch_get_item"})
OTHERS = frozenset({"send_message_batch", "send_message", "webhook"})
ENDLESS = 10**9


class Killed(BaseException):
    """The process ended here; nothing after this line ran."""


@dataclass
class Call:
    """One call of a process: `send` makes it reach its service."""

    name: str
    request: dict[str, Any]
    send: Callable[[], Any]

    @property
    def places(self) -> int:
        return len(self.request.get("TransactItems", ()))


@dataclass(frozen=True)
class Fault:
    """`act` happens to the first `times` calls that `hits` knows, from the storm's place on.

    What it holds back arrives later: with `lands_next` before the next call, else when the
    caller has had an answer, or with `lands_last` only after the caller's last try. The
    fault is over after as many answers as it `lasts`. `skew_ms` is how wrong the clock of the
    first process is, `pause_ms` how long it stands still; `expires` says that the command's
    record has outlived its time.
    """

    name: str
    hits: frozenset[str] = WRITES
    act: Callable[[Storm, Call], Any] | None = None
    times: int = 1
    lands_next: bool = False
    lands_last: bool = False
    lasts: int = 1
    skew_ms: int = 0
    pause_ms: int = 0
    expires: bool = False
    for_commands: bool = False
    """Nothing but a command with a record can meet it."""


@dataclass
class Storm:
    """One fault in one run; every call of every process of the run goes through it."""

    fault: Fault
    place: int = 0
    chance: random.Random = field(default_factory=random.Random)
    fired: int = 0
    over: bool = False
    held: list[Call] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    answers: int = 0
    keeps_tokens: bool = False
    """What arrives late has its token still, for a plan that nothing else protects."""
    meanwhile: Callable[[int], None] = lambda pause_ms: None
    """What others do while a process stands still for so many milliseconds."""

    def strike(self, call: Call) -> Any:
        """What becomes of one call."""
        if self.fault.lands_next:
            self.land()
        self.seen.append(call.name)
        if self.over or self.fault.act is None or call.name not in self.fault.hits:
            return call.send()
        before = sum(name in self.fault.hits for name in self.seen) - 1
        if before < self.place or self.fired >= self.fault.times:
            return call.send()
        self.fired += 1
        return self.fault.act(self, call)

    def answered(self) -> None:
        """The caller has had an answer, or knows that there will be none."""
        if not self.fault.lands_last:
            self.land()
        self.answers += self.fired > 0
        self.over = self.over or self.answers >= self.fault.lasts

    def land(self) -> None:
        """What was held back arrives: as it was, or so late that its token is forgotten."""
        while self.held:
            call = self.held.pop()
            if self.chance.random() < 0.5 and not self.keeps_tokens:
                call.request.pop("ClientRequestToken", None)
            try:
                call.send()
            except ClientError as error:
                code = error.response["Error"]["Code"]
                assert code in _REFUSED, error


_REFUSED = {
    "TransactionCanceledException",
    "ConditionalCheckFailedException",
    "IdempotentParameterMismatchException",
}


class Wire:
    """A low-level client whose calls meet a storm; tokens are the run's own.

    The emulator keeps tokens by account, and runs that start alike would share them.
    """

    def __init__(self, client: Any, storm: Storm, run: str) -> None:
        self._client = client
        self._storm = storm
        self._run = run

    def __getattr__(self, name: str) -> Any:
        target = getattr(self._client, name)
        if name not in WRITES | READS | OTHERS:
            return target

        def call(**request: Any) -> Any:
            if "ClientRequestToken" in request:
                text = f"{self._run}{request['ClientRequestToken']}"
                request["ClientRequestToken"] = hashlib.sha256(text.encode()).hexdigest()[:36]
            return self._storm.strike(Call(name, request, lambda: target(**request)))

        return call


def _raise(error: Callable[[Call], BaseException]) -> Callable[[Storm, Call], Any]:
    """The call is not forwarded, and ends in this error."""

    def act(_: Storm, call: Call) -> Any:
        raise error(call)

    return act


def _forward_and_raise(error: Callable[[Call], BaseException]) -> Callable[[Storm, Call], Any]:
    """The call is forwarded, and its answer replaced by this error."""

    def act(_: Storm, call: Call) -> Any:
        call.send()
        raise error(call)

    return act


def _hold(storm: Storm, call: Call) -> Any:
    """The call is on its way when its caller gives up."""
    storm.held.append(call)
    raise ReadTimeoutError(endpoint_url=URL)


def _lose(storm: Storm, call: Call) -> Any:
    """Transactions are held back, and fences are lost: nothing is known at the deadline."""
    if call.name == "transact_write_items":
        storm.held.append(call)
    raise ReadTimeoutError(endpoint_url=URL)


def _twice(storm: Storm, call: Call) -> Any:
    """The network delivers the call once more at once, and once more much later."""
    answer = call.send()
    storm.held.append(call)
    try:
        call.send()
    except ClientError as error:
        assert error.response["Error"]["Code"] in _REFUSED, error
    return answer


def _overtaken(storm: Storm, call: Call) -> Any:
    """The process stands still while another one does the same errand to its end."""
    storm.meanwhile(storm.fault.pause_ms)
    return call.send()


def _in_progress(storm: Storm, call: Call) -> Any:
    """The first answer is lost, and its repetition comes while DynamoDB is still at it."""
    if storm.fired == 1:
        call.send()
        raise ReadTimeoutError(endpoint_url=URL)
    raise failure("TransactionInProgressException")


def _mixed(storm: Storm, call: Call) -> Any:
    """A cancellation names conflicts and throttles together, and later beside a refusal."""
    codes = ["TransactionConflict", "ThrottlingError", "None"]
    if storm.fired == 1:
        if call.places < 2:
            raise failure("ThrottlingException")
        raise cancelled(*codes[:2], *[storm.chance.choice(codes) for _ in range(call.places - 2)])
    try:
        return call.send()
    except ClientError as error:
        for reason in error.response.get("CancellationReasons", ()):
            if reason["Code"] == "None":
                reason["Code"] = storm.chance.choice(codes)
        raise


def _conflict(call: Call) -> ClientError:
    if call.name != "transact_write_items":
        return failure("TransactionConflictException")
    return cancelled("TransactionConflict", *["None"] * (call.places - 1))


def _throttle(call: Call) -> ClientError:
    return failure("ProvisionedThroughputExceededException")


def _cancelled_by_throttle(call: Call) -> ClientError:
    if call.name != "transact_write_items":
        return failure("ThrottlingException")
    return cancelled(*["None"] * (call.places - 1), "ThrottlingError")


def _timeout(_: Call) -> ReadTimeoutError:
    return ReadTimeoutError(endpoint_url=URL)


def _reset(_: Call) -> ConnectionClosedError:
    return ConnectionClosedError(endpoint_url=URL)


def _no_connection(_: Call) -> EndpointConnectionError:
    return EndpointConnectionError(endpoint_url=URL)


def _server_error(_: Call) -> ClientError:
    return failure("InternalServerError", status=500)


def _killed(_: Call) -> Killed:
    return Killed()


_EDGE = WRITES | {"send_message_batch"}
_ANY = WRITES | READS | OTHERS
_LATE = {"act": _hold, "hits": frozenset({"transact_write_items"})}

FAULTS: tuple[Fault, ...] = (
    Fault("throttled twice", _EDGE | READS, _raise(_throttle), 2),
    Fault("cancelled by a throttle", act=_raise(_cancelled_by_throttle)),
    Fault("conflict once", act=_raise(_conflict)),
    Fault("conflict twice", act=_raise(_conflict), times=2),
    Fault("conflict until the deadline", act=_raise(_conflict), times=ENDLESS),
    Fault("cancelled for mixed reasons", act=_mixed, times=ENDLESS, lasts=ENDLESS),
    Fault("no connection", _EDGE | READS, _raise(_no_connection)),
    Fault("reset before sending", _EDGE, _raise(_reset)),
    Fault("time-out, never forwarded", _EDGE, _raise(_timeout)),
    Fault("commit, answer dropped", _EDGE, _forward_and_raise(_reset)),
    Fault("commit, answer timed out", _EDGE, _forward_and_raise(_timeout)),
    Fault("commit, answered with a 500", act=_forward_and_raise(_server_error)),
    Fault("commit, answers lost to the deadline", act=_forward_and_raise(_timeout), times=ENDLESS),
    Fault("commit that lands before the retry", **_LATE, lands_next=True),  # type: ignore[arg-type]
    Fault("commit that lands after the fence", **_LATE, times=ENDLESS),  # type: ignore[arg-type]
    Fault(
        "two commits that land after their fences",
        **_LATE,  # type: ignore[arg-type]
        times=ENDLESS,
        lasts=2,
        lands_last=True,
    ),
    Fault("no answer to the fence either", act=_lose, times=ENDLESS),
    Fault("no answer to the fence, commit lands last", act=_lose, times=ENDLESS, lands_last=True),
    Fault("delivered twice", act=_twice, lands_last=True),
    Fault(
        "in progress at the repetition", frozenset({"transact_write_items"}), _in_progress, times=2
    ),
    Fault("overtaken by its twin", _ANY, _overtaken),
    Fault("paused for ten minutes and overtaken", _ANY, _overtaken, pause_ms=10 * MINUTES_MS),
    Fault("killed before a call", _ANY, _raise(_killed)),
    Fault("killed after a call", _ANY, _forward_and_raise(_killed)),
    Fault("clock ten minutes ahead", skew_ms=10 * MINUTES_MS),
    Fault("clock ten minutes behind", skew_ms=-10 * MINUTES_MS),
    Fault("record expired and still there", expires=True, for_commands=True),
)
CALM = Fault("none")
