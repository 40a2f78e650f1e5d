"""How a function reads the table's stream: tried again a few times, then told of and left."""

from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs

from stacks.findings import acknowledge

BATCH_RECORDS = 100
WINDOW = Duration.seconds(1)
RETRIES = 5
AGE_MAX = Duration.hours(1)
"""A batch that keeps failing holds up its shard for no longer than this."""


def consume_stream(
    function: lambda_.Function,
    role: iam.Role,
    table: dynamodb.Table,
    failures: sqs.Queue,
    *,
    pattern: dict[str, Any],
) -> None:
    """Call `function` with the stream's records that match `pattern`, from the oldest on.

    Retries, age and bisection are finite, and what is given up goes to `failures`.
    """
    stream = table.table_stream_arn
    role.add_to_policy(
        iam.PolicyStatement(
            sid="ReadStream",
            actions=["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"],
            resources=[stream],
        )
    )
    role.add_to_policy(
        iam.PolicyStatement(sid="FindStream", actions=["dynamodb:ListStreams"], resources=["*"])
    )
    reason = "DynamoDB lists streams on no narrower resource."
    acknowledge(role, reason, "AwsSolutions-IAM5[Resource::*]")
    function.add_event_source_mapping(
        "Stream",
        event_source_arn=stream,
        starting_position=lambda_.StartingPosition.TRIM_HORIZON,
        batch_size=BATCH_RECORDS,
        max_batching_window=WINDOW,
        retry_attempts=RETRIES,
        max_record_age=AGE_MAX,
        bisect_batch_on_error=True,
        report_batch_item_failures=True,
        on_failure=sources.SqsDlq(failures),
        filters=[lambda_.FilterCriteria.filter(pattern)],
    )
