"""Stories: any commands in any order, with faults on the way, that Hypothesis makes short.

Each request is sent under one key until it has a final answer. A story ends before the judge;
one that fails is shrunk to the few requests and faults that it takes.
"""

from __future__ import annotations

import os
import random
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.api import ADMIN, OFFICER, REVIEWER, SUPERVISOR, Actor, Answer
from tests.conftest import create_table
from tests.faults.beginnings import CUSTOMER
from tests.faults.catalogue import FAULTS
from tests.faults.company import Company
from tests.faults.errands import tell
from tests.faults.judge import judge
from tests.faults.wire import CALM, Fault, Killed, Storm

STORIES = int(os.environ.get("STORIES", "6"))
STEPS, TRIES_MAX = 40, 8
DOCUMENTED = {200, 201, 202, 403, 404, 409, 422}
faults = st.just(CALM) | st.sampled_from([fault for fault in FAULTS if fault.act])
behind = st.sampled_from([0, 0, 0, 1])
"""How far a caller's version of a case lies behind."""
officers = st.sampled_from(["o-1", "o-2", "o-3"])
references = st.sampled_from(["REG-1", " reg-1 ", "ＲＥＧ-2", "REG-2", "REG-3"])
amounts = st.integers(1, 400)
IN_CHARGE = Actor("o-1", "officer,supervisor")
CASE_CALLS: tuple[tuple[str, str, dict[str, Any], Actor], ...] = (
    ("PATCH", "", {"title": "Soot"}, OFFICER),
    ("POST", "/submissions", {"reviewerId": "r-1"}, OFFICER),
    ("POST", "/approvals", {}, REVIEWER),
    ("POST", "/rejections", {"reason": "No"}, REVIEWER),
    ("POST", "/reopenings", {}, OFFICER),
    ("POST", "/closures", {"resolution": "Filed"}, SUPERVISOR),
    ("PUT", "/legal-hold", {"hold": True}, SUPERVISOR),
    ("PUT", "/legal-hold", {"hold": False}, SUPERVISOR),
)
MEMBER_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("notes", {"text": "Seen"}),
    ("tasks", {"title": "Call"}),
    ("enforcements", {"kind": "FINE"}),
    ("leases", {"seconds": 60}),
    *(("investigators", {"userId": f"u-{number}"}) for number in range(4)),
)


