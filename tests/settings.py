"""What a function's environment names: queues and a secret, made for one test in the emulator."""

from __future__ import annotations

import uuid

import boto3

from tests.conftest import CREDENTIALS
from tools.emulator import REGION

QUEUES = ("events.fifo", "workflows.fifo", "reconciliations.fifo", "projection-failures")


def make_queues(endpoint: str) -> dict[str, str]:
    sqs = boto3.client("sqs", endpoint_url=endpoint, region_name=REGION, **CREDENTIALS)
    run = uuid.uuid4().hex[:8]
    return {
        name: sqs.create_queue(
            QueueName=name,
            Attributes={"FifoQueue": "true"} if name.endswith(".fifo") else {},
            tags={"run": run},
        )["QueueUrl"]
        for name in QUEUES
    }


def environment(endpoint: str, table: str, queues: dict[str, str], webhook: str) -> dict[str, str]:
    secrets = boto3.client(
        "secretsmanager", endpoint_url=endpoint, region_name=REGION, **CREDENTIALS
    )
    secret = secrets.create_secret(Name=f"{table}-webhook", SecretString="a secret of this test")
    return {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": endpoint,
        "TABLE_NAME": table,
        "STAGE": "local",
        "EVENTS_QUEUE_URL": queues["events.fifo"],
        "WORKFLOWS_QUEUE_URL": queues["workflows.fifo"],
        "RECONCILIATIONS_QUEUE_URL": queues["reconciliations.fifo"],
        "PROJECTION_FAILURES_URL": queues["projection-failures"],
        "WEBHOOK_URL": webhook,
        "WEBHOOK_SECRET_ID": secret["Name"],
    }
