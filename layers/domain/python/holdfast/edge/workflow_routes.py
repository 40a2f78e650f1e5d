"""Commands of many steps: accepted with 202, and done by a worker."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from holdfast.domain import imports, offboarding
from holdfast.edge.bodies import body_of
from holdfast.edge.caller import ADMIN
from holdfast.edge.case_routes import CreateCase
from holdfast.edge.fields import BadField, Body, Id
from holdfast.edge.problems import MALFORMED, Rejected, invalid
from holdfast.edge.routes import Route
from holdfast.patterns import keys
from holdfast.patterns.commands import IN_PROGRESS, digest
from holdfast.writes.outcomes import Refused
from holdfast.writes.table import Table

IMPORT_BYTES_MAX = 5 * 1024 * 1024
COLUMNS = ("externalRef", "title", "region", "priority")
ROW_ERRORS_MAX, PATH_MAX = 5, 64
"""What is kept of the errors of one row: a field that nobody knows may have any name."""


class OffboardOfficer(Body, kw_only=True):
    to_officer_ids: Annotated[
        tuple[Id, ...],
        Meta(
            min_length=1,
            max_length=offboarding.TARGETS_MAX,
            description=f"1 to {offboarding.TARGETS_MAX} officers who take the cases over",
        ),
    ]

    def __post_init__(self) -> None:
        if len(set(self.to_officer_ids)) < len(self.to_officer_ids):
            raise BadField("toOfficerIds", "name one officer twice")


class ImportCases(Body, kw_only=True):
    rows: Annotated[
        tuple[dict[str, Any], ...],
        Meta(
            min_length=1,
            max_length=imports.ROWS_MAX,
            description=f"1 to {imports.ROWS_MAX} rows: CSV with a header, or JSON lines",
        ),
    ]

    def fields(self) -> dict[str, object]:
        return {"rows": tuple(map(_row, self.rows))}


def _row(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a case as its command takes them, or what is wrong with the row."""
    if "line" in row:
        return {"errors": [{"path": "", "message": "is not a row of this file's kind"}]}
    try:
        return {"case": body_of(CreateCase, row).fields()}
    except Rejected as rejected:
        told = rejected.more["errors"][:ROW_ERRORS_MAX]
        return {"errors": [{**error, "path": error["path"][:PATH_MAX]} for error in told]}


def rows_of(raw: bytes, content_type: str) -> dict[str, Any]:
    """The rows of a file. A line that is none is kept as `line`, so that its number counts.

    Raises 400 for what is no text, 422 for a CSV file without the right header.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Rejected(MALFORMED, "The file is not UTF-8 text.") from None
    rows = _csv_rows(text) if content_type.startswith("text/csv") else _json_rows(text)
    return {"rows": list(rows)}


def _csv_rows(text: str) -> Iterator[dict[str, Any]]:
    """Each line for itself: no field holds a line end, so an open quote ends with its line."""
    lines = (line for line in re.split(r"\r\n|\n|\r", text) if line.strip())
    header = [name.strip() for name in _values(next(lines, "")) or ()]
    if sorted(header) != sorted(COLUMNS):
        raise invalid(("", f"the first line must name the columns {', '.join(COLUMNS)}"))
    for line in lines:
        values = _values(line)
        if values is not None and len(values) == len(header):
            yield dict(zip(header, values, strict=True))
        else:
            yield {"line": digest(line)}


def _values(line: str) -> list[str] | None:
    """The fields of one line of CSV, None where its quotes are wrong."""
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        return None


def _json_rows(text: str) -> Iterator[dict[str, Any]]:
    for line in filter(str.strip, text.split("\n")):
        try:
            yield msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            yield {"line": digest(line)}


def _leaver(
    table: Table, cmd: offboarding.OffboardOfficer, stale: Refused | None
) -> offboarding.Leaver:
    """The officer, and whether an offboarding that had begun has been left where it was."""
    profile = table.state(cmd.key, stale)
    workload = table.get(keys.officer_workload(cmd.tenant, cmd.officer_id)) or {}
    abandoned = False
    if profile is not None and "leavingBy" in profile:
        record = table.get(keys.command(cmd.tenant, profile["leavingBy"]))
        abandoned = record is None or record["status"] != IN_PROGRESS
    return offboarding.Leaver(profile, workload.get("activeLoad", 0), abandoned)


_ADMIN = frozenset({ADMIN})

WORKFLOW_COMMANDS = (
    Route(
        "POST",
        "/officers/{officerId}/offboardings",
        _ADMIN,
        OffboardOfficer,
        offboarding.OffboardOfficer,
        offboarding.offboard_officer,
        reads=_leaver,
        many_steps=True,
    ),
    Route(
        "POST",
        "/imports",
        _ADMIN,
        ImportCases,
        imports.ImportCases,
        imports.import_cases,
        body_bytes_max=IMPORT_BYTES_MAX,
        decode=rows_of,
        before=imports.chunks,
        many_steps=True,
    ),
)
