"""Whatever feeds a function ends somewhere: finite tries, partial answers, a place for the rest."""

from typing import Any

import pytest

from tests.stacks.conftest import Resources
from tools.synth import synth

MAPPING, QUEUE = "AWS::Lambda::EventSourceMapping", "AWS::SQS::Queue"


def of_streams(resources: Resources, stage: str) -> list[dict[str, Any]]:
    found = [item["Properties"] for item in resources(stage, MAPPING).values()]
    return [mapping for mapping in found if "StartingPosition" in mapping]


def of_queues(resources: Resources, stage: str) -> list[dict[str, Any]]:
    found = [item["Properties"] for item in resources(stage, MAPPING).values()]
    return [mapping for mapping in found if "StartingPosition" not in mapping]


def test_no_stream_is_retried_for_ever(resources: Resources, stage: str) -> None:
    """Report 27: retries, age and bisection are finite, answers partial, failures kept."""
    mappings = of_streams(resources, stage)
    assert len(mappings) == 2
    for mapping in mappings:
        assert 0 < mapping["MaximumRetryAttempts"] <= 10
        assert 0 < mapping["MaximumRecordAgeInSeconds"] <= 24 * 3600
        assert mapping["BisectBatchOnFunctionError"] is True
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        failures = mapping["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"][0]
        kept = resources(stage, QUEUE)[failures]["Properties"]
        assert kept["MessageRetentionPeriod"] == 14 * 24 * 3600


def test_a_message_outlives_six_runs_of_its_worker_and_ends_among_the_dead(
    resources: Resources, stage: str
) -> None:
    queues, functions = resources(stage, QUEUE), resources(stage, "AWS::Lambda::Function")
    assert of_queues(resources, stage)
    for mapping in of_queues(resources, stage):
        queue = queues[mapping["EventSourceArn"]["Fn::GetAtt"][0]]["Properties"]
        called = str(mapping["FunctionName"])
        (worker,) = (item for name, item in functions.items() if name[:-8] in called)
        assert queue["VisibilityTimeout"] >= 6 * worker["Properties"]["Timeout"]
        assert queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0] in queues
        assert queue["RedrivePolicy"]["maxReceiveCount"] <= 100
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_every_queue_is_encrypted_takes_tls_alone_and_keeps_for_two_weeks(
    resources: Resources, stage: str
) -> None:
    closed = str(resources(stage, "AWS::SQS::QueuePolicy"))
    for name, queue in resources(stage, QUEUE).items():
        assert queue["Properties"]["SqsManagedSseEnabled"] is True
        assert queue["Properties"]["MessageRetentionPeriod"] == 14 * 24 * 3600
        assert f"'{name}'" in closed


@pytest.mark.slow
def test_a_second_synthesis_is_the_same_in_every_byte(
    tmp_path_factory: pytest.TempPathFactory, assemblies: dict[str, Any], stage: str
) -> None:
    again = tmp_path_factory.mktemp("again")
    synth(stage, again, nag=True, validation=stage == "prod")
    for template in sorted(assemblies[stage].glob("*.template.json")):
        assert (again / template.name).read_bytes() == template.read_bytes()
