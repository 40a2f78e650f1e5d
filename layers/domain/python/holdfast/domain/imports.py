"""Bulk import: many cases from one request, each of them once, whatever becomes of the others.

Each row is a command of its own, whose id follows from the file's hash and the row's
number, so that the same file sent twice makes nothing twice. The rows wait in chunk items,
one for each step, which go in the transaction that takes them in, since they hold personal
text; the import's record owns how far it has come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from boto3.dynamodb.conditions import Attr

from holdfast.domain.cases import CreateCase
from holdfast.domain.intake import INTAKE, create_case
from holdfast.domain.transitions import Image
from holdfast.patterns import keys
from holdfast.patterns.commands import Command, expiry
from holdfast.patterns.counters import SHARDS_DEFAULT
from holdfast.patterns.frozen import command
from holdfast.patterns.workflows import (
    RUNNING_HOURS,
    Decision,
    Finish,
    Progress,
    Step,
    Workflow,
    accept,
)
from holdfast.writes.outcomes import Refused
from holdfast.writes.plan import WRITES_MAX, Key, Plan, Write, create, delete, require
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

NAME = "import"
ROWS_MAX = 10_000
ROWS_PER_STEP = 12
"""Six writes a row (five of the case, one of a live counter) stay well below a plan's hundred."""
CHUNKS_PER_PLAN = WRITES_MAX - 1
CHUNK_HOURS = RUNNING_HOURS + 24
"""Rows outlive the record of the import that waits for them."""

CREATED, REFUSED, INVALID = OUTCOMES = ("created", "refused", "invalid")
Row = Mapping[str, Any]


@command
class ImportCases(Command):
    """`rows` are either the fields of a case or, under `errors`, why a line is none."""

    rows: tuple[Row, ...]


def chunks(cmd: ImportCases) -> list[Plan]:
    """The rows as items of one step each, put down before the import is accepted.

    Their keys follow from the command and from what the file says, so a retry finds them as
    they are, and another file under a key that was not accepted yet finds none of them.
    """
    firsts = range(0, len(cmd.rows), ROWS_PER_STEP)
    writes = [_chunk(cmd, first) for first in firsts]
    parts = range(0, len(writes), CHUNKS_PER_PLAN)
    return [
        Plan(
            f"rows of {cmd.command_id} from chunk {part}",
            (*writes[part : part + CHUNKS_PER_PLAN], _not_accepted(cmd)),
        )
        for part in parts
    ]


def _chunk(cmd: ImportCases, first: int) -> Write:
    rows = msgspec.json.encode(cmd.rows[first : first + ROWS_PER_STEP])
    return create(
        keys.import_chunk(cmd.tenant, cmd.command_id, cmd.request_hash, first + 1),
        {"rows": rows, "expiresAt": expiry(cmd.at, CHUNK_HOURS)},
        "The rows of an import wait where its steps find them.",
    )


def _not_accepted(cmd: ImportCases) -> Write:
    return require(
        keys.command(cmd.tenant, cmd.command_id),
        "An import that was accepted is given no rows again.",
        [Rule(Refusal.ALREADY_EXISTS, Attr("workflow").not_exists())],
        missing=None,
    )


def import_cases(cmd: ImportCases) -> Plan:
    """A file of cases is taken in, row by row, after the request is answered."""
    given = {"fileHash": cmd.request_hash}
    start = {"number": 1, **dict.fromkeys(OUTCOMES, 0)}
    return accept(cmd, NAME, given, cursor=start, total=len(cmd.rows))


@dataclass(frozen=True)
class Chunk:
    """The rows of the next step, None where they are gone; `shards` is the intake's guess."""

    rows: Sequence[Row] | None
    shards: int


def find(table: Any, progress: Progress) -> Chunk | None:
    """The rows that the cursor is at, or None after the last one."""
    number, total = progress.cursor["number"], progress.total or 0
    if number > total:
        return None
    hashed = progress.input["fileHash"]
    item = table.get(keys.import_chunk(progress.tenant, progress.command_id, hashed, number))
    counter = table.state(keys.counter(progress.tenant, INTAKE), None, guess=True)
    rows = None if item is None else msgspec.json.decode(item["rows"])
    return Chunk(rows, int((counter or {}).get("shards", SHARDS_DEFAULT)))


