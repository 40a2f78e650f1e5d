"""Reads of many items at once, beside those of `Table`; none of them is a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.writes.codec import decode_item, encode_item
from holdfast.writes.outcomes import Effort, Throttled
from holdfast.writes.plan import Key
from holdfast.writes.table import Table

BATCH_KEYS_MAX = 100
BATCH_ROUNDS_MAX = 8
"""Source: Amazon DynamoDB API reference, BatchGetItem; what it left out is asked for again."""


def batch(table: Table, wanted: Sequence[Key]) -> dict[Key, dict[str, Any]]:
    """The items of `wanted` that exist, each consistently read. Raises Throttled."""
    found: dict[Key, dict[str, Any]] = {}
    for start in range(0, len(wanted), BATCH_KEYS_MAX):
        left = [encode_item(key.attributes) for key in wanted[start : start + BATCH_KEYS_MAX]]
        for round_number in range(BATCH_ROUNDS_MAX + 1):
            if not left:
                break
            if round_number == BATCH_ROUNDS_MAX:
                raise Throttled(Effort(attempts=BATCH_ROUNDS_MAX))
            request = {table.name: {"Keys": left, "ConsistentRead": True}}
            answer = table.read(table.reader.batch_get_item, RequestItems=request)
            for item in map(decode_item, answer["Responses"].get(table.name, [])):
                found[Key(item["PK"], item["SK"])] = item
            left = answer.get("UnprocessedKeys", {}).get(table.name, {}).get("Keys", [])
    return found


def raw_range(table: Table, first: Key, last: Key) -> list[Mapping[str, Any]]:
    """The items of one partition from `first` to `last`, consistently read, as typed JSON."""
    items: list[Mapping[str, Any]] = []
    start: dict[str, Any] = {}
    while True:
        answer = table.read(
            table.reader.query,
            TableName=table.name,
            KeyConditionExpression="PK = :pk AND SK BETWEEN :first AND :last",
            ExpressionAttributeValues=encode_item(
                {":pk": first.pk, ":first": first.sk, ":last": last.sk}
            ),
            ConsistentRead=True,
            **start,
        )
        items += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return items
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


def scan_page(
    table: Table, start: Mapping[str, Any] | None, limit: int
) -> tuple[list[Mapping[str, Any]], Mapping[str, Any] | None]:
    """One page of the whole table as typed JSON, consistently read, and where the next starts.

    For reconciliation, whose role alone may scan.
    """
    more = {"ExclusiveStartKey": start} if start else {}
    answer = table.read(
        table.reader.scan, TableName=table.name, ConsistentRead=True, Limit=limit, **more
    )
    return answer["Items"], answer.get("LastEvaluatedKey")
