"""Drift: where two accounts of one thing differ, what it should be, and how that is repaired.

A finding says so by itself: its repair is conditional on the drifted value still standing,
and is announced as `DriftRepaired`. A finding without a repair is only reported: money, and
facts that nobody can invent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from boto3.dynamodb.conditions import Attr

from holdfast.patterns import keys
from holdfast.patterns.outbox import Event
from holdfast.writes.plan import Key, Write, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

EXAMPLES_MAX = 10
Tallies = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Finding:
    """One difference: `old` stands at `key` where `new` is right; `repair` puts it right."""

    check: str
    key: str
    old: Any
    new: Any
    repair: tuple[Write, ...] = ()

    @property
    def told(self) -> dict[str, Any]:
        return {"key": self.key, "old": self.old, "new": self.new}


def name_of(key: Key) -> str:
    """An item as reports name it."""
    return f"{key.pk} {key.sk}"


def reset(key: Key, name: str, old: Any, new: Any) -> Write:
    """Set an attribute to what it should be, if it is still what was found."""
    standing = Attr(name).not_exists() if old is None else Attr(name).eq(old)
    because = "Only the value that was found to have drifted is repaired."
    return update(key, because, [Rule(Refusal.STALE_READ, standing)], set={name: new}, missing=None)


def repaired(tenant: str, command_id: str, finding: Finding) -> Event:
    """The fact of one repair, in a history of its own beside the check's reports."""
    name = keys.derived_id(command_id, f"repair|{finding.check}|{finding.key}|{finding.old}")
    owner = keys.repair(tenant, finding.check, name)
    return Event("DriftRepaired", owner, 1, {"check": finding.check, **finding.told})


def tallied(
    tallies: Tallies,
    checked: Mapping[str, int],
    findings: Iterable[Finding] = (),
    mended: Iterable[Finding] = (),
) -> dict[str, dict[str, Any]]:
    """What was checked, found and repaired so far, with a few examples of each check."""
    sums = {name: dict(tally) for name, tally in tallies.items()}
    for name, count in checked.items():
        if name in sums:
            sums[name]["checked"] += count
    for finding in findings:
        tally = sums[finding.check]
        tally["drift"] += 1
        if len(tally["examples"]) < EXAMPLES_MAX:
            tally["examples"] = [*tally["examples"], finding.told]
    for finding in mended:
        sums[finding.check]["repaired"] += 1
    return sums


def no_tallies(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    return {name: {"checked": 0, "drift": 0, "examples": [], "repaired": 0} for name in names}
