"""One page to look at first: what rings, what commands end in, and where work piles up."""

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from stacks.stage import API_STAGE
from stacks.watched import Watched, metric

WIDTH = 24
GRAPHS: dict[str, tuple[str, ...]] = {
    "Outcomes of commands": (
        "command.success.count",
        "command.conflict.count",
        "command.idempotency.hit.count",
        "command.idempotency.reuse_mismatch.count",
    ),
    "Contention": (
        "command.retry.count",
        "command.transaction_conflict.count",
        "command.throttled.count",
        "command.ambiguous_timeout.count",
        "lease.lost.count",
    ),
    "Outbox": (
        "outbox.published.count",
        "outbox.publish_failed.count",
        "outbox.pending.count",
        "outbox.dead.count",
    ),
    "Side effects and many-step commands": (
        "side_effect.confirmed.count",
        "side_effect.failed_final.count",
        "command.stuck_in_progress.count",
    ),
    "Projections and reconciliation": (
        "projection.failed.count",
        "reconciliation.drift.count",
    ),
    "Waiting, in seconds": (
        "outbox.oldest_pending.seconds",
        "projection.lag.seconds",
    ),
}
"""Our own metrics by graph. Levels and ages show their maximum, events their sum."""
LEVELS = {
    "outbox.pending.count",
    "outbox.dead.count",
    "command.stuck_in_progress.count",
    "reconciliation.drift.count",
}


def rows(watched: Watched, alarms: Sequence[cloudwatch.IAlarm]) -> list[list[cloudwatch.IWidget]]:
    """The rows of the page, in the order in which one asks."""
    status = cloudwatch.AlarmStatusWidget(title="Alarms", alarms=list(alarms), width=WIDTH)
    own = [_graph(title, [_own(name) for name in names]) for title, names in GRAPHS.items()]
    return [[status], own[:3], own[3:], _gateway(watched), _machinery(watched)]


def _own(name: str) -> cloudwatch.IMetric:
    return metric(name, "Maximum" if name in LEVELS or name.endswith(".seconds") else "Sum")


def _gateway(watched: Watched) -> list[cloudwatch.IWidget]:
    place = {"ApiName": watched.api, "Stage": API_STAGE}

    def gateway(name: str, statistic: str) -> cloudwatch.IMetric:
        return metric(name, statistic, "AWS/ApiGateway", place)

    return [
        _graph("Requests", [gateway("Count", "Sum")]),
        _graph("Errors", [gateway("4XXError", "Sum"), gateway("5XXError", "Sum")]),
        _graph("Latency", [gateway("Latency", "p50"), gateway("Latency", "p99")]),
    ]


def _machinery(watched: Watched) -> list[cloudwatch.IWidget]:
    def of_functions(name: str, statistic: str = "Sum") -> list[cloudwatch.IMetric]:
        return [
            metric(name, statistic, "AWS/Lambda", {"FunctionName": function})
            for function in watched.functions
        ]

    ages = [
        metric("IteratorAge", "Maximum", "AWS/Lambda", {"FunctionName": function})
        for function in watched.stream_readers
    ]
    depths = [
        metric("ApproximateNumberOfMessagesVisible", "Maximum", "AWS/SQS", {"QueueName": queue})
        for queue in (*watched.queues, *watched.dead_letters)
    ]
    throttles = [watched.table_sum(name) for name in ("ReadThrottleEvents", "WriteThrottleEvents")]
    graphs = {
        "Errors of functions": of_functions("Errors"),
        "p99 of functions": of_functions("Duration", "p99"),
        "Functions throttled": of_functions("Throttles"),
        "Depth of queues": depths,
        "Age of the stream": ages,
        "Table and indexes throttled": throttles,
    }
    return [_graph(title, metrics) for title, metrics in graphs.items() if metrics]


def _graph(title: str, metrics: Sequence[cloudwatch.IMetric]) -> cloudwatch.IWidget:
    return cloudwatch.GraphWidget(
        title=title, left=list(metrics), width=WIDTH // 3, period=Duration.minutes(1)
    )
