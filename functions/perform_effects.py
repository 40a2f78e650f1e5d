"""Queue -> ledger -> provider -> ledger: what the world outside is told of events."""

from holdfast.edge import cold_start
from holdfast.edge.effects_app import (
    effects_from_environment,
    effects_handler,
    queue_from_environment,
)
from holdfast.edge.telemetry import Telemetry

handler = cold_start.ready(
    effects_handler(effects_from_environment(Telemetry()), queue_from_environment())
)
