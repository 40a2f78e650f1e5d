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
from holdfast.domain.transitions import (
    Image,
    VersionedCaseCommand,
    case_plan,
    takes,
    under_lease,
)
from holdfast.patterns import guards, keys
from holdfast.patterns.commands import digest
from holdfast.patterns.frozen import command
from holdfast.patterns.outbox import Event
from holdfast.patterns.uniqueness import CASE_REFERENCE
from holdfast.patterns.workflows import Decision, Finish, Progress, Step, Workflow, accept
from holdfast.writes import reads
from holdfast.writes.outcomes import Refused
from holdfast.writes.plan import WRITES_MAX, Key, Plan, Write, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

PERSONAL: Mapping[str, tuple[str, ...]] = {
    # items of a case, by the first part of their sort key
    "META": ("title", "externalRef", "reason", "resolution"),
    "NOTE": ("text",),
    "TASK": ("title",),
    "ENFORCEMENT": ("kind", "outcome"),
    # payloads of events, in the trail and in the outbox, by type
    "CaseCreated": ("title",),
    "CaseEdited": ("title",),
    "CaseExternalRefChanged": ("externalRef",),
    "CaseRejected": ("reason",),
    "CaseClosed": ("resolution",),
    "TaskOpened": ("title",),
    "EnforcementOpened": ("kind",),
    # bodies of stored answers
    "COMMAND": ("title", "externalRef", "reason", "resolution", "text", "kind", "outcome"),
}
NAME = "redaction"
LISTED = ("byStatus", "byRegion", "byOfficer", "listedAt")
BESIDE_MAX = WRITES_MAX - 6
"""What one transaction can redact beside record, lease, META, sentinel, event and entry."""
ITEMS_PER_STEP = 30
"""Each event of a step may be repeated by an outbox entry and a command record."""


@command
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
    case is redacted from the first step on, for its readers and for every command.
    """
    if trail.case is None:
        nothing = guards.absent(cmd.key, "Only a case that exists is redacted.")
        return case_plan(cmd, nothing, returns={"caseId": cmd.case_id})
    head = _head(cmd, trail.case)
    # At another version nothing lands, and an event that exists would be written twice over.
    beside = trail.images if trail.case["version"] == cmd.expected_version else ()
    cleaned = [write for image in beside or () if (write := redacted(image))]
    event = Event("CaseRedacted", cmd.key, cmd.next_version, {"redacted": True})
    if cmd.resumed or trail.images is None or len(cleaned) > BESIDE_MAX:
        given, held = {"caseId": cmd.case_id}, under_lease(cmd)
        return accept(cmd, NAME, given, *head, *held, emits=[event], cursor={"after": "#"})
    body = {"caseId": cmd.case_id, "status": CLOSED, "redacted": True}
    return case_plan(
        cmd, *head, *cleaned, emits=event, returns={**body, "version": cmd.next_version}
    )


def _head(cmd: RedactCase, case: Image) -> list[Write]:
    """META and the reference's sentinel; a redacted case, which is refused, has no reference.

    The trail was read after META, so it is whole if the case had its present version then:
    a closed case takes no more text.
    """
    tombstone = update(
        cmd.key,
        "A closed case is redacted once, and not under a legal hold.",
        [
            *takes(cmd),
            Rule(Refusal.LEGAL_HOLD, Attr("legalHold").not_exists()),
            Rule(Refusal.STALE_READ, Attr("version").eq(case["version"])),
        ],
        set={"redacted": True, "redactedAt": cmd.at, "updatedAt": cmd.at},
        add={"version": 1},
        remove=(*PERSONAL["META"], *LISTED),
    )
    return (
        [tombstone, _anonymous(cmd, case["externalRef"])] if "externalRef" in case else [tombstone]
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
    return [*page, *reads.batch(table, related(page, progress.tenant)).values()]


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
    """The command records and outbox entries that may repeat what a case's items say."""
    found: dict[Key, None] = {}
    for image in images:
        kind = image["SK"].partition("#")[0]
        if kind in {"EVENT", "MENTION"}:
            found[keys.command(tenant, image["commandId"])] = None
        if kind == "EVENT":
            owner = Key(image["PK"], image["owner"])
            found[keys.outbox(owner, image["version"], image["at"][:10])] = None
    return list(found)


def redacted(image: Image) -> Write | None:
    """The write that takes the personal text out of one item beside META, if it holds any."""
    key, kind = Key(image["PK"], image["SK"]), image["SK"].partition("#")[0]
    if kind == "COMMAND":
        return _redacted_record(key, image.get("response"))
    kept = masked(image)
    if kept == image or kind == "META":
        return None
    if kind == "EVENT":
        return _cleaned(key, {"data": kept["data"]})
    return _cleaned(key, {"redacted": True}, tuple(image.keys() - kept.keys()))


def masked(image: Image) -> Image:
    """An item of a case as redaction leaves it, whether or not it has come to that item yet."""
    if image["SK"].startswith("EVENT#"):
        return {**image, "data": _without(image["data"], PERSONAL.get(image["type"], ()))}
    kept = _without(image, PERSONAL.get(image["SK"].partition("#")[0], ()))
    return kept if kept == image else {**kept, "redacted": True}


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
