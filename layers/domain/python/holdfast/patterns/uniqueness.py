"""One owner per value: the sentinel owns the invariant, its absence is the condition.

A value is normalised by a named, versioned function before it becomes a key, so that
` reg-1 ` and `REG-1` are one; the original is kept for display. Changing a normalisation
means a new version, claimed beside the old one until a backfill is done.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from boto3.dynamodb.conditions import Attr

from holdfast.patterns import keys
from holdfast.writes.plan import Write, create, delete, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule


def folded(text: str) -> str:
    """NFKC, trimmed, case folded: width, case and surrounding space do not tell values apart.

    Folding can undo the composition that NFKC made, so NFKC runs again at the end
    (Unicode Standard, section 3.13, "toNFKC_Casefold").
    """
    return unicodedata.normalize(
        "NFKC", unicodedata.normalize("NFKC", text).strip().casefold()
    ).strip()


@dataclass(frozen=True)
class Kind:
    """A kind of unique value. `kept` says whether a retired owner's value stays taken."""

    name: str
    version: int
    normalise: Callable[[str], str]
    kept: bool = True


CASE_REFERENCE = Kind("CASE_REF", 1, folded)
EMAIL = Kind("EMAIL", 1, folded)


def claim(kind: Kind, tenant: str, value: str, owner_id: str) -> Write:
    """Take `value` for `owner_id`; refused with ALREADY_EXISTS while anyone holds it."""
    key = keys.sentinel(tenant, kind.name, kind.version, kind.normalise(value))
    return create(
        key,
        {"ownerId": owner_id, "original": value},
        f"A value of {kind.name} has one owner in a tenant.",
    )


def release(kind: Kind, tenant: str, value: str, owner_id: str) -> Write:
    """Give `value` back, if it is still `owner_id`'s."""
    return delete(
        keys.sentinel(tenant, kind.name, kind.version, kind.normalise(value)),
        f"Only its owner gives a value of {kind.name} back.",
        [Rule(Refusal.STALE_READ, Attr("ownerId").eq(owner_id))],
        missing=Refusal.STALE_READ,
    )


def rename(kind: Kind, tenant: str, old: str, new: str, owner_id: str) -> list[Write]:
    """Exchange `old` for `new` in one transaction; what only looks different stays claimed.

    The caller's plan also requires that the owner item still holds `old`.
    """
    if old == new:
        return []
    if kind.normalise(old) != kind.normalise(new):
        return [claim(kind, tenant, new, owner_id), release(kind, tenant, old, owner_id)]
    return [
        update(
            keys.sentinel(tenant, kind.name, kind.version, kind.normalise(new)),
            f"Only its owner changes how a value of {kind.name} is displayed.",
            [Rule(Refusal.STALE_READ, Attr("ownerId").eq(owner_id))],
            set={"original": new},
            missing=Refusal.STALE_READ,
        )
    ]


def retire(kind: Kind, tenant: str, value: str, owner_id: str) -> list[Write]:
    """What becomes of a value when its owner is closed for good: by the kind's policy."""
    return [] if kind.kept else [release(kind, tenant, value, owner_id)]
