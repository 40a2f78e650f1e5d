"""Routes, tokens, refusals and functions are in every stage what the HTTP contract says."""

import json
from typing import Any

from tests.stacks.conftest import Resources, only
from tools.paths import ROOT

PUBLIC = {"/health"}
DOCS = {"/openapi.json", "/docs", "/docs/{proxy+}"}
FUNCTION_FILES = {
    "commands_api",
    "queries_api",
    "relay_outbox",
    "perform_effects",
    "project_events",
    "reconcile",
    "run_workflows",
}


def routes(resources: Resources, stage: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Each method of the API by HTTP method and path."""
    parts = resources(stage, "AWS::ApiGateway::Resource")

    def path(resource: dict[str, Any]) -> str:
        if "Ref" not in resource:
            return ""
        part = parts[resource["Ref"]]["Properties"]
        return f"{path(part['ParentId'])}/{part['PathPart']}"

    methods = (item["Properties"] for item in resources(stage, "AWS::ApiGateway::Method").values())
    return {(method["HttpMethod"], path(method["ResourceId"])): method for method in methods}


def test_every_method_wants_a_token_but_the_public_ones(resources: Resources, stage: str) -> None:
    public = {
        path
        for (_, path), method in routes(resources, stage).items()
        if method["AuthorizationType"] != "COGNITO_USER_POOLS"
    }
    assert public == (PUBLIC if stage == "prod" else PUBLIC | DOCS)


def test_reads_go_to_the_queries_and_everything_else_to_the_commands(
    resources: Resources, stage: str
) -> None:
    called = {
        route: json.dumps(method["Integration"]["Uri"])
        for route, method in routes(resources, stage).items()
    }
    assert {method for method, path in called if path == "/{proxy+}"} == {
        "GET",
        "POST",
        "PUT",
        "PATCH",
        "DELETE",
    }
    for (method, _), target in called.items():
        assert ("QueriesApi" if method == "GET" else "CommandsApi") in target


def test_the_gateway_refuses_in_problem_json(resources: Resources, stage: str) -> None:
    refusals = {
        response["Properties"]["ResponseType"]: response["Properties"]
        for response in resources(stage, "AWS::ApiGateway::GatewayResponse").values()
    }
    for refusal in refusals.values():
        content_type = refusal["ResponseParameters"]["gatewayresponse.header.Content-Type"]
        assert content_type == "'application/problem+json'"
        problem = json.loads(refusal["ResponseTemplates"]["application/json"])
        assert set(problem) == {"type", "title", "status", "detail", "code", "retryable"}
        assert str(problem["status"]) == refusal["StatusCode"]
        assert problem["type"] == f"urn:problem:{problem['code']}"


def test_each_refusal_of_the_gateway_has_the_code_of_the_contract(
    resources: Resources, stage: str
) -> None:
    codes = {
        response["Properties"]["ResponseType"]: json.loads(
            response["Properties"]["ResponseTemplates"]["application/json"]
        )["code"]
        for response in resources(stage, "AWS::ApiGateway::GatewayResponse").values()
    }
    expected = {
        "UNAUTHORIZED": "unauthenticated",
        "EXPIRED_TOKEN": "unauthenticated",
        "ACCESS_DENIED": "forbidden",
        "MISSING_AUTHENTICATION_TOKEN": "not-found",
        "REQUEST_TOO_LARGE": "too-large",
        "THROTTLED": "too-many-requests",
        "INTEGRATION_TIMEOUT": "outcome-unknown",
        "DEFAULT_4XX": "malformed-request",
        "DEFAULT_5XX": "internal-error",
    }
    assert codes.items() >= expected.items()


def test_functions_and_layers_run_python_3_14_on_arm(resources: Resources, stage: str) -> None:
    functions = resources(stage, "AWS::Lambda::Function").values()
    for function in (item["Properties"] for item in functions):
        assert (function["Runtime"], function["Architectures"]) == ("python3.14", ["arm64"])
        assert len(function["Layers"]) == 2
    layers = resources(stage, "AWS::Lambda::LayerVersion").values()
    for layer in (item["Properties"] for item in layers):
        assert layer["CompatibleRuntimes"] == ["python3.14"]
        assert layer["CompatibleArchitectures"] == ["arm64"]


def test_each_function_is_named_for_its_file_and_knows_its_table_and_stage(
    resources: Resources, stage: str
) -> None:
    functions = [item["Properties"] for item in resources(stage, "AWS::Lambda::Function").values()]
    assert {function["Handler"] for function in functions} == {
        f"{file}.handler" for file in FUNCTION_FILES
    }
    for function in functions:
        file = function["Handler"].partition(".")[0]
        assert (ROOT / "functions" / f"{file}.py").is_file()
        assert function["FunctionName"] == f"holdfast-{stage}-{file}"
        variables = function["Environment"]["Variables"]
        assert variables.pop("TABLE_NAME")
        common = {
            "STAGE": stage,
            "POWERTOOLS_SERVICE_NAME": "holdfast",
            "POWERTOOLS_METRICS_NAMESPACE": "Holdfast",
            "POWERTOOLS_LOG_LEVEL": "INFO",
        }
        assert variables.items() >= common.items()


def test_each_function_writes_a_log_that_ends(resources: Resources, stage: str) -> None:
    kept = {
        group["Properties"]["RetentionInDays"]
        for group in resources(stage, "AWS::Logs::LogGroup").values()
    }
    assert kept == {{"local": 1, "dev": 30, "prod": 365}[stage]}
    for function in resources(stage, "AWS::Lambda::Function").values():
        assert function["Properties"]["LoggingConfig"]["LogGroup"]


def test_a_user_belongs_to_one_tenant_for_ever_and_cannot_sign_up_alone(
    resources: Resources, stage: str
) -> None:
    pool = only(resources(stage, "AWS::Cognito::UserPool"))["Properties"]
    (tenant,) = [item for item in pool["Schema"] if item["Name"] == "tenantId"]
    assert tenant["Mutable"] is False
    assert pool["AdminCreateUserConfig"]["AllowAdminCreateUserOnly"] is True
    groups = resources(stage, "AWS::Cognito::UserPoolGroup").values()
    assert {group["Properties"]["GroupName"] for group in groups} == {
        "officer",
        "reviewer",
        "supervisor",
        "customer",
        "admin",
    }


def test_production_takes_no_plain_password_and_wants_a_second_factor(
    resources: Resources,
) -> None:
    client = only(resources("prod", "AWS::Cognito::UserPoolClient"))["Properties"]
    assert "ALLOW_USER_PASSWORD_AUTH" not in client["ExplicitAuthFlows"]
    pool = only(resources("prod", "AWS::Cognito::UserPool"))["Properties"]
    assert pool["MfaConfiguration"] == "ON"
    assert pool["DeletionProtection"] == "ACTIVE"
