"""The relay's function: called with stream records, or by the schedule with none."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from holdfast.edge.clients import client
from holdfast.edge.outbox_stream import StreamRelay
from holdfast.edge.outbox_sweep import Sweep
from holdfast.edge.publishers import BusPublisher, Publisher, QueuePublisher
from holdfast.edge.relay import Relay
from holdfast.edge.telemetry import Telemetry
from holdfast.patterns.outbox import EVENTS

READ_TIMEOUT_SECONDS = 5
QUEUE_URL = "_QUEUE_URL"
ATTEMPTS = 2
"""A lost answer is asked for again at once, under the same deduplication ids."""


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def relay_handler(relay: Relay) -> Callable[[dict[str, Any], Any], Any]:
    """The Lambda handler of the stream and of the schedule."""
    stream, sweep = StreamRelay(relay), Sweep(relay)

    def handler(event: dict[str, Any], context: Any) -> Any:
        until_ms = relay.now_ms() + context.get_remaining_time_in_millis()
        try:
            if "Records" in event:
                return stream(event["Records"], until_ms=until_ms)
            return sweep(until_ms=until_ms)
        finally:
            relay.telemetry.flush()

    return handler


def publishers(telemetry: Telemetry) -> dict[str, Publisher]:
    """Where the stage sends each channel: to the queue `<CHANNEL>_QUEUE_URL`, facts to a bus if
    there is `EVENTS_BUS_NAME`."""
    settings = {"read_timeout": READ_TIMEOUT_SECONDS, "attempts": ATTEMPTS}
    queue = client("sqs", **settings)
    ways: dict[str, Publisher] = {
        name.removesuffix(QUEUE_URL).lower(): QueuePublisher(queue, url, telemetry)
        for name, url in os.environ.items()
        if name.endswith(QUEUE_URL)
    }
    if bus := os.environ.get("EVENTS_BUS_NAME"):
        ways[EVENTS] = BusPublisher(client("events", **settings), bus, telemetry)
    return ways
