"""Broken requests are refused in the contract's words: no 500, nothing foreign, no canary logged.

`make fuzz` sends ten thousand; the ordinary run a tenth of them, from the same seed.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from holdfast.edge.command_routes import COMMANDS
from holdfast.edge.read_routes import READS
from holdfast.edge.routes import concrete
from tests import scenes
from tests.api import Actor, Api, Context, case_body, event_of
from tests.functions.test_tenants import EVERYONE, body_for, names

REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "1000"))
SEED = int(os.environ.get("FUZZ_SEED", "9"))
CANARY, SECRET = "canary-77aa", "foreign-31bc"
ACTOR = Actor("o-1", EVERYONE)
STRANGERS = Actor("o-9", EVERYONE, tenant="globex")
Event = dict[str, Any]

JUNK: tuple[Any, ...] = (
    *("", " ", "\x00", "#", "CASE#acme#1", "../../etc/passwd", "%00", "%2e%2e%2f", "é" * 300),
    *("a" * 5000, "\ud800", "\u202e", "${jndi:ldap://x}", "' OR 1=1 --", "<script>", "null"),
    *(None, True, False, 0, -1, 1.5, 10**40, -(10**40), [], {}, [[]], {"$ne": None}, [None]),
    *({"PK": "CASE#globex#x", "SK": "META"}, CANARY, f"{CANARY}@example.org", [CANARY] * 50),
)
TEXTS = tuple(value for value in JUNK if isinstance(value, str))
IDS = tuple(value for value in TEXTS if CANARY not in value)
"""Ids and tenants are logged on purpose, so they hold no canary."""
RAW = ("", "{", "[]", "null", "1", '"x"', '{"a":1', "{'a': 1}", "\x00", '{"a":NaN}', '{"a":1e999}')
DEEP = "[" * 5000 + "]" * 5000


def broken_claims(event: Event, chance: random.Random) -> None:
    claims = event["requestContext"]["authorizer"]["claims"]
    name = chance.choice([*claims, "extra"])
    claims[name] = chance.choice(IDS if name == "custom:tenantId" else JUNK)


def no_authorizer(event: Event, chance: random.Random) -> None:
    event["requestContext"] = chance.choice([{}, None, {"authorizer": None}, {"authorizer": {}}])


def broken_body(event: Event, chance: random.Random) -> None:
    event["body"] = chance.choice((*RAW, DEEP, json.dumps(chance.choice(JUNK))))


def broken_field(event: Event, chance: random.Random) -> None:
    body = json.loads(event["body"] or "{}")
    if isinstance(body, dict):
        body[chance.choice([*body, "extra", "expectedVersion"])] = chance.choice(JUNK)
        event["body"] = json.dumps(body)


def broken_encoding(event: Event, chance: random.Random) -> None:
    event["isBase64Encoded"] = True
    event["body"] = chance.choice(["%%%", "////", "gA==", None, "e30="])


def broken_path(event: Event, chance: random.Random) -> None:
    parts = event["path"].split("/")
    parts[chance.randrange(1, len(parts))] = chance.choice(IDS)
    event["path"] = "/".join(parts)


def broken_headers(event: Event, chance: random.Random) -> None:
    name = chance.choice(
        ["Idempotency-Key", "If-Match", "Lease-Fencing-Number", "Content-Type", "X-Unknown"]
    )
    value = chance.choice(TEXTS)
    event["headers"][name] = value
    event["multiValueHeaders"][name] = chance.choice([[value], [value, "other"], []])


def broken_query(event: Event, chance: random.Random) -> None:
    name = chance.choice(["limit", "cursor", "status", "region", "officerId", "expectedVersion"])
    query = {name: chance.choice(TEXTS), "cursor": chance.choice([*TEXTS, "AAAA", "e30", "_-_-"])}
    event["queryStringParameters"] = query
    event["multiValueQueryStringParameters"] = {key: [value] for key, value in query.items()}


def missing_parts(event: Event, chance: random.Random) -> None:
    name = chance.choice(["headers", "multiValueHeaders", "body", "queryStringParameters"])
    event[name] = None


BREAKS: tuple[Callable[[Event, random.Random], None], ...] = (
    broken_claims,
    no_authorizer,
    broken_body,
    broken_field,
    broken_field,
    broken_encoding,
    broken_path,
    broken_headers,
    broken_query,
    missing_parts,
)


def request(chance: random.Random, world: dict[str, str]) -> Event:
    """A right request of any route, then broken in one to three ways."""
    if chance.random() < 0.4:
        method, path, body = "GET", chance.choice(READS).path, None
    else:
        route = chance.choice(COMMANDS)
        method, path, body = route.method, route.path, _body(route, world)
    ids = {name: chance.choice([world.get(name, "x-1"), "x-1"]) for name in names(path)}
    headers = {"Idempotency-Key": f"key-{chance.randrange(500)}"}
    event = event_of(method, concrete(path, ids), body, ACTOR, headers)
    for _ in range(chance.randint(1, 3)):
        # What is broken already may leave nothing to break in this way.
        with suppress(TypeError, KeyError, ValueError, AttributeError, RecursionError):
            chance.choice(BREAKS)(event, chance)
    return event


def _body(route: Any, world: dict[str, str]) -> str:
    return json.dumps(body_for(route, world), default=vars)


@pytest.fixture
def world(api: Api) -> dict[str, str]:
    """A case, a wallet and a product of the caller's tenant, and a case of another one."""
    api.post("/cases", case_body(SECRET, title=SECRET), actor=STRANGERS)
    wallet = scenes.wallet(api, 100)
    scenes.product(api)
    return {"case_id": api.assigned(), "wallet_id": wallet, "sku": "lamp", "officer_id": "o-1"}


def test_no_broken_request_breaks_the_service(api: Api, world: dict[str, str]) -> None:
    chance, statuses = random.Random(SEED), Counter[int]()
    foreign = [item for item in api.items() if "globex" in str(item)]
    for number in range(REQUESTS):
        event = request(chance, world)
        sent = json.dumps(event, default=str)[:2000]
        handler = api.queries if event["httpMethod"] == "GET" else api.commands
        answer = handler(event, Context)
        statuses[answer["statusCode"]] += 1
        assert answer["statusCode"] < 500, (number, sent, answer["body"])
        assert SECRET not in answer["body"], (number, sent)
        assert "Traceback" not in answer["body"]
        if answer["statusCode"] >= 400:
            problem = json.loads(answer["body"])
            assert problem["status"] == answer["statusCode"]
            assert "dynamodb" not in answer["body"].lower()
    assert {400, 401, 403, 404, 422} <= statuses.keys()
    assert [item for item in api.items() if "globex" in str(item)] == foreign
    log = api.log.getvalue()
    assert CANARY not in log
    assert SECRET not in log
