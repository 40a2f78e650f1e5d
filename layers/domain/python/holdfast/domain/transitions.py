"""What every command on a case has in common: who, in which state, at which version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from boto3.dynamodb.conditions import Attr

from holdfast.domain.states import state_rules
from holdfast.patterns import keys, leases
from holdfast.patterns.commands import Command, plan
from holdfast.patterns.frozen import command
from holdfast.patterns.outbox import Event
from holdfast.writes.plan import Key, Plan, Write, require, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

Image = Mapping[str, Any]
Rules = Sequence[Rule]


@command
class CaseCommand(Command):
    """A command on one case; `fencing_number` is the lease it was made under, if any."""

    case_id: str
    fencing_number: int | None = None

    @property
    def key(self) -> Key:
        return keys.case(self.tenant, self.case_id)


@command
class VersionedCaseCommand(CaseCommand):
    """A command that changes a case, at the version that the caller saw."""

    expected_version: int

    @property
    def next_version(self) -> int:
        return self.expected_version + 1


def case_plan(
    cmd: CaseCommand,
    *writes: Write,
    emits: Event | Iterable[Event] = (),
    returns: Image,
    status: int = 200,
    location: str | None = None,
) -> Plan:
    """A command's plan, which also requires the lease that the command was made under."""
    held = under_lease(cmd)
    return plan(cmd, *writes, *held, emits=emits, returns=returns, status=status, location=location)


def under_lease(cmd: CaseCommand) -> list[Write]:
    """The check of the lease that the command was made under, if it was made under one."""
    if cmd.fencing_number is None:
        return []
    lock = keys.lease(cmd.tenant, cmd.case_id)
    return [leases.guarded_by(lock, owner=cmd.caller, number=cmd.fencing_number, now_ms=cmd.at_ms)]


def changed(
    cmd: VersionedCaseCommand,
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
    return case_plan(
        cmd,
        change,
        *others,
        emits=Event(kind, cmd.key, cmd.next_version, {**data, **status}),
        returns={"caseId": cmd.case_id, **returns, "version": cmd.next_version},
    )


def beside(cmd: CaseCommand, because: str, rules: Rules = ()) -> Write:
    """The case lets a member of its own change: it exists, in a fit state, for this actor."""
    return require(cmd.key, because, [*rules, *state_rules(type(cmd).__name__)])


def takes(cmd: VersionedCaseCommand) -> Rules:
    """The case is in a state that takes the command, at the version that the caller saw."""
    seen = Rule(Refusal.STALE_VERSION, Attr("version").eq(cmd.expected_version))
    return [*state_rules(type(cmd).__name__), seen]


def its_officer(cmd: CaseCommand) -> Rules:
    return [Rule(Refusal.NOT_CASE_OFFICER, Attr("officerId").eq(cmd.caller))]


def its_reviewer(cmd: CaseCommand) -> Rules:
    return [Rule(Refusal.NOT_CASE_REVIEWER, Attr("reviewerId").eq(cmd.caller))]


def its_officer_or_supervisor(cmd: CaseCommand) -> Rules:
    return [] if "supervisor" in cmd.roles else its_officer(cmd)


def same(name: str, value: Any) -> Any:
    """The attribute is as it was read, where None means that it was absent."""
    return Attr(name).not_exists() if value is None else Attr(name).eq(value)


def with_status(cmd: CaseCommand, status: str) -> Image:
    """A state together with its place in the list by status."""
    return {"status": status, "byStatus": listing(cmd.tenant, status)}


def listing(tenant: str, value: str) -> str:
    """The partition of a list index: one tenant's cases that share a value."""
    return f"{keys.part(tenant)}#{keys.part(value)}"
