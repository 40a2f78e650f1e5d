"""Requests that nobody thought of, generated from the published document.

No answer is a 500, and every answer is one that the document describes: its status, its
media type, its headers and its body. `make fuzz` sends ten thousand of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from holdfast.edge.documents import DOCUMENT
from tests.api import Actor, Context
from tests.faults import beginnings
from tests.faults.beginnings import FINAL
from tests.faults.company import Company, Process, template

REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "120"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
EVERYONE = Actor("o-1", "officer,supervisor,reviewer,customer,admin")
SCHEMA = schemathesis.openapi.from_dict(json.loads(DOCUMENT.read_text()))
OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations()]
Start = Callable[..., Any]


def _company(process: Process) -> dict[str, str]:
    """A case and an order to meet, and two officers."""
    ids = {**beginnings.approved(process), **beginnings.ordered(process)}
    answer = process.api.post(f"/cases/{ids['case']}/tasks", {"title": "Call"})
    assert answer.status in FINAL, answer
    return {
        "caseId": ids["case"],
        "taskId": answer.body["taskId"],
        "walletId": ids["wallet"],
        "orderId": ids["order"],
        "officerId": "o-1",
        "toOfficerId": "o-2",
        "sku": "lamp",
        "commandId": answer.headers["X-Command-Id"],
    }


class Gateway:
    """API Gateway as a WSGI application, in front of the handlers in this process."""

    def __init__(self, process: Process) -> None:
        self.api = process.api

    def __call__(self, environ: Mapping[str, Any], start_response: Start) -> Iterable[bytes]:
        event = self._event(environ)
        handler = self.api.queries if event["httpMethod"] == "GET" else self.api.commands
        answer = handler(event, Context)
        headers = [(k, v) for k, values in answer["multiValueHeaders"].items() for v in values]
        start_response(f"{answer['statusCode']} Any", headers)
        return [(answer["body"] or "").encode()]

    @staticmethod
    def _event(environ: Mapping[str, Any]) -> dict[str, Any]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        headers = {
            name[5:].replace("_", "-").title(): value
            for name, value in environ.items()
            if name.startswith("HTTP_")
        }
        query = parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        lists: dict[str, list[str]] = {}
        for name, value in query:
            lists.setdefault(name, []).append(value)
        return {
            "resource": "/{proxy+}",
            "path": environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace"),
            "httpMethod": environ["REQUEST_METHOD"],
            "headers": {**headers, "Content-Type": environ.get("CONTENT_TYPE", "")},
            "multiValueHeaders": {name: [value] for name, value in headers.items()},
            "queryStringParameters": dict(query) or None,
            "multiValueQueryStringParameters": lists or None,
            "requestContext": {"stage": "v1", "authorizer": {"claims": EVERYONE.claims}},
            "body": body.decode("utf-8", "replace") if body else None,
            "isBase64Encoded": False,
        }


@pytest.fixture(scope="module")
def company(client: Any) -> Iterator[tuple[Company, Mapping[str, str]]]:
    start = template(client, _company)
    one = start.copy(client, 0)
    yield one, start.ids
    client.delete_table(TableName=one.name)


def met(chance: st.DataObject, value: Any, ids: Mapping[str, str]) -> Any:
    """A generated value, where now and then a name stands for what is there."""
    if not isinstance(value, dict):
        return value
    near = {**ids, "expectedVersion": chance.draw(st.integers(1, 6))}
    return {
        name: near[name] if name in near and chance.draw(st.booleans()) else inner
        for name, inner in value.items()
    }


@given(st.data())
@settings(
    max_examples=REQUESTS,
    deadline=None,
    derandomize="FUZZ_REQUESTS" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
def _asks(company: tuple[Company, Mapping[str, str]], data: st.DataObject) -> None:
    one, ids = company
    case = data.draw(data.draw(st.sampled_from(OPERATIONS)).as_strategy())
    case.path_parameters = met(data, case.path_parameters, ids)
    case.body = met(data, case.body, ids)
    answer = case.call(app=Gateway(one.process()))
    case.validate_response(answer, checks=CHECKS)


@pytest.mark.timeout(1_800)
def test_no_generated_request_breaks_the_contract(
    company: tuple[Company, Mapping[str, str]],
) -> None:
    _asks(company)
