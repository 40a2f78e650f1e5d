"""Every function does its whole work within its own synthesized policy, and nothing else is in it.

The real handlers run in this process on the emulator; each request that they make is judged by
the policy that production gives to the role of that function.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.edge import clients
from holdfast.patterns import keys
from tests import scenes
from tests.api import ADMIN, SUPERVISOR, Api
from tests.conftest import create_table
from tests.functions_in_process import Company, load
from tests.policies import Call, allowed, calls_of, with_queue_names
from tests.pump import Stream
from tests.settings import environment, make_queues
from tests.stacks.conftest import Resources
from tests.stacks.test_access import statements
from tools.samples import SAMPLES
from tools.webhook import receiving

FUNCTIONS = (
    "commands_api",
    "queries_api",
    "relay_outbox",
    "project_events",
    "perform_effects",
    "run_workflows",
    "reconcile",
)
PRODUCTION = "prod"


def policy(resources: Resources, function: str) -> list[Any]:
    """What production lets the function do to data, with queues by their names."""
    named = "".join(part.capitalize() for part in function.split("_"))
    prefix = f"holdfast-{PRODUCTION}-"
    queues = {
        logical: item["Properties"]["QueueName"].removeprefix(prefix).removesuffix(".fifo")
        for logical, item in resources(PRODUCTION, "AWS::SQS::Queue").items()
    }
    found = [one for one in statements(resources, PRODUCTION, named) if _of_data(one)]
    return with_queue_names(found, queues)


@pytest.fixture(scope="module")
def policies(resources: Resources) -> dict[str, list[Any]]:
    return {function: policy(resources, function) for function in FUNCTIONS}


def _of_data(statement: dict[str, Any]) -> bool:
    actions = json.dumps(statement["Action"])
    return any(service in actions for service in ("dynamodb:", "sqs:", "secretsmanager:"))


@pytest.fixture(scope="module")
def company(endpoint: str, client: Any) -> Iterator[Company]:
    """Functions that were loaded as Lambda loads them, on a table and queues of their own."""
    with receiving() as receiver, pytest.MonkeyPatch.context() as patch:
        name = f"holdfast-{uuid.uuid4().hex[:12]}"
        create_table(client, name)
        stream = Stream(endpoint, client, name)
        queues = make_queues(endpoint)
        for variable, value in environment(endpoint, name, queues, receiver.url).items():
            patch.setenv(variable, value)
        clients._session.cache_clear()
        found = Company(endpoint, queues, stream, object.__new__(Api), {})
        clients._session().register("provide-client-params", found.note)
        found.handlers |= {function: load(function) for function in FUNCTIONS}
        _serve(found, name, client)
        yield found
        clients._session.cache_clear()
        client.delete_table(TableName=name)


def _serve(company: Company, table: str, client: Any) -> None:
    """An API whose requests go to the loaded functions."""
    company.api.commands = lambda event, _: company.run("commands_api", event)
    company.api.queries = lambda event, _: company.run("queries_api", event)


@pytest.fixture(scope="module")
def asked(company: Company) -> dict[str, set[Call]]:
    """What each function asked for while the company lived a day of its life."""
    api = company.api
    first = scenes.case(api, "closed")
    other = scenes.case(api, "submitted", "REG-2")
    scenes.lease(api, other)
    api.case("REG-1")
    _shop(api)
    moved = api.post("/officers/o-1/offboardings", {"toOfficerIds": ["o-2"]}, actor=ADMIN)
    rows = "externalRef,title,region,priority\nIMP-1,Dust,EU,LOW\n"
    api.post("/imports", rows, actor=ADMIN, headers={"Content-Type": "text/csv"})
    company.settle()
    redact = f"/cases/{first}?expectedVersion=5"
    assert api.call("DELETE", redact, actor=SUPERVISOR).status == 200
    api.post("/ops/reconciliations", {"repair": True}, actor=ADMIN)
    company.settle_until("/ops/reconciliations/latest")
    for function, event in (
        ("relay_outbox", {}),
        ("run_workflows", {}),
        ("reconcile", {}),
        ("reconcile", {"start": "nightly"}),
    ):
        company.run(function, event)
    company.settle()
    _read(api, other, moved.body["commandId"])
    return company.asked


def _shop(api: Api) -> None:
    wallet = scenes.wallet(api, 10_000)
    scenes.product(api, shards=4)
    order = api.post("/orders", scenes.basket(wallet, 2), actor=scenes.CUSTOMER).body["orderId"]
    cancel = f"/orders/{order}/cancellations"
    assert api.post(cancel, {"expectedVersion": 1}, actor=scenes.CUSTOMER).status == 200
    for path in (f"/wallets/{wallet}", f"/wallets/{wallet}/entries", f"/orders/{order}"):
        assert api.get(path, scenes.CUSTOMER).status == 200


def _read(api: Api, case_id: str, command_id: str) -> None:
    case = f"/cases/{case_id}"
    for path in (
        *(case, f"{case}/events", f"{case}/tasks", "/cases?status=OPEN", "/cases?region=EU-WEST"),
        *(
            "/cases?officerId=o-1",
            "/officers/o-1",
            "/products/lamp",
            "/projections/cases-by-status",
        ),
        *(
            "/counters/intake?region=EU-WEST",
            f"/commands/{command_id}",
            "/ops/outbox",
            "/ops/side-effects",
        ),
        *("/ops/side-effects?status=SENT", "/ops/reconciliations/latest", "/health"),
    ):
        assert api.get(path, ADMIN).status == 200, path


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_asks_for_nothing_that_its_policy_does_not_allow(
    policies: dict[str, list[Any]], asked: dict[str, set[Call]], function: str
) -> None:
    calls, granted = asked[function], policies[function]
    assert calls
    assert [call for call in calls if not allowed(granted, call)] == []


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=lambda sample: sample.name)
def test_every_write_of_every_command_is_within_the_policy(
    policies: dict[str, list[Any]], sample: Any
) -> None:
    granted = policies["commands_api"]
    items = [write.request for write in sample.plan.writes]
    calls = list(calls_of("dynamodb", "TransactWriteItems", {"TransactItems": items}))
    assert calls
    assert [call for call in calls if not allowed(granted, call)] == []


CASE = keys.case("acme", "c-1").pk


@pytest.mark.parametrize(
    ("function", "call"),
    [
        # A stray put, update or delete, outside a transaction: it would prove no precondition.
        ("commands_api", Call("dynamodb:PutItem", "table", (CASE,))),
        ("commands_api", Call("dynamodb:UpdateItem", "table", (CASE,))),
        ("commands_api", Call("dynamodb:DeleteItem", "table", ("IDEMPOTENCY#acme#c",))),
        # What is derived is written by the projector alone, and read by whoever shows it.
        (
            "commands_api",
            Call("dynamodb:UpdateItem", "table", ("PROJECTION#acme#x",), "TransactWriteItems"),
        ),
        ("commands_api", Call("dynamodb:Scan", "table")),
        ("commands_api", Call("dynamodb:BatchWriteItem", "table", (CASE,))),
        ("queries_api", Call("dynamodb:PutItem", "table", (CASE,), "TransactWriteItems")),
        ("queries_api", Call("dynamodb:GetItem", "table", ("UNIQUE#acme#CASE#v1#reg-1",))),
        ("queries_api", Call("dynamodb:Scan", "table")),
        ("relay_outbox", Call("dynamodb:UpdateItem", "table", (CASE,), "TransactWriteItems")),
        ("project_events", Call("dynamodb:UpdateItem", "table", (CASE,), "TransactWriteItems")),
        ("perform_effects", Call("dynamodb:UpdateItem", "table", (CASE,), "TransactWriteItems")),
        ("perform_effects", Call("sqs:SendMessage", "queue/events")),
    ],
    ids=str,
)
def test_what_a_function_has_no_business_with_is_denied(
    policies: dict[str, list[Any]], function: str, call: Call
) -> None:
    assert not allowed(policies[function], call)


def test_the_same_put_is_allowed_inside_a_transaction(policies: dict[str, list[Any]]) -> None:
    inside = Call("dynamodb:PutItem", "table", (CASE,), "TransactWriteItems")
    assert allowed(policies["commands_api"], inside)


def test_a_scan_is_for_reconciliation_alone(policies: dict[str, list[Any]]) -> None:
    scan = Call("dynamodb:Scan", "table")
    able = [name for name in FUNCTIONS if allowed(policies[name], scan)]
    assert able == ["reconcile"]
