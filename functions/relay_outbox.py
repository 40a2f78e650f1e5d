"""Stream (fast path) and schedule (sweep) -> queue: announces what was committed."""

from holdfast.edge import cold_start
from holdfast.edge.clients import table
from holdfast.edge.relay import Relay
from holdfast.edge.relay_app import now_ms, publishers, relay_handler
from holdfast.edge.telemetry import Telemetry

_telemetry = Telemetry()
handler = cold_start.ready(
    relay_handler(Relay(table(), publishers(_telemetry), _telemetry, now_ms))
)
