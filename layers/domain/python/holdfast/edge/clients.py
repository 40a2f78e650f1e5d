"""The SDK's clients, made once per process from one session."""

from __future__ import annotations

import os
from typing import Any

import botocore.session
from botocore.config import Config

from holdfast.writes.table import Table


def table() -> Table:
    """The service's table, named by `TABLE_NAME`."""
    session = botocore.session.get_session()
    return Table(
        _client(session, read_timeout=_seconds("COMMIT_READ_TIMEOUT_SECONDS", 2), attempts=1),
        os.environ["TABLE_NAME"],
        reader=_client(session, read_timeout=_seconds("READ_TIMEOUT_SECONDS", 2), attempts=3),
    )


def _client(session: Any, *, read_timeout: float, attempts: int) -> Any:
    """A client that gives up early; one attempt for commits, whose retries the kernel decides."""
    config = Config(
        connect_timeout=_seconds("CONNECT_TIMEOUT_SECONDS", 1),
        read_timeout=read_timeout,
        retries={"total_max_attempts": attempts, "mode": "standard"},
        parameter_validation=False,
        user_agent="holdfast",
    )
    return session.create_client("dynamodb", config=config)


def _seconds(name: str, default: float) -> float:
    return float(os.environ.get(name, default))
