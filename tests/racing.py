"""Real threads: many callers who start at once, each on an instance of the service of its own."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier
from typing import Any, TypeVar

from aws_lambda_powertools.metrics import EphemeralMetrics

from holdfast.edge.command_routes import COMMANDS
from holdfast.edge.commands_app import CommandEndpoint
from holdfast.edge.executor import Executor
from holdfast.edge.telemetry import Telemetry
from holdfast.patterns.commands import Response
from holdfast.writes.table import Table
from tests.api import Actor, Context, event_of

T = TypeVar("T")
TRIES_MAX = 20


def race(jobs: list[Callable[[], T]]) -> list[T]:
    """Run all jobs at once, in a thread each; their results, in the order of the jobs."""
    start = Barrier(len(jobs))

    def run(job: Callable[[], T]) -> T:
        start.wait(30)
        return job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))


@dataclass(frozen=True)
class Call:
    """One request to a route; `ids` fill its path."""

    operation: str
    body: Any
    actor: Actor
    key: str
    ids: dict[str, str]


def answer(table: Table, call: Call) -> Response:
    """The answer of an instance on `table`; a client repeats what is 503, under the same key.

    The endpoint is called past the resolver, which keeps its request in one place for the
    whole process: a Lambda instance serves one request at a time, threads do not.
    """
    [route] = [route for route in COMMANDS if route.operation == call.operation]
    telemetry = Telemetry(_Silent(), EphemeralMetrics(namespace="Test", service="test"))
    endpoint = CommandEndpoint(route, Executor(table, telemetry))
    headers = {"Idempotency-Key": call.key}
    event = event_of(route.method, "/any", call.body, call.actor, headers)
    for _ in range(TRIES_MAX):
        told = endpoint(event, Context, call.ids)
        if told.status != 503:
            return told
    raise AssertionError(f"{call.operation} stayed unsettled")


def rush(client: Any, table_name: str, calls: Iterable[Call]) -> list[Response]:
    """All calls at once, each on an instance that has seen nothing before."""
    return race([lambda call=call: answer(Table(client, table_name), call) for call in calls])


def told(answers: Iterable[Response]) -> Counter[str]:
    """How many answers there are of each kind: a status, or the code of a problem."""
    return Counter(
        str(one.status) if one.status < 400 else json.loads(one.body)["code"] for one in answers
    )


class _Silent(logging.Logger):
    """Telemetry's logger takes any fields; a race has nothing to say."""

    def __init__(self) -> None:
        super().__init__("race")

    def _log(self, *_: Any, **__: Any) -> None:
        """Nothing is written."""
