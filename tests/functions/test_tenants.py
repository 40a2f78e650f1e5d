"""Nothing of one tenant is reachable by another: every route, cursor, id, page and log line.

Report 30: one key in two tenants is two commands. The stranger has every role of their own
tenant; the world that they may not see is full of canaries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from holdfast.edge.command_routes import COMMANDS
from holdfast.edge.read_routes import READS
from holdfast.edge.reading import Paged
from holdfast.edge.routes import Route, concrete, snake
from holdfast.patterns import keys
from holdfast.patterns.outbox import DEAD
from holdfast.patterns.side_effects import FAILED_FINAL
from holdfast.writes.codec import encode_item
from holdfast.writes.table import Table
from tests import scenes
from tests.api import ADMIN, OFFICER, Actor, Answer, Api, case_body, event_of
from tests.conftest import create_table
from tools.samples import SAMPLES

CANARY = "canary-5fd1"
EVERYONE = "officer,reviewer,supervisor,customer,admin"
STRANGER = Actor("o-1", EVERYONE, tenant="globex")
READER = Actor("o-1", EVERYONE, tenant="initech")
"""A stranger who has made nothing."""
INSIDER = Actor("o-1", EVERYONE)
Ids = dict[str, str]
OF_NOBODY = {"POST /imports", "POST /cases", "POST /officers", "POST /products", "POST /wallets"}
"""Commands that name nothing of a tenant but what they make."""


@pytest.fixture(scope="module")
def api(client: Any) -> Iterator[Api]:
    create_table(client, "tenants")
    yield Api(Table(client, "tenants", sleep=lambda seconds: None))
    client.delete_table(TableName="tenants")


@pytest.fixture(scope="module")
def world(api: Api) -> Ids:
    """What the first tenant has, by the names that paths give to ids."""
    case = scenes.case(api)
    seen = {"expectedVersion": 2, "title": f"Dust {CANARY}"}
    assert api.call("PATCH", f"/cases/{case}", seen).status == 200
    for number in range(3):
        api.post("/cases", case_body(f"{CANARY}-{number}", title=CANARY))
    api.post(f"/cases/{case}/notes", {"text": CANARY})
    wallet = scenes.wallet(api, 5000)
    scenes.product(api)
    order = api.post("/orders", scenes.basket(wallet), actor=scenes.CUSTOMER)
    rows = f"externalRef,title,region,priority\nIMP-1,{CANARY},EU,LOW\n"
    imported = api.post("/imports", rows, actor=ADMIN, headers={"Content-Type": "text/csv"})
    return {
        "case_id": case,
        "task_id": scenes.open_task(api, case),
        "enforcement_id": "e-1",
        "user_id": "u-1",
        "lease_id": scenes.lease(api, case),
        "officer_id": "o-1",
        "wallet_id": wallet,
        "order_id": order.body["orderId"],
        "sku": "lamp",
        "command_id": imported.body["commandId"],
        "event_id": _buried(api),
        "provider": "webhook",
        "operation_id": _failed(api),
    }


def _buried(api: Api) -> str:
    """An outbox entry that has died."""
    item = next(item for item in api.items() if item["PK"]["S"].startswith("OUTBOX#"))
    api.table.client.update_item(
        TableName=api.table.name,
        Key={"PK": item["PK"], "SK": item["SK"]},
        UpdateExpression="SET #s = :dead, outboxState = :dead",
        ExpressionAttributeNames={"#s": "status"},
        ExpressionAttributeValues={":dead": {"S": DEAD}},
    )
    return str(item["eventId"]["S"])


def _failed(api: Api) -> str:
    """A side effect that was given up."""
    ledger = {
        **keys.side_effect("webhook", "op-1").attributes,
        "provider": "webhook",
        "operationId": "op-1",
        "eventId": "op-1",
        "status": FAILED_FINAL,
        "reason": CANARY,
        "attempts": 8,
        "tenant": "acme",
        "at": "2030-01-02T03:04:05.678Z",
        "effectState": f"acme#{FAILED_FINAL}",
        "effectSort": "2030-01-02T03:04:05.678Z#webhook#op-1",
    }
    api.table.client.put_item(TableName=api.table.name, Item=encode_item(ledger))
    return "op-1"


def body_for(route: Route, world: Mapping[str, str]) -> dict[str, Any]:
    """A body that is valid, and names what the first tenant has."""
    command = next(one.command for one in SAMPLES.values() if type(one.command) is route.command)
    fields = {name: getattr(command, name, None) for name in route.body.__struct_fields__}
    if route.versioned:
        fields["expected_version"] = 1
    fields |= {name: world[name] for name in fields.keys() & world.keys()}
    return {camel(name): value for name, value in fields.items() if value is not None}


def camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def names(path: str) -> list[str]:
    return [snake(name) for name in re.findall(r"\{(\w+)\}", path)]


def send(api: Api, route: Route, world: Ids, actor: Actor = STRANGER) -> Answer:
    path = concrete(route.path, {name: world.get(name, "x-1") for name in names(route.path)})
    if route.operation == "POST /imports":
        rows = "externalRef,title,region,priority\nIMP-9,Dust,EU,LOW\n"
        return api.post(path, rows, actor=actor, headers={"Content-Type": "text/csv"})
    body = {name: _plain(value) for name, value in body_for(route, world).items()}
    if route.method == "DELETE":
        query = "&".join(f"{name}={value}" for name, value in body.items())
        return api.call("DELETE", f"{path}?{query}", actor=actor)
    return api.call(route.method, path, body, actor=actor)


def _plain(value: Any) -> Any:
    """Lines of an order are values in a command and objects in a body."""
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if hasattr(value, "__dataclass_fields__"):
        return {camel(name): getattr(value, name) for name in value.__dataclass_fields__}
    return value


def of_acme(api: Api) -> list[dict[str, Any]]:
    """Every item that is not the stranger's, byte for byte."""
    return [item for item in api.items() if "globex" not in str(item)]


