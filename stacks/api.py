"""The REST API: reads go to one function, commands to the other, and a token opens both."""

from aws_cdk import RemovalPolicy, Tags
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cognito as cognito
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks.findings import acknowledge
from stacks.functions import log_retention
from stacks.problems import answer_in_problems
from stacks.stage import API_STAGE, StageConfig

COMMAND_METHODS = ("POST", "PUT", "PATCH", "DELETE")
PUBLIC_PATHS = ("health",)
DOCS_PATHS = ("openapi.json", "docs", "docs/{proxy+}")


class Api(Construct):
    """Routes, their authorizer, and the gateway's own answers."""

    def __init__(
        self,
        scope: Construct,
        stage: StageConfig,
        *,
        pool: cognito.IUserPool,
        commands: lambda_.IFunction,
        queries: lambda_.IFunction,
    ) -> None:
        super().__init__(scope, "Api")
        self.rest = self._rest_api(stage)
        if stage.custom_id:
            Tags.of(self.rest).add("ms-custom-id", stage.custom_id)
        answer_in_problems(self.rest)
        self._protected_routes(pool, commands, queries)
        self._public_routes(queries, PUBLIC_PATHS + (DOCS_PATHS if stage.docs_public else ()))
        self._acknowledge(stage)

    def _protected_routes(
        self, pool: cognito.IUserPool, commands: lambda_.IFunction, queries: lambda_.IFunction
    ) -> None:
        authorizer = apigateway.CognitoUserPoolsAuthorizer(
            self, "Authorizer", cognito_user_pools=[pool]
        )
        everything = self.rest.root.add_resource("{proxy+}")
        for method in ("GET", *COMMAND_METHODS):
            everything.add_method(
                method,
                _calls(queries if method == "GET" else commands),
                authorizer=authorizer,
                authorization_type=apigateway.AuthorizationType.COGNITO,
            )

    def _public_routes(self, queries: lambda_.IFunction, paths: tuple[str, ...]) -> None:
        reason = "Health and the documentation need no token and show nobody's data."
        for path in paths:
            method = self.rest.root.resource_for_path(path).add_method("GET", _calls(queries))
            acknowledge(method, reason, "AwsSolutions-APIG4", "AwsSolutions-COG4")

    def _rest_api(self, stage: StageConfig) -> apigateway.RestApi:
        return apigateway.RestApi(
            self,
            "Rest",
            rest_api_name=f"{stage.prefix}-api",
            description=f"Holdfast {stage.name}: cases and orders",
            endpoint_types=[apigateway.EndpointType.REGIONAL],
            cloud_watch_role=stage.api_logs,
            cloud_watch_role_removal_policy=RemovalPolicy.DESTROY if stage.api_logs else None,
            deploy_options=self._stage_options(stage),
        )

    def _stage_options(self, stage: StageConfig) -> apigateway.StageOptions:
        rate = stage.rate_per_second
        limits = {"throttling_rate_limit": rate, "throttling_burst_limit": 2 * rate} if rate else {}
        return apigateway.StageOptions(
            stage_name=API_STAGE,
            tracing_enabled=stage.tracing,
            metrics_enabled=stage.api_logs,
            **limits,
            **(self._logging(stage) if stage.api_logs else {}),
        )

    def _logging(self, stage: StageConfig) -> dict[str, object]:
        access_log = logs.LogGroup(
            self,
            "AccessLog",
            log_group_name=f"/aws/apigateway/{stage.prefix}",
            retention=log_retention(stage),
            removal_policy=RemovalPolicy.DESTROY,
        )
        return {
            "access_log_destination": apigateway.LogGroupLogDestination(access_log),
            # No caller and no address: the log says what was asked, not who asked.
            "access_log_format": apigateway.AccessLogFormat.json_with_standard_fields(
                caller=False,
                http_method=True,
                ip=False,
                protocol=True,
                request_time=True,
                resource_path=True,
                response_length=True,
                status=True,
                user=False,
            ),
            "logging_level": apigateway.MethodLoggingLevel.ERROR,
            "data_trace_enabled": False,
        }

    def _acknowledge(self, stage: StageConfig) -> None:
        validated = "The functions validate every request, and say which field is wrong."
        acknowledge(self.rest, validated, "AwsSolutions-APIG2")
        if stage.api_logs:
            managed = "API Gateway writes its logs with the policy that AWS maintains for it."
            policy = "service-role/AmazonAPIGatewayPushToCloudWatchLogs"
            finding = f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{policy}]"
            acknowledge(self.rest, managed, finding)
        else:
            reason = "The emulator has no API logs; dev and prod keep them."
            acknowledge(self.rest, reason, "AwsSolutions-APIG1", "AwsSolutions-APIG6")
        if not stage.firewall:
            reason = "The firewall stands in front of production alone."
            acknowledge(self.rest, reason, "AwsSolutions-APIG3")


def _calls(function: lambda_.IFunction) -> apigateway.LambdaIntegration:
    return apigateway.LambdaIntegration(function, allow_test_invoke=False)
