"""Many clients at once, some of whose calls are lost: what they were told has one order."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from holdfast.writes.table import Table
from tests.api import ADMIN, OFFICER, REVIEWER, Actor, Answer, Api
from tests.conftest import dynamodb
from tests.faults.histories import (
    UNKNOWN,
    Model,
    Recorder,
    case,
    lease,
    linearizable,
    stock,
    wallet,
)
from tests.faults.mutants import MUTANTS, planted
from tests.faults.wire import Call, Killed, Wire

CLIENTS, STEPS = 8, 7
CUSTOMER = Actor("c-1", "customer")
Client = tuple[Api, random.Random]


@dataclass
class Gusts:
    """One call in six goes wrong: lost before or after it, or its process ends."""

    chance: random.Random

    def strike(self, call: Call) -> Any:
        fate = self.chance.random() if "write" in call.name or "put" in call.name else 1.0
        if fate < 0.05:
            raise ReadTimeoutError(endpoint_url="http://any")
        if fate < 0.09:
            raise Killed
        answer = call.send()
        if fate < 0.13:
            raise ReadTimeoutError(endpoint_url="http://any")
        if fate < 0.17:
            raise Killed
        return answer


@pytest.fixture(params=range(2))
def clients(request: pytest.FixtureRequest, endpoint: str, table_name: str) -> list[Client]:
    client = dynamodb(endpoint, max_pool_connections=CLIENTS)

    def made(number: int) -> Client:
        chance = random.Random(100 * request.param + number)
        return Api(Table(Wire(client, Gusts(chance), table_name), table_name)), chance

    return [made(number) for number in range(CLIENTS)]


@pytest.fixture
def quiet(client: Any, table_name: str) -> Api:
    """A client in good weather, who makes what the others meet at."""
    return Api(Table(client, table_name))


def meet(clients: list[Client], step: Callable[[int, Client], None]) -> None:
    """Each client takes its steps in a thread of its own."""

    def steps(number: int) -> None:
        for _ in range(STEPS):
            step(number, clients[number])

    with ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(steps, range(len(clients))))


def told(call: Callable[[], Answer], by: Callable[[Answer], Any]) -> Callable[[], Any]:
    """What a client knows after a call: UNKNOWN when it was lost, or ended unsettled."""

    def answer() -> Any:
        try:
            heard = call()
        except Killed:
            return UNKNOWN
        return UNKNOWN if heard.status >= 500 else by(heard)

    return answer


def explained(recorder: Recorder, model: Model, start: Any) -> bool:
    [history] = recorder.operations.values()
    assert len(history) == CLIENTS * STEPS
    return linearizable(history, model, start)


def test_a_wallet_moves_as_if_by_one_hand(clients: list[Client], quiet: Api) -> None:
    """Field report 21: no update of a balance is lost, whoever else moves it."""
    wallet_id = quiet.post("/wallets", {"currency": "EUR"}, actor=CUSTOMER).body["walletId"]
    path, recorder = f"/wallets/{wallet_id}", Recorder()
    quiet.post(f"{path}/deposits", {"amount": 100}, actor=CUSTOMER)

    def step(number: int, client: Client) -> None:
        api, chance = client
        name, amount = chance.choice(["deposit", "withdraw"]), chance.randint(1, 60)
        body = {"amount": amount}
        where = f"{path}/{'deposits' if name == 'deposit' else 'withdrawals'}"
        call = told(lambda: api.post(where, body, actor=CUSTOMER), _movement)
        recorder.run(path, name, amount, call)

    meet(clients, step)
    assert explained(recorder, wallet, (100, 1))


def _movement(answer: Answer) -> Any:
    if answer.code == "insufficient-funds":
        return "INSUFFICIENT_FUNDS"
    return answer.body["balance"], answer.body["version"]


def test_a_case_changes_as_if_by_one_hand(clients: list[Client], quiet: Api) -> None:
    path, recorder = f"/cases/{quiet.assigned()}", Recorder()

    def step(number: int, client: Client) -> None:
        api, chance = client
        seen = _version(quiet, path)
        name = chance.choice(list(_CASE_CALLS))
        method, where, more, actor = _CASE_CALLS[name]
        body = {**more, "expectedVersion": seen}
        call = told(lambda: api.call(method, f"{path}{where}", body, actor=actor), _transition)
        recorder.run(path, name, seen, call)

    meet(clients, step)
    assert explained(recorder, case, ("OPEN", 2))


def _version(api: Api, path: str) -> int:
    return int(api.get(path).body["version"])


_CASE_CALLS: dict[str, tuple[str, str, dict[str, Any], Actor]] = {
    "edit": ("PATCH", "", {"priority": "LOW"}, OFFICER),
    "submit": ("POST", "/submissions", {"reviewerId": "r-1"}, OFFICER),
    "approve": ("POST", "/approvals", {}, REVIEWER),
    "reject": ("POST", "/rejections", {"reason": "No"}, REVIEWER),
    "reopen": ("POST", "/reopenings", {}, OFFICER),
}


def _transition(answer: Answer) -> Any:
    """A case that was never submitted has no reviewer, and forbids their decisions."""
    wrong = {"invalid-state": "WRONG_STATE", "forbidden": "WRONG_STATE"}
    if answer.status == 200:
        return answer.body["version"]
    return {**wrong, "version-conflict": "STALE_VERSION"}[answer.code or ""]


@pytest.mark.parametrize("shards", [1, 3])
def test_stock_is_sold_as_if_by_one_hand(clients: list[Client], quiet: Api, shards: int) -> None:
    assert _sells_in_order(clients, quiet, shards)


def test_the_checker_sees_stock_that_is_sold_without_a_condition(
    clients: list[Client], quiet: Api
) -> None:
    [blind] = [one for one in MUTANTS if one.name == "stock is taken without a condition"]
    with planted(blind):
        assert not _sells_in_order(clients, quiet, 1)


def _sells_in_order(clients: list[Client], quiet: Api, shards: int) -> bool:
    product = {"sku": "lamp", "name": "A lamp", "unitPrice": 1, "currency": "EUR"}
    body = {**product, "stock": 25, "stockShards": shards}
    assert quiet.post("/products", body, actor=ADMIN).status == 201
    wallets = [_rich(quiet) for _ in clients]
    recorder = Recorder()

    def step(number: int, client: Client) -> None:
        api, chance = client
        quantity = chance.randint(1, 4)
        if chance.random() < 0.2:
            more = {"quantity": quantity}
            restock = told(lambda: api.post("/products/lamp/restocks", more, actor=ADMIN), _sold)
            recorder.run("lamp", "restock", quantity, restock)
            return
        lines = [{"sku": "lamp", "quantity": quantity, "unitPrice": 1}]
        order = {"walletId": wallets[number], "currency": "EUR", "lines": lines}
        call = told(lambda: api.post("/orders", order, actor=CUSTOMER), _sold)
        recorder.run("lamp", "take", quantity, call)

    meet(clients, step)
    return explained(recorder, stock, 25)


def _rich(api: Api) -> str:
    wallet_id = api.post("/wallets", {"currency": "EUR"}, actor=CUSTOMER).body["walletId"]
    api.post(f"/wallets/{wallet_id}/deposits", {"amount": 1_000}, actor=CUSTOMER)
    return str(wallet_id)


def _sold(answer: Answer) -> Any:
    assert answer.status < 400 or answer.code == "out-of-stock", answer
    return "OK" if answer.status < 400 else "OUT_OF_STOCK"


def test_a_lease_has_one_holder_at_a_time(clients: list[Client], quiet: Api) -> None:
    """Field report 22: fencing numbers rise, and nobody holds what another has taken."""
    path, recorder = f"/cases/{quiet.assigned()}/leases", Recorder()
    held: dict[int, tuple[str, int]] = {}

    def step(number: int, client: Client) -> None:
        api, chance = client
        actor = Actor(f"o-{number}", "officer")
        if number not in held:
            call = told(lambda: api.post(path, {"seconds": 600}, actor=actor), _lease)
            recorder.run(path, "acquire", actor.subject, lambda: _taken(call(), held, number))
            return
        lease_id, fence = held.pop(number)
        where, argument = f"{path}/{lease_id}", (actor.subject, fence)
        if chance.random() < 0.4:
            held[number] = (lease_id, fence)
            body = {"fencingNumber": fence, "seconds": 600}
            renew = told(lambda: api.call("PUT", where, body, actor=actor), _lease)
            recorder.run(path, "renew", argument, lambda: _kept(renew()))
            return
        query = f"{where}?fencingNumber={fence}"
        release = told(lambda: api.call("DELETE", query, actor=actor), _lease)
        recorder.run(path, "release", argument, lambda: _kept(release()))

    meet(clients, step)
    assert explained(recorder, lease, ("", 0))


def _lease(answer: Answer) -> Any:
    if answer.status >= 400:
        return {"lease-held": "LEASE_HELD", "lease-lost": "LEASE_LOST"}[answer.code or ""]
    return answer.body


def _taken(got: Any, held: dict[int, tuple[str, int]], number: int) -> Any:
    if not isinstance(got, dict):
        return got
    held[number] = (got["leaseId"], got["fencingNumber"])
    return got["fencingNumber"]


def _kept(got: Any) -> Any:
    return "OK" if isinstance(got, dict) else got
