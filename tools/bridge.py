"""Carries metric lines from the functions' logs to CloudWatch, as AWS does by itself.

The emulator keeps the lines and makes no metrics of them; nor does it measure its queues. With
this bridge its alarms ring: `make alarms` carries once a second and prints what rings.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tools.stack import NoStack, client, read_stack

VALUES_MAX = 150
"""Of one metric in one PutMetricData."""
DEPTH = "ApproximateNumberOfMessagesVisible"


class Bridge:
    """Carries what was logged since it was made, or since it last carried."""

    def __init__(self, stack: Mapping[str, Any]) -> None:
        endpoint = stack["endpointUrl"]
        self.logs, self.sqs = client("logs", endpoint), client("sqs", endpoint)
        self.cloudwatch = client("cloudwatch", endpoint)
        functions = (arn.rpartition(":")[2] for arn in stack["functions"].values())
        self.groups = [f"/aws/lambda/{name}" for name in functions]
        self.queues = dict(stack["queues"])
        self.since_ms = int(time.time() * 1000)
        self.seen: dict[str, Counter[tuple[str, int, str]]] = {}

    def carry(self) -> int:
        """Carry what is new, and the depth of every queue; the number of log lines carried."""
        lines = list(self._lines())
        for line in lines:
            for namespace, data in metrics_of(line):
                self.cloudwatch.put_metric_data(Namespace=namespace, MetricData=[data])
        depths = [self._depth(url) for url in self.queues.values()]
        if depths:
            self.cloudwatch.put_metric_data(Namespace="AWS/SQS", MetricData=depths)
        return len(lines)

    def ringing(self) -> dict[str, str]:
        """Alarms that ring now, by name, with what they say."""
        found = self.cloudwatch.describe_alarms(StateValue="ALARM", MaxRecords=100)
        return {alarm["AlarmName"]: alarm["AlarmDescription"] for alarm in found["MetricAlarms"]}

    def _lines(self) -> Iterator[dict[str, Any]]:
        for group in self.groups:
            try:
                pages = self.logs.get_paginator("filter_log_events").paginate(
                    logGroupName=group, startTime=self.since_ms, filterPattern="CloudWatchMetrics"
                )
                events = [event for page in pages for event in page["events"]]
            except self.logs.exceptions.ResourceNotFoundException:
                continue
            # The emulator gives its events no id: equal ones are told apart by their number.
            found = Counter(
                (event["logStreamName"], event["timestamp"], event["message"]) for event in events
            )
            new = found - self.seen.get(group, Counter())
            self.seen[group] = found
            for _, _, message in new.elements():
                yield from _metric_lines(message)

    def _depth(self, url: str) -> dict[str, Any]:
        attributes = self.sqs.get_queue_attributes(
            QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"]
        )
        depth = int(attributes["Attributes"]["ApproximateNumberOfMessages"])
        name = {"Name": "QueueName", "Value": url.rpartition("/")[2]}
        return {"MetricName": DEPTH, "Dimensions": [name], "Value": depth, "Unit": "Count"}


def _metric_lines(message: str) -> Iterator[dict[str, Any]]:
    for line in message.splitlines():
        if '"CloudWatchMetrics"' in line:
            yield json.loads(line)


def metrics_of(line: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The data of one metric line, each with its namespace.

    Source: CloudWatch user guide, "Specification: Embedded metric format".
    """
    for described in line["_aws"]["CloudWatchMetrics"]:
        for names in described["Dimensions"]:
            dimensions = [{"Name": name, "Value": line[name]} for name in names]
            for metric in described["Metrics"]:
                values = line[metric["Name"]]
                yield (
                    described["Namespace"],
                    {
                        "MetricName": metric["Name"],
                        "Dimensions": dimensions,
                        "Unit": metric.get("Unit", "None"),
                        "Values": (values if isinstance(values, list) else [values])[:VALUES_MAX],
                    },
                )


def main() -> None:
    try:
        bridge = Bridge(read_stack())
    except NoStack as error:
        sys.exit(str(error))
    known: dict[str, str] = {}
    while True:
        bridge.carry()
        ringing = bridge.ringing()
        for name in sorted(ringing.keys() - known.keys()):
            print(f"rings  {name}: {ringing[name]}", flush=True)
        for name in sorted(known.keys() - ringing.keys()):
            print(f"quiet  {name}", flush=True)
        known = ringing
        time.sleep(1)


if __name__ == "__main__":
    main()
