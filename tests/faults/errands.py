"""The commands of the matrix: how a company comes to the point, and what is sent then.

An errand is sent again and again, as its caller would, until it is done. Requests go under
one key; what a queue or a stream delivers is delivered again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.writes.outcomes import Unsettled
from holdfast.writes.plan import Key, Plan, accumulate
from tests.api import ADMIN, OFFICER, REVIEWER, SUPERVISOR, Actor, Answer, case_body
from tests.faults import beginnings
from tests.faults.beginnings import CUSTOMER, FINAL, Ids
from tests.faults.company import Company, Process, records
from tests.faults.evidence import Told


@dataclass(frozen=True)
class Errand:
    """`send` is true when the caller need not come again; `timed` is what depends on clocks.

    `final` are the statuses that its answer may have, `once` says that nobody may send it
    twice, and `check` what else must hold afterwards.
    """

    name: str
    prepare: Callable[[Process], Ids]
    send: Callable[[Process, Ids], bool]
    command: bool = True
    timed: bool = False
    once: bool = False
    final: frozenset[int] = FINAL
    check: Callable[[Company], Iterable[str]] = lambda company: ()


def tell(company: Company, answer: Answer) -> Answer:
    """Note an answer for the judge, by its command's id."""
    told = Told(answer.status, answer.text, answer.code if answer.status >= 400 else None)
    company.told[answer.headers["X-Command-Id"]].append(told)
    return answer


def request(
    method: str,
    path: str,
    body: Any = None,
    actor: Actor = OFFICER,
    headers: Mapping[str, str] | None = None,
) -> Callable[[Process, Ids], bool]:
    """A request under one key; `{names}` in path and body stand for what was prepared."""

    def send(process: Process, ids: Ids) -> bool:
        text = None if body is None else json.dumps(body)
        for name, value in ids.items():
            text = text and text.replace(f"<{name}>", value)
        answer = process.api.call(
            method, path.format(**ids), text, actor=actor, key="the-key", headers=headers
        )
        tell(process.company, answer)
        assert answer.status < 500 or "Retry-After" in answer.headers, answer
        return answer.status < 500

    return send


def _advance(process: Process, ids: Ids) -> bool:
    return process.advance(ids["command"])


def _relay(process: Process, ids: Ids) -> bool:
    return process.announce(records(process.company.typed(), "EVENT#", "OUTBOX#"))


def _count(process: Process, ids: Ids) -> bool:
    return process.count(records(process.company.typed(), "EVENT#"))


def _perform(process: Process, ids: Ids) -> bool:
    return process.perform(process.company.post.messages)


ADDED = Key("ADDED#acme#one", "SUM")


def _add(process: Process, ids: Ids) -> bool:
    """An addition that no record remembers; only its token tells two attempts apart."""
    process.company.added = "begun"
    plan = Plan("add", (accumulate(ADDED, "Additions commute.", {"count": 1}),))
    try:
        process.table.commit(plan)
    except Unsettled as error:
        process.company.added = type(error).__name__
        return False
    process.company.added = "Committed"
    return True


def _added(company: Company) -> Iterator[str]:
    """Committed is one addition, and what was certainly not applied is none."""
    found = [item for item in company.typed() if item["PK"]["S"] == ADDED.pk]
    count = int(found[0]["count"]["N"]) if found else 0
    allowed = {"Committed": {1}, "Throttled": {0}, "Contended": {0}}.get(company.added, {0, 1})
    if count not in allowed:
        yield f"sum: {count} after {company.added}"


