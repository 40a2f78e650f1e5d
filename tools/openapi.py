"""The OpenAPI document, generated from the route tables and the structs behind them.

`python -m tools.openapi` writes it into the deployed package; a test fails when it is stale.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

from tools.paths import ROOT

sys.path.insert(0, str(ROOT / "layers" / "domain" / "python"))

from holdfast.edge import problems
from holdfast.edge.command_routes import COMMANDS
from holdfast.edge.documents import DOCUMENT
from holdfast.edge.fields import ID_PATTERN
from holdfast.edge.read_routes import READS
from holdfast.edge.reading import Paged, Read
from holdfast.edge.routes import Route
from holdfast.edge.views import Page

Schema = dict[str, Any]
_REF = "#/components/schemas/{name}"

ABOUT = """Case management and orders in which every write proves its precondition.

Each command carries an `Idempotency-Key`. The answer to a key is kept for 24 hours: within them
the same request under the same key gets the same answer (`Idempotency-Replayed: true`), and
another request under it is refused. Each resource has a version, its `ETag`; a change names the
version that it is based on, as `expectedVersion` or in `If-Match`."""

_READ_KINDS = (
    problems.MALFORMED,
    problems.UNAUTHENTICATED,
    problems.FORBIDDEN,
    problems.NOT_FOUND,
    problems.INVALID,
    problems.TOO_MANY,
    problems.INTERNAL,
    problems.UNAVAILABLE,
)
_COMMAND_KINDS = (
    *_READ_KINDS,
    problems.KEY_MISSING,
    problems.KEY_INVALID,
    problems.KEY_REUSED,
    problems.IN_PROGRESS,
    problems.TOO_LARGE,
    problems.UNKNOWN_OUTCOME,
    *(kind for kind, _ in problems.REFUSALS.values()),
)
_FILES = ("text/csv", "application/x-ndjson")
_VERSION_KINDS = (problems.VERSION_NEEDED, problems.PRECONDITION_FAILED)


def document() -> Schema:
    """The whole document as JSON values."""
    structs = _schemas()
    paths: dict[str, Schema] = {}
    for route in COMMANDS:
        paths.setdefault(route.path, {})[route.method.lower()] = _command(route, structs)
    for read in READS:
        paths.setdefault(read.path, {})["get"] = _read(read, structs)
    paths["/health"] = {"get": _health()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Holdfast", "version": "1.0.0", "description": ABOUT},
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": {name: structs[name] for name in sorted(structs)} | _own_schemas(),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
            },
        },
        "security": [{"token": []}],
    }


def _schemas() -> dict[str, Schema]:
    kinds: list[type] = [route.body for route in COMMANDS]
    kinds += [part for read in READS for part in (read.shows, read.query)]
    _, found = msgspec.json.schema_components(dict.fromkeys(kinds), ref_template=_REF)
    return found


def _own_schemas() -> dict[str, Schema]:
    changed = "Its id, what changed, and the version that the change gave it."
    strings = ("type", "title", "detail", "instance", "commandId", "currentState")
    always = ["type", "title", "status", "detail", "instance", "code", "retryable"]
    error = _object({"path": {"type": "string"}, "message": {"type": "string"}})
    problem = {
        **{name: {"type": "string"} for name in strings},
        "status": {"type": "integer"},
        "code": {"type": "string", "enum": sorted(_codes())},
        "retryable": {"type": "boolean"},
        "currentVersion": {"type": "integer"},
        "errors": {"type": "array", "items": error},
    }
    return {
        "Changed": _object({"version": {"type": "integer"}}, description=changed),
        "Problem": _object(problem, description="What went wrong (RFC 9457).", required=always),
    }


def _object(properties: Schema, **more: Any) -> Schema:
    return {"type": "object", "properties": properties, **more}


def _codes() -> set[str]:
    kinds = [kind for kind in vars(problems).values() if isinstance(kind, problems.Kind)]
    return {kind.code for kind in kinds}


def _command(route: Route, structs: dict[str, Schema]) -> Schema:
    kinds = [*_COMMAND_KINDS, *(_VERSION_KINDS if route.versioned else ())]
    headers = _headers("X-Command-Id", "Idempotency-Replayed", "ETag")
    headers |= _headers("Location") if route.creates or route.many_steps else {}
    query = structs[route.body.__name__] if route.method == "DELETE" else {}
    return {
        **_about(route.planner, route.path),
        "parameters": [*_path_ids(route.path), *_command_headers(route), *_query(query)],
        **_body(route),
        "responses": {
            **{
                str(status): _json(HTTPStatus(status).phrase, _ref("Changed"), headers)
                for status in _successes(route)
            },
            **_problems(kinds),
        },
    }


def _successes(route: Route) -> tuple[int, ...]:
    """A deletion takes many steps only where it cannot be done in one."""
    if route.many_steps:
        return (200, 202) if route.method == "DELETE" else (202,)
    return (201,) if route.creates else (200,)


def _read(read: Read, structs: dict[str, Schema]) -> Schema:
    shown = _ref(read.shows.__name__)
    listed = issubclass(read.query, Paged)
    kinds = [*_READ_KINDS, *([problems.INVALID_CURSOR] if listed else ())]
    return {
        **_about(read.answer, read.path),
        "parameters": [*_path_ids(read.path), *_query(structs[read.query.__name__])],
        "responses": {
            "200": _json("OK", _page(shown) if listed else shown, _headers("ETag")),
            **_problems(kinds),
        },
    }


def _page(item: Schema) -> Schema:
    schema = msgspec.json.schema_components([Page], ref_template=_REF)[1]["Page"]
    items = {"items": {"type": "array", "items": item}}
    return {**schema, "properties": schema["properties"] | items}


def _health() -> Schema:
    answer = {"type": "object", "properties": {"status": {"type": "string"}}}
    return {
        "operationId": "health",
        "summary": "The service answers.",
        "tags": ["health"],
        "security": [],
        "responses": {"200": _json("OK", answer, {})},
    }


def _about(function: Any, path: str) -> Schema:
    words = function.__name__.split("_")
    return {
        "operationId": words[0] + "".join(word.capitalize() for word in words[1:]),
        "summary": (inspect.getdoc(function) or "").partition("\n")[0],
        "tags": [path.split("/")[1]],
    }


def _path_ids(path: str) -> list[Schema]:
    schema = {"type": "string", "pattern": ID_PATTERN}
    return [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name in re.findall(r"\{(\w+)\}", path)
    ]


def _query(struct: Schema) -> list[Schema]:
    required = struct.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": schema}
        for name, schema in struct.get("properties", {}).items()
    ]


def _command_headers(route: Route) -> list[Schema]:
    key = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"}
    named = [("Idempotency-Key", True, key)]
    if route.versioned:
        named.append(("If-Match", False, {"type": "string", "pattern": '^"v[1-9][0-9]*"$'}))
    if route.fenced:
        named.append(("Lease-Fencing-Number", False, {"type": "integer", "minimum": 1}))
    return [
        {"name": name, "in": "header", "required": required, "schema": schema}
        for name, required, schema in named
    ]


def _body(route: Route) -> Schema:
    if route.method == "DELETE" or not route.body.__struct_fields__:
        return {}
    required = any(field.required for field in msgspec.structs.fields(route.body))
    content: Schema = {"application/json": {"schema": _ref(route.body.__name__)}}
    if route.decode:
        content = {name: {"schema": {"type": "string"}} for name in _FILES}
    return {"requestBody": {"required": required, "content": content}}


def _problems(kinds: Iterable[problems.Kind]) -> Schema:
    by_status: dict[int, dict[str, None]] = {}
    for kind in kinds:
        by_status.setdefault(kind.status, {})[kind.code] = None
    content = {problems.CONTENT_TYPE: {"schema": _ref("Problem")}}
    return {
        str(status): {"description": ", ".join(sorted(codes)), "content": content}
        for status, codes in sorted(by_status.items())
    }


def _json(description: str, schema: Schema, headers: Schema) -> Schema:
    more = {"headers": headers} if headers else {}
    return {"description": description, **more, "content": {"application/json": {"schema": schema}}}


def _headers(*names: str) -> Schema:
    return {name: {"schema": {"type": "string"}} for name in names}


def _ref(name: str) -> Schema:
    return {"$ref": _REF.format(name=name)}


def text() -> str:
    """The document as the file holds it."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    DOCUMENT.write_text(text())
    print(f"wrote {DOCUMENT.relative_to(ROOT)}")
