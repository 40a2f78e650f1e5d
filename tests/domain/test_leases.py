"""Leases on a case: one owner at a time, numbers that only rise, and no write by a lost one."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import Any

import pytest

from holdfast.domain.case_leases import AcquireLease, ReleaseLease, RenewLease
from holdfast.domain.cases import EditCase
from holdfast.domain.members import AddNote, OpenTask
from holdfast.domain.redaction import RedactCase, Trail, redact_case
from holdfast.patterns import keys
from holdfast.patterns.leases import SKEW_MILLISECONDS
from holdfast.writes.outcomes import Committed, Refused
from holdfast.writes.refusals import Refusal
from tests.commands import AT, OFFICER, OTHER_OFFICER, TENANT, Item, Office, made, planner_of

SECONDS = 60
END = SECONDS * 1000


def at(milliseconds: int) -> str:
    """A time that long after `AT`, as commands carry it."""
    later = datetime.fromisoformat(AT) + timedelta(milliseconds=milliseconds)
    return later.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Desk:
    """One case, and officers who lease it."""

    def __init__(self, office: Office) -> None:
        self.office = office
        office.register()
        self.case = office.case()
        self.lock = keys.lease(TENANT, self.case["caseId"])

    def command(self, kind: Any, ms: int, owner: str = OFFICER, **fields: Any) -> Any:
        return made(kind, case_id=self.case["caseId"], caller=owner, at=at(ms), **fields)

    def acquire(self, ms: int, owner: str = OFFICER) -> Any:
        return self.command(AcquireLease, ms, owner, seconds=SECONDS)

    def renew(self, lease: Item, ms: int, owner: str = OFFICER) -> Any:
        return self.command(RenewLease, ms, owner, seconds=SECONDS, **_named(lease))

    def release(self, lease: Item, ms: int, owner: str = OFFICER) -> Any:
        return self.command(ReleaseLease, ms, owner, **_named(lease))

    def edit(self, number: int, ms: int, owner: str = OFFICER) -> Any:
        seen = {"expected_version": self.stored()["version"], "title": f"At {ms}"}
        return self.command(EditCase, ms, owner, fencing_number=number, **seen)

    def held(self, ms: int, owner: str = OFFICER) -> Item:
        """Acquire a lease that must be free; its id and number."""
        assert isinstance(self.office.send(self.acquire(ms, owner)).outcome, Committed)
        return self.office.stored(self.lock)

    def stored(self) -> Item:
        return self.office.stored(keys.case(TENANT, self.case["caseId"]))

    def refusal(self, cmd: Any) -> Refusal:
        before = self.office.items()
        refusal = self.office.refusal(cmd)
        record = keys.command(TENANT, cmd.command_id)
        after = self.office.items()
        assert after.pop(record)["status"] == "FAILED_FINAL"
        assert after == before
        return refusal


def _named(lease: Item) -> dict[str, Any]:
    return {"lease_id": lease["leaseId"], "fencing_number": lease["version"]}


@pytest.fixture
def desk(office: Office) -> Desk:
    return Desk(office)


def test_a_lease_held_by_one_is_refused_to_another_until_it_ends(desk: Desk) -> None:
    desk.held(0)
    assert desk.refusal(desk.acquire(1, OTHER_OFFICER)) is Refusal.LEASE_HELD
    assert desk.refusal(desk.acquire(END + SKEW_MILLISECONDS, OTHER_OFFICER)) is Refusal.LEASE_HELD


def test_an_expired_lease_is_taken_at_the_first_try_under_a_higher_number(desk: Desk) -> None:
    """Field report 24: the owner is dead, the lease past; the token is one more."""
    first = desk.held(0)
    second = desk.held(END + SKEW_MILLISECONDS + 1, OTHER_OFFICER)
    assert (second["owner"], second["version"]) == (OTHER_OFFICER, first["version"] + 1)


def test_a_paused_owner_whose_lease_was_taken_over_writes_nothing(desk: Desk) -> None:
    """Field report 22: A pauses past its lease, B acquires, A writes and is rejected."""
    first = desk.held(0)
    late = END + SKEW_MILLISECONDS + 1
    second = desk.held(late, OTHER_OFFICER)
    for now in (late + 1, 1):  # and by a clock that stands still
        assert desk.refusal(desk.edit(first["version"], now)) is Refusal.LEASE_LOST
    assert desk.refusal(desk.edit(second["version"], late + 1)) is Refusal.LEASE_LOST
    assert desk.stored()["title"] == desk.case["title"]


def test_nothing_runs_after_the_answer_and_the_lease_ends_on_time(desk: Desk) -> None:
    """Field report 23: no heartbeat, no thread, no renewal; the lease expires as promised."""
    before = set(threading.enumerate())
    lease = desk.held(0)
    assert set(threading.enumerate()) == before
    assert desk.office.stored(desk.lock) == lease
    assert lease["leaseUntil"] == made(AcquireLease, case_id="c", seconds=1).at_ms + END
    assert desk.refusal(desk.edit(lease["version"], END)) is Refusal.LEASE_LOST


def test_a_write_under_a_running_lease_stands_and_names_its_number(desk: Desk) -> None:
    lease = desk.held(0)
    assert isinstance(desk.office.send(desk.edit(lease["version"], END - 1)).outcome, Committed)
    assert desk.refusal(desk.edit(lease["version"] + 1, 1)) is Refusal.LEASE_LOST


@pytest.mark.parametrize("kind", [AddNote, OpenTask])
def test_every_case_command_takes_a_fencing_number(desk: Desk, kind: Any) -> None:
    fields = {AddNote: {"text": "Seen"}, OpenTask: {"title": "Call"}}[kind]
    stale = desk.command(kind, 1, fencing_number=9, **fields)
    assert desk.refusal(stale) is Refusal.LEASE_LOST
    lease = desk.held(0)
    fresh = desk.command(kind, 1, fencing_number=lease["version"], **fields)
    assert isinstance(desk.office.send(fresh).outcome, Committed)


@pytest.mark.parametrize("images", [(), None], ids=["in one transaction", "step by step"])
def test_a_redaction_requires_the_lease_that_it_is_made_under(images: Any) -> None:
    cmd = made(RedactCase, case_id="c-1", expected_version=6, fencing_number=4)
    case = {"version": 6, "externalRef": "REG-1", "status": "CLOSED"}
    plan = redact_case(cmd, Trail(case, images))
    assert keys.lease(TENANT, "c-1") in {write.key for write in plan.writes}


def test_a_lease_is_renewed_by_its_owner_also_after_its_end(desk: Desk) -> None:
    lease = desk.held(0)
    assert isinstance(desk.office.send(desk.renew(lease, END + 5_000)).outcome, Committed)
    renewed = desk.office.stored(desk.lock)
    assert renewed["version"] == lease["version"]
    assert renewed["leaseUntil"] - lease["leaseUntil"] == END + 5_000
    assert desk.refusal(desk.acquire(END + 6_000, OTHER_OFFICER)) is Refusal.LEASE_HELD


def test_a_foreigner_neither_renews_nor_releases(desk: Desk) -> None:
    lease = desk.held(0)
    for attempt in (desk.renew(lease, 1, OTHER_OFFICER), desk.release(lease, 1, OTHER_OFFICER)):
        assert desk.refusal(attempt) is Refusal.LEASE_HELD
    assert desk.office.stored(desk.lock) == lease


def test_an_old_number_neither_renews_nor_releases(desk: Desk) -> None:
    first = desk.held(0)
    second = desk.held(END + SKEW_MILLISECONDS + 1)
    for attempt in (desk.renew(first, END * 2), desk.release(first, END * 2)):
        assert desk.refusal(attempt) is Refusal.LEASE_LOST
    assert desk.office.stored(desk.lock) == second


def test_a_released_lease_is_free_at_once_and_its_number_never_comes_back(desk: Desk) -> None:
    first = desk.held(0)
    assert isinstance(desk.office.send(desk.release(first, 1)).outcome, Committed)
    assert desk.refusal(desk.release(first, 2)) is Refusal.LEASE_LOST
    assert desk.refusal(desk.edit(first["version"], 2)) is Refusal.LEASE_LOST
    assert desk.held(2, OTHER_OFFICER)["version"] == first["version"] + 1


def test_a_lease_that_nobody_ever_took_is_lost(desk: Desk) -> None:
    nobodys = {"leaseId": "l-1", "version": 1}
    assert desk.refusal(desk.renew(nobodys, 1)) is Refusal.LEASE_LOST
    assert desk.refusal(desk.release(nobodys, 1)) is Refusal.LEASE_LOST


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("taken_before", [False, True], ids=["fresh", "expired"])
def test_of_two_who_read_a_free_lock_one_holds_it(
    desk: Desk, first: int, *, taken_before: bool
) -> None:
    if taken_before:
        desk.held(0)
    now = END * 2
    seen = desk.office.table.get(desk.lock)
    racers = [desk.acquire(now), desk.acquire(now, OTHER_OFFICER)]
    plans = [planner_of(AcquireLease)(cmd, seen) for cmd in racers]
    assert isinstance(desk.office.table.commit(plans[first]), Committed)
    lost = desk.office.table.commit(plans[1 - first])
    assert isinstance(lost, Refused)
    assert lost.refusal is Refusal.STALE_READ
    assert desk.refusal(racers[1 - first]) is Refusal.LEASE_HELD


@pytest.mark.parametrize("write_first", [True, False])
def test_of_a_write_and_a_takeover_the_write_lands_only_before(
    desk: Desk, *, write_first: bool
) -> None:
    lease = desk.held(0)
    late = END + SKEW_MILLISECONDS + 1
    write = planner_of(EditCase)(desk.edit(lease["version"], END - 1))
    takeover = planner_of(AcquireLease)(desk.acquire(late, OTHER_OFFICER), lease)
    plans = [write, takeover] if write_first else [takeover, write]
    outcomes = [desk.office.table.commit(plan) for plan in plans]
    assert isinstance(outcomes[0], Committed)
    assert isinstance(outcomes[1], Committed if write_first else Refused)
