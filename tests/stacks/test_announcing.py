"""Streams and queues end their retries and keep what they give up; roles reach no further."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from stacks.stage import DEV, reaching
from tests.stacks.conftest import Resources, only
from tests.stacks.test_access import FENCED, actions, item_statements, statements

QUEUES = ("events", "workflows", "reconciliations")


def queues(resources: Resources, stage: str) -> dict[str, dict[str, Any]]:
    """Every queue by its name."""
    found = (item["Properties"] for item in resources(stage, "AWS::SQS::Queue").values())
    return {queue["QueueName"].removeprefix(f"holdfast-{stage}-"): queue for queue in found}


def mapping(resources: Resources, stage: str, function: str) -> dict[str, Any]:
    return only(
        {
            name: item["Properties"]
            for name, item in resources(stage, "AWS::Lambda::EventSourceMapping").items()
            if function in json.dumps(item["Properties"]["FunctionName"])
        }
    )


def test_the_relay_reads_new_outbox_entries_and_retries_to_an_end(
    resources: Resources, stage: str
) -> None:
    """Report 27: retries, age and bisection are finite, answers partial, failures kept."""
    source = mapping(resources, stage, "RelayOutbox")
    [pattern] = source["FilterCriteria"]["Filters"]
    assert json.loads(pattern["Pattern"]) == {
        "eventName": ["INSERT"],
        "dynamodb": {"Keys": {"PK": {"S": [{"prefix": "OUTBOX#"}]}}},
    }
    assert 0 < source["MaximumRetryAttempts"] <= 10
    assert 0 < source["MaximumRecordAgeInSeconds"] <= 3600
    assert source["BisectBatchOnFunctionError"] is True
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert source["StartingPosition"] == "TRIM_HORIZON"
    assert source["BatchSize"] == 100
    failures = source["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"][0]
    queue = resources(stage, "AWS::SQS::Queue")[failures]["Properties"]
    assert queue["QueueName"] == f"holdfast-{stage}-relay-failures"


def test_the_sweep_runs_each_minute(resources: Resources, stage: str) -> None:
    rule = next(
        item["Properties"]
        for item in resources(stage, "AWS::Events::Rule").values()
        if item["Properties"]["Name"] == f"holdfast-{stage}-sweep-outbox"
    )
    assert rule["ScheduleExpression"] == "rate(1 minute)"
    assert "RelayOutbox" in json.dumps(rule["Targets"])


@pytest.mark.parametrize("name", QUEUES)
def test_a_queue_keeps_order_names_its_duplicates_and_gives_up(
    resources: Resources, stage: str, name: str
) -> None:
    queue = queues(resources, stage)[f"{name}.fifo"]
    assert queue["FifoQueue"] is True
    assert not queue.get("ContentBasedDeduplication", False)
    assert 0 < queue["RedrivePolicy"]["maxReceiveCount"] <= 100
    dead = queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
    kept = resources(stage, "AWS::SQS::Queue")[dead]["Properties"]
    assert kept["QueueName"] == f"holdfast-{stage}-{name}-dead.fifo"
    assert kept["MessageRetentionPeriod"] == 14 * 24 * 3600


def test_a_message_stays_invisible_for_six_timeouts_of_its_function(
    resources: Resources, stage: str
) -> None:
    effects = next(
        item["Properties"]
        for item in resources(stage, "AWS::Lambda::Function").values()
        if item["Properties"]["Handler"] == "perform_effects.handler"
    )
    assert queues(resources, stage)["events.fifo"]["VisibilityTimeout"] == 6 * effects["Timeout"]


def test_effects_answer_message_by_message(resources: Resources, stage: str) -> None:
    source = mapping(resources, stage, "PerformEffects")
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert source["BatchSize"] == 10


@pytest.mark.parametrize("stage", FENCED)
def test_the_relay_changes_outbox_entries_alone(resources: Resources, stage: str) -> None:
    found = item_statements(resources, stage, "RelayOutbox")
    changed = found["WriteInTransactions"]["Condition"]["ForAllValues:StringLike"]
    assert changed == {"dynamodb:LeadingKeys": ["OUTBOX#*"]}
    assert "StoreOutcomes" not in found


@pytest.mark.parametrize("stage", FENCED)
def test_effects_change_their_ledger_alone(resources: Resources, stage: str) -> None:
    found = item_statements(resources, stage, "PerformEffects")
    for name in ("WriteInTransactions", "BeginEffects"):
        changed = found[name]["Condition"]["ForAllValues:StringLike"]
        assert changed == {"dynamodb:LeadingKeys": ["SIDE_EFFECT#*"]}


def test_the_relay_sends_to_the_queues_of_its_channels_alone(
    resources: Resources, stage: str
) -> None:
    found = {item.get("Sid"): item for item in statements(resources, stage, "RelayOutbox")}
    assert actions(found["Announce"]) == {"sqs:SendMessage"}
    assert len(found["Announce"]["Resource"]) == len(QUEUES)


def test_where_a_stage_has_an_address_its_effects_go_there() -> None:
    reached = reaching(DEV, "https://hooks.example.org", "holdfast@example.org")
    assert (reached.webhook_url, reached.mail_from) == (
        "https://hooks.example.org",
        "holdfast@example.org",
    )
    assert reaching(DEV, None, None) == DEV


@pytest.mark.slow
def test_a_stage_with_a_bus_brings_its_events_to_the_same_consumer() -> None:
    import aws_cdk as cdk  # noqa: PLC0415 -- the CDK takes seconds to load
    from aws_cdk.assertions import Match, Template  # noqa: PLC0415 -- the CDK takes seconds to load

    from stacks.data import DataStack  # noqa: PLC0415 -- the CDK takes seconds to load
    from stacks.service import ServiceStack  # noqa: PLC0415 -- the CDK takes seconds to load

    stage = replace(DEV, event_bus=True)
    app = cdk.App(context={"aws:cdk:bundling-stacks": []})
    template = Template.from_stack(ServiceStack(app, stage, DataStack(app, stage)))
    template.has_resource_properties(
        "AWS::Events::Rule",
        {
            "EventPattern": {"source": ["holdfast"]},
            "Targets": [
                Match.object_like(
                    {"InputPath": "$.detail", "SqsParameters": {"MessageGroupId": "events"}}
                )
            ],
        },
    )
    template.has_resource_properties(
        "AWS::Lambda::Function",
        {
            "Handler": "relay_outbox.handler",
            "Environment": {"Variables": Match.object_like({"EVENTS_BUS_NAME": Match.any_value()})},
        },
    )
