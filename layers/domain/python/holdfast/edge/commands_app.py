"""The commands' side of the API: from a gateway event to a command, and back to an answer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from holdfast.edge import problems, requests
from holdfast.edge.bodies import body_of
from holdfast.edge.caller import Caller, caller_of
from holdfast.edge.executor import Errand, Executor, with_headers
from holdfast.edge.families import FAMILIES, routes_of
from holdfast.edge.gateway import Endpoints, Handler, handler_of
from holdfast.edge.problems import Rejected, invalid
from holdfast.edge.routes import Route, concrete
from holdfast.edge.telemetry import Telemetry
from holdfast.patterns.commands import Command, Response, command_id, request_hash
from holdfast.writes.table import Table


def commands_handler(table: Table, telemetry: Telemetry | None = None) -> Handler:
    """The Lambda handler of every command route, each family of them loaded when it is called."""
    executor = Executor(table, telemetry or Telemetry())

    def endpoints(family: str) -> Endpoints:
        routes = routes_of(family)
        return {(route.method, route.path): CommandEndpoint(route, executor) for route in routes}

    later = {family: partial(endpoints, family) for family in FAMILIES}
    return handler_of({}, executor.telemetry, later)


class CommandEndpoint:
    """Answers requests to one route.

    In the contract's order: who calls, their role, the key, the request itself; then the
    command runs, and the table decides about existence, actor, state, version and resource.
    """

    def __init__(self, route: Route, executor: Executor) -> None:
        self.route = route
        self.executor = executor

    def __call__(
        self, event: Mapping[str, Any], context: Any, parameters: Mapping[str, str]
    ) -> Response:
        """The answer to one event; a request that cannot become a command is told why."""
        try:
            return self._answer(event, context, parameters)
        except Rejected as rejected:
            answer = self._rejected(event, rejected)
        except Exception as error:  # noqa: BLE001 -- the function's edge: logged, answered as 500
            self.executor.telemetry.failed(error, operation=self.route.operation)
            detail = "A retry with the same Idempotency-Key is safe."
            answer = self._rejected(event, Rejected(problems.INTERNAL, detail))
        return answer

    def _answer(
        self, event: Mapping[str, Any], context: Any, parameters: Mapping[str, str]
    ) -> Response:
        caller, headers = caller_of(event), requests.Headers.of(event)
        caller.require(self.route.roles)
        key = requests.idempotency_key(headers)
        errand = self._errand(event, caller, headers, key, parameters)
        remaining = context.get_remaining_time_in_millis() / 1000 if context else None
        return self.executor.execute(errand, remaining)

    def _errand(
        self,
        event: Mapping[str, Any],
        caller: Caller,
        headers: requests.Headers,
        key: str,
        parameters: Mapping[str, str],
    ) -> Errand:
        sent = self._sent(event, headers)
        fields = body_of(self.route.body, sent).fields()
        by_tag = self._version(fields, headers)
        if self.route.fenced:
            fields["fencing_number"] = requests.lease_number(headers)
        ids = requests.path_ids(parameters)
        path = concrete(self.route.path, ids)
        asked = {"client_key": key, "request_hash": request_hash(path, sent)}
        command = self._command(caller, {**fields, **ids, **asked})
        if self.route.allows and not self.route.allows(command):
            raise Rejected(problems.FORBIDDEN, "Your role does not permit this.")
        return Errand(self.route, command, path, by_tag, next(iter(ids.values()), None))

    def _command(self, caller: Caller, named: dict[str, Any]) -> Command:
        operation = self.route.operation
        return self.route.command(
            tenant=caller.tenant,
            caller=caller.subject,
            roles=caller.roles,
            command_id=command_id(caller.tenant, caller.subject, operation, named["client_key"]),
            operation=operation,
            at=self.executor.now(),
            **named,
        )

    def _sent(self, event: Mapping[str, Any], headers: requests.Headers) -> dict[str, Any]:
        """The request's fields: a DELETE has them in its query, for it has no body."""
        raw = requests.raw_body(event, self.route.body_bytes_max)
        if self.route.method == "DELETE":
            return requests.query_fields(event, self.route.body)
        if self.route.decode:
            return self.route.decode(raw, headers.get("content-type") or "")
        return requests.json_object(raw)

    def _version(self, fields: dict[str, object], headers: requests.Headers) -> bool:
        """Settle the expected version in `fields`; true when If-Match has given it."""
        if not self.route.versioned:
            return False
        tagged = requests.tagged_version(headers)
        if tagged is None and "expected_version" not in fields:
            detail = "Send expectedVersion, or the ETag that you read in If-Match."
            raise Rejected(problems.VERSION_NEEDED, detail)
        if tagged is not None and fields.setdefault("expected_version", tagged) != tagged:
            raise invalid(("expectedVersion", "differs from If-Match"))
        return tagged is not None

    def _rejected(self, event: Mapping[str, Any], rejected: Rejected) -> Response:
        """A problem that is not stored; it names the command where its key could be read."""
        command = self._known_command(event)
        self.executor.telemetry.command(
            rejected.kind.code,
            operation=self.route.operation,
            commandId=command,
            status=rejected.kind.status,
        )
        answer = problems.problem(
            rejected.kind,
            rejected.detail,
            instance=event.get("path") or "",
            command_id=command,
            **rejected.more,
        )
        return with_headers(answer, {"X-Command-Id": command} if command else {})

    def _known_command(self, event: Mapping[str, Any]) -> str | None:
        try:
            caller, key = caller_of(event), requests.idempotency_key(requests.Headers.of(event))
        except Rejected:
            return None
        return command_id(caller.tenant, caller.subject, self.route.operation, key)
