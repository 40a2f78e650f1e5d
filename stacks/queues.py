"""Queues between functions: first in, first out, with an end to how often a message is tried."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.findings import acknowledge
from stacks.stage import StageConfig

VISIBILITY_TIMEOUTS = 6
"""Source: AWS Lambda developer guide, "Using Lambda with Amazon SQS": six function timeouts."""
KEPT = Duration.days(14)


class FifoQueue(Construct):
    """A FIFO queue, whose messages name their own deduplication ids, and its dead letters.

    `receives_max` counts deliveries, also those of messages that go back untried because one
    before them in their group has failed.
    """

    def __init__(
        self,
        scope: Construct,
        stage: StageConfig,
        name: str,
        *,
        timeout: Duration,
        receives_max: int,
        content_based_deduplication: bool = False,
    ) -> None:
        super().__init__(scope, f"{name.capitalize()}Queue")
        self.dead = sqs.Queue(
            self,
            "Dead",
            queue_name=f"{stage.prefix}-{name}-dead.fifo",
            fifo=True,
            **COMMON,
        )
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=f"{stage.prefix}-{name}.fifo",
            fifo=True,
            content_based_deduplication=content_based_deduplication,
            visibility_timeout=Duration.seconds(timeout.to_seconds() * VISIBILITY_TIMEOUTS),
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead, max_receive_count=receives_max),
            **COMMON,
        )


def failure_queue(scope: Construct, stage: StageConfig, name: str) -> sqs.Queue:
    """Where an event source tells of the batches that it gave up; they are not messages of ours."""
    name = f"{stage.prefix}-{name}-failures"
    queue = sqs.Queue(scope, "Failures", queue_name=name, **COMMON)
    acknowledge(queue, "It is itself where an event source's failures end.", "AwsSolutions-SQS3")
    return queue


COMMON = {
    "retention_period": KEPT,
    "encryption": sqs.QueueEncryption.SQS_MANAGED,
    "enforce_ssl": True,
    "removal_policy": RemovalPolicy.DESTROY,
}
