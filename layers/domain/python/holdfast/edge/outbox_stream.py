"""The relay's fast path: outbox entries as they appear on the table's stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.edge.relay import Relay
from holdfast.patterns import outbox
from holdfast.patterns.outbox import Entry
from holdfast.writes.codec import decode_item

Answer = dict[str, list[dict[str, str]]]


@dataclass(frozen=True)
class StreamRelay:
    """Announces the entries of a batch of stream records."""

    relay: Relay

    def __call__(self, records: Iterable[Mapping[str, Any]], *, until_ms: int) -> Answer:
        """The partial batch response: Lambda tries again from the first record that failed.

        Source: AWS Lambda developer guide, "Configuring partial batch response with DynamoDB
        and Lambda". Records behind it come again too, and find their entries announced.
        """
        read = [(record, _entry(record)) for record in records if _is_new_entry(record)]
        bad = [record for record, entry in read if entry is None]
        self.relay.telemetry.count("outbox.publish_failed.count", len(bad))
        entries = [entry for _, entry in read if entry is not None]
        report = self.relay.announce(entries, until_ms=until_ms)
        failed = [
            record["dynamodb"]["SequenceNumber"]
            for record, entry in read
            if entry is None or entry.key in report.failed
        ]
        return {"batchItemFailures": [{"itemIdentifier": number} for number in failed[:1]]}


def _is_new_entry(record: Mapping[str, Any]) -> bool:
    """Expiries, changes and the items of everything else are not announced."""
    pk = record.get("dynamodb", {}).get("Keys", {}).get("PK", {}).get("S", "")
    return record.get("eventName") == "INSERT" and pk.startswith("OUTBOX#")


def _entry(record: Mapping[str, Any]) -> Entry | None:
    """None for an image that no relay will ever understand."""
    try:
        return outbox.entry_of(decode_item(record["dynamodb"]["NewImage"]))
    except (KeyError, TypeError, ValueError):
        return None
