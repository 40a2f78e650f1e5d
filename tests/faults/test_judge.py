"""The judge judges: whatever is tampered with in a good table, it says so."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from tests.api import ADMIN, SUPERVISOR
from tests.faults import beginnings, errands
from tests.faults.company import Process, template
from tests.faults.evidence import Evidence, Item, Told
from tests.faults.judge import judge

Tamper = Callable[[Evidence], None]


def _everything(process: Process) -> dict[str, str]:
    """A company that has done a bit of everything, and announced and counted it."""
    ids = beginnings.approved(process)
    path, api = f"/cases/{ids['case']}", process.api
    for what, body in (
        ("notes", {"text": "Seen"}),
        ("tasks", {"title": "Call"}),
        ("investigators", {"userId": "u-1"}),
        ("enforcements", {"kind": "FINE"}),
        ("leases", {"seconds": 60}),
    ):
        assert api.post(f"{path}/{what}", body).status == 201
    beginnings.ordered(process)
    answer = api.post(
        f"{path}/transfers", {"toOfficerId": "o-2", "expectedVersion": 4}, actor=SUPERVISOR
    )
    errands.tell(process.company, answer)
    assert api.post("/products/lamp/restocks", {"quantity": 3}, actor=ADMIN).status == 200
    assert process.company.settle()
    return {"told": answer.headers["X-Command-Id"], "text": answer.text}


@pytest.fixture(scope="module")
def whole(client: Any) -> Evidence:
    start = template(client, _everything)
    company = start.copy(client, 0)
    seen = company.evidence()
    client.delete_table(TableName=company.name)
    answers = {start.ids["told"]: [Told(200, start.ids["text"])] * 2}
    return replace(seen, answers=answers, calls={})


@pytest.fixture
def good(whole: Evidence) -> Evidence:
    return deepcopy(whole)


def _item(seen: Evidence, pk: str, sk: str = "", **has: Any) -> Item:
    return next(i for i in seen.of(pk, sk) if all(i.get(n) == v for n, v in has.items()))


def _set(pk: str, sk: str, **values: Any) -> Tamper:
    return lambda seen: _item(seen, pk, sk).update(values)


def _without(pk: str, sk: str = "", **has: Any) -> Tamper:
    def tamper(seen: Evidence) -> None:
        gone = _item(seen, pk, sk, **has)
        seen.items = [item for item in seen.items if item is not gone]

    return tamper


def _twice(pk: str, sk: str, **other: Any) -> Tamper:
    def tamper(seen: Evidence) -> None:
        seen.items = [*seen.items, {**_item(seen, pk, sk), **other}]

    return tamper


def _told(seen: Evidence) -> None:
    [(one, told)] = seen.answers.items()
    seen.answers = {one: [*told, Told(409, "{}", "already-exists")]}


def _untold(seen: Evidence) -> None:
    seen.answers = {"f" * 32: [Told(201, "{}")]}


def _swapped(seen: Evidence) -> None:
    aggregate = next(m["aggregate"] for m in seen.messages if m["version"] == 2)
    mine = [message for message in seen.messages if message["aggregate"] == aggregate]
    seen.messages = [*reversed(mine), *(m for m in seen.messages if m not in mine)]


def _unheard(seen: Evidence) -> None:
    seen.messages = seen.messages[1:]


def _invented(seen: Evidence) -> None:
    seen.messages = [*seen.messages, {**seen.messages[0], "eventId": "invented"}]


def _called(seen: Evidence) -> None:
    seen.calls = {"operation": 1}


TAMPERED: tuple[tuple[str, Tamper], ...] = (
    ("one_effect", _without("IDEMPOTENCY#")),
    ("one_effect", _set("IDEMPOTENCY#", "COMMAND", status="FAILED_FINAL")),
    ("one_effect", _set("WORK#", "", version=2)),
    ("equal_answers", _told),
    ("equal_answers", _untold),
    ("dense_trails", _without("CASE#", "EVENT#META", version=2)),
    ("dense_trails", _set("CASE#", "META", version=9)),
    ("dense_trails", _set("OFFICER#", "PROFILE", version=2)),
    ("outbox_is_audit", _without("OUTBOX#")),
    ("outbox_is_audit", _twice("OUTBOX#", "", SK="EVENT#other", eventId="other")),
    ("outbox_is_audit", _set("OUTBOX#", "", status="NEW")),
    ("outbox_is_audit", _set("OUTBOX#", "", data={"other": 1})),
    ("outbox_is_audit", _swapped),
    ("outbox_is_audit", _unheard),
    ("outbox_is_audit", _invented),
    ("money", _set("WALLET#", "BALANCE", balance=1)),
    ("money", _without("WALLET#", "ENTRY#", version=2)),
    ("money", _twice("WALLET#", "ENTRY#", SK="ENTRY#0000000009", version=9)),
    ("money", _set("ORDER#", "META", status="CANCELLED")),
    ("money", _without("ORDER#", "META")),
    ("stock", _set("PRODUCT#acme#lamp", "STOCK#", units=99)),
    ("stock", _set("ORDER#", "META", taken={"lamp": {"0": 1}, "desk": {"0": 2}})),
    ("guards", _set("CASE#", "INVESTIGATOR_GUARD", activeCount=2)),
    ("guards", _set("CASE#", "TASK_GUARD", openCount=0)),
    ("guards", _set("CASE#", "META", noteCount=7)),
    ("guards", _without("CASE#", "ACTIVE_ENFORCEMENT_GUARD")),
    ("guards", _set("OFFICER#acme#o-2", "WORKLOAD", activeLoad=0)),
    ("guards", _set("OFFICER#acme#o-2", "WORKLOAD", maxLoad=0)),
    ("guards", _set("COUNTER#", "SHARD#", count=5)),
    ("sentinels", _without("UNIQUE#")),
    ("sentinels", _set("UNIQUE#", "", ownerId="somebody")),
    ("sentinels", _twice("UNIQUE#", "", PK="UNIQUE#acme#EMAIL#v1#nobody")),
    ("nothing_stuck", _set("IDEMPOTENCY#", "COMMAND", status="IN_PROGRESS", progressAt=1)),
    ("nothing_stuck", _called),
    ("projections", _set("PROJECTION#acme#cases-by-status", "", count=3)),
    ("projections", _without("PROJECTION#acme#cases-by-region")),
)


def test_nothing_is_wrong_with_a_good_table(good: Evidence) -> None:
    assert judge(good) == []


@pytest.mark.parametrize(("rule", "tamper"), TAMPERED)
def test_what_was_tampered_with_is_found(good: Evidence, rule: str, tamper: Tamper) -> None:
    tamper(good)
    assert rule in {fault.split(":")[0] for fault in judge(good)}
