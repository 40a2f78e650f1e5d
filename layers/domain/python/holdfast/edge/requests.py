"""An HTTP request's parts, read strictly: headers, key, versions and bodies."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args
from urllib.parse import unquote

import msgspec

from holdfast.edge.fields import ID_PATTERN, Body
from holdfast.edge.problems import (
    KEY_INVALID,
    KEY_MISSING,
    MALFORMED,
    NOT_FOUND,
    TOO_LARGE,
    Rejected,
    invalid,
)

KEY_PATTERN = re.compile(r"[\x21-\x7e]{1,255}")
TAG_PATTERN = re.compile(r'"v([1-9][0-9]{0,9})"')
NUMBER_PATTERN = re.compile(r"-?[0-9]{1,16}")


@dataclass(frozen=True)
class Headers:
    """A request's headers under lower-case names; a header may have come several times."""

    values: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Headers:
        """From `multiValueHeaders` and `headers`, either of which may be absent."""
        found: dict[str, tuple[str, ...]] = {}
        for name, value in (event.get("headers") or {}).items():
            found[name.lower()] = (value,)
        many: dict[str, tuple[str, ...]] = {}
        for name, values in (event.get("multiValueHeaders") or {}).items():
            many[name.lower()] = (*many.get(name.lower(), ()), *values)
        return cls(found | many)

    def get(self, name: str) -> str | None:
        """The header's only value, None when absent; two different values are malformed."""
        values = {value.strip() for value in self.values.get(name, ())}
        if len(values) > 1:
            raise Rejected(MALFORMED, f"The header {name} came with two different values.")
        return values.pop() if values else None


def idempotency_key(headers: Headers) -> str:
    """The client's key: 1 to 255 visible ASCII characters, bare or as a quoted string.

    Source: draft-ietf-httpapi-idempotency-key-header, whose key is an RFC 8941 string.
    """
    if "idempotency-key" not in headers.values:
        raise Rejected(KEY_MISSING, "Send an Idempotency-Key that you use for this request only.")
    try:
        text = headers.get("idempotency-key") or ""
    except Rejected as rejected:
        raise Rejected(KEY_INVALID, rejected.detail) from None
    key = _unquoted(text) if text.startswith('"') else text
    if key is None or not KEY_PATTERN.fullmatch(key):
        raise Rejected(KEY_INVALID, "A key is 1 to 255 visible ASCII characters.")
    return key


def _unquoted(text: str) -> str | None:
    """The content of an RFC 8941 string; None when it is not a whole one."""
    if not re.fullmatch(r'"(?:[^"\\]|\\["\\])*"', text):
        return None
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def tagged_version(headers: Headers) -> int | None:
    """The version in `If-Match: "v8"`, None without the header."""
    tag = headers.get("if-match")
    if tag is None:
        return None
    found = TAG_PATTERN.fullmatch(tag)
    if found is None:
        raise Rejected(MALFORMED, 'If-Match takes one ETag of this service, such as "v8".')
    return int(found[1])


def lease_number(headers: Headers) -> int | None:
    """The fencing number of the lease that a write is made under, None without the header."""
    text = headers.get("lease-fencing-number")
    if text is None:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,9}", text):
        raise Rejected(MALFORMED, "Lease-Fencing-Number is a whole number from 1.")
    return int(text)


def path_ids(parameters: Mapping[str, str]) -> dict[str, str]:
    """The ids of a path; one that no item can have names nothing."""
    ids = {name: unquote(value) for name, value in parameters.items()}
    if not all(re.search(ID_PATTERN, value) for value in ids.values()):
        raise Rejected(NOT_FOUND, "There is nothing of this id.")
    return ids


def raw_body(event: Mapping[str, Any], limit_bytes: int) -> bytes:
    """The body as it was sent. Raises 413 over the limit, 400 when it cannot be decoded."""
    text = event.get("body") or ""
    try:
        raw = base64.b64decode(text, validate=True) if event.get("isBase64Encoded") else None
        raw = text.encode() if raw is None else raw
    except (binascii.Error, ValueError):
        raise Rejected(MALFORMED, "The body is not UTF-8 text.") from None
    if len(raw) > limit_bytes:
        raise Rejected(TOO_LARGE, f"A body has at most {limit_bytes} bytes.")
    return raw


def json_object(raw: bytes) -> dict[str, Any]:
    """A JSON object; an empty body is an empty object. Raises 400 for what is not JSON.

    What is JSON by its grammar and still no text or number (half of a surrogate pair, a
    number without end, bottomless nesting) is 422.
    """
    if not raw.strip():
        return {}
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.ValidationError, RecursionError):
        raise invalid(("", "holds a number or a nesting beyond any limit")) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise _not_decoded(raw) from None
    if not isinstance(value, dict):
        raise invalid(("", "a JSON object is expected"))
    return value


def _not_decoded(raw: bytes) -> Rejected:
    try:
        json.loads(raw.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return Rejected(MALFORMED, "The body is not JSON.")
    return invalid(("", "holds half of a surrogate pair, which is no character"))


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def query_fields(event: Mapping[str, Any], kind: type[Body]) -> dict[str, Any]:
    """Query parameters as the fields of a body, digits as numbers where it wants numbers."""
    numbers = {
        field.encode_name for field in msgspec.structs.fields(kind) if _is_number(field.type)
    }
    return {
        name: int(value) if name in numbers and NUMBER_PATTERN.fullmatch(value) else value
        for name, value in query(event).items()
    }


def _is_number(kind: Any) -> bool:
    return kind is int or any(map(_is_number, get_args(kind)))


def query(event: Mapping[str, Any]) -> dict[str, str]:
    """Query parameters, each given once."""
    many = event.get("multiValueQueryStringParameters")
    if many is None:
        given = event.get("queryStringParameters") or {}
        return {_text(name): _text(value) for name, value in given.items()}
    repeated = [name for name, values in many.items() if len(values) != 1]
    if repeated:
        raise invalid(*((_text(name), "is given more than once") for name in repeated))
    return {_text(name): _text(values[0]) for name, values in many.items()}


def _text(value: str) -> str:
    """Without halves of surrogate pairs, which are no characters and cannot be answered with."""
    return value.encode(errors="replace").decode()
