"""Counts: the projector on the table's stream, and the nightly proof that they are right."""

from aws_cdk import Duration
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.access import AGGREGATES, COMMAND_RECORDS, TableAccess
from stacks.functions import Functions
from stacks.queues import COMMON, VISIBILITY_TIMEOUTS, failure_queue
from stacks.stage import StageConfig
from stacks.streams import consume_stream

PROJECTOR_TIMEOUT = Duration.seconds(60)
RECONCILE_TIMEOUT = Duration.minutes(5)
REDRIVES_MAX = 3
NIGHT = events.Schedule.cron(hour="2", minute="30")
COUNTED = {"PK": ("CASE#", "ORDER#"), "SK": ("EVENT#META#", "EVENT#TASK#")}
"""Starts of the keys of the audit events that any projection counts."""
PROJECTED = ("PROJECTION#*",)
RECONCILED = (
    *AGGREGATES,
    *COMMAND_RECORDS,
    *PROJECTED,
    "UNIQUE#*",
    "OUTBOX#*",
    "RECONCILIATION#*",
)


class Counting(Construct):
    """`queues` and `functions` by name, for whoever watches or consumes them."""

    def __init__(
        self,
        scope: Construct,
        stage: StageConfig,
        *,
        table: dynamodb.ITable,
        functions: Functions,
        access: TableAccess,
        steps: sqs.Queue,
    ) -> None:
        super().__init__(scope, "Counting")
        self._stage, self._access, self._table = stage, access, table
        failures = failure_queue(self, stage, "projection")
        redrives = self._redrives(failures)
        self.functions = {
            "project_events": self._projector(functions, failures, redrives),
            "reconcile": self._reconcile(functions, steps),
        }
        self.queues = {"projection-failures": failures, "projection-redrives": redrives}

    def _redrives(self, failures: sqs.Queue) -> sqs.Queue:
        """What is moved here from the failures is counted again, and else ends there again."""
        return sqs.Queue(
            self,
            "Redrives",
            queue_name=f"{self._stage.prefix}-projection-redrives",
            visibility_timeout=Duration.seconds(
                PROJECTOR_TIMEOUT.to_seconds() * VISIBILITY_TIMEOUTS
            ),
            dead_letter_queue=sqs.DeadLetterQueue(queue=failures, max_receive_count=REDRIVES_MAX),
            **COMMON,
        )

    def _projector(
        self, functions: Functions, failures: sqs.Queue, redrives: sqs.Queue
    ) -> lambda_.IFunction:
        function, role = functions.add(
            "project_events",
            description="Stream of audit events -> every projection, exactly once",
            timeout=PROJECTOR_TIMEOUT,
            environment={"PROJECTION_FAILURES_URL": failures.queue_url},
        )
        self._access.read(role, ("CASE#*", "ORDER#*", *PROJECTED))
        self._access.read_many(role, PROJECTED)
        self._access.write_in_transactions(role, PROJECTED)
        self._access.store(role, "MarkStuck", PROJECTED)
        failures.grant_send_messages(role)
        consume_stream(
            function,
            role,
            self._table,
            failures,
            pattern={
                "eventName": ["INSERT"],
                "dynamodb": {
                    "Keys": {
                        name: {"S": [{"prefix": start} for start in starts]}
                        for name, starts in COUNTED.items()
                    }
                },
            },
        )
        self._consume(function, role, redrives, "Redrives")
        return function

    def _reconcile(self, functions: Functions, steps: sqs.Queue) -> lambda_.IFunction:
        function, role = functions.add(
            "reconcile",
            description="Queue, schedule and night -> recounts, reports, audited repairs",
            timeout=RECONCILE_TIMEOUT,
            environment={"RECONCILIATIONS_QUEUE_URL": steps.queue_url},
        )
        self._access.read(role, RECONCILED)
        self._access.read_many(role, PROJECTED)
        self._access.read_indexes(role, ("cases-by-officer", "commands-running"))
        self._access.write_in_transactions(role, RECONCILED)
        self._access.scan(role)
        steps.grant_send_messages(role)
        self._consume(function, role, steps, "Reconciliations")
        self._each(function, "Sweep", events.Schedule.rate(Duration.minutes(5)), None)
        self._each(function, "Nightly", NIGHT, {"start": "nightly"})
        return function

    def _consume(
        self, function: lambda_.IFunction, role: iam.Role, queue: sqs.Queue, name: str
    ) -> None:
        queue.grant_consume_messages(role)
        function.add_event_source_mapping(
            name,
            event_source_arn=queue.queue_arn,
            batch_size=1,
            report_batch_item_failures=True,
        )

    def _each(
        self,
        function: lambda_.IFunction,
        name: str,
        schedule: events.Schedule,
        event: dict[str, str] | None,
    ) -> None:
        told = events.RuleTargetInput.from_object(event) if event else None
        events.Rule(
            self,
            name,
            rule_name=f"{self._stage.prefix}-reconcile-{name.lower()}",
            description="Reconciliation: every tenant at night, stuck runs the whole day",
            schedule=schedule,
            targets=[targets.LambdaFunction(function, event=told, retry_attempts=0)],
        )
