"""Commands on counters."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from holdfast.domain import intake
from holdfast.edge.caller import ADMIN
from holdfast.edge.fields import Body
from holdfast.edge.routes import Route, one
from holdfast.patterns.counters import SHARDS_MAX


class SpreadIntake(Body, kw_only=True):
    shards: Annotated[
        int, Meta(ge=1, le=SHARDS_MAX, description=f"a whole number from 1 to {SHARDS_MAX}")
    ]


COUNT_COMMANDS = (
    Route(
        "PUT",
        "/counters/intake/shards",
        frozenset({ADMIN}),
        SpreadIntake,
        intake.SpreadIntake,
        intake.spread_intake,
        reads=one(lambda cmd: cmd.key),
    ),
)