class Story(RuleBasedStateMachine):
    """The API in this process, and a company that begins with nothing."""

    client: Any = None
    cases = Bundle("cases")
    wallets = Bundle("wallets")
    orders = Bundle("orders")
    requests = Bundle("requests")

    @initialize(target=cases)
    def found(self) -> Any:
        """A product, two officers who have room for two cases each, and two cases."""
        self.company = Company(self.client, f"story-{uuid.uuid4().hex[:16]}")
        self.numbers = self.opened = 0
        create_table(self.client, self.company.name)
        product = {"sku": "lamp", "name": "A lamp", "unitPrice": 10, "currency": "EUR"}
        self._ask(CALM, "POST", "/products", {**product, "stock": 30, "stockShards": 2}, ADMIN)
        for officer in ("o-1", "o-2"):
            self.register(CALM, officer, 2)
        return multiple(*(self.create(CALM, f"REG-{number}", True) for number in (8, 9)))

    @rule(target=requests, fault=faults, officer=officers, load=st.integers(1, 2))
    def register(self, fault: Fault, officer: str, load: int) -> Any:
        body = {"officerId": officer, "name": "A", "email": f"{officer}@example.org"}
        return self._ask(fault, "POST", "/officers", {**body, "maxLoad": load}, ADMIN)[0]

    @rule(target=cases, fault=faults, reference=references, given=st.booleans())
    def create(self, fault: Fault, reference: str, given: bool) -> Any:
        body = {"externalRef": reference, "title": "Dust", "region": "EU-1", "priority": "LOW"}
        _, answer = self._ask(fault, "POST", "/cases", body, OFFICER)
        if answer.status != 201:
            return multiple()
        if given:
            self.assign(CALM, answer.body["caseId"], "o-1", 0)
        return answer.body["caseId"]

    @rule(target=requests, fault=faults, case=cases, officer=officers, old=behind)
    def assign(self, fault: Fault, case: str, officer: str, old: int) -> Any:
        body = {"officerId": officer, "expectedVersion": self._seen(case, old)}
        return self._ask(fault, "POST", f"/cases/{case}/assignments", body, SUPERVISOR)[0]

    @rule(target=requests, fault=faults, case=cases, officer=officers, old=behind)
    def transfer(self, fault: Fault, case: str, officer: str, old: int) -> Any:
        body = {"toOfficerId": officer, "expectedVersion": self._seen(case, old)}
        return self._ask(fault, "POST", f"/cases/{case}/transfers", body, SUPERVISOR)[0]

    @rule(target=requests, fault=faults, case=cases, reference=references, old=behind)
    def rename(self, fault: Fault, case: str, reference: str, old: int) -> Any:
        body = {"externalRef": reference, "expectedVersion": self._seen(case, old)}
        return self._ask(fault, "PUT", f"/cases/{case}/external-ref", body, SUPERVISOR)[0]

    @rule(
        target=requests,
        fault=faults,
        case=cases,
        call=st.sampled_from(CASE_CALLS),
        old=behind,
    )
    def change(self, fault: Fault, case: str, call: Any, old: int) -> Any:
        method, what, more, actor = call
        body = {**more, "expectedVersion": self._seen(case, old)}
        return self._ask(fault, method, f"/cases/{case}{what}", body, actor)[0]

    @rule(
        target=requests,
        fault=faults,
        case=cases,
        call=st.sampled_from(MEMBER_CALLS),
        actor=st.sampled_from([OFFICER, IN_CHARGE]),
    )
    def enter(self, fault: Fault, case: str, call: Any, actor: Actor) -> Any:
        what, body = call
        return self._ask(fault, "POST", f"/cases/{case}/{what}", body, actor)[0]

    @rule(target=requests, fault=faults, case=cases, old=behind)
    def redact(self, fault: Fault, case: str, old: int) -> Any:
        path = f"/cases/{case}?expectedVersion={self._seen(case, old)}"
        return self._ask(fault, "DELETE", path, None, SUPERVISOR)[0]

    @precondition(lambda self: self.opened < 2)
    @rule(target=wallets, fault=faults)
    def open_wallet(self, fault: Fault) -> Any:
        self.opened += 1
        _, answer = self._ask(fault, "POST", "/wallets", {"currency": "EUR"}, CUSTOMER)
        path = f"/wallets/{answer.body['walletId']}/deposits"
        self._ask(CALM, "POST", path, {"amount": 300}, CUSTOMER)
        return answer.body["walletId"]

    @rule(
        target=requests,
        fault=faults,
        wallet=wallets,
        way=st.sampled_from(["deposits", "withdrawals"]),
        amount=amounts,
    )
    def move(self, fault: Fault, wallet: str, way: str, amount: int) -> Any:
        path = f"/wallets/{wallet}/{way}"
        return self._ask(fault, "POST", path, {"amount": amount}, CUSTOMER)[0]

    @rule(target=requests, fault=faults, wallet=wallets, rate=st.integers(1, 9_999))
    def accrue(self, fault: Fault, wallet: str, rate: int) -> Any:
        path, body = f"/wallets/{wallet}/accruals", {"rateBasisPoints": rate}
        return self._ask(fault, "POST", path, body, ADMIN)[0]

    @rule(target=orders, fault=faults, wallet=wallets, quantity=st.integers(1, 20))
    def order(self, fault: Fault, wallet: str, quantity: int) -> Any:
        lines = [{"sku": "lamp", "quantity": quantity, "unitPrice": 10}]
        body = {"walletId": wallet, "currency": "EUR", "lines": lines}
        _, answer = self._ask(fault, "POST", "/orders", body, CUSTOMER)
        return answer.body["orderId"] if answer.status == 201 else multiple()

    @rule(target=requests, fault=faults, order=orders, version=st.integers(1, 2))
    def cancel(self, fault: Fault, order: str, version: int) -> Any:
        path, body = f"/orders/{order}/cancellations", {"expectedVersion": version}
        return self._ask(fault, "POST", path, body, CUSTOMER)[0]

    @rule(fault=faults, request=requests)
    def again(self, fault: Fault, request: Any) -> None:
        """The same request under the same key has the same answer; the judge compares them."""
        self._send(fault, *request)

    @rule(minutes=st.integers(1, 20))
    def wait(self, minutes: int) -> None:
        self.company.clock.sleep(60 * minutes)

    @rule()
    def announce_and_count(self) -> None:
        assert self.company.settle()

    def teardown(self) -> None:
        if hasattr(self, "company"):
            assert self.company.settle()
            assert judge(self.company.evidence()) == []
            self.client.delete_table(TableName=self.company.name)

    def _seen(self, case: str, old: int) -> int:
        """The version that a caller saw of a case, who may be late."""
        answer = self.company.process().api.get(f"/cases/{case}")
        return max(1, int(answer.body["version"]) - old)

    def _ask(
        self, fault: Fault, method: str, path: str, body: Any, actor: Actor
    ) -> tuple[Any, Answer]:
        self.numbers += 1
        request = (method, path, body, actor, f"key-{self.numbers}")
        return request, self._send(fault, *request)

    def _send(
        self, fault: Fault, method: str, path: str, body: Any, actor: Actor, key: str
    ) -> Answer:
        """Send until the answer is final; what the fault held back arrives in the end."""
        storm = Storm(fault, chance=random.Random(self.numbers))
        for _ in range(TRIES_MAX):
            process = self.company.process(storm)
            try:
                answer = process.api.call(method, path, body, actor=actor, key=key)
            except Killed:
                storm.answered()
                continue
            storm.answered()
            if tell(self.company, answer).status < 500:
                storm.over = True
                storm.land()
                assert answer.status in DOCUMENTED, answer
                return answer
            self.company.clock.sleep(1.1)
        raise AssertionError(f"no final answer after {TRIES_MAX} tries")


@pytest.mark.timeout(900)
def test_every_story_ends_well(client: Any) -> None:
    machine = type("Told", (Story,), {"client": client})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=STORIES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize="STORIES" not in os.environ,
            suppress_health_check=list(HealthCheck),
        ),
    )
