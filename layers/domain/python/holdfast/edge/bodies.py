"""From parsed JSON to a body struct, or to the list of all that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args

import msgspec

from holdfast.edge.fields import BadField, Body
from holdfast.edge.problems import invalid

BodyT = TypeVar("BodyT", bound=Body)
ERRORS_MAX = 20


def body_of(kind: type[BodyT], fields: Mapping[str, Any]) -> BodyT:
    """The body, or 422 that names every field that is unknown, missing or does not fit."""
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, BadField):
            raise invalid((error.__cause__.field, error.__cause__.message)) from None
        raise invalid(*list(_errors(kind, fields))[:ERRORS_MAX]) from None


def _errors(kind: type[Body], fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    known = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for name, field in known.items():
        if name in fields:
            yield from _field_errors(field, fields[name])
        elif field.required:
            yield name, "is missing"
    for name in sorted(fields.keys() - known.keys()):
        yield name, "is not a field of this request"


def _field_errors(field: msgspec.structs.FieldInfo, value: Any) -> Iterator[tuple[str, str]]:
    try:
        msgspec.convert(value, field.type)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        told = _description(field.type) if not place else None
        yield (
            f"{field.encode_name}{place.rstrip('`')}",
            f"must be {told}" if told else re.sub(r"\s*['`][^'`]*['`]$", "", message),
        )


def _description(kind: Any) -> str | None:
    """What the type says of itself, also inside a union or beside its metadata."""
    for part in (*getattr(kind, "__metadata__", ()), *get_args(kind)):
        found = part.description if isinstance(part, msgspec.Meta) else _description(part)
        if found:
            return str(found)
    return None
