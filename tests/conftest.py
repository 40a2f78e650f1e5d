"""What every test may ask for: an emulator, a client of it, and a table of one's own.

A test that reaches the emulator through these fixtures is marked `emulator`.
"""

from __future__ import annotations

import ast
import os
import uuid
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from hypothesis import settings

from holdfast.writes.table import Table
from tests.commands import Office
from tests.metering import Meter
from tests.proxy import Proxy, proxy
from tools.emulator import REGION, emulator

settings.register_profile("steady", derandomize="EXPLORE" not in os.environ, deadline=None)
settings.load_profile("steady")
# The same examples every time, so that a run says what the change did; EXPLORE=1 finds new ones.

ROOT = Path(__file__).resolve().parent.parent
CREDENTIALS = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
SHARING = ("e2e", "stacks")
"""Folders whose tests share what takes long to make: one worker runs them all."""
NO_RETRIES = {"total_max_attempts": 1, "mode": "standard"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(ROOT / "tests").parts[0]
        if folder in SHARING:
            item.add_marker(pytest.mark.xdist_group(folder))
        if "endpoint" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.emulator)


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """The URL of an emulator that lives as long as the test session."""
    with emulator() as url:
        yield url


def dynamodb(url: str, **settings: Any) -> Any:
    """A low-level client with the SDK's own retries off; `settings` are botocore's."""
    config = Config(**{"retries": NO_RETRIES, "read_timeout": 15, "connect_timeout": 2} | settings)
    return boto3.client(
        "dynamodb", endpoint_url=url, region_name=REGION, config=config, **CREDENTIALS
    )


@pytest.fixture(scope="session")
def client(endpoint: str) -> Any:
    return dynamodb(endpoint, max_pool_connections=32)


@pytest.fixture
def table_name(client: Any) -> Iterator[str]:
    """A fresh table with the service's keys and indexes; no other test shares it."""
    name = f"holdfast-{uuid.uuid4().hex[:12]}"
    create_table(client, name)
    yield name
    client.delete_table(TableName=name)


@pytest.fixture
def table(client: Any, table_name: str) -> Table:
    """The table as the kernel sees it, waiting for nothing between two attempts."""
    return Table(client, table_name, sleep=lambda seconds: None)


@pytest.fixture
def office(table: Table) -> Office:
    """Runs commands on a fresh table."""
    return Office(table)


@pytest.fixture
def metered(endpoint: str, table_name: str) -> tuple[Table, Meter]:
    """The table behind a client of its own, whose requests are counted."""
    client = dynamodb(endpoint)
    return Table(client, table_name, sleep=lambda seconds: None), Meter(client)


@pytest.fixture(scope="session")
def _proxy(endpoint: str) -> Iterator[Proxy]:
    """The proxy reads all service models at its first fault: that wait belongs to no test."""
    with proxy(endpoint) as running:
        running.rules({"operation": "ListTables", "error": {"code": "ThrottlingException"}})
        with suppress(ClientError):
            dynamodb(running.url).list_tables()
        assert running.fired() == ["ListTables"]
        yield running


@pytest.fixture
def faults(_proxy: Proxy) -> Iterator[Proxy]:
    """The fault proxy, without rules before and after the test; assert its `fired()`."""
    _proxy.rules()
    yield _proxy
    _proxy.rules()


@pytest.fixture
def faulty_table(faults: Proxy, table_name: str) -> Table:
    """The table as seen through the fault proxy."""
    return Table(dynamodb(faults.url), table_name, sleep=lambda seconds: None)


def create_table(client: Any, name: str) -> None:
    attributes = {"PK", "SK"} | {part for keys in _indexes().values() for part in keys[:2]}
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": attribute, "AttributeType": "S"} for attribute in sorted(attributes)
        ],
        KeySchema=_key_schema("PK", "SK"),
        GlobalSecondaryIndexes=[
            {
                "IndexName": index,
                "KeySchema": _key_schema(partition, sort),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(fields)},
            }
            for index, (partition, sort, fields) in _indexes().items()
        ],
    )


def _key_schema(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]


@cache
def _indexes() -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """`INDEXES` of stacks/data.py, read without importing the CDK, which takes seconds."""
    source = ast.parse((ROOT / "stacks" / "data.py").read_text())
    constants = [node for node in source.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    found: dict[str, Any] = {}
    exec(compile(ast.Module(constants, []), "stacks/data.py", "exec"), found)  # noqa: S102
    return found["INDEXES"]
