"""One Region writes: elsewhere no role has a grant to, and the configuration says so too."""

import json
from pathlib import Path
from typing import Any

import pytest

from stacks.regions import across_regions
from stacks.stage import DEV, PROD
from tests.stacks.conftest import templates
from tools.synth import SynthFailed, synth

KEY = "arn:aws:kms:eu-west-1:111122223333:key/replica"
SETTINGS = {"writeRegion": "eu-central-1", "replicaRegions": f"eu-west-1={KEY}"}
ELSEWHERE = {
    **SETTINGS,
    "region": "eu-west-1",
    "writeUrl": "https://write.example/v1",
    "userPoolArn": "arn:aws:cognito-idp:eu-central-1:111122223333:userpool/eu-central-1_Abc",
}
WRITES = {"PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem", "BatchWriteItem"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def write_region(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return assembled(tmp_path_factory.mktemp("write"), SETTINGS)


@pytest.fixture(scope="module")
def replica_region(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return assembled(tmp_path_factory.mktemp("replica"), ELSEWHERE)


def assembled(out: Path, settings: dict[str, str]) -> dict[str, dict[str, Any]]:
    """All resources of production, spread over two Regions, as one of them is deployed."""
    synth("prod", out, nag=True, settings=settings)
    report = json.loads((out / "validation-report.json").read_text())
    assert [found for plugin in report["pluginReports"] for found in plugin["violations"]] == []
    return {
        name: resource
        for template in templates(out)
        for name, resource in template["Resources"].items()
    }


def kinds(resources: dict[str, dict[str, Any]]) -> set[str]:
    return {resource["Type"] for resource in resources.values()}


def of_kind(resources: dict[str, dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [item["Properties"] for item in resources.values() if item["Type"] == kind]


def test_the_table_is_global_and_each_replica_is_protected_like_the_first(
    write_region: dict[str, dict[str, Any]],
) -> None:
    (table,) = of_kind(write_region, "AWS::DynamoDB::GlobalTable")
    assert {replica["Region"] for replica in table["Replicas"]} == {"eu-central-1", "eu-west-1"}
    for replica in table["Replicas"]:
        assert replica["DeletionProtectionEnabled"] is True
        recovery = replica["PointInTimeRecoverySpecification"]
        assert recovery == {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 35}
        assert replica["SSESpecification"]["KMSMasterKeyId"]
    assert "AWS::DynamoDB::Table" not in kinds(write_region)


def test_no_role_outside_the_write_region_may_write_an_item(
    replica_region: dict[str, dict[str, Any]],
) -> None:
    policies = of_kind(replica_region, "AWS::IAM::Policy")
    granted = {
        action
        for policy in policies
        for statement in policy["PolicyDocument"]["Statement"]
        for action in (
            [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]
        )
    }
    assert {"dynamodb:GetItem", "dynamodb:Query"} <= granted
    assert not granted & {f"dynamodb:{action}" for action in WRITES}


def test_outside_the_write_region_commands_are_told_where_to_go(
    replica_region: dict[str, dict[str, Any]], write_region: dict[str, dict[str, Any]]
) -> None:
    def address(resources: dict[str, dict[str, Any]]) -> str | None:
        (commands,) = (
            item
            for item in of_kind(resources, "AWS::Lambda::Function")
            if item["Handler"] == "commands_api.handler"
        )
        return commands["Environment"]["Variables"].get("WRITE_URL")

    assert address(replica_region) == "https://write.example/v1"
    assert address(write_region) is None


def test_outside_the_write_region_there_is_no_worker_no_table_and_no_user_pool(
    replica_region: dict[str, dict[str, Any]],
) -> None:
    handlers = {item["Handler"] for item in of_kind(replica_region, "AWS::Lambda::Function")}
    assert handlers == {"commands_api.handler", "queries_api.handler"}
    assert not kinds(replica_region) & {
        "AWS::DynamoDB::GlobalTable",
        "AWS::Cognito::UserPool",
        "AWS::Lambda::EventSourceMapping",
        "AWS::SQS::Queue",
    }
    (authorizer,) = of_kind(replica_region, "AWS::ApiGateway::Authorizer")
    assert authorizer["ProviderARNs"] == [ELSEWHERE["userPoolArn"]]


def test_what_a_stage_of_several_regions_needs_is_said_before_anything_is_built() -> None:
    for missing in ("writeRegion", "writeUrl", "userPoolArn"):
        settings = {name: value for name, value in ELSEWHERE.items() if name != missing}
        with pytest.raises(ValueError, match=missing):
            across_regions(PROD, settings.get)
    with pytest.raises(ValueError, match="the key of each Region"):
        across_regions(PROD, {**SETTINGS, "replicaRegions": "eu-west-1"}.get)
    with pytest.raises(ValueError, match="neither the write Region nor a replica's"):
        across_regions(PROD, {**ELSEWHERE, "region": "us-east-1"}.get)
    assert across_regions(DEV, {}.get) is DEV


def test_a_wrong_setting_fails_the_synthesis(tmp_path: Path) -> None:
    with pytest.raises(SynthFailed, match="writeRegion"):
        synth("dev", tmp_path, settings={"replicaRegions": "eu-west-1"})
