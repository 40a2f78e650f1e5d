"""Records that can never be counted as they are: sent to the failure queue, and remembered.

The aggregate is marked as stuck first, so that no answer claims to have counted it, and the
mark goes when a redrive has counted the record.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from boto3.dynamodb.conditions import Attr

from holdfast.domain.projections import book_of
from holdfast.edge.arrivals import Arrival
from holdfast.edge.telemetry import Telemetry
from holdfast.patterns import keys
from holdfast.patterns.facts import tenant_of
from holdfast.writes.outcomes import Unsettled
from holdfast.writes.plan import Key, Plan, Write, create, delete
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule
from holdfast.writes.table import Table


class NotSent(Exception):
    """The failure queue did not take a record."""


@dataclass(frozen=True)
class SetAside:
    """`send` takes a message's body to the failure queue, or raises NotSent."""

    table: Table
    telemetry: Telemetry
    send: Callable[[str], None]

    def put(self, arrival: Arrival, cause: str) -> bool:
        """Put one record aside; False when that could not be done now."""
        item = {"version": arrival.version, "at": _at(arrival), "cause": cause}
        because = "The first event of an aggregate that cannot be counted is remembered."
        try:
            self._commit(create(_marker(arrival.owner), item, because))
            self.send(json.dumps({"cause": cause, "record": arrival.record}, default=str))
        except (Unsettled, NotSent) as error:
            self.telemetry.failed(error)
            return False
        return True

    def forget(self, arrival: Arrival) -> None:
        """The record is counted now; another that is stuck stays marked."""
        this = Rule(Refusal.STALE_READ, Attr("version").eq(arrival.version))
        because = "What is counted now is stuck no more."
        self._commit(delete(_marker(arrival.owner), because, [this]))

    def _commit(self, write: Write) -> None:
        self.table.commit(Plan(f"{write.because} {self.table.random()}", (write,)))


def _marker(owner: Key) -> Key:
    book = book_of(owner)
    if book is None:
        raise ValueError(f"nothing of {owner} is counted")
    return keys.stuck(tenant_of(owner.pk), book.name, keys.aggregate(owner))


def _at(arrival: Arrival) -> str:
    """As the stream says it, for the image may say anything; the event itself is no younger."""
    created = datetime.fromtimestamp(arrival.created or 0, UTC)
    return created.isoformat(timespec="milliseconds").replace("+00:00", "Z")