REFUSED = frozenset({409})
_OF_CASE = "/cases/{case}"
SEEN = {"expectedVersion": 2}
ERRANDS: tuple[Errand, ...] = (
    Errand("create a case", beginnings.nothing, request("POST", "/cases", case_body("REG-9"))),
    Errand(
        "assign a case",
        beginnings.case,
        request(
            "POST",
            f"{_OF_CASE}/assignments",
            {"officerId": "o-1", "expectedVersion": 1},
            SUPERVISOR,
        ),
    ),
    Errand(
        "edit a case", beginnings.assigned, request("PATCH", _OF_CASE, {"title": "Soot", **SEEN})
    ),
    Errand(
        "submit a case",
        beginnings.assigned,
        request("POST", f"{_OF_CASE}/submissions", {"reviewerId": "r-1", **SEEN}),
    ),
    Errand(
        "approve a case",
        beginnings.submitted,
        request("POST", f"{_OF_CASE}/approvals", {"expectedVersion": 3}, REVIEWER),
    ),
    Errand(
        "transfer a case",
        beginnings.assigned,
        request("POST", f"{_OF_CASE}/transfers", {"toOfficerId": "o-2", **SEEN}),
    ),
    Errand(
        "rename a case",
        beginnings.assigned,
        request("PUT", f"{_OF_CASE}/external-ref", {"externalRef": "REG-7", **SEEN}),
    ),
    Errand(
        "close a case",
        beginnings.approved,
        request("POST", f"{_OF_CASE}/closures", {"resolution": "Filed", "expectedVersion": 4}),
    ),
    Errand(
        "redact a case",
        beginnings.closed,
        request("DELETE", f"{_OF_CASE}?expectedVersion=5", None, SUPERVISOR),
    ),
    Errand(
        "add a note", beginnings.assigned, request("POST", f"{_OF_CASE}/notes", {"text": "Seen"})
    ),
    Errand(
        "add an investigator",
        beginnings.investigated,
        request("POST", f"{_OF_CASE}/investigators", {"userId": "u-3"}),
    ),
    Errand(
        "open an enforcement",
        beginnings.approved,
        request("POST", f"{_OF_CASE}/enforcements", {"kind": "FINE"}),
    ),
    Errand(
        "acquire a lease",
        beginnings.assigned,
        request("POST", f"{_OF_CASE}/leases", {"seconds": 60}),
        timed=True,
    ),
    Errand(
        "edit under a lease",
        beginnings.leased,
        request(
            "PATCH", _OF_CASE, {"priority": "LOW", **SEEN}, headers={"Lease-Fencing-Number": "1"}
        ),
        timed=True,
    ),
    Errand(
        "release a lease",
        beginnings.leased,
        request("DELETE", f"{_OF_CASE}/leases/{{lease}}?fencingNumber=1"),
    ),
    Errand(
        "deposit",
        beginnings.wallet,
        request("POST", "/wallets/{wallet}/deposits", {"amount": 500}, CUSTOMER),
    ),
    Errand(
        "accrue interest",
        beginnings.wallet,
        request("POST", "/wallets/{wallet}/accruals", {"rateBasisPoints": 150}, ADMIN),
    ),
    Errand(
        "place an order", beginnings.shop, request("POST", "/orders", beginnings.ORDER, CUSTOMER)
    ),
    Errand(
        "cancel an order",
        beginnings.ordered,
        request("POST", "/orders/{order}/cancellations", {"expectedVersion": 1}, CUSTOMER),
    ),
    Errand(
        "redrive an entry",
        beginnings.dead,
        request("POST", "/ops/outbox/{event}/redrives", {}, ADMIN),
    ),
    Errand(
        "accept an offboarding",
        beginnings.loaded,
        request("POST", "/officers/o-1/offboardings", {"toOfficerIds": ["o-2"]}, ADMIN),
    ),
    Errand(
        "refuse a fourth investigator",
        beginnings.crowded,
        request("POST", f"{_OF_CASE}/investigators", {"userId": "u-4"}),
        final=REFUSED,
    ),
    Errand(
        "refuse an officer without room",
        beginnings.busy,
        request(
            "POST",
            f"{_OF_CASE}/assignments",
            {"officerId": "o-3", "expectedVersion": 1},
            SUPERVISOR,
        ),
        final=REFUSED,
    ),
    Errand(
        "refuse a taken reference",
        beginnings.loaded,
        request("PUT", f"{_OF_CASE}/external-ref", {"externalRef": " reg-2 ", **SEEN}),
        final=REFUSED,
    ),
    Errand(
        "refuse to close over a task",
        beginnings.tasked,
        request("POST", f"{_OF_CASE}/closures", {"resolution": "Filed", "expectedVersion": 4}),
        final=REFUSED,
    ),
    Errand(
        "refuse a lost lease",
        beginnings.overtaken,
        request(
            "PATCH", _OF_CASE, {"priority": "LOW", **SEEN}, headers={"Lease-Fencing-Number": "1"}
        ),
        final=REFUSED,
    ),
    Errand(
        "refuse to release a lost lease",
        beginnings.overtaken,
        request("DELETE", f"{_OF_CASE}/leases/{{lease}}?fencingNumber=1"),
        final=REFUSED,
    ),
    Errand(
        "refuse an overdraft",
        beginnings.wallet,
        request("POST", "/wallets/{wallet}/withdrawals", {"amount": 100_002}, CUSTOMER),
        final=REFUSED,
    ),
    Errand(
        "refuse what is sold out",
        beginnings.ordered,
        request(
            "POST",
            "/orders",
            {**beginnings.ORDER, "lines": [{"sku": "desk", "quantity": 8, "unitPrice": 1_000}]},
            CUSTOMER,
        ),
        final=REFUSED,
    ),
    Errand(
        "refuse a second refund",
        beginnings.refunded,
        request("POST", "/orders/{order}/cancellations", {"expectedVersion": 2}, CUSTOMER),
        final=REFUSED,
    ),
    Errand(
        "add without a record", beginnings.nothing, _add, command=False, once=True, check=_added
    ),
    Errand("step of an offboarding", beginnings.leaving, _advance, command=False),
    Errand("step of an import", beginnings.importing, _advance, command=False),
    Errand("announce a batch", beginnings.assigned, _relay, command=False),
    Errand("count a batch", beginnings.assigned, _count, command=False),
    Errand("make effects", beginnings.announced, _perform, command=False),
)
