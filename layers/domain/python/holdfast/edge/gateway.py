"""Powertools' resolver in front of endpoints: it routes, and every answer is an HTTP answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.event_handler.api_gateway import APIGatewayRestResolver
from aws_lambda_powertools.event_handler.api_gateway import Response as GatewayResponse

from holdfast.edge import problems
from holdfast.edge.families import family_of
from holdfast.edge.routes import rule_of
from holdfast.edge.telemetry import Telemetry
from holdfast.patterns.commands import Response

Endpoint = Callable[[Mapping[str, Any], Any, Mapping[str, str]], Response]
Endpoints = Mapping[tuple[str, str], Endpoint]
"""By method and path template."""
Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


def handler_of(
    endpoints: Endpoints,
    telemetry: Telemetry,
    later: Mapping[str, Callable[[], Endpoints]] | None = None,
) -> Handler:
    """A Lambda handler of `endpoints`.

    `later` makes the endpoints below a first part of the path, at the first request for it.
    """
    app, waiting = APIGatewayRestResolver(enable_validation=False), dict(later or {})
    _add(app, endpoints)
    app.not_found(lambda _: _for_gateway(_nowhere(app.current_event.path)))

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        family = family_of(event.get("path") or "")
        if family in waiting:
            _add(app, waiting[family]())
            del waiting[family]
        try:
            return app.resolve(event, context)
        finally:
            telemetry.flush()

    return handler


def _add(app: APIGatewayRestResolver, endpoints: Endpoints) -> None:
    for (method, path), endpoint in endpoints.items():
        app.route(rule_of(path), method)(_bound(app, endpoint))


def _bound(app: APIGatewayRestResolver, endpoint: Endpoint) -> Callable[..., GatewayResponse[str]]:
    def call(**parameters: str) -> GatewayResponse[str]:
        event = app.current_event.raw_event
        return _for_gateway(endpoint(event, app.lambda_context, parameters))

    return call


def _nowhere(path: str) -> Response:
    detail = "There is nothing at this address for this method."
    return problems.problem(problems.NOT_FOUND, detail, instance=path)


def _for_gateway(answer: Response) -> GatewayResponse[str]:
    headers = {"Content-Type": "application/json", **answer.headers}
    return GatewayResponse(
        status_code=answer.status,
        content_type=headers.pop("Content-Type"),
        headers=headers,
        body=answer.body,
    )
