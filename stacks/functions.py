"""How every function is made: a role, a log group and an environment of its own."""

from typing import Any

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks.bundling import RUNTIME, dependencies_code, domain_code, functions_code
from stacks.findings import acknowledge
from stacks.releases import live
from stacks.stage import StageConfig

ARCHITECTURE = lambda_.Architecture.ARM_64
RESERVED = {
    "project_events": 10,
    "relay_outbox": 10,
    "perform_effects": 10,
    "run_workflows": 5,
    "reconcile": 2,
}
"""Workers at a time: a flood of events must not take the concurrency that answers callers."""


class Functions(Construct):
    """A factory: `add("commands_api")` makes the function of `functions/commands_api.py`."""

    def __init__(self, scope: Construct, stage: StageConfig, table_name: str) -> None:
        super().__init__(scope, "Functions")
        self._stage = stage
        self._code = functions_code(stage)
        self._layers = [
            self._layer("Dependencies", dependencies_code(stage), "third-party packages"),
            self._layer("Domain", domain_code(stage), "holdfast: writes, patterns, domain"),
        ]
        self._environment = {
            "TABLE_NAME": table_name,
            "STAGE": stage.name,
            "POWERTOOLS_SERVICE_NAME": "holdfast",
            "POWERTOOLS_METRICS_NAMESPACE": "Holdfast",
            "POWERTOOLS_LOG_LEVEL": "INFO",
        }

    def add(
        self,
        file: str,
        *,
        description: str,
        timeout: Duration,
        environment: dict[str, str] | None = None,
    ) -> tuple[lambda_.IFunction, iam.Role]:
        """What is called, and its role, which so far may only write its own log."""
        construct_id = "".join(word.capitalize() for word in file.split("_"))
        log_group = self._log_group(construct_id, file)
        role = self._role(construct_id, log_group)
        function = lambda_.Function(
            self,
            construct_id,
            function_name=self._name(file),
            description=description,
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            code=self._code,
            handler=f"{file}.handler",
            layers=self._layers,
            role=role,
            log_group=log_group,
            memory_size=self._stage.memory_mb,
            timeout=timeout,
            tracing=lambda_.Tracing.ACTIVE if self._stage.tracing else lambda_.Tracing.DISABLED,
            environment=self._environment | (environment or {}),
            **(self._published(file) if self._stage.versions else {}),
            # Traffic may have to go back to a version, so it outlives the one that replaced it.
            current_version_options=lambda_.VersionOptions(removal_policy=RemovalPolicy.RETAIN),
        )
        return live(function, self._stage, file), role

    @staticmethod
    def _published(file: str) -> dict[str, Any]:
        return {
            "snap_start": lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS,
            "reserved_concurrent_executions": RESERVED.get(file),
        }

    def _name(self, file: str) -> str:
        return f"{self._stage.prefix}-{file}"

    def _log_group(self, construct_id: str, file: str) -> logs.LogGroup:
        return logs.LogGroup(
            self,
            f"{construct_id}Log",
            log_group_name=f"/aws/lambda/{self._name(file)}",
            retention=log_retention(self._stage),
            removal_policy=RemovalPolicy.DESTROY,
        )

    def _role(self, construct_id: str, log_group: logs.LogGroup) -> iam.Role:
        role = iam.Role(
            self,
            f"{construct_id}Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"What {construct_id} may do, and nothing else",
        )
        log_group.grant_write(role)
        if self._stage.tracing:
            trace = "X-Ray takes traces on no narrower resource."
            acknowledge(role, trace, "AwsSolutions-IAM5[Resource::*]")
        return role

    def _layer(self, name: str, code: lambda_.Code, contents: str) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            name,
            layer_version_name=f"{self._stage.prefix}-{name.lower()}",
            description=f"Holdfast {self._stage.name}: {contents}",
            code=code,
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[ARCHITECTURE],
        )


def log_retention(stage: StageConfig) -> logs.RetentionDays:
    return {
        1: logs.RetentionDays.ONE_DAY,
        30: logs.RetentionDays.ONE_MONTH,
        365: logs.RetentionDays.ONE_YEAR,
    }[stage.log_days]
