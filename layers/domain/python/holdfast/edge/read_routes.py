"""Every read route. A new read is one function, one view and one Read in its aggregate's file."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from holdfast.edge import lists, views
from holdfast.edge.caller import ADMIN, SUPERVISOR
from holdfast.edge.case_reads import CASE_READS, together
from holdfast.edge.count_reads import COUNT_READS
from holdfast.edge.money_reads import MONEY_READS
from holdfast.edge.ops_routes import OPS_READS
from holdfast.edge.reading import Paged, Question, Read, absent, resource
from holdfast.patterns import keys
from holdfast.patterns.commands import Response


def read_officer(question: Question) -> Response:
    """An officer and their load; the e-mail address for administrators and supervisors only."""
    named = (question.caller.tenant, question.ids["officer_id"])
    profile, workload = together(
        question.table, (keys.officer_profile(*named), keys.officer_workload(*named))
    )
    if profile is None:
        raise absent()
    if not question.caller.roles & {ADMIN, SUPERVISOR}:
        profile.pop("email", None)
    return resource(views.shown(views.Officer, {**(workload or {}), **profile}))


def read_command(question: Question) -> Response:
    """What became of a command, for its caller and for administrators."""
    record = _record(question)
    more: dict[str, object] = {
        "commandId": question.ids["command_id"],
        "expiresAt": _instant(record["expiresAt"]),
    }
    if "response" in record:
        stored = record["response"]
        more["answer"] = {**stored, "body": msgspec.json.decode(stored["body"])}
    return resource(views.shown(views.CommandRecord, record, **more))


def list_rows(question: Question) -> Response:
    """What became of each row of an import, in the order of the file."""
    tenant, name = question.caller.tenant, question.ids["command_id"]
    _record(question)
    told = question.table.partition(keys.import_rows(tenant, name, 0).pk, "ROWS#")
    found, cursor = lists.sorted_page(
        question,
        (outcome for item in told for outcome in item["outcomes"]),
        lambda outcome: (outcome["row"],),
        ("rows", name),
    )
    return lists.page(question, (views.shown(views.RowOutcome, one) for one in found), cursor)


def _record(question: Question) -> dict[str, Any]:
    """The record of a command of the caller's own, or of anyone's for an administrator."""
    name = question.ids["command_id"]
    record = question.table.get(keys.command(question.caller.tenant, name))
    mine = record and record["caller"] == question.caller.subject
    if not record or not (mine or ADMIN in question.caller.roles):
        raise absent()
    return record


def _instant(epoch_seconds: int) -> str:
    return datetime.fromtimestamp(epoch_seconds, UTC).isoformat().replace("+00:00", "Z")


READS: tuple[Read, ...] = (
    *CASE_READS,
    *MONEY_READS,
    *COUNT_READS,
    *OPS_READS,
    Read("/officers/{officerId}", read_officer, views.Officer),
    Read("/commands/{commandId}", read_command, views.CommandRecord),
    Read("/commands/{commandId}/rows", list_rows, views.RowOutcome, Paged),
)
