"""Redaction: the "hard delete" of a closed case leaves a tombstone and a dense trail.

Invariant: after it no item of the table holds the case's personal or free text, and every
event, id, version and the taken reference are still there. META owns whether a case is
redacted; `PERSONAL` is the one list of what is personal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from boto3.dynamodb.conditions import Attr

from holdfast.domain.transitions import (
    Image,
    VersionedCaseCommand,
    case_plan,
    changed,
    takes,
)
from holdfast.patterns import keys
from holdfast.patterns.uniqueness import CASE_REFERENCE
from holdfast.writes.plan import WRITES_MAX, Key, Plan, Write, require, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

PERSONAL: Mapping[str, tuple[str, ...]] = {
    # items of a case, by the first part of their sort key
    "META": ("title", "externalRef", "reason", "resolution"),
    "NOTE": ("text",),
    "TASK": ("title",),
    "ENFORCEMENT": ("outcome",),
    # payloads of events, in the trail and in the outbox, by type
    "CaseCreated": ("title",),
    "CaseEdited": ("title",),
    "CaseExternalRefChanged": ("externalRef",),
    "CaseRejected": ("reason",),
    "CaseClosed": ("resolution",),
    "TaskOpened": ("title",),
    # bodies of stored answers
    "COMMAND": ("title", "externalRef", "reason", "resolution", "text", "outcome"),
}
LISTED = ("byStatus", "byRegion", "byOfficer", "listedAt")
BESIDE_MAX = WRITES_MAX - 5
"""What one transaction can redact beside record, META, sentinel, event and outbox entry."""


@dataclass(frozen=True, kw_only=True)
class RedactCase(VersionedCaseCommand):
    pass


def redact_case(cmd: RedactCase, images: Sequence[Image]) -> Plan:
    """A closed case without a legal hold loses its personal text everywhere at once.

    `images` are the items of the case's partition and those that `related` names.
    """
    case = next((image for image in images if image["SK"] == "META"), None)
    beside = [write for image in images if (write := redacted(image))]
    rules = [Rule(Refusal.LEGAL_HOLD, Attr("legalHold").not_exists())]
    if case is None or "externalRef" not in case or len(beside) > BESIDE_MAX:
        return _refused(cmd, rules)
    return changed(
        cmd,
        "A closed case is redacted once, and not under a legal hold.",
        rules,
        _anonymous(cmd, case["externalRef"]),
        *beside,
        set={"redacted": True, "redactedAt": cmd.at},
        remove=(*PERSONAL["META"], *LISTED),
        event=("CaseRedacted", {"redacted": True}),
        returns={"status": case["status"], "redacted": True},
    )


def _refused(cmd: RedactCase, rules: Sequence[Rule]) -> Plan:
    """A trail too long for one transaction is left whole; what else is wrong is told first."""
    too_long = Rule(Refusal.LIMIT_REACHED, Attr("PK").not_exists())
    because = "A redaction happens in one transaction or not at all."
    check = require(cmd.key, because, [*rules, *takes(cmd), too_long])
    return case_plan(cmd, check, returns={"caseId": cmd.case_id})


def _anonymous(cmd: RedactCase, reference: str) -> Write:
    normalised = CASE_REFERENCE.normalise(reference)
    return update(
        keys.sentinel(cmd.tenant, CASE_REFERENCE.name, CASE_REFERENCE.version, normalised),
        "A redacted case's reference stays taken, and is no longer displayed.",
        [Rule(Refusal.STALE_READ, Attr("ownerId").eq(cmd.case_id))],
        remove=("original",),
        missing=Refusal.STALE_READ,
    )


def related(images: Iterable[Image], tenant: str) -> list[Key]:
    """The command records and outbox entries that may repeat what a case's events say."""
    found: dict[Key, None] = {}
    for event in images:
        if event["SK"].startswith("EVENT#"):
            owner = Key(event["PK"], event["owner"])
            found[keys.command(tenant, event["commandId"])] = None
            found[keys.outbox(owner, event["version"], event["at"][:10])] = None
    return list(found)


def redacted(image: Image) -> Write | None:
    """The write that takes the personal text out of one item beside META, if it holds any."""
    key, kind = Key(image["PK"], image["SK"]), image["SK"].partition("#")[0]
    if kind == "EVENT":
        data = _without(image["data"], PERSONAL.get(image["type"], ()))
        return _cleaned(key, {"data": data}) if data != image["data"] else None
    if kind == "COMMAND":
        answer = _redacted_answer(image)
        return _cleaned(key, {"response": answer}) if answer != image.get("response") else None
    gone = tuple(name for name in PERSONAL.get(kind, ()) if name in image)
    return _cleaned(key, {"redacted": True}, gone) if gone and kind != "META" else None


def _redacted_answer(record: Image) -> dict[str, Any] | None:
    """The stored answer without personal fields; a replay then says what the case now says."""
    response = record.get("response")
    if not response:
        return response
    body = msgspec.json.decode(response["body"])
    kept = _without(body, PERSONAL["COMMAND"])
    return response if kept == body else {**response, "body": msgspec.json.encode(kept).decode()}


def _without(data: Image, names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in names}


def _cleaned(key: Key, set: Image, remove: tuple[str, ...] = ()) -> Write:
    """The item may have expired since it was read; then the redaction is planned anew."""
    because = "Personal text leaves every item that repeats it."
    return update(key, because, set=set, remove=remove, missing=Refusal.STALE_READ)
