"""What tells a human: alarms with their runbooks, the topic they ring, and the dashboard."""

from aws_cdk import Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.alarms import BASELINE, TOGETHER, TOGETHER_OF, WATCHES, Of, Watch
from stacks.dashboard import rows
from stacks.data import environment
from stacks.stage import StageConfig
from stacks.watched import Watched, metric

ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
QUIET = cloudwatch.TreatMissingData.NOT_BREACHING


class ObservabilityStack(Stack):
    """Alarms find their functions and queues in the service stack: none can be forgotten."""

    def __init__(
        self, scope: Construct, stage: StageConfig, service: Stack, table_name: str
    ) -> None:
        super().__init__(
            scope,
            "Observability",
            stack_name=f"{stage.prefix}-observability",
            description=f"Holdfast {stage.name}: alarms, dashboard, topic",
            termination_protection=stage.keep_data,
            env=environment(stage),
        )
        self.add_stack_dependency(service)
        self._stage = stage
        self._topic = self._alarm_topic()
        self._alarms: dict[str, cloudwatch.IAlarm] = {}
        watched = watched_in(service, stage, table_name)
        for watch in WATCHES:
            if stage.math_alarms or watch.of is not Of.TABLE:
                self._watch(watch, watched)
        if stage.math_alarms:
            self._watch_baseline()
            self._watch_together()
        self._dashboard(watched)

    def _alarm_topic(self) -> sns.Topic:
        """Subscribe the people on call to it; it takes alarms from CloudWatch, over TLS alone."""
        topic = sns.Topic(
            self, "Alarms", topic_name=f"{self._stage.prefix}-alarms", enforce_ssl=True
        )
        topic.grant_publish(iam.ServicePrincipal("cloudwatch.amazonaws.com"))
        return topic

    def _watch(self, watch: Watch, watched: Watched) -> None:
        for place, measured in watched.metrics(watch):
            own = place.removeprefix(f"{self._stage.prefix}-")
            name = f"{watch.name}-{own}" if own else watch.name
            self._ring(
                name,
                cloudwatch.Alarm(
                    self,
                    name,
                    alarm_name=f"{self._stage.prefix}-{name}",
                    alarm_description=described(watch),
                    metric=measured,
                    threshold=watch.threshold,
                    evaluation_periods=watch.minutes,
                    comparison_operator=ABOVE,
                    treat_missing_data=QUIET,
                ),
            )

    def _watch_baseline(self) -> None:
        self._ring(
            BASELINE.name,
            cloudwatch.AnomalyDetectionAlarm(
                self,
                BASELINE.name,
                alarm_name=f"{self._stage.prefix}-{BASELINE.name}",
                alarm_description=described(BASELINE),
                metric=metric(BASELINE.metric),
                std_devs=BASELINE.threshold,
                evaluation_periods=BASELINE.minutes,
                comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_UPPER_THRESHOLD,
                treat_missing_data=QUIET,
            ),
        )

    def _watch_together(self) -> None:
        groups = [
            cloudwatch.AlarmRule.any_of(*(self._alarms[name] for name in group))
            for group in TOGETHER_OF
        ]
        alarm = cloudwatch.CompositeAlarm(
            self,
            TOGETHER.name,
            composite_alarm_name=f"{self._stage.prefix}-{TOGETHER.name}",
            alarm_description=described(TOGETHER),
            alarm_rule=cloudwatch.AlarmRule.all_of(*groups),
        )
        self._ring(TOGETHER.name, alarm)

    def _ring(self, name: str, alarm: cloudwatch.AlarmBase) -> None:
        alarm.add_alarm_action(actions.SnsAction(self._topic))
        self._alarms[name] = alarm

    def _dashboard(self, watched: Watched) -> None:
        cloudwatch.Dashboard(
            self,
            "Dashboard",
            dashboard_name=f"{self._stage.prefix}",
            widgets=rows(watched, list(self._alarms.values())),
        )


def described(watch: Watch) -> str:
    """What the alarm says when it rings."""
    return f"{'URGENT. ' if watch.urgent else ''}{watch.why} Runbook: {watch.runbook}"


def watched_in(service: Stack, stage: StageConfig, table_name: str) -> Watched:
    """Everything of the stack that AWS counts, by the names that the stack gave."""
    parts = service.node.find_all()
    functions = [part for part in parts if isinstance(part, lambda_.Function)]
    queues = [part for part in parts if isinstance(part, sqs.Queue)]
    return Watched(
        api=f"{stage.prefix}-api",
        table=table_name,
        functions=tuple(_function_name(part) for part in functions),
        stream_readers=tuple(_function_name(part) for part in functions if _reads_stream(part)),
        queues=tuple(_queue_name(part) for part in queues if part.dead_letter_queue),
        dead_letters=tuple(_queue_name(part) for part in queues if not part.dead_letter_queue),
    )


def _function_name(function: lambda_.Function) -> str:
    return str(function.node.default_child.function_name)


def _queue_name(queue: sqs.Queue) -> str:
    return str(queue.node.default_child.queue_name)


def _reads_stream(function: lambda_.Function) -> bool:
    """A mapping of a stream has a place to start from; one of a queue has none."""
    parts = function.node.find_all()
    mappings = [part for part in parts if isinstance(part, lambda_.CfnEventSourceMapping)]
    return any(mapping.starting_position for mapping in mappings)
