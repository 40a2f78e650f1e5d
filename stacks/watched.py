"""What there is to watch in a stage, and the metrics of it that an alarm or a graph asks for."""

from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from stacks.alarms import Of, Watch
from stacks.data import INDEXES
from stacks.stage import API_STAGE

NAMESPACE = "Holdfast"
SERVICE = {"service": "holdfast"}
"""The one dimension of our own metrics. Ids are fields of log lines and never dimensions."""
MINUTE = Duration.minutes(1)


@dataclass(frozen=True, kw_only=True)
class Watched:
    """Names of what AWS counts by itself; names are literal, so that no export ties the stacks."""

    api: str
    table: str
    functions: tuple[str, ...]
    stream_readers: tuple[str, ...]
    queues: tuple[str, ...]
    dead_letters: tuple[str, ...]

    def metrics(self, watch: Watch) -> Iterator[tuple[str, cloudwatch.IMetric]]:
        """Each metric that the watch is about, with the name of what it belongs to, if any."""
        if watch.of is Of.TABLE:
            yield "", self.table_sum(watch.metric)
        else:
            namespace, places = self._places(watch.of)
            for suffix, dimensions in places.items():
                yield suffix, metric(watch.metric, watch.statistic, namespace, dimensions)

    def _places(self, of: Of) -> tuple[str, dict[str, dict[str, str]]]:
        """By kind: the namespace, and the dimensions of each place."""
        match of:
            case Of.FUNCTION:
                return "AWS/Lambda", _each("FunctionName", self.functions)
            case Of.STREAM_READER:
                return "AWS/Lambda", _each("FunctionName", self.stream_readers)
            case Of.DEAD_LETTERS:
                return "AWS/SQS", _each("QueueName", self.dead_letters)
            case Of.API:
                return "AWS/ApiGateway", {"": {"ApiName": self.api, "Stage": API_STAGE}}
        return NAMESPACE, {"": SERVICE}

    def table_sum(self, name: str) -> cloudwatch.IMetric:
        """The sum over the table and its indexes, each of which counts for itself."""
        table = {"TableName": self.table}
        places = [table, *({**table, "GlobalSecondaryIndexName": index} for index in INDEXES)]
        parts = {
            f"{name[0].lower()}{place}": metric(name, "Sum", "AWS/DynamoDB", dimensions)
            for place, dimensions in enumerate(places)
        }
        # SUM skips a place that was never throttled; a `+` would have no value without it.
        return cloudwatch.MathExpression(
            expression="SUM(METRICS())", using_metrics=parts, label=name, period=MINUTE
        )


def metric(
    name: str,
    statistic: str = "Sum",
    namespace: str = NAMESPACE,
    dimensions: dict[str, str] | None = None,
) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        statistic=statistic,
        period=MINUTE,
        dimensions_map=SERVICE if dimensions is None else dimensions,
    )


def _each(dimension: str, names: tuple[str, ...]) -> dict[str, dict[str, str]]:
    return {name: {dimension: name} for name in names}
