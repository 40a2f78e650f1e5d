"""How a delivery proves where it comes from: HMAC-SHA256 over its time stamp and its body.

`Holdfast-Signature: t=<epoch seconds>,v1=<hex>`. A receiver computes the same over
`<t>.<body>`, compares in constant time, and refuses a time stamp that is minutes old.
"""

from __future__ import annotations

import hashlib
import hmac

HEADER = "Holdfast-Signature"
AGE_SECONDS_MAX = 300


def sign(secret: str, body: bytes, epoch_seconds: int) -> str:
    """The value of the header."""
    signed = hmac.new(secret.encode(), b"%d." % epoch_seconds + body, hashlib.sha256)
    return f"t={epoch_seconds},v1={signed.hexdigest()}"


def is_signed(secret: str, body: bytes, header: str, epoch_seconds: int) -> bool:
    """What a receiver checks of a delivery that it got at `epoch_seconds`."""
    stamp, _, _ = header.partition(",")
    if not stamp.startswith("t=") or not stamp[2:].isascii() or not stamp[2:].isdigit():
        return False
    fresh = abs(epoch_seconds - int(stamp[2:])) <= AGE_SECONDS_MAX
    return fresh and hmac.compare_digest(header, sign(secret, body, int(stamp[2:])))
