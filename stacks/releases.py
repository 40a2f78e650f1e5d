"""How a new version of a function takes over: published, tried on a tenth of the calls, then all.

Callers use the alias, never the function. If the new version fails or slows down meanwhile, its
alarms ring and CodeDeploy gives the alias back to the version before.
"""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_lambda as lambda_

from stacks.findings import acknowledge
from stacks.stage import StageConfig

ALIAS = "live"
ERRORS = ("Errors", "Sum", 0)
SLOW = ("Duration", "p99", 5_000)
"""In milliseconds. No request may take as long: a commit's deadline is three seconds. A worker
takes as long as it has work."""


def live(function: lambda_.Function, stage: StageConfig, file: str) -> lambda_.IFunction:
    """What is called: the alias of the published version, or in stage local the function itself."""
    if not stage.versions:
        return function
    alias = lambda_.Alias(function, "Live", alias_name=ALIAS, version=function.current_version)
    if stage.gradual:
        _release_gradually(function, alias, f"{stage.prefix}-release-{file}")
    return alias


def _release_gradually(function: lambda_.Function, alias: lambda_.Alias, name: str) -> None:
    group = codedeploy.LambdaDeploymentGroup(
        function,
        "Release",
        deployment_group_name=name,
        alias=alias,
        deployment_config=codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_5_MINUTES,
        alarms=[
            _alarm(function, alias, name, *measured)
            for measured in (ERRORS, SLOW)
            if measured is ERRORS or name.endswith("_api")
        ],
    )
    reason = "CodeDeploy shifts the alias with the policy that AWS maintains for it."
    policy = "service-role/AWSCodeDeployRoleForLambdaLimited"
    finding = f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{policy}]"
    acknowledge(group, reason, finding)


def _alarm(
    function: lambda_.Function,
    alias: lambda_.Alias,
    name: str,
    metric: str,
    statistic: str,
    threshold: float,
) -> cloudwatch.Alarm:
    """On the new version alone: what the old one does must not stop its own replacement."""
    physical = function.node.default_child.function_name
    return cloudwatch.Alarm(
        function,
        f"Release{metric}",
        alarm_name=f"{name}-{metric.lower()}",
        alarm_description="Rolls a deployment back. Runbook: docs/runbooks/deploys.md",
        metric=cloudwatch.Metric(
            namespace="AWS/Lambda",
            metric_name=metric,
            statistic=statistic,
            period=Duration.minutes(1),
            dimensions_map={
                "FunctionName": physical,
                "Resource": f"{physical}:{ALIAS}",
                "ExecutedVersion": alias.version.version,
            },
        ),
        threshold=threshold,
        evaluation_periods=1,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
    )
