"""Where commands are taken: in the write Region, whose address every other Region answers with.

A Region that may not write has `WRITE_URL`. Its role forbids the write as well; this answer is
what tells a caller where to go, with the same key, before anything is tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.edge import problems
from holdfast.edge.gateway import Handler


def only_where_written(handler: Handler, environment: Mapping[str, str]) -> Handler:
    """The handler itself in the write Region, elsewhere one that names that Region's address."""
    write_url = environment.get("WRITE_URL")
    return _elsewhere(write_url.rstrip("/")) if write_url else handler


def _elsewhere(write_url: str) -> Handler:
    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        del context
        path = event.get("path") or "/"
        detail = "Send it there, with the same Idempotency-Key. Nothing was done here."
        answer = problems.problem(
            problems.WRONG_REGION, detail, instance=path, writeUrl=f"{write_url}{path}"
        )
        told = {**answer.headers, "Location": f"{write_url}{path}"}
        return {
            "statusCode": answer.status,
            "multiValueHeaders": {name: [value] for name, value in told.items()},
            "body": answer.body,
            "isBase64Encoded": False,
        }

    return handler
