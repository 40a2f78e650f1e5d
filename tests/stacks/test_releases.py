"""A deployment can be undone: versions, an alias, a canary, and alarms that put it back."""

import json
from typing import Any

import pytest

from stacks.functions import RESERVED
from tests.stacks.conftest import Resources

FUNCTION, ALIAS = "AWS::Lambda::Function", "AWS::Lambda::Alias"
GROUP = "AWS::CodeDeploy::DeploymentGroup"


def by_file(resources: Resources, stage: str) -> dict[str, dict[str, Any]]:
    functions = [item["Properties"] for item in resources(stage, FUNCTION).values()]
    return {item["Handler"].partition(".")[0]: item for item in functions}


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_every_function_is_called_by_the_alias_of_a_version_that_is_kept(
    resources: Resources, stage: str
) -> None:
    functions, aliases = resources(stage, FUNCTION), resources(stage, ALIAS).values()
    assert {item["Properties"]["FunctionName"]["Ref"] for item in aliases} == set(functions)
    versions = resources(stage, "AWS::Lambda::Version")
    for alias in (item["Properties"] for item in aliases):
        assert alias["Name"] == "live"
        assert versions[alias["FunctionVersion"]["Fn::GetAtt"][0]]["DeletionPolicy"] == "Retain"
    mappings = resources(stage, "AWS::Lambda::EventSourceMapping").values()
    for called in (json.dumps(item["Properties"]["FunctionName"]) for item in mappings):
        assert ":live" in called
        assert any(f'"{alias}"' in called for alias in resources(stage, ALIAS))


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_published_versions_start_from_a_snapshot(resources: Resources, stage: str) -> None:
    for function in by_file(resources, stage).values():
        assert function["SnapStart"] == {"ApplyOn": "PublishedVersions"}


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_every_worker_has_a_reserve_and_whoever_answers_callers_has_no_limit(
    resources: Resources, stage: str
) -> None:
    for file, function in by_file(resources, stage).items():
        assert function.get("ReservedConcurrentExecutions") == RESERVED.get(file)
        assert (file in RESERVED) is not file.endswith("_api")


def test_production_tries_a_version_on_a_tenth_of_the_calls_and_goes_back_by_itself(
    resources: Resources,
) -> None:
    groups = resources("prod", GROUP)
    aliases = resources("prod", ALIAS).values()
    used = {
        item["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"]["DeploymentGroupName"]["Ref"]
        for item in aliases
    }
    assert used == set(groups)
    for group in (item["Properties"] for item in groups.values()):
        assert group["DeploymentConfigName"] == "CodeDeployDefault.LambdaCanary10Percent5Minutes"
        assert "DEPLOYMENT_STOP_ON_ALARM" in group["AutoRollbackConfiguration"]["Events"]
        assert group["AlarmConfiguration"]["Enabled"] is True


def test_the_alarms_of_a_release_watch_the_new_version_alone(resources: Resources) -> None:
    alarms = resources("prod", "AWS::CloudWatch::Alarm")
    versions = resources("prod", "AWS::Lambda::Version")
    for group in resources("prod", GROUP).values():
        for named in group["Properties"]["AlarmConfiguration"]["Alarms"]:
            alarm = alarms[named["Name"]["Ref"]]["Properties"]
            watched = {item["Name"]: item["Value"] for item in alarm["Dimensions"]}
            assert watched["Resource"] == f"{watched['FunctionName']}:live"
            assert watched["ExecutedVersion"]["Fn::GetAtt"][0] in versions


def test_local_calls_functions_themselves(resources: Resources) -> None:
    for kind in (ALIAS, "AWS::Lambda::Version", GROUP):
        assert not resources("local", kind)
