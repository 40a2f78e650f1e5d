"""Calls to the deployed API, as any client makes them: JSON over HTTP with a token and a key."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import urllib3

from tools.stack import read_stack
from tools.token import mint

TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class Answer:
    """An HTTP answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def code(self) -> str | None:
        """The code of a problem, None for any other answer."""
        return self.body.get("code") if isinstance(self.body, dict) else None


@dataclass
class Api:
    """The API of the local stack. Connections are kept and may be used by many threads."""

    stack: Mapping[str, Any] = field(default_factory=read_stack)

    @cached_property
    def pool(self) -> urllib3.PoolManager:
        return urllib3.PoolManager(maxsize=32, retries=False, timeout=TIMEOUT_SECONDS)

    def actor(self, name: str, groups: Collection[str], tenant: str = "acme") -> Actor:
        """Someone who calls, with an ID token of their own."""
        return Actor(self, name, mint(name, tenant, groups, dict(self.stack)))

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> Answer:
        answer = self.pool.request(
            method, f"{self.stack['apiUrl']}{path}", body=body, headers=dict(headers)
        )
        named = {name.lower(): value for name, value in answer.headers.items()}
        is_json = "json" in named.get("content-type", "")
        return Answer(answer.status, named, json.loads(answer.data) if is_json else answer.data)


@dataclass(frozen=True)
class Actor:
    """A caller of the API. A command goes under a key of its own unless one is given."""

    api: Api
    name: str
    token: str

    def get(self, path: str) -> Answer:
        return self.call("GET", path)

    def post(self, path: str, body: Any = None, **more: Any) -> Answer:
        return self.call("POST", path, body, **more)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request; a `str` or `bytes` body goes as it is, anything else as JSON."""
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        if method != "GET":
            sent["Idempotency-Key"] = key or uuid.uuid4().hex
        raw = json.dumps(body) if body is not None and not isinstance(body, str | bytes) else body
        data = raw.encode() if isinstance(raw, str) else raw
        return self.api.send(method, path, sent | dict(headers or {}), data)
