"""The SDK's clients, made once per process from one session, and only those that are used."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, cached_property, partial
from typing import Any

from botocore import handlers
from botocore.config import Config
from botocore.session import Session

from holdfast.writes.table import Table


def table() -> Table:
    """The service's table, named by `TABLE_NAME`."""
    commits, reads = _seconds("COMMIT_READ_TIMEOUT_SECONDS", 2), _seconds("READ_TIMEOUT_SECONDS", 2)
    return Table(
        Late(partial(client, "dynamodb", read_timeout=commits, attempts=1)),
        os.environ["TABLE_NAME"],
        reader=Late(partial(client, "dynamodb", read_timeout=reads, attempts=3)),
    )


class Late:
    """A client that is made at its first use: most commands read nothing, and no query commits."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Any:
        return self._make()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


def client(service: str, *, read_timeout: float, attempts: int) -> Any:
    """A client that gives up early; one attempt for commits, whose retries the kernel decides."""
    config = Config(
        connect_timeout=_seconds("CONNECT_TIMEOUT_SECONDS", 1),
        read_timeout=read_timeout,
        retries={"total_max_attempts": attempts, "mode": "standard"},
        parameter_validation=False,
        user_agent="holdfast",
        account_id_endpoint_mode="disabled",
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    return _session().create_client(service, config=config)


@cache
def _session() -> Session:
    """A session with those of the SDK's handlers that concern the services used here.

    The other hundred serve other services, and registering them is a third of making a client.
    """
    session = Session(include_builtin_handlers=False)
    for event, handler in HANDLERS:
        session.register(event, handler)
    return session


HANDLERS = (
    ("before-call", handlers.add_recursion_detection_header),
    ("before-call", handlers.inject_api_version_header_if_needed),
    ("choose-signer", handlers.set_operation_specific_signer),
)


def _seconds(name: str, default: float) -> float:
    return float(os.environ.get(name, default))
