"""The catalogue of faults, as exceptions that botocore really raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from tests.faults.wire import OTHERS, READS, REFUSED, WRITES, Call, Fault, Killed, Storm
from tests.scripted import cancelled, failure

MINUTES_MS = 60_000
ENDLESS = 10**9
URL = "http://dynamodb.invalid"


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
    """The call is on its way when its caller gives up; the fence behind it arrives."""
    if call.fences:
        return call.send()
    storm.held.append(call)
    raise ReadTimeoutError(endpoint_url=URL)


def _lose(storm: Storm, call: Call) -> Any:
    """Transactions are held back, and fences are lost: nothing is known at the deadline."""
    if not call.fences:
        storm.held.append(call)
    raise ReadTimeoutError(endpoint_url=URL)


def _twice(storm: Storm, call: Call) -> Any:
    """The network delivers the call once more at once, and once more much later."""
    answer = call.send()
    storm.held.append(call)
    try:
        call.send()
    except ClientError as error:
        assert error.response["Error"]["Code"] in REFUSED, error
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
