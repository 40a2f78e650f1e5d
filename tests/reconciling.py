"""A service in one process that counts and reconciles: an API, a projector, a worker."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from aws_lambda_powertools.metrics import EphemeralMetrics

from holdfast.edge.executor import utc_now
from holdfast.edge.reconciling import Reconciling
from holdfast.edge.telemetry import Telemetry
from holdfast.edge.workflow_runner import NotNow, Runner
from holdfast.patterns import keys
from holdfast.patterns.workflows import Progress
from holdfast.writes.codec import encode_item
from holdfast.writes.plan import Key
from holdfast.writes.table import Table
from tests.api import ADMIN, Api
from tests.projecting import Counting

Item = dict[str, Any]
TRIES_MAX = 10
"""How often a message comes back before its command is left alone."""


@dataclass
class Service:
    """`between` is called after every step of a reconciliation: what goes on meanwhile."""

    table: Table
    patience_seconds: int = 0
    page_items: int = 500
    between: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.api = Api(self.table)
        self.counting = Counting(self.table)
        self.seen: set[tuple[str, str]] = set()
        self.metrics = EphemeralMetrics(namespace="Reconciling", service="test")

    @property
    def drifts(self) -> list[float]:
        """What the runs so far have told the metric."""
        return list(self.metrics.metric_set["reconciliation.drift.count"]["Value"])

    def count(self) -> None:
        """Bring the projector every event that it has not had."""
        records = []
        for item in self.api.items():
            key = (item["PK"]["S"], item["SK"]["S"])
            if key not in self.seen and key[1].startswith("EVENT#"):
                self.seen.add(key)
                records.append(record_of_item(item))
        assert self.counting.deliver(*records) == []

    def reconcile(self, *names: str, repair: bool = False) -> dict[str, Item]:
        """Run a reconciliation to its end: its report of each check."""
        body = {"names": list(names), "repair": repair}
        answer = self.api.post("/ops/reconciliations", body, actor=ADMIN)
        assert answer.status == 202, answer.text
        return self.finish(answer.body["commandId"])

    def rebuild(self, projection: str) -> dict[str, Item]:
        path = f"/projections/{projection}/rebuilds"
        return self.finish(self.api.post(path, actor=ADMIN).body["commandId"])

    def finish(self, command_id: str) -> dict[str, Item]:
        """Advance the command as its queue does until it ends."""
        flow = Reconciling(
            Telemetry(metrics=self.metrics),
            self.patience_seconds,
            self.page_items,
            margin_seconds=0,
        ).workflow()

        def find(table: Table, progress: Progress) -> Any:
            self.between()
            return flow.find(table, progress)

        known = {flow.name: replace(flow, find=find)}
        runner = Runner(self.table, known, self.api.telemetry, utc_now, lambda *_: None)
        record = keys.command("acme", command_id)
        for _ in range(TRIES_MAX):
            with suppress(NotNow):
                runner.advance("acme", command_id, until=self.table.clock() + 600)
            if (stored := self.stored(record))["status"] != "IN_PROGRESS":
                break
        assert stored["status"] == "COMPLETED", stored
        return {check["name"]: check for check in stored["result"]["checks"]}

    def stored(self, key: Key) -> Item:
        item = self.table.get(key)
        assert item is not None, key
        return item

    def plant(self, key: Key, **change: Any) -> None:
        """Change an item behind the service's back; None takes an attribute away."""
        item = {**(self.table.get(key) or key.attributes), **change}
        kept = {name: value for name, value in item.items() if value is not None}
        self.table.client.put_item(TableName=self.table.name, Item=encode_item(kept))

    def lose(self, key: Key) -> None:
        self.table.client.delete_item(
            TableName=self.table.name, Key=encode_item(dict(key.attributes))
        )

    def repairs(self) -> list[Item]:
        """What the facts of repairs say, in any order."""
        return [
            item["data"]["M"]
            for item in self.api.items()
            if item.get("type") == {"S": "DriftRepaired"} and item["PK"]["S"][:6] != "OUTBOX"
        ]


def record_of_item(item: Item) -> Item:
    return {
        "eventName": "INSERT",
        "dynamodb": {
            "Keys": {name: item[name] for name in ("PK", "SK")},
            "NewImage": item,
            "SequenceNumber": uuid.uuid4().hex,
        },
    }
