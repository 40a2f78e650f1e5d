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

from holdfast.domain.states import CLOSED
from holdfast.domain.transitions import Image, VersionedCaseCommand, case_plan, takes
from holdfast.patterns import keys
from holdfast.patterns.commands import digest
from holdfast.patterns.outbox import Event
from holdfast.patterns.uniqueness import CASE_REFERENCE
from holdfast.patterns.workflows import Decision, Finish, Progress, Step, Workflow, accept
from holdfast.writes.outcomes import Refused
from holdfast.writes.plan import WRITES_MAX, Key, Plan, Write, update
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
NAME = "redaction"
LISTED = ("byStatus", "byRegion", "byOfficer", "listedAt")
BESIDE_MAX = WRITES_MAX - 6
"""What one transaction can redact beside record, lease, META, sentinel, event and entry."""
ITEMS_PER_STEP = 30
"""Each event of a step may be repeated by an outbox entry and a command record."""


@dataclass(frozen=True, kw_only=True)
class RedactCase(VersionedCaseCommand):
    pass


@dataclass(frozen=True)
class Trail:
    """What a redaction is planned on: META, and the other items that may hold personal text,
    or None where they are too many for one transaction."""

    case: Image | None
    images: Sequence[Image] | None


def redact_case(cmd: RedactCase, trail: Trail) -> Plan:
    """A closed case without a legal hold loses its personal text everywhere.

    In one transaction where that is possible. A longer trail is redacted step by step; its
    case is redacted from the first step on, for every reader and every command.
    """
    reference = (trail.case or {}).get("externalRef")
    beside = [write for image in trail.images or () if (write := redacted(image))]
    if reference is None:
        return case_plan(cmd, _tombstone(cmd), returns={"caseId": cmd.case_id})
    head = [_tombstone(cmd), _anonymous(cmd, reference)]
    event = Event("CaseRedacted", cmd.key, cmd.next_version, {"redacted": True})
    if trail.images is None or len(beside) > BESIDE_MAX:
        given = {"caseId": cmd.case_id}
        return accept(cmd, NAME, given, *head, emits=[event], cursor={"after": "#"})
    body = {"caseId": cmd.case_id, "status": CLOSED, "redacted": True}
    return case_plan(
        cmd, *head, *beside, emits=event, returns={**body, "version": cmd.next_version}
    )


def _tombstone(cmd: RedactCase) -> Write:
    return update(
        cmd.key,
        "A closed case is redacted once, and not under a legal hold.",
        [*takes(cmd), Rule(Refusal.LEGAL_HOLD, Attr("legalHold").not_exists())],
        set={"redacted": True, "redactedAt": cmd.at, "updatedAt": cmd.at},
        add={"version": 1},
        remove=(*PERSONAL["META"], *LISTED),
    )


def find(table: Any, progress: Progress) -> list[Image]:
    """The next items of the case after the cursor, with what repeats their events."""
    key = keys.case(progress.tenant, progress.input["caseId"])
    page, _ = table.query(
        KeyConditionExpression="PK = :pk AND SK > :after",
        ExpressionAttributeValues={":pk": key.pk, ":after": progress.cursor["after"]},
        ConsistentRead=True,
        Limit=ITEMS_PER_STEP,
    )
    beside = (table.get(one) for one in related(page, progress.tenant))
    return [*page, *(image for image in beside if image is not None)]


def decide(progress: Progress, images: list[Image], _: tuple[Refused, ...]) -> Decision:
    """Redact a page of the trail, in the order of its keys, until none is left."""
    key = keys.case(progress.tenant, progress.input["caseId"])
    page = [image for image in images if image["PK"] == key.pk]
    if not page:
        return Finish({"caseId": progress.input["caseId"], "items": progress.done})
    writes = [write for image in images if (write := redacted(image))]
    others = [write for write in writes if write.key != progress.key]
    return Step(others, {"after": page[-1]["SK"]}, done=len(page))


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
        return _redacted_record(key, image.get("response"))
    gone = tuple(name for name in PERSONAL.get(kind, ()) if name in image)
    return _cleaned(key, {"redacted": True}, gone) if gone and kind != "META" else None


def _redacted_record(key: Key, response: Image | None) -> Write | None:
    """The stored answer without personal fields; a replay then says what the case now says."""
    body = msgspec.json.decode(response["body"]) if response else {}
    kept = _without(body, PERSONAL["COMMAND"])
    if kept == body:
        return None
    text = msgspec.json.encode(kept).decode()
    return _cleaned(
        key, {"response": {**(response or {}), "body": text}, "responseHash": digest(text)}
    )


def _without(data: Image, names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in names}


def _cleaned(key: Key, set: Image, remove: tuple[str, ...] = ()) -> Write:
    """The item may have expired since it was read; then the redaction is planned anew."""
    because = "Personal text leaves every item that repeats it."
    return update(key, because, set=set, remove=remove, missing=Refusal.STALE_READ)


REDACTION = Workflow(NAME, find, decide)
