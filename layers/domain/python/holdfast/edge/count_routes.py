"""Commands on counts: how they are spread, checked, repaired and built again."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from holdfast.domain import intake, reconciliations
from holdfast.domain.checks import CHECKS
from holdfast.edge.caller import ADMIN
from holdfast.edge.fields import BadField, Body, Flag, Nothing
from holdfast.edge.routes import Route, one
from holdfast.patterns.counters import SHARDS_MAX


class SpreadIntake(Body, kw_only=True):
    shards: Annotated[
        int, Meta(ge=1, le=SHARDS_MAX, description=f"a whole number from 1 to {SHARDS_MAX}")
    ]


class Reconcile(Body, kw_only=True):
    names: Annotated[
        tuple[Annotated[str, Meta(max_length=64)], ...],
        Meta(max_length=len(CHECKS), description=f"some of {', '.join(CHECKS)}"),
    ] = ()
    repair: Flag = False

    def __post_init__(self) -> None:
        if not set(self.names) <= set(CHECKS):
            raise BadField("names", f"may name {', '.join(CHECKS)}")


_ADMIN = frozenset({ADMIN})

COUNT_COMMANDS = (
    Route(
        "PUT",
        "/counters/intake/shards",
        _ADMIN,
        SpreadIntake,
        intake.SpreadIntake,
        intake.spread_intake,
        reads=one(lambda cmd: cmd.key, guess=True),
    ),
    Route(
        "POST",
        "/ops/reconciliations",
        _ADMIN,
        Reconcile,
        reconciliations.Reconcile,
        reconciliations.reconcile,
        many_steps=True,
    ),
    Route(
        "POST",
        "/projections/{projection}/rebuilds",
        _ADMIN,
        Nothing,
        reconciliations.RebuildProjection,
        reconciliations.rebuild_projection,
        many_steps=True,
    ),
)