def decide(progress: Progress, chunk: Chunk | None, refusals: tuple[Refused, ...]) -> Decision:
    """Create the cases of one chunk in one plan, without the rows that a refusal has named."""
    counts = {name: progress.cursor[name] for name in OUTCOMES}
    told = {
        "rows": progress.total,
        **counts,
        "outcomes": f"/commands/{progress.command_id}/rows",
    }
    if chunk is None:
        return Finish(told)
    if chunk.rows is None:
        left = (progress.total or 0) - progress.done
        reason = "the rows that were left have expired; send the file again under another key"
        return Finish({**told, "left": left, "reason": reason}, failed=True)
    return _batch(progress, chunk.rows, refusals, chunk.shards)


def _batch(
    progress: Progress, rows: Sequence[Row], refusals: Iterable[Refused], shards: int
) -> Step:
    number = progress.cursor["number"]
    taken = {write.key: old or {} for refused in refusals for write, old in refused.failed}
    outcomes, writes = list[Row](), list[Write]()
    for place, row in enumerate(rows):
        plan, outcome = _row(progress, number + place, row, taken, shards)
        outcomes.append(outcome)
        writes += plan.writes if plan else ()
        taken |= {write.key: {} for write in plan.writes if write.rules} if plan else {}
    told = create(
        keys.import_rows(progress.tenant, progress.command_id, number),
        {"outcomes": outcomes, "expiresAt": expiry(progress.now, CHUNK_HOURS)},
        "Each row of an import has one outcome.",
    )
    came = Counter(outcome["status"] for outcome in outcomes)
    after = {name: progress.cursor[name] + came[name] for name in OUTCOMES}
    return Step(
        [*merged(writes), told, _emptied(progress)],
        {"number": number + len(rows), **after},
        done=len(rows),
    )


def _row(
    progress: Progress, number: int, row: Row, taken: Mapping[Key, Image], shards: int
) -> tuple[Plan | None, Row]:
    """The plan of a row, if it has one still, and what is told of it."""
    if "errors" in row:
        return None, {"row": number, "status": INVALID, "errors": row["errors"]}
    cmd = _command(progress, number, row)
    case_id, plan = cmd.new_id("case"), create_case(cmd, shards)
    made = {"row": number, "status": CREATED, "caseId": case_id}
    standing = [taken[write.key] for write in plan.writes if write.rules and write.key in taken]
    if not standing:
        return plan, made
    if plan.writes[0].key in taken or any(_is_own(image, case_id) for image in standing):
        return None, made
    return None, {"row": number, "status": REFUSED, "code": "already-exists"}


def _is_own(image: Image, case_id: str) -> bool:
    """The same row of the same file made it before, when its command is long forgotten."""
    return case_id in (image.get("caseId"), image.get("ownerId"))


def _command(progress: Progress, number: int, row: Row) -> CreateCase:
    """The row's own command: the same file's same row is the same command, in any import."""
    file_hash = progress.input["fileHash"]
    return CreateCase(
        tenant=progress.tenant,
        caller=progress.caller,
        command_id=keys.derived_id(
            f"{progress.tenant}|{progress.caller}|{file_hash}", f"row|{number}"
        ),
        at=progress.now,
        request_hash=file_hash,
        operation="import row",
        client_key=f"{progress.command_id}|{number}",
        **row["case"],
    )


def _emptied(progress: Progress) -> Write:
    return delete(
        keys.import_chunk(
            progress.tenant,
            progress.command_id,
            progress.input["fileHash"],
            progress.cursor["number"],
        ),
        "A chunk goes with the step that takes its rows in, and its personal text with it.",
        missing=Refusal.STALE_READ,
    )


def merged(writes: Sequence[Write]) -> list[Write]:
    """The writes with additions to one item joined, since a plan writes each item once."""
    sums: dict[Key, Write] = {}
    kept: list[Write] = []
    for write in writes:
        before = sums.get(write.key)
        if write.verb != "accumulate":
            kept.append(write)
        elif before is None:
            sums[write.key] = write
        else:
            names = {**before.add, **write.add}
            add = {name: before.add.get(name, 0) + write.add.get(name, 0) for name in names}
            sums[write.key] = replace(before, add=add)
    return [*kept, *sums.values()]


IMPORT = Workflow(NAME, find, decide)
