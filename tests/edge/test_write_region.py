"""A Region that may not write answers every command with the address of the one that may."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.edge.command_routes import COMMANDS
from holdfast.edge.write_region import only_where_written
from tests.api import OFFICER, event_of


def never(event: dict[str, Any], context: Any) -> dict[str, Any]:
    raise AssertionError("a command ran outside the write Region")


@pytest.mark.parametrize("route", COMMANDS, ids=lambda route: route.operation)
def test_no_command_runs_outside_the_write_region(route: Any) -> None:
    handler = only_where_written(never, {"WRITE_URL": "https://write.example/v1/"})
    answer = handler(event_of(route.method, route.path, {}, OFFICER, {}), None)
    assert answer["statusCode"] == 421
    address = f"https://write.example/v1{route.path}"
    assert answer["multiValueHeaders"]["Location"] == [address]
    body = json.loads(answer["body"])
    assert (body["code"], body["writeUrl"], body["retryable"]) == ("wrong-region", address, True)


def test_the_write_region_runs_commands_itself() -> None:
    assert only_where_written(never, {}) is never
