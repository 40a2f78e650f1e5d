"""Calls to the handlers in this process, as API Gateway makes them."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics

from holdfast.edge.commands_app import commands_handler
from holdfast.edge.queries_app import queries_handler
from holdfast.edge.telemetry import Telemetry
from holdfast.writes.table import Table

_NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class Actor:
    """Who calls: the claims of their token."""

    subject: str
    groups: str
    tenant: str = "acme"

    @property
    def claims(self) -> dict[str, Any]:
        return {
            "sub": self.subject,
            "custom:tenantId": self.tenant,
            "cognito:groups": self.groups,
            "token_use": "id",
        }


ADMIN = Actor("root", "admin")
SUPERVISOR = Actor("sue", "supervisor")
OFFICER = Actor("o-1", "officer")
OTHER_OFFICER = Actor("o-2", "officer")
REVIEWER = Actor("r-1", "reviewer")
STRANGER = Actor("o-1", "officer,supervisor,reviewer,admin", tenant="globex")


class Context:
    """The Lambda context, with all the time in the world."""

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 15_000


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str | None:
        return self.body.get("code")


@dataclass
class Api:
    """Both handlers on one table, and what they log and count."""

    table: Table
    log: io.StringIO = field(default_factory=io.StringIO)

    def __post_init__(self) -> None:
        logger = Logger(service=f"test-{next(_NUMBERS)}", stream=self.log)
        self.metrics = EphemeralMetrics(namespace="Test", service="test")
        self.telemetry = Telemetry(logger, self.metrics)
        self.commands = commands_handler(self.table, self.telemetry)
        self.queries = queries_handler(self.table, self.telemetry)

    def lines(self) -> list[dict[str, Any]]:
        """What was logged so far, line by line."""
        return [json.loads(line) for line in self.log.getvalue().splitlines()]

    def send(self, event: dict[str, Any], context: Any = Context) -> Answer:
        handler = self.queries if event["httpMethod"] == "GET" else self.commands
        answer = handler(event, context)
        headers = {name: values[0] for name, values in answer["multiValueHeaders"].items()}
        return Answer(answer["statusCode"], headers, answer["body"])

    def get(self, path: str, actor: Actor = OFFICER) -> Answer:
        return self.send(event_of("GET", path, None, actor, {}))

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        actor: Actor = OFFICER,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a command; without `key` under one of its own."""
        sent = {"Idempotency-Key": key or f"key-{next(_NUMBERS)}", **(headers or {})}
        return self.send(event_of(method, path, body, actor, sent))

    def post(self, path: str, body: Any = None, **more: Any) -> Answer:
        return self.call("POST", path, body, **more)

    # Steps that many tests start from.

    def officer(self, officer_id: str = "o-1", *, max_load: int = 3, **more: Any) -> Answer:
        body = {
            "officerId": officer_id,
            "name": "Ada Example",
            "email": f"{officer_id}@example.org",
            "maxLoad": max_load,
        }
        return self.post("/officers", body, actor=ADMIN, **more)

    def case(self, reference: str = "REG-1", **more: Any) -> Answer:
        return self.post("/cases", case_body(reference), **more)

    def assigned(self, reference: str = "REG-1") -> str:
        """The id of a case at version 2, given to officer `o-1`."""
        self.officer()
        case_id = self.case(reference).body["caseId"]
        body = {"officerId": "o-1", "expectedVersion": 1}
        assert self.post(f"/cases/{case_id}/assignments", body, actor=SUPERVISOR).status == 200
        return str(case_id)

    def submitted(self, reference: str = "REG-1") -> str:
        """The id of a case at version 3, under review by `r-1`."""
        case_id = self.assigned(reference)
        body = {"reviewerId": "r-1", "expectedVersion": 2}
        assert self.post(f"/cases/{case_id}/submissions", body).status == 200
        return case_id

    def items(self) -> list[dict[str, Any]]:
        """The whole table, in the SDK's typed JSON."""
        pages = self.table.client.get_paginator("scan").paginate(
            TableName=self.table.name, ConsistentRead=True
        )
        return [item for page in pages for item in page["Items"]]


def case_body(reference: str = "REG-1", **more: Any) -> dict[str, Any]:
    body = {"externalRef": reference, "title": "Dust", "region": "EU-WEST", "priority": "HIGH"}
    return {**body, **more}


def event_of(
    method: str, path: str, body: Any, actor: Actor | None, headers: Mapping[str, str]
) -> dict[str, Any]:
    """A REST proxy event. A `str` body is sent as it is, anything else as JSON."""
    address = urlsplit(path)
    query = dict(parse_qsl(address.query, keep_blank_values=True))
    raw = body if body is None or isinstance(body, str) else json.dumps(body)
    return {
        "resource": "/{proxy+}",
        "path": address.path,
        "httpMethod": method,
        "headers": dict(headers),
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": query or None,
        "multiValueQueryStringParameters": {name: [v] for name, v in query.items()} or None,
        "requestContext": {
            "stage": "v1",
            "path": f"/v1{address.path}",
            "authorizer": {"claims": actor.claims} if actor else {},
        },
        "body": raw,
        "isBase64Encoded": False,
    }


@contextmanager
def counted(client: Any) -> Iterator[list[str]]:
    """The names of the requests that a client sends within the block, in order."""
    sent: list[str] = []

    def note(model: Any, **_: Any) -> None:
        sent.append(model.name)

    client.meta.events.register("before-call.dynamodb", note)
    try:
        yield sent
    finally:
        client.meta.events.unregister("before-call.dynamodb", note)
