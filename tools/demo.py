"""Walks the main flows on the local stack with real requests: `make demo`.

Each request is printed with its answer, and each answer is held against what it must be; the
first wrong one ends the walk with exit code 1.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tools.http import Actor, Answer, Api
from tools.stack import NoStack

RACERS = 20
BUYERS = 8
SHOWN_CHARACTERS = 240
WAIT_SECONDS_MAX = 60


class Wrong(AssertionError):
    """An answer was not what it must be."""


class Walk:
    """The actors of a tenant made for this walk, and what has been proven so far."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.tenant = f"demo-{uuid.uuid4().hex[:8]}"
        self.case = ""
        self.proven: list[str] = []
        self.admin = self._actor("root", "admin")
        self.supervisor = self._actor("sue", "supervisor")
        self.officer = self._actor("omar", "officer")
        self.reviewer = self._actor("rita", "reviewer")
        self.customer = self._actor("carl", "customer")

    def _actor(self, name: str, group: str) -> Actor:
        return self.api.actor(name, [group], self.tenant)

    def received(self) -> list[dict[str, Any]]:
        """What the webhook was sent so far, oldest first."""
        answer = self.api.pool.request("GET", f"{self.api.stack['webhookUrl']}/received")
        deliveries: list[dict[str, Any]] = answer.json()["deliveries"]
        return deliveries

    def ask(
        self,
        who: Actor,
        method: str,
        path: str,
        body: Any = None,
        *,
        expect: int,
        code: str | None = None,
        **more: Any,
    ) -> Answer:
        """Send a request, print it with its answer, and hold the answer against the contract."""
        answer = who.call(method, path, body, **more)
        sent = "" if body is None else f" {json.dumps(body)}"
        print(f"\n  {who.name:6} {method} {path}{sent}"[:SHOWN_CHARACTERS])
        print(f"  {answer.status}    {json.dumps(answer.body)}"[:SHOWN_CHARACTERS])
        if (answer.status, answer.code) != (expect, code):
            raise Wrong(f"expected {expect} {code or ''}, got {answer.status} {answer.code or ''}")
        return answer

    def holds(self, what: str, truth: bool) -> None:
        """Note what has been proven, or stop."""
        if not truth:
            raise Wrong(f"not true: {what}")
        self.proven.append(what)
        print(f"  ok     {what}")


def people(walk: Walk) -> None:
    for officer_id, limit in (("omar", 10), ("olga", 10)):
        body = {
            "officerId": officer_id,
            "name": officer_id.title(),
            "email": f"{officer_id}@example.org",
            "maxLoad": limit,
        }
        walk.ask(walk.admin, "POST", "/officers", body, expect=201)


def life_of_a_case(walk: Walk) -> None:
    body = {"externalRef": "REG-1", "title": "Dust", "region": "EU-1", "priority": "HIGH"}
    made = walk.ask(walk.officer, "POST", "/cases", body, expect=201, key="first")
    again = walk.ask(walk.officer, "POST", "/cases", body, expect=201, key="first")
    walk.holds(
        "a repeated request gets the stored answer, and makes nothing twice",
        again.body == made.body and again.headers["idempotency-replayed"] == "true",
    )
    case = walk.case = f"/cases/{made.body['caseId']}"
    other = {**body, "title": "Noise"}
    walk.ask(
        walk.officer,
        "POST",
        "/cases",
        other,
        expect=422,
        code="idempotency-key-reused",
        key="first",
    )
    assign = {"officerId": "omar", "expectedVersion": 1}
    walk.ask(walk.supervisor, "POST", f"{case}/assignments", assign, expect=200)
    walk.ask(
        walk.supervisor, "POST", f"{case}/assignments", assign, expect=409, code="invalid-state"
    )
    edit = {"title": "Dust and noise", "expectedVersion": 1}
    walk.ask(walk.officer, "PATCH", case, edit, expect=409, code="version-conflict")
    submit = {"reviewerId": "rita", "expectedVersion": 2}
    walk.ask(walk.officer, "POST", f"{case}/submissions", submit, expect=200)
    _decide(walk, case)


def _decide(walk: Walk, case: str) -> None:
    with ThreadPoolExecutor(2) as pool:
        both = pool.map(
            lambda _: walk.reviewer.post(f"{case}/approvals", {"expectedVersion": 3}), range(2)
        )
        answers = Counter(answer.status for answer in both)
    walk.holds("of two approvals at one version, one wins", answers == {200: 1, 409: 1})
    task = walk.ask(walk.officer, "POST", f"{case}/tasks", {"title": "Seal it"}, expect=201)
    close = {"resolution": "Sealed", "expectedVersion": 4}
    walk.ask(walk.officer, "POST", f"{case}/closures", close, expect=409, code="open-work")
    closed = f"{case}/tasks/{task.body['taskId']}/closures"
    walk.ask(walk.officer, "POST", closed, expect=200)
    walk.ask(walk.officer, "POST", f"{case}/closures", close, expect=200)
    events = walk.ask(walk.officer, "GET", f"{case}/events", expect=200).body["items"]
    versions = [event["version"] for event in events if event["owner"] == "META"]
    walk.holds("the audit trail has each version of the case once", versions == [1, 2, 3, 4, 5])


def race_for_a_reference(walk: Walk) -> None:
    def create(number: int) -> Answer:
        body = {
            "externalRef": " reg-2 " if number % 2 else "REG-2",
            "title": f"Racer {number}",
            "region": "EU-2",
            "priority": "LOW",
        }
        return walk.officer.post("/cases", body)

    with ThreadPoolExecutor(RACERS) as pool:
        answers = Counter((one.status, one.code) for one in pool.map(create, range(RACERS)))
    print(f"\n  {RACERS} creates of one reference at once: {dict(answers)}")
    walk.holds(
        f"of {RACERS} cases under one reference, one is made",
        answers == {(201, None): 1, (409, "already-exists"): RACERS - 1},
    )


