"""What a client sends and what DynamoDB charges for it, seen from the client's own hooks."""

from __future__ import annotations

from typing import Any

WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")


class Meter:
    """Counts round trips, and capacity units apart from those of the indexes."""

    def __init__(self, client: Any) -> None:
        self.requests: list[str] = []
        self.units = 0.0
        events = client.meta.events
        events.register("before-send.dynamodb", self._sent)
        for operation in WRITES:
            events.register(f"provide-client-params.dynamodb.{operation}", self._ask)
            events.register(f"after-call.dynamodb.{operation}", self._charged)

    def reset(self) -> None:
        self.requests.clear()
        self.units = 0.0

    def _sent(self, event_name: str, **_: Any) -> None:
        self.requests.append(event_name.rpartition(".")[2])

    def _ask(self, params: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {**params, "ReturnConsumedCapacity": "INDEXES"}

    def _charged(self, parsed: dict[str, Any], **_: Any) -> None:
        charged = parsed.get("ConsumedCapacity", [])
        for table in charged if isinstance(charged, list) else [charged]:
            indexes = table.get("GlobalSecondaryIndexes", {}).values()
            self.units += table["CapacityUnits"] - sum(i["CapacityUnits"] for i in indexes)
