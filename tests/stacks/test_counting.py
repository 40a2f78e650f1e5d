"""The projector's stream ends its retries, and only reconciliation may scan."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.domain.projections import book_of
from holdfast.patterns import keys
from stacks.counting import COUNTED
from tests.stacks.conftest import Resources
from tests.stacks.test_access import CHANGES, FENCED, READS, actions, item_statements
from tests.stacks.test_announcing import queues


def mappings(resources: Resources, stage: str, function: str) -> list[dict[str, Any]]:
    return [
        item["Properties"]
        for item in resources(stage, "AWS::Lambda::EventSourceMapping").values()
        if function in json.dumps(item["Properties"]["FunctionName"])
    ]


def test_the_projector_reads_new_events_and_retries_to_an_end(
    resources: Resources, stage: str
) -> None:
    """Report 27: retries, age and bisection are finite, answers partial, failures kept."""
    [source] = [
        one for one in mappings(resources, stage, "ProjectEvents") if "FilterCriteria" in one
    ]
    [pattern] = source["FilterCriteria"]["Filters"]
    starts = {name: {"S": [{"prefix": one} for one in each]} for name, each in COUNTED.items()}
    assert json.loads(pattern["Pattern"]) == {
        "eventName": ["INSERT"],
        "dynamodb": {"Keys": starts},
    }
    assert 0 < source["MaximumRetryAttempts"] <= 10
    assert 0 < source["MaximumRecordAgeInSeconds"] <= 3600
    assert source["BisectBatchOnFunctionError"] is True
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    failures = source["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"][0]
    queue = resources(stage, "AWS::SQS::Queue")[failures]["Properties"]
    assert queue["QueueName"] == f"holdfast-{stage}-projection-failures"


def test_the_filter_lets_every_counted_owner_through() -> None:
    case = keys.case("acme", "c-1")
    for owner in (case, keys.task(case, "k-1"), keys.order("acme", "r-1")):
        assert book_of(owner) is not None
        event = keys.event(owner, 1)
        assert event.pk.startswith(COUNTED["PK"])
        assert event.sk.startswith(COUNTED["SK"])


def test_redrives_are_counted_again_and_end_where_they_came_from(
    resources: Resources, stage: str
) -> None:
    redrives = queues(resources, stage)["projection-redrives"]
    assert redrives["RedrivePolicy"]["maxReceiveCount"] == 3
    failures = redrives["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
    queue = resources(stage, "AWS::SQS::Queue")[failures]["Properties"]
    assert queue["QueueName"] == f"holdfast-{stage}-projection-failures"
    assert len(mappings(resources, stage, "ProjectEvents")) == 2


def test_the_projector_changes_projections_alone(resources: Resources, stage: str) -> None:
    found = item_statements(resources, stage, "ProjectEvents")
    named = {name: actions(statement) for name, statement in found.items()}
    assert {name: named[name] for name in named if "Stream" not in name} == {
        "ReadItems": READS,
        "ReadMany": {"dynamodb:BatchGetItem"},
        "WriteInTransactions": CHANGES,
        "CheckInTransactions": {"dynamodb:ConditionCheckItem"},
        "MarkStuck": {"dynamodb:PutItem"},
    }


@pytest.mark.parametrize("stage", FENCED)
def test_the_projector_is_fenced_to_projections(resources: Resources, stage: str) -> None:
    found = item_statements(resources, stage, "ProjectEvents")
    for name in ("ReadMany", "WriteInTransactions", "MarkStuck"):
        condition = found[name]["Condition"]["ForAllValues:StringLike"]
        assert condition["dynamodb:LeadingKeys"] == ["PROJECTION#*"]


def test_reconciliation_alone_may_scan(resources: Resources, stage: str) -> None:
    scanning = [
        name
        for name, policy in resources(stage, "AWS::IAM::Policy").items()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if "dynamodb:Scan" in actions(statement)
    ]
    assert len(scanning) == 1
    assert "Reconcile" in scanning[0]


def test_reconciliation_runs_every_night_and_looks_for_stuck_runs(
    resources: Resources, stage: str
) -> None:
    rules = [item["Properties"] for item in resources(stage, "AWS::Events::Rule").values()]
    found = {
        rule["Name"].removeprefix(f"holdfast-{stage}-reconcile-"): rule
        for rule in rules
        if "-reconcile-" in rule.get("Name", "")
    }
    assert found["nightly"]["ScheduleExpression"].startswith("cron(30 2 ")
    assert json.loads(found["nightly"]["Targets"][0]["Input"]) == {"start": "nightly"}
    assert found["sweep"]["ScheduleExpression"] == "rate(5 minutes)"
