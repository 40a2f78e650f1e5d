"""Officers: PROFILE owns who may be given work, WORKLOAD owns how much at most.

They are separate items so that a check of the one and a count on the other never conflict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boto3.dynamodb.conditions import Attr

from holdfast.patterns import guards, keys, uniqueness
from holdfast.patterns.commands import Command, plan
from holdfast.patterns.frozen import command
from holdfast.patterns.outbox import Event
from holdfast.patterns.uniqueness import EMAIL
from holdfast.writes.plan import Key, Plan, Write, create, require, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

ACTIVE, INACTIVE = "ACTIVE", "INACTIVE"
LOAD_MAX = 10_000
"""The most cases that any officer may be allowed at once."""


@command
class RegisterOfficer(Command):
    officer_id: str
    name: str
    email: str
    max_load: int


@command
class OfficerCommand(Command):
    """A command on one officer, at the version that the caller saw."""

    officer_id: str
    expected_version: int

    @property
    def key(self) -> Key:
        return keys.officer_profile(self.tenant, self.officer_id)


@command
class ChangeEmail(OfficerCommand):
    email: str


@command
class ActivateOfficer(OfficerCommand):
    pass


@command
class DeactivateOfficer(OfficerCommand):
    pass


@command
class ChangeMaxLoad(OfficerCommand):
    max_load: int


def register_officer(cmd: RegisterOfficer) -> Plan:
    """An officer is registered once, active, with an e-mail address that no other has."""
    key = keys.officer_profile(cmd.tenant, cmd.officer_id)
    profile = {
        "officerId": cmd.officer_id,
        "name": cmd.name,
        "email": cmd.email,
        "status": ACTIVE,
        "version": 1,
        "createdAt": cmd.at,
    }
    load = {"activeLoad": 0, "maxLoad": cmd.max_load}
    return plan(
        cmd,
        create(key, profile, "An officer id is used once in a tenant."),
        create(
            keys.officer_workload(cmd.tenant, cmd.officer_id),
            load,
            "An officer's load is counted from nothing, once.",
        ),
        uniqueness.claim(EMAIL, cmd.tenant, cmd.email, cmd.officer_id),
        emits=Event("OfficerRegistered", key, 1, {"name": cmd.name, "email": cmd.email, **load}),
        returns={**profile, **load},
        status=201,
        location=f"/officers/{cmd.officer_id}",
    )


def change_email(cmd: ChangeEmail, officer: Mapping[str, Any] | None) -> Plan:
    """An officer takes a new e-mail address and gives the old one back, in one transaction."""
    old = (officer or {}).get("email", cmd.email)
    held = Rule(Refusal.STALE_READ, Attr("email").eq(old))
    if old == cmd.email:
        seen = Rule(Refusal.STALE_VERSION, Attr("version").eq(cmd.expected_version))
        return plan(
            cmd,
            require(cmd.key, "An unchanged address is no change, and no error.", [seen, held]),
            returns=_body(cmd, cmd.expected_version, {"email": cmd.email}),
        )
    return _changed(
        cmd,
        "An officer and the sentinel of their address change together.",
        [held],
        *uniqueness.rename(EMAIL, cmd.tenant, old, cmd.email, cmd.officer_id),
        set={"email": cmd.email},
        event="OfficerEmailChanged",
    )


def activate_officer(cmd: ActivateOfficer) -> Plan:
    """An inactive officer may be given work again."""
    return _changed(
        cmd,
        "An officer is activated while inactive, at the version the administrator saw.",
        [Rule(Refusal.OFFICER_NOT_INACTIVE, Attr("status").eq(INACTIVE))],
        set={"status": ACTIVE},
        event="OfficerActivated",
    )


def deactivate_officer(cmd: DeactivateOfficer) -> Plan:
    """An active officer is given no more work; the cases they have stay theirs."""
    return _changed(
        cmd,
        "An officer is deactivated while active, at the version the administrator saw.",
        [Rule(Refusal.OFFICER_NOT_ACTIVE, Attr("status").eq(ACTIVE))],
        set={"status": INACTIVE},
        event="OfficerDeactivated",
    )


def change_max_load(cmd: ChangeMaxLoad) -> Plan:
    """A new limit holds for the next case; one below the present load takes nothing away."""
    limit = update(
        keys.officer_workload(cmd.tenant, cmd.officer_id),
        "The limit stands beside the load that it limits.",
        set={"maxLoad": cmd.max_load},
    )
    return _changed(
        cmd,
        "An officer's limit is changed at the version the supervisor saw.",
        [],
        limit,
        set={"updatedAt": cmd.at},
        event="OfficerMaxLoadChanged",
        returns={"maxLoad": cmd.max_load},
    )


def require_active(tenant: str, officer_id: str) -> Write:
    """The officer exists and is active, at the moment of the commit."""
    return require(
        keys.officer_profile(tenant, officer_id),
        "Only an active officer is given a case.",
        [Rule(Refusal.OFFICER_UNAVAILABLE, Attr("status").eq(ACTIVE))],
        missing=Refusal.OFFICER_UNAVAILABLE,
    )


def take_load(tenant: str, officer_id: str) -> Write:
    """One more case for the officer, while there is room below their limit."""
    return update(
        keys.officer_workload(tenant, officer_id),
        "An officer never has more cases than their limit.",
        [Rule(Refusal.LIMIT_REACHED, Attr("activeLoad").lt(Attr("maxLoad")))],
        add={"activeLoad": 1},
        missing=Refusal.OFFICER_UNAVAILABLE,
    )


def free_load(tenant: str, officer_id: str) -> Write:
    """One case less for the officer, whose load counts at least this one."""
    return guards.leave(
        keys.officer_workload(tenant, officer_id),
        "activeLoad",
        "An officer's load is the number of cases they have.",
    )


def _changed(
    cmd: OfficerCommand,
    because: str,
    rules: list[Rule],
    *others: Write,
    set: Mapping[str, Any],
    event: str,
    returns: Mapping[str, Any] | None = None,
) -> Plan:
    version, told = cmd.expected_version + 1, set if returns is None else returns
    seen = Rule(Refusal.STALE_VERSION, Attr("version").eq(cmd.expected_version))
    return plan(
        cmd,
        update(cmd.key, because, [*rules, seen], set=set, add={"version": 1}),
        *others,
        emits=Event(event, cmd.key, version, dict(told)),
        returns=_body(cmd, version, told),
    )


def _body(cmd: OfficerCommand, version: int, told: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"officerId": cmd.officer_id, **told, "version": version}
