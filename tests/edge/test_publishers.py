"""A message is accepted under the provider's id or it is not, entry by entry."""

from __future__ import annotations

import io
import uuid
from typing import Any

import boto3
import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics
from botocore.exceptions import ReadTimeoutError

from holdfast.edge.publishers import BusPublisher, Message, QueuePublisher, group_of
from holdfast.edge.relay_app import publishers
from holdfast.edge.telemetry import Telemetry
from tests.conftest import CREDENTIALS
from tools.emulator import REGION

THREE = [Message(f"event-{n}", f"CASE#acme#{n}#META", "CaseEdited", "{}") for n in (1, 2, 3)]


@pytest.fixture
def telemetry() -> Telemetry:
    logger = Logger(service=f"publishers-{uuid.uuid4()}", stream=io.StringIO())
    return Telemetry(logger, EphemeralMetrics(namespace="Test", service="test"))


class Answers:
    """A client that gives one answer to whatever is sent."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def _send(self, **_: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    send_message_batch = put_events = _send


def test_the_bus_that_fails_entry_two_of_three_accepts_one_and_three(
    telemetry: Telemetry,
) -> None:
    """Report 29: a partial answer of PutEvents is read entry by entry."""
    entries = [{"EventId": "a"}, {"ErrorCode": "ThrottlingException"}, {"EventId": "c"}]
    bus = BusPublisher(Answers({"FailedEntryCount": 1, "Entries": entries}), "bus", telemetry)
    assert bus.publish(THREE) == {"event-1": "a", "event-3": "c"}


def test_the_queue_that_fails_entry_two_of_three_accepts_one_and_three(
    telemetry: Telemetry,
) -> None:
    answer = {
        "Successful": [{"Id": "2", "MessageId": "c"}, {"Id": "0", "MessageId": "a"}],
        "Failed": [{"Id": "1", "Code": "InternalError", "SenderFault": False}],
    }
    queue = QueuePublisher(Answers(answer), "url", telemetry)
    assert queue.publish(THREE) == {"event-1": "a", "event-3": "c"}


@pytest.mark.parametrize("kind", [QueuePublisher, BusPublisher])
def test_a_lost_answer_accepts_nothing(kind: Any, telemetry: Telemetry) -> None:
    lost = Answers(ReadTimeoutError(endpoint_url="http://any"))
    assert kind(lost, "any", telemetry).publish(THREE) == {}


def test_a_fifo_queue_gets_each_event_once_grouped_by_aggregate(
    endpoint: str, telemetry: Telemetry
) -> None:
    client = boto3.client("sqs", endpoint_url=endpoint, region_name=REGION, **CREDENTIALS)
    url = client.create_queue(
        QueueName=f"events-{uuid.uuid4().hex}.fifo", Attributes={"FifoQueue": "true"}
    )["QueueUrl"]
    queue = QueuePublisher(client, url, telemetry)
    assert queue.publish(THREE).keys() == queue.publish(THREE).keys()
    got = client.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["MessageGroupId"]
    )["Messages"]
    groups = [message["Attributes"]["MessageGroupId"] for message in got]
    assert sorted(groups) == [message.aggregate for message in THREE]


def test_a_bus_takes_events(endpoint: str, telemetry: Telemetry) -> None:
    client = boto3.client("events", endpoint_url=endpoint, region_name=REGION, **CREDENTIALS)
    name = f"bus-{uuid.uuid4().hex}"
    client.create_event_bus(Name=name)
    accepted = BusPublisher(client, name, telemetry).publish(THREE)
    assert set(accepted) == {"event-1", "event-2", "event-3"}


def test_a_group_of_a_long_aggregate_is_its_digest_within_the_queues_limit() -> None:
    long = "CASE#" + "t" * 64 + "#" + "c" * 64 + "#META"
    assert group_of("CASE#acme#1#META") == "CASE#acme#1#META"
    assert (len(group_of(long)), group_of(long)) == (64, group_of(long))
    assert group_of(long) != group_of(long + "#1")


def test_each_queue_of_the_environment_is_a_channel_and_facts_go_to_a_bus_if_there_is_one(
    monkeypatch: pytest.MonkeyPatch, telemetry: Telemetry
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("EVENTS_QUEUE_URL", "https://queues/events")
    monkeypatch.setenv("WORKFLOWS_QUEUE_URL", "https://queues/workflows")
    ways = publishers(telemetry)
    assert {name: getattr(way, "url", None) for name, way in ways.items()} == {
        "events": "https://queues/events",
        "workflows": "https://queues/workflows",
    }
    monkeypatch.setenv("EVENTS_BUS_NAME", "bus")
    assert isinstance(publishers(telemetry)["events"], BusPublisher)
