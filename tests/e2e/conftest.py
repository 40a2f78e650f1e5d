"""The whole service, really deployed: once a session, into an emulator of its own."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.emulator import emulator
from tools.http import Actor, Api
from tools.local import deploy
from tools.paths import LOCAL
from tools.webhook import receiving


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def stack() -> Iterator[dict[str, Any]]:
    """The content of `.local/stack.json`, of a stack that only these tests use."""
    LOCAL.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="e2e-", dir=LOCAL))
    try:
        with emulator() as url, receiving() as receiver:
            yield deploy(lambda: url, folder, receiver.url)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Tenant:
    """The people of a tenant that no other test knows."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.name = f"t-{uuid.uuid4().hex[:10]}"
        self.admin = self.actor("root", "admin")
        self.supervisor = self.actor("sue", "supervisor")
        self.officer = self.actor("omar", "officer")
        self.reviewer = self.actor("rita", "reviewer")
        self.customer = self.actor("carl", "customer")

    def actor(self, name: str, *groups: str) -> Actor:
        return self.api.actor(name, groups, self.name)


@pytest.fixture(scope="session")
def api(stack: dict[str, Any]) -> Api:
    return Api(stack)


@pytest.fixture
def tenant(api: Api) -> Tenant:
    return Tenant(api)
