"""A stage differs from production only where this file says so, and passes the rule checks."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from stacks.stage import DEV, LOCAL, PROD, StageConfig, stage_named
from tests.stacks.conftest import Resources

NOT_LOCAL = {
    "AWS::ApiGateway::Account",
    "AWS::Backup::BackupPlan",
    "AWS::Backup::BackupSelection",
    "AWS::Backup::BackupVault",
    "AWS::CloudWatch::CompositeAlarm",
    "AWS::CodeDeploy::Application",
    "AWS::CodeDeploy::DeploymentGroup",
    "AWS::KMS::Key",
    "AWS::Lambda::Alias",
    "AWS::Lambda::Version",
    "AWS::WAFv2::WebACL",
    "AWS::WAFv2::WebACLAssociation",
}


def differences(stage: StageConfig, other: StageConfig) -> dict[str, Any]:
    return {name: value for name, value in asdict(stage).items() if value != asdict(other)[name]}


def test_dev_gives_up_what_would_keep_data_or_cost_a_fee() -> None:
    assert differences(DEV, PROD) == {
        "name": "dev",
        "log_days": 30,
        "keep_data": False,
        "customer_key": False,
        "docs_public": True,
        "password_sign_in": True,
        "strong_sign_in": False,
        "firewall": False,
        "gradual": False,
        "rate_per_second": 50,
    }


def test_local_gives_up_only_what_the_emulator_lacks() -> None:
    assert differences(LOCAL, DEV) == {
        "name": "local",
        "log_days": 1,
        "api_logs": False,
        "tracing": False,
        "insights": False,
        "math_alarms": False,
        "versions": False,
        "fenced": False,
        "rate_per_second": None,
        "custom_id": "401dfa57",
        "webhook_url": "http://127.0.0.1:5566",
        "mail_from": "holdfast@example.org",
        "layer_platform": None,
    }


def test_local_lacks_exactly_these_kinds_of_resource(
    assemblies: dict[str, Path],
) -> None:
    kinds = {name: _kinds(assembly) for name, assembly in assemblies.items()}
    assert kinds["prod"] - kinds["local"] == NOT_LOCAL
    assert kinds["local"] <= kinds["dev"] <= kinds["prod"]


def test_tracing_is_on_where_there_is_someone_to_trace_for(resources: Resources) -> None:
    for stage, mode in (("local", None), ("dev", "Active"), ("prod", "Active")):
        for function in resources(stage, "AWS::Lambda::Function").values():
            assert function["Properties"].get("TracingConfig", {}).get("Mode") == mode


def test_every_stack_of_production_is_protected_from_termination(
    assemblies: dict[str, Path],
) -> None:
    for stage, assembly in assemblies.items():
        manifest = json.loads((assembly / "manifest.json").read_text())
        stacks = [
            artifact["properties"]
            for artifact in manifest["artifacts"].values()
            if artifact["type"] == "aws:cloudformation:stack"
        ]
        assert stacks
        for stack in stacks:
            assert bool(stack.get("terminationProtection")) is (stage == "prod")


def test_costs_can_be_told_apart_by_service_stage_and_component(
    resources: Resources, stage: str
) -> None:
    for kind in ("AWS::DynamoDB::Table", "AWS::Lambda::Function", "AWS::SQS::Queue"):
        for resource in resources(stage, kind).values():
            tags = {tag["Key"]: tag["Value"] for tag in resource["Properties"]["Tags"]}
            assert (tags["service"], tags["stage"]) == ("holdfast", stage)
            assert tags["component"] in {"data", "service", "observability"}


def test_production_is_behind_managed_rules_and_limits_that_answer_429(
    resources: Resources,
) -> None:
    (acl,) = (item["Properties"] for item in resources("prod", "AWS::WAFv2::WebACL").values())
    rules = {rule["Name"]: rule for rule in acl["Rules"]}
    assert {name for name in rules if name.startswith("AWSManaged")} == {
        "AWSManagedRulesAmazonIpReputationList",
        "AWSManagedRulesCommonRuleSet",
        "AWSManagedRulesKnownBadInputsRuleSet",
    }
    for whose in ("address", "caller"):
        answer = rules[f"rate-per-{whose}"]["Action"]["Block"]["CustomResponse"]
        body = json.loads(acl["CustomResponseBodies"][answer["CustomResponseBodyKey"]]["Content"])
        assert (answer["ResponseCode"], body["code"]) == (429, "too-many-requests")
        assert {"Name": "Retry-After", "Value": "1"} in answer["ResponseHeaders"]
    limited = rules["rate-per-caller"]["Statement"]["RateBasedStatement"]
    assert limited["CustomKeys"][0]["Header"]["Name"] == "authorization"


def test_dev_and_production_limit_the_rate_of_the_whole_api(resources: Resources) -> None:
    for stage, rate in (("dev", 50), ("prod", 500)):
        (deployed,) = resources(stage, "AWS::ApiGateway::Stage").values()
        (setting,) = deployed["Properties"]["MethodSettings"]
        assert setting["ThrottlingRateLimit"] == rate


def test_only_the_local_api_asks_for_a_fixed_address(resources: Resources, stage: str) -> None:
    (api,) = resources(stage, "AWS::ApiGateway::RestApi").values()
    tags = {tag["Key"]: tag["Value"] for tag in api["Properties"]["Tags"]}
    assert tags.get("ms-custom-id") == (LOCAL.custom_id if stage == "local" else None)


def test_no_rule_of_aws_solutions_is_broken_without_a_reason(
    assemblies: dict[str, Path], stage: str
) -> None:
    report = json.loads((assemblies[stage] / "validation-report.json").read_text())
    findings = [
        (violation["ruleName"], construct["constructPath"])
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
        for construct in violation["violatingConstructs"]
    ]
    assert findings == []


def test_an_unknown_stage_is_refused_and_none_means_local() -> None:
    assert stage_named(None) is LOCAL
    with pytest.raises(ValueError, match="local|dev|prod"):
        stage_named("staging")


def _kinds(assembly: Path) -> set[str]:
    return {
        resource["Type"]
        for file in assembly.glob("*.template.json")
        for resource in json.loads(file.read_text())["Resources"].values()
    }
