"""Intake: how many cases were opened in each region, counted in the transaction that opens one.

It is composed onto the plan of a case: whoever opens cases decides whether they count as
intake, and the plan of a case alone costs no more for it.
"""

from __future__ import annotations

from dataclasses import replace

from holdfast.domain import cases
from holdfast.domain.cases import CreateCase
from holdfast.domain.transitions import Image
from holdfast.patterns import counters, keys
from holdfast.patterns.commands import Command, plan
from holdfast.patterns.frozen import command
from holdfast.patterns.outbox import Event
from holdfast.writes.plan import Key, Plan

INTAKE = "intake"


@command
class SpreadIntake(Command):
    """Set the number of shards that the tenant's intake is counted on."""

    shards: int

    @property
    def key(self) -> Key:
        return keys.counter(self.tenant, INTAKE)


def create_case(cmd: CreateCase, shards: int) -> Plan:
    """A case that is opened is counted in the intake of its region."""
    return counted(cmd, cases.create_case(cmd), shards)


def counted(cmd: CreateCase, case: Plan, shards: int) -> Plan:
    """The plan of a case, with its region's count; `shards` is the writer's guess."""
    one = counters.add(cmd.tenant, INTAKE, cmd.region, 1, command_id=cmd.command_id, shards=shards)
    return replace(case, writes=(*case.writes, one))


def spread_intake(cmd: SpreadIntake, seen: Image | None) -> Plan:
    """Intake is spread over more shards, or fewer, while cases are opened."""
    version = (seen["version"] if seen else 0) + 1
    told = {"shards": cmd.shards, "version": version}
    return plan(
        cmd,
        counters.spread(cmd.key, seen, cmd.shards),
        emits=Event("IntakeSpread", cmd.key, version, {"shards": cmd.shards}),
        returns={"counter": INTAKE, **told},
        remember=(cmd.key,),
    )
