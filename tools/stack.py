"""What `make up` left in `.local/stack.json`, and clients of the local emulator."""

import json
from typing import Any

import boto3
from botocore.config import Config

from tools.emulator import REGION
from tools.paths import STACK_FILE

CREDENTIALS = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}


class NoStack(RuntimeError):
    """There is no local stack to talk to."""


def read_stack() -> dict[str, Any]:
    """The addresses and names of the local stack."""
    if not STACK_FILE.exists():
        raise NoStack("There is no local stack: run `make up`.")
    stack: dict[str, Any] = json.loads(STACK_FILE.read_text())
    return stack


def client(service: str, endpoint_url: str) -> Any:
    """A boto3 client of the emulator's only account, with no retry that would hide a fault."""
    config = Config(retries={"total_max_attempts": 1}, connect_timeout=2, read_timeout=60)
    return boto3.client(
        service, endpoint_url=endpoint_url, region_name=REGION, config=config, **CREDENTIALS
    )
