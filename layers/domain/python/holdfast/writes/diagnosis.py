"""From DynamoDB's bare refusal to the one that a caller is told, without a second read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from holdfast.writes.codec import encode_item
from holdfast.writes.outcomes import Committed, Duplicate, Effort, Outcome, Refused
from holdfast.writes.plan import Plan
from holdfast.writes.rules import first_broken
from holdfast.writes.settling import Attempt


def diagnose(plan: Plan, attempt: Attempt, effort: Effort) -> Outcome:
    """Name the refusal that stands first in the catalogue among the writes that failed.

    A command record that stands already outweighs them all: Duplicate. Raises
    `RuntimeError` when every rule holds for the old images, which would be a fault of the
    local evaluator.
    """
    failed = dict(attempt.failed)
    first = failed.get(0)
    if plan.fence and first is not None:
        return Duplicate(first, effort)
    if plan.single and effort.doubts and _is_own(plan, first):
        return Committed(plan.answer, effort)
    refused = [_refused(plan, place, old, effort) for place, old in attempt.failed]
    told = min(refused, key=lambda one: one.refusal.precedence)
    return replace(told, failed=tuple((one.write, one.old) for one in refused))


def _refused(plan: Plan, place: int, old: dict[str, Any] | None, effort: Effort) -> Refused:
    write = plan.writes[place]
    broken = first_broken(write.rules, old)
    if broken is None:
        raise RuntimeError(f"DynamoDB refused {write.because!r}, but every rule holds")
    return Refused(broken.refusal, write, old, effort)


def _is_own(plan: Plan, old: dict[str, Any] | None) -> bool:
    """The item that stands is the one that this plan's lost attempt created."""
    [write] = plan.writes
    return old is not None and encode_item(old) == encode_item(
        {**write.key.attributes, **write.item}
    )
