"""Leases on a case: who works on it now, for how long, under which fencing number."""

from __future__ import annotations

from holdfast.domain.transitions import CaseCommand, Image, beside
from holdfast.patterns import keys, leases
from holdfast.patterns.commands import plan
from holdfast.patterns.frozen import command
from holdfast.writes.plan import Plan

LEASE_SECONDS_MAX = 900


@command
class AcquireLease(CaseCommand):
    seconds: int


@command
class RenewLease(CaseCommand):
    lease_id: str
    fencing_number: int
    seconds: int


@command
class ReleaseLease(CaseCommand):
    lease_id: str
    fencing_number: int


def acquire_lease(cmd: AcquireLease, held: Image | None) -> Plan:
    """A case is leased to one officer at a time, under a number higher than all before."""
    lease_id = cmd.new_id("lease")
    lock = keys.lease(cmd.tenant, cmd.case_id)
    return plan(
        cmd,
        beside(cmd, "Only a case that exists is leased."),
        leases.acquire(
            lock,
            held,
            lease_id=lease_id,
            owner=cmd.caller,
            now_ms=cmd.at_ms,
            seconds=cmd.seconds,
        ),
        returns=_lease(cmd, lease_id, leases.next_number(held), cmd.seconds),
        status=201,
        location=f"/cases/{cmd.case_id}/leases/{lease_id}",
    )


def renew_lease(cmd: RenewLease) -> Plan:
    """A lease is prolonged by its owner, also after its end, until someone takes it over."""
    lock = keys.lease(cmd.tenant, cmd.case_id)
    return plan(
        cmd,
        beside(cmd, "Only a case that exists is leased."),
        leases.renew(
            lock,
            lease_id=cmd.lease_id,
            owner=cmd.caller,
            number=cmd.fencing_number,
            now_ms=cmd.at_ms,
            seconds=cmd.seconds,
        ),
        returns=_lease(cmd, cmd.lease_id, cmd.fencing_number, cmd.seconds),
    )


def release_lease(cmd: ReleaseLease) -> Plan:
    """A lease is given back by its owner, and its fencing number is never used again."""
    lock = keys.lease(cmd.tenant, cmd.case_id)
    return plan(
        cmd,
        beside(cmd, "Only a case that exists is leased."),
        leases.release(lock, lease_id=cmd.lease_id, owner=cmd.caller, number=cmd.fencing_number),
        returns={"caseId": cmd.case_id, "leaseId": cmd.lease_id, "released": True},
    )


def _lease(cmd: AcquireLease | RenewLease, lease_id: str, number: int, seconds: int) -> Image:
    return {
        "caseId": cmd.case_id,
        "leaseId": lease_id,
        "fencingNumber": number,
        "leaseUntil": cmd.at_ms + seconds * 1000,
    }
