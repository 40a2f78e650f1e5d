"""Requests as rows of a table, and what a refused one may leave behind: its record, final."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.api import OFFICER, Actor, Answer, Api


class Sent(NamedTuple):
    """A request; its path names ids of the scene in braces."""

    method: str
    path: str
    body: Any = None
    actor: Actor = OFFICER
    headers: Mapping[str, str] = {}


class Row(NamedTuple):
    """Requests that succeed one after the other, and one that is then refused."""

    scene: str
    refused: Sent
    told: tuple[int, str]
    after: Sequence[Sent] = ()


def send(api: Api, one: Sent, ids: Mapping[str, str], key: str | None = None) -> Answer:
    path, headers = one.path.format(**ids), one.headers
    return api.call(one.method, path, one.body, actor=one.actor, key=key, headers=headers)


def check(api: Api, row: Row, ids: Mapping[str, str]) -> None:
    """The request is refused as told, leaves nothing but its record, and stays refused."""
    for step in row.after:
        answer = send(api, step, ids)
        assert answer.status in {200, 201}, answer.text
    before = api.items()
    refused = send(api, row.refused, ids, "the-key")
    assert (refused.status, refused.code) == row.told, refused.text
    after = api.items()
    assert [item for item in before if item not in after] == []
    written = [item for item in after if item not in before]
    assert [item["status"]["S"] for item in written] == ["FAILED_FINAL"]
    again = send(api, row.refused, ids, "the-key")
    assert (again.text, again.headers["Idempotency-Replayed"]) == (refused.text, "true")
    assert api.items() == after
