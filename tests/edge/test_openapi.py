"""The published document is the one that the routes and structs make now."""

from __future__ import annotations

import json

from openapi_spec_validator import validate

from holdfast.edge.command_routes import COMMANDS
from holdfast.edge.documents import DOCUMENT, DOCUMENTS
from holdfast.edge.read_routes import READS
from tools.openapi import document, text


def test_the_committed_document_is_not_stale() -> None:
    assert DOCUMENT.read_text() == text(), "run `python -m tools.openapi`"


def test_the_document_is_valid_openapi() -> None:
    validate(json.loads(DOCUMENT.read_text()))


def test_every_route_is_an_operation_with_a_name_of_its_own() -> None:
    paths = document()["paths"]
    named = [operation["operationId"] for path in paths.values() for operation in path.values()]
    assert len(set(named)) == len(named) == len(COMMANDS) + len(READS) + 1
    assert "/health" in DOCUMENTS


def test_every_operation_says_what_it_does() -> None:
    for path in document()["paths"].values():
        assert all(operation["summary"].endswith(".") for operation in path.values())


def test_every_command_documents_its_key_and_its_problems() -> None:
    paths = document()["paths"]
    for route in COMMANDS:
        operation = paths[route.path][route.method.lower()]
        headers = {p["name"]: p["required"] for p in operation["parameters"] if p["in"] == "header"}
        assert headers["Idempotency-Key"] is True
        assert ("If-Match" in headers) == route.versioned
        assert {"400", "401", "403", "404", "409", "413", "422", "500", "503"} <= operation[
            "responses"
        ].keys()
