"""Steps come one message at a time, tried to an end; their worker reaches no further."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.patterns import keys
from stacks.functions import RESERVED
from stacks.stepping import STEP_KEYS
from tests.stacks.conftest import Resources
from tests.stacks.test_access import CHANGES, FENCED, READS, actions, item_statements, statements
from tests.stacks.test_announcing import mapping, queues


def worker(resources: Resources, stage: str) -> dict[str, Any]:
    return next(
        item["Properties"]
        for item in resources(stage, "AWS::Lambda::Function").values()
        if item["Properties"]["Handler"] == "run_workflows.handler"
    )


def test_a_command_has_one_message_at_a_time(resources: Resources, stage: str) -> None:
    source = mapping(resources, stage, "RunWorkflows")
    assert source["BatchSize"] == 1
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert source["ScalingConfig"]["MaximumConcurrency"] < RESERVED["run_workflows"]


def test_the_message_of_a_dead_worker_comes_back_within_minutes(
    resources: Resources, stage: str
) -> None:
    queue = queues(resources, stage)["workflows.fifo"]
    assert queue["VisibilityTimeout"] == 6 * worker(resources, stage)["Timeout"] <= 180
    assert queue["RedrivePolicy"]["maxReceiveCount"] == 10


def test_stuck_commands_are_looked_for_each_minute(resources: Resources, stage: str) -> None:
    [rule] = [
        item["Properties"]
        for item in resources(stage, "AWS::Events::Rule").values()
        if item["Properties"]["Name"] == f"holdfast-{stage}-sweep-workflows"
    ]
    assert rule["ScheduleExpression"] == "rate(1 minute)"
    assert "RunWorkflows" in json.dumps(rule["Targets"])


def test_the_worker_reads_two_indexes_and_changes_items_in_transactions(
    resources: Resources, stage: str
) -> None:
    found = item_statements(resources, stage, "RunWorkflows")
    assert {name: actions(statement) for name, statement in found.items()} == {
        "ReadItems": READS,
        "ReadMany": {"dynamodb:BatchGetItem"},
        "ListByIndex": {"dynamodb:Query"},
        "WriteInTransactions": CHANGES,
        "CheckInTransactions": {"dynamodb:ConditionCheckItem"},
    }
    listed = {resource["Fn::Join"][1][-1] for resource in found["ListByIndex"]["Resource"]}
    assert listed == {"/index/cases-by-officer", "/index/commands-running"}


@pytest.mark.parametrize("stage", FENCED)
def test_the_worker_reaches_only_what_steps_change(resources: Resources, stage: str) -> None:
    found = item_statements(resources, stage, "RunWorkflows")
    for name in ("ReadItems", "WriteInTransactions", "CheckInTransactions"):
        fence = found[name]["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
        assert set(fence) == set(STEP_KEYS)


def test_the_worker_uses_its_own_queue_alone(resources: Resources, stage: str) -> None:
    on_queues = [
        statement
        for statement in statements(resources, stage, "RunWorkflows")
        if any(action.startswith("sqs:") for action in actions(statement))
    ]
    granted = set().union(*map(actions, on_queues))
    assert {"sqs:SendMessage", "sqs:ReceiveMessage", "sqs:ChangeMessageVisibility"} <= granted
    named = {json.dumps(statement["Resource"]) for statement in on_queues}
    assert len(named) == 1


@pytest.mark.parametrize("function", ["CommandsApi", "QueriesApi"])
@pytest.mark.parametrize("stage", FENCED)
def test_rows_of_imports_are_within_reach_of_the_api(
    resources: Resources, stage: str, function: str
) -> None:
    chunk = keys.import_chunk("acme", "c-1", "b0d7", 1).pk.partition("#")[0]
    fence = item_statements(resources, stage, function)["ReadItems"]["Condition"]
    assert f"{chunk}#*" in fence["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
