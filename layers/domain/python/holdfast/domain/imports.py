"""Bulk import: many cases from one request, each of them once, whatever becomes of the others.

Each row is a command of its own, whose id follows from the file's hash and the row's
number, so that the same file sent twice makes nothing twice. The rows wait in chunk items
(they hold personal text, and each goes when it has been read to its end); the import's
record owns how far it has come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from boto3.dynamodb.conditions import Attr

from holdfast.domain.cases import CreateCase, create_case
from holdfast.patterns import keys
from holdfast.patterns.commands import FAILED_RETRYABLE, Command, expiry
from holdfast.patterns.workflows import Decision, Finish, Progress, Step, Workflow, accept
from holdfast.writes.outcomes import Refused
from holdfast.writes.plan import Key, Plan, Write, create, delete, require
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

NAME = "import"
ROWS_MAX = 10_000
CHUNK_BYTES_MAX = 300 * 1024
ROWS_PER_STEP = 12
"""Six writes a row (five of the case, one of a live counter) stay well below a plan's hundred."""
CHUNK_HOURS = 24 * 14

Row = Mapping[str, Any]
Planner = Callable[[CreateCase], Plan]


@dataclass(frozen=True, kw_only=True)
class ImportCases(Command):
    """`rows` are either the fields of a case or, under `errors`, why a line is none."""

    rows: tuple[Row, ...]


def chunks(cmd: ImportCases) -> list[Plan]:
    """The rows as items of bounded size, put down before the import is accepted.

    Their keys follow from the command, so a retry finds them as they are.
    """
    plans, rows, size = list[Plan](), list[Row](), 0
    for row in cmd.rows:
        more = len(msgspec.json.encode(row))
        if rows and size + more > CHUNK_BYTES_MAX:
            plans.append(_chunk(cmd, len(plans), rows))
            rows, size = [], 0
        rows.append(row)
        size += more
    return [*plans, _chunk(cmd, len(plans), rows)]


def _chunk(cmd: ImportCases, number: int, rows: Sequence[Row]) -> Plan:
    item = {
        "rows": msgspec.json.encode(rows),
        "expiresAt": expiry(cmd.at, CHUNK_HOURS),
    }
    new = Attr("PK").not_exists() | Attr("status").eq(FAILED_RETRYABLE)
    return Plan(
        f"chunk {number} of {cmd.command_id}",
        (
            create(
                keys.import_chunk(cmd.tenant, cmd.command_id, number),
                item,
                "The rows of an import wait where its steps find them.",
            ),
            require(
                keys.command(cmd.tenant, cmd.command_id),
                "An import that was accepted is given no rows again.",
                [Rule(Refusal.ALREADY_EXISTS, new)],
                missing=None,
            ),
        ),
    )


def import_cases(cmd: ImportCases) -> Plan:
    """A file of cases is taken in, row by row, after the request is answered."""
    given = {"fileHash": cmd.request_hash, "chunks": len(chunks(cmd))}
    return accept(cmd, NAME, given, cursor=_START, total=len(cmd.rows))


_START = {"chunk": 0, "row": 0, "number": 1}


def find(table: Any, progress: Progress) -> list[Row] | None:
    """The rows of the chunk that the cursor is in, or None after the last one."""
    number = progress.cursor["chunk"]
    if number == progress.input["chunks"]:
        return None
    chunk = table.get(keys.import_chunk(progress.tenant, progress.command_id, number))
    return [] if chunk is None else msgspec.json.decode(chunk["rows"])


def workflow(planner: Planner = create_case) -> Workflow:
    """The import as a workflow; `planner` is how the service creates a case."""

    def decide(
        progress: Progress, rows: list[Row] | None, refusals: tuple[Refused, ...]
    ) -> Decision:
        if rows is None:
            return Finish(
                {"rows": progress.total, "outcomes": f"/commands/{progress.command_id}/rows"}
            )
        first = progress.cursor["row"]
        batch = rows[first : first + ROWS_PER_STEP]
        return _batch(progress, batch, refusals, planner, last=first + len(batch) >= len(rows))

    return Workflow(NAME, find, decide)


def _batch(
    progress: Progress,
    batch: Sequence[Row],
    refusals: Iterable[Refused],
    planner: Planner,
    *,
    last: bool,
) -> Step:
    """The next rows in one plan, without those that a refusal has named."""
    number, cursor = progress.cursor["number"], progress.cursor
    taken = {write.key for refused in refusals for write, _ in refused.failed}
    outcomes, writes = [], list[Write]()
    for place, row in enumerate(batch):
        plan, outcome = _row(progress, number + place, row, taken, planner)
        outcomes.append(outcome)
        writes += plan.writes if plan else ()
        taken |= {write.key for write in plan.writes if write.rules} if plan else set()
    told = create(
        keys.import_rows(progress.tenant, progress.command_id, number),
        {"outcomes": outcomes, "expiresAt": expiry(progress.now, CHUNK_HOURS)},
        "Each row of an import has one outcome.",
    )
    after = {
        "chunk": cursor["chunk"] + last,
        "row": 0 if last else cursor["row"] + len(batch),
        "number": number + len(batch),
    }
    emptied = [_emptied(progress)] if last else []
    return Step([*merged(writes), told, *emptied], after, done=len(batch))


def _row(
    progress: Progress,
    number: int,
    row: Row,
    taken: Set[Key],
    planner: Planner,
) -> tuple[Plan | None, Row]:
    if "errors" in row:
        return None, {"row": number, "status": "invalid", "errors": row["errors"]}
    cmd = _command(progress, number, row)
    case = {"row": number, "caseId": cmd.new_id("case")}
    plan = planner(cmd)
    record, *others = (write.key for write in plan.writes)
    if record in taken:
        return None, {**case, "status": "created"}
    if any(key in taken for key in others):
        return None, {"row": number, "status": "refused", "code": "already-exists"}
    return plan, {**case, "status": "created"}


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
        keys.import_chunk(progress.tenant, progress.command_id, progress.cursor["chunk"]),
        "A chunk goes with the step that reads it to its end, and its personal text with it.",
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
