"""What happened is announced: the relay, its queues, and the function that makes the effects."""

from aws_cdk import Duration, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secrets
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.access import AGGREGATES, COMMAND_RECORDS, TableAccess
from stacks.findings import acknowledge
from stacks.functions import Functions
from stacks.queues import FifoQueue, failure_queue
from stacks.stage import StageConfig
from stacks.streams import consume_stream

RELAY_TIMEOUT = Duration.seconds(60)
EFFECTS_TIMEOUT = Duration.seconds(60)
WORKERS = {"workflows": Duration.seconds(30), "reconciliations": Duration.seconds(300)}
"""The channels of many-step commands, with the timeouts of the functions that take their steps."""
EFFECTS_RECEIVES_MAX = 100
"""The ledger gives up after eight attempts; this is for messages that nothing can read, and
leaves room for those that go back only because one before them waits."""
WORKERS_RECEIVES_MAX = 10
SOURCE = "holdfast"
OUTBOX, LEDGER = "OUTBOX#*", "SIDE_EFFECT#*"


class Announcing(Construct):
    """`queues` and `functions` by name, for whoever watches or consumes them."""

    def __init__(
        self,
        scope: Construct,
        stage: StageConfig,
        *,
        table: dynamodb.Table,
        functions: Functions,
        access: TableAccess,
    ) -> None:
        super().__init__(scope, "Announcing")
        self._stage, self._access = stage, access
        facts = FifoQueue(
            self,
            stage,
            "events",
            timeout=EFFECTS_TIMEOUT,
            receives_max=EFFECTS_RECEIVES_MAX,
            # A bus has no deduplication ids of its own to hand on.
            content_based_deduplication=stage.event_bus,
        )
        workers = {
            name: FifoQueue(self, stage, name, timeout=timeout, receives_max=WORKERS_RECEIVES_MAX)
            for name, timeout in WORKERS.items()
        }
        self.workers = {name: fifo.queue for name, fifo in workers.items()}
        failures = failure_queue(self, stage, "relay")
        self.relay = self._relay(functions, table, facts.queue, failures)
        self.effects = self._effects(functions, facts.queue)
        self.functions = {"relay_outbox": self.relay, "perform_effects": self.effects}
        self.queues = {"relay-failures": failures}
        for name, fifo in {"events": facts, **workers}.items():
            self.queues |= {name: fifo.queue, f"{name}-dead": fifo.dead}

    def _relay(
        self,
        functions: Functions,
        table: dynamodb.Table,
        facts: sqs.Queue,
        failures: sqs.Queue,
    ) -> lambda_.Function:
        bus = self._bus(facts) if self._stage.event_bus else None
        targeted = self.workers if bus else {"events": facts, **self.workers}
        function, role = functions.add(
            "relay_outbox",
            description="Stream and schedule -> queues: announces what was committed, in order",
            timeout=RELAY_TIMEOUT,
            environment={
                **{f"{name.upper()}_QUEUE_URL": one.queue_url for name, one in targeted.items()},
                **({"EVENTS_BUS_NAME": bus.event_bus_name} if bus else {}),
            },
        )
        self._access.read(role, (*AGGREGATES, *COMMAND_RECORDS, LEDGER, OUTBOX))
        self._access.read_indexes(role, ("outbox-open",))
        self._access.write_in_transactions(role, (OUTBOX,))
        arns = [queue.queue_arn for queue in targeted.values()]
        role.add_to_policy(_allow("Announce", ["sqs:SendMessage"], arns))
        if bus:
            role.add_to_policy(_allow("PutEvents", ["events:PutEvents"], [bus.event_bus_arn]))
        consume_stream(
            function,
            role,
            table,
            failures,
            pattern={
                "eventName": ["INSERT"],
                "dynamodb": {"Keys": {"PK": {"S": [{"prefix": "OUTBOX#"}]}}},
            },
        )
        self._each_minute(function)
        return function

    def _each_minute(self, function: lambda_.Function) -> None:
        """The sweep comes again anyway, so a failed one is not repeated."""
        events.Rule(
            self,
            "Sweep",
            rule_name=f"{self._stage.prefix}-sweep-outbox",
            description="Announces what the stream did not, and measures what waits",
            schedule=events.Schedule.rate(Duration.minutes(1)),
            targets=[targets.LambdaFunction(function, retry_attempts=0)],
        )

    def _bus(self, facts: sqs.Queue) -> events.EventBus:
        """The bus, and the rule that brings its events to our own consumer, in one group."""
        bus = events.EventBus(self, "Bus", event_bus_name=f"{self._stage.prefix}-events")
        events.Rule(
            self,
            "Effects",
            rule_name=f"{self._stage.prefix}-perform-effects",
            event_bus=bus,
            event_pattern=events.EventPattern(source=[SOURCE]),
            targets=[
                targets.SqsQueue(
                    facts,
                    message=events.RuleTargetInput.from_event_path("$.detail"),
                    message_group_id="events",
                )
            ],
        )
        return bus

    def _effects(self, functions: Functions, facts: sqs.Queue) -> lambda_.Function:
        stage, secret_name = self._stage, f"{self._stage.prefix}-webhook"
        secret = secrets.Secret(
            self,
            "WebhookSecret",
            secret_name=secret_name,
            description="Signs deliveries to the webhook; its receiver has it too",
            generate_secret_string=secrets.SecretStringGenerator(
                exclude_punctuation=True, password_length=48
            ),
        )
        reason = "The receiver must change with it: docs/runbooks tells how both are rotated."
        acknowledge(secret, reason, "AwsSolutions-SMG4")
        function, role = functions.add(
            "perform_effects",
            description="Queue -> ledger -> provider -> ledger: each external effect once",
            timeout=EFFECTS_TIMEOUT,
            environment={
                "EVENTS_QUEUE_URL": facts.queue_url,
                "WEBHOOK_SECRET_ID": secret_name,
                **({"WEBHOOK_URL": stage.webhook_url} if stage.webhook_url else {}),
                **({"MAIL_FROM": stage.mail_from} if stage.mail_from else {}),
            },
        )
        self._access.read(role, (*AGGREGATES, LEDGER))
        self._access.write_in_transactions(role, (LEDGER,))
        self._access.store(role, "BeginEffects", (LEDGER,))
        secret.grant_read(role)
        if stage.mail_from:
            self._allow_mail(role, stage.mail_from)
        facts.grant_consume_messages(role)
        function.add_event_source_mapping(
            "Events",
            event_source_arn=facts.queue_arn,
            batch_size=10,
            report_batch_item_failures=True,
        )
        return function

    def _allow_mail(self, role: iam.Role, sender: str) -> None:
        """SES knows a sender by the address or by its domain, whichever was verified there."""
        identities = [
            Stack.of(self).format_arn(service="ses", resource="identity", resource_name=name)
            for name in (sender, sender.rpartition("@")[2])
        ]
        role.add_to_policy(_allow("SendMail", ["ses:SendEmail"], identities))


def _allow(name: str, actions: list[str], resources: list[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(sid=name, actions=actions, resources=resources)
