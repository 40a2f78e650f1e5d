"""What readers see of items. A view names what it shows, so a new attribute stays inside."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

Maybe = str | UnsetType


class View(Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Absent attributes are left out of the answer."""


class CaseSummary(View, kw_only=True):
    case_id: str
    status: str
    region: Maybe = UNSET
    priority: Maybe = UNSET
    officer_id: Maybe = UNSET
    title: Maybe = UNSET
    external_ref: Maybe = UNSET
    created_at: Maybe = UNSET


class Case(CaseSummary, kw_only=True):
    version: int
    reviewer_id: Maybe = UNSET
    reason: Maybe = UNSET
    resolution: Maybe = UNSET
    created_by: Maybe = UNSET
    updated_at: Maybe = UNSET
    submitted_at: Maybe = UNSET
    decided_at: Maybe = UNSET
    closed_at: Maybe = UNSET
    legal_hold: bool | UnsetType = UNSET
    note_count: int | UnsetType = UNSET
    investigator_count: int | UnsetType = UNSET
    open_task_count: int | UnsetType = UNSET
    active_enforcement_count: int | UnsetType = UNSET
    active_enforcement_id: Maybe = UNSET
    redacted: bool | UnsetType = UNSET
    redacted_at: Maybe = UNSET


class Officer(View, kw_only=True):
    officer_id: str
    name: Maybe = UNSET
    email: Maybe = UNSET
    status: str
    active_load: int
    max_load: int
    version: int
    created_at: Maybe = UNSET
    updated_at: Maybe = UNSET


class AuditEvent(View, kw_only=True):
    event_id: str
    type: str
    at: str
    actor: str
    owner: str
    version: int
    data: dict[str, Any]


class Task(View, kw_only=True):
    task_id: str
    case_id: str
    title: Maybe = UNSET
    status: str
    version: int
    created_at: str
    closed_at: Maybe = UNSET
    redacted: bool | UnsetType = UNSET


class Note(View, kw_only=True):
    note_id: str
    case_id: str
    author: str
    text: Maybe = UNSET
    created_at: str
    redacted: bool | UnsetType = UNSET


class Investigator(View, kw_only=True):
    user_id: str
    added_at: str
    added_by: str


class Enforcement(View, kw_only=True):
    enforcement_id: str
    case_id: str
    kind: Maybe = UNSET
    status: str
    outcome: Maybe = UNSET
    version: int
    created_at: str
    completed_at: Maybe = UNSET
    redacted: bool | UnsetType = UNSET


class StoredAnswer(View, kw_only=True):
    status: int
    headers: dict[str, str]
    body: Any


class CommandRecord(View, kw_only=True):
    command_id: str
    operation: str
    status: str
    attempt: int
    done: int | UnsetType = UNSET
    total: int | UnsetType = UNSET
    result: dict[str, Any] | UnsetType = UNSET
    answer: StoredAnswer | UnsetType = UNSET
    at: str
    expires_at: str


class RowOutcome(View, kw_only=True):
    row: int
    status: str
    case_id: Maybe = UNSET
    code: Maybe = UNSET
    errors: list[dict[str, str]] | UnsetType = UNSET


class Page(View, kw_only=True):
    """One page of a list; the last one's `nextCursor` is null."""

    items: list[Any]
    next_cursor: str | None
    as_of: str


def shown(kind: type[View], image: dict[str, Any], **more: Any) -> View:
    """The part of an item that a view shows."""
    return msgspec.convert({**image, **more}, kind)
