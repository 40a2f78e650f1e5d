"""The queries' side of the API: from a gateway event to a read, and back to an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.edge import problems, requests
from holdfast.edge.bodies import body_of
from holdfast.edge.caller import caller_of
from holdfast.edge.documents import DOCUMENTS
from holdfast.edge.executor import utc_now
from holdfast.edge.gateway import Handler, handler_of
from holdfast.edge.problems import Rejected
from holdfast.edge.read_routes import READS
from holdfast.edge.reading import Question, Read
from holdfast.edge.telemetry import Telemetry
from holdfast.patterns.commands import Response
from holdfast.writes.outcomes import Throttled
from holdfast.writes.table import Table


def queries_handler(table: Table, telemetry: Telemetry | None = None) -> Handler:
    """The Lambda handler of every read route."""
    telemetry = telemetry or Telemetry()
    endpoints = {("GET", path): answer for path, answer in DOCUMENTS.items()}
    reads = {("GET", read.path): QueryEndpoint(read, table, telemetry) for read in READS}
    return handler_of({**endpoints, **reads}, telemetry)


class QueryEndpoint:
    """Answers requests to one read route."""

    def __init__(self, read: Read, table: Table, telemetry: Telemetry) -> None:
        self.read = read
        self.table = table
        self.telemetry = telemetry

    def __call__(
        self, event: Mapping[str, Any], context: Any, parameters: Mapping[str, str]
    ) -> Response:
        """The answer to one event. A read that found no capacity may be asked again."""
        del context
        try:
            return self.read.answer(self._question(event, parameters))
        except Rejected as rejected:
            told = rejected
        except Throttled:
            told = Rejected(problems.UNAVAILABLE, "Ask again.")
        except Exception as error:  # noqa: BLE001 -- the function's edge: logged, answered as 500
            self.telemetry.failed(error, operation=f"GET {self.read.path}")
            told = Rejected(problems.INTERNAL, "Ask again.")
        return problems.problem(
            told.kind, told.detail, instance=event.get("path") or "", **told.more
        )

    def _question(self, event: Mapping[str, Any], parameters: Mapping[str, str]) -> Question:
        caller = caller_of(event)
        caller.require(self.read.roles)
        ids = requests.path_ids(parameters)
        query = body_of(self.read.query, requests.query_fields(event, self.read.query))
        return Question(self.table, caller, ids, query, utc_now())
