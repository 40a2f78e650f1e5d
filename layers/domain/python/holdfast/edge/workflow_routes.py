"""Commands of many steps: accepted with 202, and done by a worker."""

from __future__ import annotations

import csv
import io
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
from holdfast.writes.outcomes import Refused
from holdfast.writes.table import Table

IMPORT_BYTES_MAX = 5 * 1024 * 1024
COLUMNS = ("externalRef", "title", "region", "priority")


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
        return {"errors": rejected.more["errors"]}


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
    reader = csv.reader(io.StringIO(text, newline=""))
    header = [name.strip() for name in next(reader, [])]
    if sorted(header) != sorted(COLUMNS):
        raise invalid(("", f"the first line must name the columns {', '.join(COLUMNS)}"))
    for values in reader:
        if len(values) == len(header):
            yield dict(zip(header, values, strict=True))
        elif values:
            yield {"line": len(values)}


def _json_rows(text: str) -> Iterator[dict[str, Any]]:
    for line in filter(str.strip, text.split("\n")):
        try:
            yield msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            yield {"line": len(line)}


def _officer_and_load(
    table: Table, cmd: offboarding.OffboardOfficer, stale: Refused | None
) -> dict[str, Any] | None:
    profile = table.state(cmd.key, stale)
    workload = table.get(keys.officer_workload(cmd.tenant, cmd.officer_id))
    return None if profile is None else {**(workload or {}), **profile}


_ADMIN = frozenset({ADMIN})

WORKFLOW_COMMANDS = (
    Route(
        "POST",
        "/officers/{officerId}/offboardings",
        _ADMIN,
        OffboardOfficer,
        offboarding.OffboardOfficer,
        offboarding.offboard_officer,
        reads=_officer_and_load,
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
