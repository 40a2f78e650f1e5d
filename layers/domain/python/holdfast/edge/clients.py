"""The SDK's clients, made once per process from one session."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import botocore.session
from botocore.config import Config

from holdfast.writes.table import Table


def table() -> Table:
    """The service's table, named by `TABLE_NAME`."""
    commits, reads = _seconds("COMMIT_READ_TIMEOUT_SECONDS", 2), _seconds("READ_TIMEOUT_SECONDS", 2)
    return Table(
        client("dynamodb", read_timeout=commits, attempts=1),
        os.environ["TABLE_NAME"],
        reader=client("dynamodb", read_timeout=reads, attempts=3),
    )


def client(service: str, *, read_timeout: float, attempts: int) -> Any:
    """A client that gives up early; one attempt for commits, whose retries the kernel decides."""
    config = Config(
        connect_timeout=_seconds("CONNECT_TIMEOUT_SECONDS", 1),
        read_timeout=read_timeout,
        retries={"total_max_attempts": attempts, "mode": "standard"},
        parameter_validation=False,
        user_agent="holdfast",
    )
    return _session().create_client(service, config=config)


@cache
def _session() -> Any:
    return botocore.session.get_session()


def _seconds(name: str, default: float) -> float:
    return float(os.environ.get(name, default))
