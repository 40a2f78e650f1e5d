"""Commands of many steps: the function that takes their steps, and sees when one is stuck."""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.access import COMMAND_RECORDS, IMPORTS, TableAccess
from stacks.announcing import WORKERS
from stacks.functions import RESERVED, Functions
from stacks.stage import StageConfig

STEP_KEYS = (
    "CASE#*",
    "OFFICER#*",
    *COMMAND_RECORDS,
    *IMPORTS,
    "UNIQUE#*",
    "OUTBOX#*",
    "COUNTER#*",
)
"""What the steps of an offboarding, an import and a redaction read and change."""
REPEATED = (*COMMAND_RECORDS, "OUTBOX#*")
"""What may repeat a case's text; a redaction reads these items many at a time."""
SWEEPS = 1
"""The schedule's share of the workers."""


class Stepping(Construct):
    """`functions` by name, for whoever watches them."""

    def __init__(
        self,
        scope: Construct,
        stage: StageConfig,
        *,
        functions: Functions,
        access: TableAccess,
        steps: sqs.Queue,
    ) -> None:
        super().__init__(scope, "Stepping")
        function, role = functions.add(
            "run_workflows",
            description="Queue -> next steps of many-step commands; schedule -> stuck ones",
            timeout=WORKERS["workflows"],
            environment={"WORKFLOWS_QUEUE_URL": steps.queue_url},
        )
        access.read(role, STEP_KEYS)
        access.read_many(role, REPEATED)
        access.read_indexes(role, ("cases-by-officer", "commands-running"))
        access.write_in_transactions(role, STEP_KEYS)
        steps.grant_send_messages(role)
        steps.grant_consume_messages(role)
        function.add_event_source_mapping(
            "Steps",
            event_source_arn=steps.queue_arn,
            batch_size=1,
            report_batch_item_failures=True,
            # More would be throttled, and each throttled delivery counts towards the last one.
            max_concurrency=RESERVED["run_workflows"] - SWEEPS,
        )
        self._each_minute(stage, function)
        self.functions = {"run_workflows": function}

    def _each_minute(self, stage: StageConfig, function: lambda_.IFunction) -> None:
        """The sweep comes again anyway, so a failed one is not repeated."""
        events.Rule(
            self,
            "Sweep",
            rule_name=f"{stage.prefix}-sweep-workflows",
            description="Pushes commands that are stuck, and counts them",
            schedule=events.Schedule.rate(Duration.minutes(1)),
            targets=[targets.LambdaFunction(function, retry_attempts=0)],
        )