@pytest.mark.parametrize(
    "route", [one for one in COMMANDS if names(one.path)], ids=lambda one: one.operation
)
def test_no_command_reaches_what_another_tenant_has(api: Api, world: Ids, route: Route) -> None:
    before = of_acme(api)
    answer = send(api, route, world)
    if "case" in route.path or route.path.startswith(("/ops", "/officers", "/wallets", "/orders")):
        assert (answer.status, answer.code) == (404, "not-found"), answer.text
    assert answer.status in {202, 404}, answer.text
    assert CANARY not in answer.text
    assert of_acme(api) == before


@pytest.mark.parametrize(
    "route", [one for one in COMMANDS if not names(one.path)], ids=lambda one: one.operation
)
def test_what_a_command_makes_is_made_in_its_callers_tenant(
    api: Api, world: Ids, route: Route
) -> None:
    before = of_acme(api)
    answer = send(api, route, world)
    assert answer.status in {200, 201, 202, 404, 409, 422}, answer.text
    assert answer.status in {201, 202} or route.operation not in OF_NOBODY, answer.text
    assert CANARY not in answer.text
    assert of_acme(api) == before


@pytest.mark.parametrize("read", READS, ids=lambda read: read.path)
def test_no_read_shows_what_another_tenant_has(api: Api, world: Ids, read: Any) -> None:
    path = concrete(read.path, {name: world[name] for name in names(read.path)})
    path += {"/cases": "?status=OPEN", "/counters/intake": "?region=EU-WEST"}.get(read.path, "")
    answer = api.get(path, READER)
    assert CANARY not in answer.text
    if names(read.path):
        assert (answer.status, answer.code) == (404, "not-found"), answer.text
    else:
        assert answer.status in {200, 404}
        assert not any(value in answer.text for value in world.values() if len(value) > 8)


@pytest.mark.parametrize(
    "path",
    ["/cases?status=OPEN", "/cases?region=EU-WEST", "/cases/{case_id}/events"],
)
def test_a_cursor_opens_nothing_in_another_tenant(api: Api, world: Ids, path: str) -> None:
    path = path.format(**world)
    join = "&" if "?" in path else "?"
    cursor = api.get(f"{path}{join}limit=1", INSIDER).body["nextCursor"]
    assert cursor
    answer = api.get(f"{path}{join}limit=1&cursor={cursor}", STRANGER)
    assert (answer.status, answer.code) in {(400, "invalid-cursor"), (404, "not-found")}
    assert CANARY not in answer.text


def test_every_list_binds_its_cursor() -> None:
    assert [read.path for read in READS if issubclass(read.query or object, Paged)]


def test_one_key_in_two_tenants_is_two_commands(api: Api, world: Ids) -> None:
    mine = api.case("SAME-1", key="one-key", actor=INSIDER)
    theirs = api.case("SAME-1", key="one-key", actor=STRANGER)
    assert (mine.status, theirs.status) == (201, 201)
    assert mine.body["caseId"] != theirs.body["caseId"]
    assert mine.headers["X-Command-Id"] != theirs.headers["X-Command-Id"]


WRONG: dict[str, tuple[dict[str, Any], int]] = {
    "an access token": ({"token_use": "access"}, 401),
    "a token of no kind": ({"token_use": ""}, 401),
    "no subject": ({"sub": ""}, 401),
    "no tenant": ({"custom:tenantId": ""}, 403),
    "a tenant that is a key": ({"custom:tenantId": "acme#x"}, 403),
    "a tenant in a list": ({"custom:tenantId": "acme\nglobex"}, 403),
}


@pytest.mark.parametrize("what", list(WRONG))
def test_only_an_id_token_with_a_tenant_opens_a_route(api: Api, world: Ids, what: str) -> None:
    changed, status = WRONG[what]
    before = api.items()
    for method, path in [(one.method, one.path) for one in COMMANDS] + [
        ("GET", read.path) for read in READS
    ]:
        place = concrete(path, {name: world.get(name, "x-1") for name in names(path)})
        event = event_of(method, place, {}, INSIDER, {"Idempotency-Key": "wrong-token"})
        event["requestContext"]["authorizer"]["claims"] |= changed
        answer = api.send(event)
        assert answer.status == status, (method, path, answer.text)
    assert api.items() == before


def test_a_role_is_only_what_the_groups_say(api: Api, world: Ids) -> None:
    """A caller without groups reads what anyone may, and commands nothing."""
    nobody = replace(OFFICER, groups="")
    for route in COMMANDS:
        assert send(api, route, world, nobody).status == 403
    assert api.get(f"/cases/{world['case_id']}", nobody).status == 200


def test_no_line_of_any_log_has_what_people_wrote(api: Api, world: Ids) -> None:
    assert api.log.getvalue()
    assert CANARY not in api.log.getvalue()
    assert "Ada Example" not in api.log.getvalue()
    assert "example.org" not in api.log.getvalue()
