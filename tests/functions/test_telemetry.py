"""What is counted and logged of each outcome; ids are fields of the line, never dimensions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api import REVIEWER, Api


def metrics(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The metric lines that were printed since the last look."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_each_outcome_has_its_metric(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    for reference, key, name in (
        ("REG-1", "k", "command.success.count"),
        ("REG-1", "k", "command.idempotency.hit.count"),
        ("REG-1", "l", "command.conflict.count"),
        ("REG-2", "k", "command.idempotency.reuse_mismatch.count"),
    ):
        api.case(reference, key=key)
        [line] = metrics(capsys)
        assert line[name] == [1.0]
        [description] = line["_aws"]["CloudWatchMetrics"]
        assert [metric["Name"] for metric in description["Metrics"]] == [name]
        assert description["Dimensions"] == [["service"]]


def test_a_request_that_never_became_a_command_counts_nothing(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    api.post("/cases", "{")
    assert metrics(capsys) == []


def test_the_line_of_a_command_has_every_field_of_the_contract(api: Api) -> None:
    case_id = api.submitted()
    api.post(f"/cases/{case_id}/approvals", {"expectedVersion": 2}, actor=REVIEWER)
    line = api.lines()[-1]
    assert (
        line
        | {
            "message": "command",
            "operation": "POST /cases/{caseId}/approvals",
            "aggregateId": case_id,
            "expectedVersion": 2,
            "outcome": "refused",
            "refusal": "STALE_VERSION",
            "conditionFailed": "Only its reviewer approves a case, while it is under review.",
            "attempts": 1,
            "status": 409,
        }
        == line
    )
    assert line["latencyMs"] > 0


def test_the_line_of_a_creation_names_what_it_made(api: Api) -> None:
    case_id = api.case().body["caseId"]
    assert api.lines()[-1]["aggregateId"] == case_id
