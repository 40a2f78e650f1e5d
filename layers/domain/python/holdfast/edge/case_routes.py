"""Commands on a case itself. Who owns the case is decided by the table, at the commit."""

from __future__ import annotations

from itertools import islice

from msgspec import UNSET, UnsetType

from holdfast.domain import cases, intake, redaction, reviews
from holdfast.edge.caller import OFFICER, REVIEWER, SUPERVISOR
from holdfast.edge.fields import (
    BadField,
    Body,
    Flag,
    Id,
    Line,
    Priority,
    Reference,
    Region,
    Text,
    Versioned,
)
from holdfast.edge.routes import Route, one
from holdfast.edge.shards import shards_guess
from holdfast.patterns import keys
from holdfast.patterns.uniqueness import folded
from holdfast.writes.outcomes import Refused
from holdfast.writes.table import Table


class CreateCase(Body, kw_only=True):
    external_ref: Reference
    title: Line
    region: Region
    priority: Priority

    def __post_init__(self) -> None:
        _check_reference(self.external_ref)


class EditCase(Versioned, kw_only=True):
    title: Line | UnsetType = UNSET
    priority: Priority | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.title is UNSET and self.priority is UNSET:
            raise BadField("", "names nothing to change: title or priority")


class ChangeExternalRef(Versioned, kw_only=True):
    external_ref: Reference

    def __post_init__(self) -> None:
        _check_reference(self.external_ref)


class AssignCase(Versioned, kw_only=True):
    officer_id: Id


class TransferCase(Versioned, kw_only=True):
    to_officer_id: Id


class SubmitForReview(Versioned, kw_only=True):
    reviewer_id: Id


class RejectCase(Versioned, kw_only=True):
    reason: Text


class CloseCase(Versioned, kw_only=True):
    resolution: Text


class SetLegalHold(Versioned, kw_only=True):
    hold: Flag


def _check_reference(text: str) -> None:
    if not folded(text):
        raise BadField("externalRef", "must not be blank")


def _trail(table: Table, cmd: redaction.RedactCase, stale: Refused | None) -> redaction.Trail:
    """META, and every item that may hold personal text of the case where they are few."""
    case = table.state(cmd.key, stale)
    images = list(islice(table.partition(cmd.key.pk, ""), redaction.BESIDE_MAX + 1))
    if len(images) > redaction.BESIDE_MAX:
        return redaction.Trail(case, None)
    beside = (table.get(key) for key in redaction.related(images, cmd.tenant))
    return redaction.Trail(case, [*images, *(image for image in beside if image is not None)])


_CASE = one(lambda cmd: cmd.key)
_OFFICER = frozenset({OFFICER})
_REVIEWER = frozenset({REVIEWER})
_SUPERVISOR = frozenset({SUPERVISOR})
_OFFICER_OR_SUPERVISOR = _OFFICER | _SUPERVISOR

CASE_COMMANDS = (
    Route(
        "POST",
        "/cases",
        _OFFICER_OR_SUPERVISOR,
        CreateCase,
        cases.CreateCase,
        intake.create_case,
        reads=lambda table, cmd, _: shards_guess(table, keys.counter(cmd.tenant, intake.INTAKE)),
        creates=True,
    ),
    Route("PATCH", "/cases/{caseId}", _OFFICER, EditCase, cases.EditCase, cases.edit_case),
    Route(
        "PUT",
        "/cases/{caseId}/external-ref",
        _OFFICER_OR_SUPERVISOR,
        ChangeExternalRef,
        cases.ChangeExternalRef,
        cases.change_external_ref,
        reads=_CASE,
    ),
    Route(
        "POST",
        "/cases/{caseId}/assignments",
        _SUPERVISOR,
        AssignCase,
        cases.AssignCase,
        cases.assign_case,
    ),
    Route(
        "POST",
        "/cases/{caseId}/transfers",
        _OFFICER_OR_SUPERVISOR,
        TransferCase,
        cases.TransferCase,
        cases.transfer_case,
        reads=_CASE,
    ),
    Route(
        "POST",
        "/cases/{caseId}/submissions",
        _OFFICER,
        SubmitForReview,
        reviews.SubmitForReview,
        reviews.submit_for_review,
    ),
    Route(
        "POST",
        "/cases/{caseId}/approvals",
        _REVIEWER,
        Versioned,
        reviews.ApproveCase,
        reviews.approve_case,
    ),
    Route(
        "POST",
        "/cases/{caseId}/rejections",
        _REVIEWER,
        RejectCase,
        reviews.RejectCase,
        reviews.reject_case,
    ),
    Route(
        "POST",
        "/cases/{caseId}/reopenings",
        _OFFICER,
        Versioned,
        reviews.ReopenCase,
        reviews.reopen_case,
    ),
    Route(
        "POST",
        "/cases/{caseId}/closures",
        _OFFICER_OR_SUPERVISOR,
        CloseCase,
        reviews.CloseCase,
        reviews.close_case,
        reads=_CASE,
    ),
    Route(
        "PUT",
        "/cases/{caseId}/legal-hold",
        _SUPERVISOR,
        SetLegalHold,
        cases.SetLegalHold,
        cases.set_legal_hold,
    ),
    Route(
        "DELETE",
        "/cases/{caseId}",
        _SUPERVISOR,
        Versioned,
        redaction.RedactCase,
        redaction.redact_case,
        reads=_trail,
        many_steps=True,
    ),
)
