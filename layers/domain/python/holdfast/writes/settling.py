"""What came back from a commit, classified by a table and never by message text.

Source of the codes: Amazon DynamoDB API reference, TransactWriteItems, PutItem and
"Common errors"; of the exceptions: botocore's `exceptions` module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from botocore import exceptions as sdk
from botocore.parsers import ResponseParserError

from holdfast.writes.codec import decode_item
from holdfast.writes.outcomes import Effort


class Sign(Enum):
    """One attempt's outcome, before the plan is settled."""

    LANDED = auto()
    REFUSED = auto()
    CONFLICT = auto()
    """Certainly cancelled, because another transaction held an item."""
    THROTTLE = auto()
    """Certainly not applied: cancelled by throttling, refused at the door, or never sent."""
    DOUBT = auto()
    """Sent; applied or not, nobody here knows."""
    MISMATCH = auto()


CODES: Mapping[str, Sign] = {
    "ConditionalCheckFailedException": Sign.REFUSED,
    "TransactionConflictException": Sign.CONFLICT,
    "ReplicatedWriteConflictException": Sign.CONFLICT,
    "ProvisionedThroughputExceededException": Sign.THROTTLE,
    "ThrottlingException": Sign.THROTTLE,
    "RequestLimitExceeded": Sign.THROTTLE,
    "TransactionInProgressException": Sign.DOUBT,
    "InternalServerError": Sign.DOUBT,
    "InternalFailure": Sign.DOUBT,
    "ServiceUnavailable": Sign.DOUBT,
    "ServiceUnavailableException": Sign.DOUBT,
    "IdempotentParameterMismatchException": Sign.MISMATCH,
}

CANCELLATIONS: Mapping[str, Sign] = {
    "ConditionalCheckFailed": Sign.REFUSED,
    "TransactionConflict": Sign.CONFLICT,
    "ProvisionedThroughputExceeded": Sign.THROTTLE,
    "ThrottlingError": Sign.THROTTLE,
}
"""Reasons inside a TransactionCanceledException; any other one is not ours to judge."""

NEVER_SENT = (sdk.EndpointConnectionError, sdk.ConnectTimeoutError, sdk.ProxyConnectionError)
SENT = (sdk.HTTPClientError, sdk.ConnectionError, sdk.IncompleteReadError, ResponseParserError)
"""Read timeouts, resets, closed connections, answers that cannot be read."""
ERRORS = (*NEVER_SENT, *SENT, sdk.ClientError)
"""All that `classify` may know; anything else a client raises propagates untouched."""


@dataclass(frozen=True)
class Attempt:
    """The sign of one attempt, and for a refusal the failed writes with their old images."""

    sign: Sign
    failed: tuple[tuple[int, dict[str, Any] | None], ...] = ()


def classify(error: Exception) -> Attempt:
    """The attempt that ended in `error`; re-raises what the tables do not know."""
    if isinstance(error, NEVER_SENT):
        return Attempt(Sign.THROTTLE)
    if isinstance(error, SENT):
        return Attempt(Sign.DOUBT)
    if not isinstance(error, sdk.ClientError):
        raise error
    code = error.response.get("Error", {}).get("Code", "")
    if code == "TransactionCanceledException":
        return _cancelled(error)
    sign = CODES.get(code)
    if sign is None and error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500:
        sign = Sign.DOUBT
    if sign is None:
        raise error
    failed = ((0, _image(error.response)),) if sign is Sign.REFUSED else ()
    return Attempt(sign, failed)


def counted(effort: Effort, sign: Sign) -> Effort:
    """The effort with one attempt more."""
    return replace(
        effort,
        attempts=effort.attempts + 1,
        conflicts=effort.conflicts + (sign is Sign.CONFLICT),
        throttles=effort.throttles + (sign is Sign.THROTTLE),
        doubts=effort.doubts + (sign is Sign.DOUBT),
    )


def _cancelled(error: sdk.ClientError) -> Attempt:
    """A failed condition outweighs a conflict, which outweighs throttling."""
    reasons = error.response.get("CancellationReasons", [])
    codes = [reason.get("Code", "None") for reason in reasons]
    signs = {CANCELLATIONS.get(code) for code in codes if code != "None"}
    if Sign.REFUSED in signs:
        places = (place for place, code in enumerate(codes) if code == "ConditionalCheckFailed")
        return Attempt(Sign.REFUSED, tuple((place, _image(reasons[place])) for place in places))
    if not signs or None in signs:
        raise error
    return Attempt(Sign.CONFLICT if Sign.CONFLICT in signs else Sign.THROTTLE)


def _image(source: Mapping[str, Any]) -> dict[str, Any] | None:
    image = source.get("Item")
    return decode_item(image) if image else None