def money_and_goods(walk: Walk) -> None:
    opened = walk.ask(walk.customer, "POST", "/wallets", {"currency": "EUR"}, expect=201)
    wallet = f"/wallets/{opened.body['walletId']}"
    walk.ask(walk.customer, "POST", f"{wallet}/deposits", {"amount": 1000}, expect=200)
    lamp = {"sku": "LAMP", "name": "Lamp", "unitPrice": 100, "currency": "EUR", "stock": 5}
    walk.ask(walk.admin, "POST", "/products", {**lamp, "stockShards": 4}, expect=201)
    line = {"sku": "LAMP", "quantity": 1, "unitPrice": 100}
    order = {"walletId": opened.body["walletId"], "currency": "EUR", "lines": [line]}
    with ThreadPoolExecutor(BUYERS) as pool:
        buys = list(pool.map(lambda _: walk.customer.post("/orders", order), range(BUYERS)))
    print(f"\n  {BUYERS} orders for 5 lamps at once: {dict(Counter(b.status for b in buys))}")
    bought = [answer.body for answer in buys if answer.status == 201]
    balance = walk.ask(walk.customer, "GET", wallet, expect=200).body["balance"]
    stock = walk.ask(walk.customer, "GET", "/products/LAMP", expect=200).body["stock"]
    walk.holds(
        "money and goods move together: what was paid is what was taken",
        balance == 1000 - 100 * len(bought) and stock == 5 - len(bought) and stock >= 0,
    )
    cancel = f"/orders/{bought[0]['orderId']}/cancellations"
    with ThreadPoolExecutor(5) as pool:
        answers = list(
            pool.map(lambda _: walk.customer.post(cancel, {"expectedVersion": 1}), range(5))
        )
    after = walk.ask(walk.customer, "GET", wallet, expect=200).body["balance"]
    done = [answer.status for answer in answers].count(200)
    walk.holds("five cancellations refund once", done == 1 and after == balance + 100)


def eventually(question: Callable[[], Any]) -> Any:
    """Ask again for at most a minute, until the answer is true."""
    until = time.monotonic() + WAIT_SECONDS_MAX
    while not (answer := question()) and time.monotonic() < until:
        time.sleep(0.5)
    return answer


def announcements(walk: Walk) -> None:
    """Every event of the walk reaches the webhook, each aggregate's in version order."""
    events = walk.officer.get(f"{walk.case}/events").body["items"]
    wanted = {event["eventId"] for event in events}

    def arrived() -> list[dict[str, Any]]:
        deliveries = walk.received()
        return deliveries if wanted <= {one["eventId"] for one in deliveries} else []

    deliveries = [one for one in eventually(arrived) if one["eventId"] in wanted]
    print(f"\n  the webhook received {[one['type'] for one in deliveries]}")
    versions = [one["version"] for one in deliveries if one["aggregate"].endswith("#META")]
    walk.holds(
        "each event of the case reached the webhook once, in order",
        versions == [1, 2, 3, 4, 5] and len(deliveries) == len(wanted),
    )


def many_steps(walk: Walk) -> None:
    """An officer leaves, and a worker moves their cases one by one."""
    for number in range(4):
        body = {"externalRef": f"LEFT-{number}", "title": "Left", "region": "EU-3"}
        case = walk.officer.post("/cases", {**body, "priority": "LOW"}).body["caseId"]
        given = {"officerId": "omar", "expectedVersion": 1}
        walk.supervisor.post(f"/cases/{case}/assignments", given)
    leave = {"toOfficerIds": ["olga"]}
    path = "/officers/omar/offboardings"
    command = walk.ask(walk.admin, "POST", path, leave, expect=202).headers["location"]
    eventually(lambda: walk.admin.get(command).body["status"] != "IN_PROGRESS")
    done = walk.ask(walk.admin, "GET", command, expect=200).body
    olga = walk.ask(walk.supervisor, "GET", "/officers/olga", expect=200).body
    walk.holds(
        "a leaving officer's cases are moved, each once",
        (done["status"], done["done"], olga["activeLoad"]) == ("COMPLETED", 4, 4),
    )


def counts(walk: Walk) -> None:
    """The projection counts what the cases are; intake counts what was opened."""
    closed = {"OPEN": 5, "CLOSED": 1}
    path = "/projections/cases-by-status"
    eventually(lambda: walk.officer.get(path).body.get("counts") == closed)
    told = walk.ask(walk.officer, "GET", path, expect=200).body["counts"]
    intake = walk.ask(walk.officer, "GET", "/counters/intake?region=EU-3", expect=200).body
    walk.holds("projection and intake equal the cases", (told, intake["count"]) == (closed, 4))


STAGES: tuple[Callable[[Walk], None], ...] = (
    people,
    life_of_a_case,
    race_for_a_reference,
    money_and_goods,
    announcements,
    many_steps,
    counts,
)


def main() -> None:
    try:
        walk = Walk(Api())
        for stage in STAGES:
            print(f"\n== {stage.__name__.replace('_', ' ')}")
            stage(walk)
    except NoStack as error:
        sys.exit(str(error))
    except Wrong as error:
        sys.exit(f"\nThe demo stops here: {error}")
    print("\nProven on this stack, just now:")
    for what in walk.proven:
        print(f"  - {what}")
    print("\nThe stack is still up: `make down` stops it.")


if __name__ == "__main__":
    main()
