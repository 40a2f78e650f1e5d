"""Cursors: where a list goes on, bound to the tenant and the query that it belongs to.

A cursor holds only a position. Keys are built anew from the caller's own tenant, so a forged
cursor reaches nothing that its bearer could not list anyway.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from holdfast.edge.problems import INVALID_CURSOR, Rejected

_DIGEST_BYTES = 12


def seal(position: str, *scope: str) -> str:
    """An opaque cursor for `position` in the list that `scope` names, tenant first."""
    raw = position.encode()
    return base64.urlsafe_b64encode(_digest(raw, scope) + raw).decode().rstrip("=")


def unseal(cursor: str, *scope: str) -> str:
    """The position. Raises 400 for a cursor that is broken or of another list."""
    try:
        sealed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
        digest, raw = sealed[:_DIGEST_BYTES], sealed[_DIGEST_BYTES:]
        if hmac.compare_digest(digest, _digest(raw, scope)):
            return raw.decode()
    except (binascii.Error, ValueError):
        pass
    raise Rejected(INVALID_CURSOR, "Start again without a cursor.")


def _digest(position: bytes, scope: tuple[str, ...]) -> bytes:
    text = "\n".join(scope).encode()
    return hashlib.sha256(text + b"\n" + position).digest()[:_DIGEST_BYTES]
