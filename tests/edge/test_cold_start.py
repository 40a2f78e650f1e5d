"""What a function loads before its first request, and how its clients are set."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import botocore.session
import pytest
from botocore.awsrequest import AWSResponse

from tests.conftest import ROOT

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": f"{ROOT}/layers/domain/python:{ROOT}/functions",
    "TABLE_NAME": "holdfast",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
    **{
        f"{name}_URL": "http://127.0.0.1:9/000000000000/queue"
        for name in (
            "EFFECTS_QUEUE",
            "EVENTS_QUEUE",
            "PROJECTION_FAILURES",
            "RECONCILIATIONS_QUEUE",
            "WORKFLOWS_QUEUE",
        )
    },
    "WEBHOOK_URL": "http://127.0.0.1:9/",
    "WEBHOOK_SECRET_ID": "webhook",
    "STAGE": "local",
    "MAIL_FROM": "holdfast@example.com",
}
SDK = {"botocore", "certifi", "dateutil", "jmespath", "six", "urllib3"}
COMMON = {*SDK, "aws_lambda_powertools", "boto3", "holdfast", "msgspec", "typing_extensions"}
"""The packages of every function; of boto3 its conditions alone. The layer has no certifi."""
FUNCTIONS = sorted(path.stem for path in (ROOT / "functions").glob("*.py"))
UNUSED = {
    "asyncio",
    "aws_lambda_powertools.event_handler.appsync",
    "aws_lambda_powertools.utilities.data_classes.kafka_event",
    "aws_lambda_powertools.utilities.idempotency.persistence.dynamodb",
    "boto3.session",
    "multiprocessing",
}
"""What packages above would bring along by themselves."""


def python(code: str, **more: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=ENVIRONMENT | more,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_imports_these_packages_and_no_other(function: str) -> None:
    loaded = set(python(f"import sys, {function}; print(*sys.modules)").split())
    packages = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names
    ours = {name for name in packages if not name.startswith(("_", "sitecustomize"))}
    assert ours - COMMON == {function}
    assert not UNUSED & loaded


def test_a_postponed_package_is_whole_when_it_is_asked_for() -> None:
    code = (
        "from holdfast.edge import cold_start; import boto3;"
        "from aws_lambda_powertools.event_handler import AppSyncResolver;"
        "from aws_lambda_powertools.utilities.data_classes import ALBEvent, KafkaEvent;"
        "from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer;"
        "print(boto3.client('dynamodb').meta.service_model.service_name)"
    )
    assert python(code).strip() == "dynamodb"


def test_the_collector_works_again_once_a_function_is_ready() -> None:
    code = "import gc, commands_api; print(gc.isenabled(), gc.get_freeze_count() > 10_000)"
    assert python(code).split() == ["True", "True"]


def test_no_client_is_made_before_it_is_used() -> None:
    code = (
        "import sys; from holdfast.edge.clients import table; t = table();"
        "print(t.client.__dict__.keys() & {'_made'}, t.client.meta.service_model.service_name)"
    )
    assert python(code).strip() == "set() dynamodb"


def test_commits_are_tried_once_by_the_sdk_and_reads_more_often() -> None:
    code = (
        "from holdfast.edge.clients import table; t = table();"
        "c = [x.meta.config for x in (t.client, t.reader)];"
        "print(*[(k.retries['total_max_attempts'], k.connect_timeout, k.read_timeout) for k in c])"
    )
    assert python(code).strip() == "(1, 1.0, 2.0) (3, 1.0, 2.0)"


def test_before_a_snapshot_a_command_goes_up_to_the_wire_and_nothing_is_told_or_opened() -> None:
    """The runtime's own module is stood in for; an endpoint that refuses would be seen."""
    code = """
import random, sys, types
hooks = types.ModuleType("snapshot_restore_py")
hooks.register_after_restore = lambda hook: seeded.append(hook)
sys.modules["snapshot_restore_py"], seeded = hooks, []
import commands_api as f
pools = f._table.client._endpoint.http_session._manager.pools
print(seeded == [random.seed], len(pools), "holdfast.domain.orders" in sys.modules)
"""
    told = python(
        code,
        AWS_LAMBDA_INITIALIZATION_TYPE="snap-start",
        AWS_ENDPOINT_URL_DYNAMODB="http://127.0.0.1:9",
    )
    assert told.split() == ["True", "0", "True"]


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "dynamodb": ("get_item", {"TableName": "t", "Key": {"PK": {"S": "a"}, "SK": {"S": "b"}}}),
    "events": ("put_events", {"Entries": [{"Source": "a", "DetailType": "b", "Detail": "{}"}]}),
    "sqs": ("send_message", {"QueueUrl": "https://sqs.us-east-1.amazonaws.com/1/q.fifo",
                             "MessageBody": "b", "MessageGroupId": "g"}),
    "secretsmanager": ("get_secret_value", {"SecretId": "s"}),
    "sesv2": ("send_email", {"Destination": {"ToAddresses": ["a@example.com"]}, "Content": {}}),
}  # fmt: skip


def _sent(client: Any, call: tuple[str, dict[str, Any]]) -> tuple[Any, ...]:
    """What the client puts on the wire for one call, but for times, ids and its own name."""
    kept: list[Any] = []

    def answer(request: Any, **_: Any) -> AWSResponse:
        kept.append(request)
        raw = type("Raw", (), {"stream": lambda self: [b"{}"], "read": lambda self: b"{}"})()
        return AWSResponse(request.url, 200, {}, raw)

    client.meta.events.register("before-send", answer)
    getattr(client, call[0])(**call[1])
    (request,) = kept
    own = {"authorization", "x-amz-date", "user-agent", "amz-sdk-invocation-id", "amz-sdk-request"}
    headers = {n.lower(): v for n, v in request.headers.items() if n.lower() not in own}
    return request.method, request.url, headers, request.body


@pytest.mark.parametrize("service", CALLS)
def test_a_client_with_few_of_the_sdks_handlers_sends_what_a_whole_one_sends(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.edge import clients  # noqa: PLC0415 -- after the environment is set

    for name, value in {
        **ENVIRONMENT,
        "_X_AMZN_TRACE_ID": "Root=1",
        "AWS_LAMBDA_FUNCTION_NAME": "f",
    }.items():
        monkeypatch.setenv(name, value)
    clients._session.cache_clear()
    ours = clients.client(service, read_timeout=1, attempts=1)
    whole = botocore.session.get_session().create_client(service, config=ours.meta.config)
    assert _sent(ours, CALLS[service]) == _sent(whole, CALLS[service])
