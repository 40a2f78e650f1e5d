"""What a step of each workflow costs: the figures of docs/many-step-commands.md, counted."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from holdfast.edge.executor import utc_now
from holdfast.edge.telemetry import Telemetry
from holdfast.edge.workflow_runner import Runner
from holdfast.edge.workflows_app import WORKFLOWS
from holdfast.patterns import keys
from holdfast.writes.table import Table
from tests.api import ADMIN, SUPERVISOR, Api, case_body
from tests.functions.test_long_redaction import closed, edited
from tests.leaving import leave, team
from tests.metering import Meter
from tests.working import TENANT, command_of

COSTS = {
    "offboarding": ({"GetItem": 2, "Query": 4, "TransactWriteItems": 1}, 14, 1),
    "import": ({"GetItem": 3, "TransactWriteItems": 1}, 136, 12),
    "redaction": (
        {"GetItem": 1, "Query": 1, "BatchGetItem": 1, "TransactWriteItems": 1},
        176,
        30,
    ),
}
"""By workflow: the requests of a step, its write units without indexes, and what it does."""
TARGETS = {"o-2": 9, "o-3": 9}


def offboarding(api: Api) -> str:
    team(api, 3, TARGETS)
    return command_of(leave(api, {"toOfficerIds": list(TARGETS)}))


def importing(api: Api) -> str:
    lines = [json.dumps(case_body(f"REG-{number}")) for number in range(30)]
    return command_of(api.post("/imports", "\n".join(lines), actor=ADMIN))


def redaction(api: Api) -> str:
    case_id = edited(api, api.assigned(), 95)
    path = f"/cases/{case_id}?expectedVersion={closed(api, case_id, 97)}"
    return command_of(api.call("DELETE", path, actor=SUPERVISOR))


@pytest.mark.parametrize(
    ("name", "start"),
    [("offboarding", offboarding), ("import", importing), ("redaction", redaction)],
)
def test_a_step_costs_what_is_said_of_it(
    table: Table, metered: tuple[Table, Meter], name: str, start: Any
) -> None:
    counted, meter = metered
    command_id = start(Api(table))
    known = {workflow.name: workflow for workflow in WORKFLOWS}
    runner = Runner(counted, known, Telemetry(), utc_now, lambda *_: None)
    meter.reset()
    runner.advance(TENANT, command_id, until=0)
    meter.requests.remove("GetItem")  # The look whether there is another step is of the next one.
    record = table.get(keys.command(TENANT, command_id)) or {}
    requests, units, done = COSTS[name]
    assert dict(Counter(meter.requests)) == requests
    assert (meter.units, record["done"]) == (units, done)
