"""What every command on a case has in common: who, in which state, at which version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from boto3.dynamodb.conditions import Attr

from holdfast.domain.states import state_rule
from holdfast.patterns import keys
from holdfast.patterns.commands import Command, plan
from holdfast.patterns.outbox import Event
from holdfast.writes.plan import Key, Plan, Write, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

Image = Mapping[str, Any]
Rules = Sequence[Rule]


@dataclass(frozen=True, kw_only=True)
class CaseCommand(Command):
    """A command on one case, at the version that the caller saw."""

    case_id: str
    expected_version: int

    @property
    def key(self) -> Key:
        return keys.case(self.tenant, self.case_id)

    @property
    def next_version(self) -> int:
        return self.expected_version + 1


def changed(
    cmd: CaseCommand,
    because: str,
    rules: Rules,
    *others: Write,
    set: Image,
    event: tuple[str, Image],
    returns: Image,
    remove: tuple[str, ...] = (),
) -> Plan:
    """The plan of one transition: state, version and `rules` on META, `others` beside it.

    The answer is the case as far as the transition knows it: its id, what changed, and the
    version that the change gave it.
    """
    change = update(
        cmd.key,
        because,
        [*rules, *takes(cmd)],
        set={**set, "updatedAt": cmd.at},
        add={"version": 1},
        remove=remove,
    )
    kind, data = event
    status = {"status": returns["status"]} if "status" in returns else {}
    return plan(
        cmd,
        change,
        *others,
        emits=Event(kind, cmd.key, cmd.next_version, {**data, **status}),
        returns={"caseId": cmd.case_id, **returns, "version": cmd.next_version},
    )


def takes(cmd: CaseCommand) -> Rules:
    """The case is in a state that takes the command, at the version that the caller saw."""
    return [
        state_rule(type(cmd).__name__),
        Rule(Refusal.STALE_VERSION, Attr("version").eq(cmd.expected_version)),
    ]


def its_officer(cmd: CaseCommand) -> Rules:
    return [Rule(Refusal.NOT_CASE_OFFICER, Attr("officerId").eq(cmd.caller))]


def its_reviewer(cmd: CaseCommand) -> Rules:
    return [Rule(Refusal.NOT_CASE_REVIEWER, Attr("reviewerId").eq(cmd.caller))]


def its_officer_or_supervisor(cmd: CaseCommand) -> Rules:
    return [] if "supervisor" in cmd.roles else its_officer(cmd)


def with_status(cmd: CaseCommand, status: str) -> Image:
    """A state together with its place in the list by status."""
    return {"status": status, "byStatus": listing(cmd.tenant, status)}


def listing(tenant: str, value: str) -> str:
    """The partition of a list index: one tenant's cases that share a value."""
    return f"{keys.part(tenant)}#{keys.part(value)}"
