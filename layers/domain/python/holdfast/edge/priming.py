"""Before a snapshot of a function environment is taken: everything that a first request would do.

SnapStart copies an environment once it is initialised. The real handler runs once for each family
of routes, and one command of them goes all the way to the wire, where a hook answers in place of a
socket. Nothing is logged, counted, sent or kept open.
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

from botocore.awsrequest import AWSResponse

from holdfast.edge.families import FAMILIES

Handler = Callable[[dict[str, Any], Any], Any]


class _Raw:
    """The body of an answer that never was on a wire."""

    @staticmethod
    def stream() -> list[bytes]:
        return [b"{}"]


class _Context:
    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 15_000


def prime(handler: Handler, *clients: Any) -> None:
    """Run `handler` as requests would, with the wire of its SDK `clients` cut."""
    for client in clients:
        client.meta.events.register_first("before-send", _answered)
    logging.disable(logging.CRITICAL)
    try:
        with redirect_stdout(io.StringIO()):
            for family in FAMILIES:
                handler(_request(f"/{family}"), _Context)
    finally:
        logging.disable(logging.NOTSET)
        for client in clients:
            client.meta.events.unregister("before-send", _answered)


def _answered(request: Any, **_: Any) -> AWSResponse:
    return AWSResponse(request.url, 200, {}, _Raw())


def _request(path: str) -> dict[str, Any]:
    """Creates a case if the path is theirs; a family without such a route answers not found."""
    case = {"externalRef": "priming", "title": "priming", "region": "EU", "priority": "LOW"}
    claims = {
        "sub": "priming",
        "custom:tenantId": "priming",
        "cognito:groups": "officer",
        "token_use": "id",
    }
    return {
        "path": path,
        "httpMethod": "POST",
        "headers": {"Idempotency-Key": "priming"},
        "requestContext": {"authorizer": {"claims": claims}, "path": path, "stage": "v1"},
        "body": json.dumps(case),
        "isBase64Encoded": False,
    }
