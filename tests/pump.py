"""What Lambda's stream poller does, over GetRecords: batches, partial failures, finite retries.

The emulator's own poller ignores partial answers, the retry limit, bisection and the failure
queue, so what depends on them is tested here, and the mapping itself on the template.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import boto3

from tests.conftest import CREDENTIALS
from tools.emulator import REGION

Record = dict[str, Any]
Handler = Callable[[list[Record]], dict[str, Any]]


class Stream:
    """The stream of one table, read from its beginning."""

    def __init__(self, endpoint: str, dynamodb: Any, table_name: str) -> None:
        dynamodb.update_table(
            TableName=table_name,
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        )
        arn = dynamodb.describe_table(TableName=table_name)["Table"]["LatestStreamArn"]
        self.client = boto3.client(
            "dynamodbstreams", endpoint_url=endpoint, region_name=REGION, **CREDENTIALS
        )
        described = self.client.describe_stream(StreamArn=arn)["StreamDescription"]
        self._iterators = [
            self.client.get_shard_iterator(
                StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
            for shard in described["Shards"]
        ]

    def read(self) -> list[Record]:
        """The records that were written since the last read."""
        found = []
        for place, iterator in enumerate(self._iterators):
            answer = self.client.get_records(ShardIterator=iterator)
            found += answer["Records"]
            self._iterators[place] = answer["NextShardIterator"]
        return [_as_event(record) for record in found]


@dataclass
class Pump:
    """Delivers records as an event source mapping with these settings does.

    `dead` holds what the mapping's failure queue would be told of.
    """

    handler: Handler
    batch_size: int = 100
    retries: int = 3
    bisect: bool = True
    dead: list[Record] = field(default_factory=list)

    def deliver(self, records: Sequence[Record]) -> None:
        for start in range(0, len(records), self.batch_size):
            self._batch(list(records[start : start + self.batch_size]), self.retries)

    def _batch(self, records: list[Record], retries: int) -> None:
        """Source: AWS Lambda developer guide, "Using Lambda to process records from DynamoDB".

        A partial answer names the first record to start again from; a batch that cannot
        advance is halved, and what is left of it alone after the last retry is given up.
        """
        while records:
            first = self._first_failed(records)
            if first is None:
                return
            records = records[first:]
            if self.bisect and len(records) > 1:
                middle = len(records) // 2
                self._batch(records[:middle], retries)
                self._batch(records[middle:], retries)
                return
            if retries == 0:
                self.dead += records
                return
            retries -= 1

    def _first_failed(self, records: list[Record]) -> int | None:
        try:
            answer = self.handler(records)
        except Exception:  # noqa: BLE001 -- a raised error is one of the answers it may get
            return 0
        numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
        failures = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
        return min((numbers.index(number) for number in failures), default=None)


def _as_event(record: Record) -> Record:
    """The SDK turns times into objects, Lambda sends numbers."""
    moment = record["dynamodb"].get("ApproximateCreationDateTime")
    if hasattr(moment, "timestamp"):
        record["dynamodb"]["ApproximateCreationDateTime"] = moment.timestamp()
    return record
