"""Reads of cases: one case, lists of cases, and what hangs on a case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.redaction import masked
from holdfast.domain.states import STATES
from holdfast.domain.transitions import listing
from holdfast.edge import lists, views
from holdfast.edge.fields import Id, Region
from holdfast.edge.problems import INVALID_CURSOR, Rejected
from holdfast.edge.reading import Paged, Question, Read, absent, resource
from holdfast.patterns import keys
from holdfast.patterns.commands import Response
from holdfast.writes.outcomes import Throttled
from holdfast.writes.plan import Key
from holdfast.writes.table import Table

CaseStatus = Annotated[
    Literal["OPEN", "UNDER_REVIEW", "APPROVED", "REJECTED", "CLOSED"],
    Meta(description="one of OPEN, UNDER_REVIEW, APPROVED, REJECTED, CLOSED"),
]


class CaseList(Paged, kw_only=True):
    status: CaseStatus | UnsetType = UNSET
    region: Region | UnsetType = UNSET
    officer_id: Id | UnsetType = UNSET


LISTS = (
    ("officerId", "officer_id", "cases-by-officer", "byOfficer"),
    ("status", "status", "cases-by-status", "byStatus"),
    ("region", "region", "cases-by-region", "byRegion"),
)
"""Filter, its field, and the index that answers it; the first that is given is queried."""


def read_case(question: Question) -> Response:
    """A case as it is, with the counts that its guards keep."""
    key = keys.case(question.caller.tenant, question.ids["case_id"])
    guards = (keys.investigator_guard(key), keys.task_guard(key), keys.enforcement_guard(key))
    case, investigators, tasks, enforcement = together(question.table, (key, *guards))
    if case is None:
        raise absent()
    if case.get("redacted"):
        kept = ("caseId", "status", "version", "redacted", "redactedAt")
        return resource(views.shown(views.Case, {name: case[name] for name in kept}))
    counts = {
        "investigatorCount": (investigators or {}).get("activeCount", 0),
        "openTaskCount": (tasks or {}).get("openCount", 0),
        "activeEnforcementCount": int(enforcement is not None),
    }
    active = {"activeEnforcementId": enforcement["enforcementId"]} if enforcement else {}
    return resource(views.shown(views.Case, case, **counts, **active))


def together(table: Table, wanted: tuple[Key, ...]) -> list[dict[str, Any] | None]:
    """Items as they were at one moment; one by one when writers leave no such moment."""
    try:
        return list(table.snapshot(wanted))
    except Throttled:
        return [table.get(key) for key in wanted]


def list_cases(question: Question) -> Response:
    """Cases by status, region or officer, oldest first; all of them by status, one after another.

    The list is eventually consistent. Redacted cases are in none.
    """
    tenant, query = question.caller.tenant, question.query
    given = {
        name: getattr(query, field)
        for name, field, _, _ in LISTS
        if getattr(query, field) is not UNSET
    }
    name, _, index, attribute = next((row for row in LISTS if row[0] in given), LISTS[1])
    values = [given[name]] if name in given else STATES
    found, cursor = lists.Listing(
        index=index,
        attribute=attribute,
        partitions=[listing(tenant, value) for value in values],
        sort="listedAt",
        filters={other: value for other, value in given.items() if other != name},
        scope=("cases", *(f"{name}={value}" for name, value in given.items())),
        key_of=lambda position: _case_key(tenant, position),
    ).page(question)
    return lists.page(question, (views.shown(views.CaseSummary, i) for i in found), cursor)


def _case_key(tenant: str, listed_at: str) -> dict[str, str]:
    """`listedAt` ends in the case's id."""
    try:
        return keys.case(tenant, listed_at.rpartition("#")[2]).attributes
    except ValueError:
        raise Rejected(INVALID_CURSOR, "Start again without a cursor.") from None


Order = Callable[[dict[str, Any]], tuple[Any, ...]]


def _of_case(name: str, says: str, prefix: str, kind: type[views.View], order: Order) -> Read:
    """The read of one kind of items in a case's partition, sorted by `order`."""

    def read(question: Question) -> Response:
        key = keys.case(question.caller.tenant, question.ids["case_id"])
        images = list(question.table.partition(key.pk, prefix))
        case = question.table.get(key)
        if case is None:
            raise absent()
        if case.get("redacted"):
            images = [dict(masked(image)) for image in images]
        scope = ("case", question.ids["case_id"], prefix)
        found, cursor = lists.sorted_page(question, images, order, scope)
        return lists.page(question, (views.shown(kind, image) for image in found), cursor)

    read.__name__, read.__doc__ = f"list_{name}", says
    return Read(f"/cases/{{caseId}}/{name}", read, kind, Paged)


def _by(*names: str) -> Order:
    return lambda image: tuple(image[name] for name in names)


CASE_READS = (
    Read("/cases", list_cases, views.CaseSummary, CaseList),
    Read("/cases/{caseId}", read_case, views.Case),
    _of_case(
        "events",
        "A case's audit trail, with the events of its members, oldest first.",
        "EVENT#",
        views.AuditEvent,
        _by("at", "owner", "version"),
    ),
    _of_case(
        "tasks",
        "The tasks of a case, open and closed, oldest first.",
        "TASK#",
        views.Task,
        _by("createdAt", "taskId"),
    ),
    _of_case(
        "notes",
        "The notes on a case, oldest first.",
        "NOTE#",
        views.Note,
        _by("createdAt", "noteId"),
    ),
    _of_case(
        "investigators",
        "Who investigates a case, in the order they joined.",
        "INVESTIGATOR#",
        views.Investigator,
        _by("addedAt", "userId"),
    ),
    _of_case(
        "enforcements",
        "The enforcements of a case, oldest first.",
        "ENFORCEMENT#",
        views.Enforcement,
        _by("createdAt", "enforcementId"),
    ),
)
