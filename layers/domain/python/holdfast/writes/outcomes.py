"""How a commit ends: final outcomes are values, unsettled ones are exceptions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.writes.refusals import Refusal

if TYPE_CHECKING:
    from holdfast.writes.plan import Write


@dataclass(frozen=True)
class Effort:
    """What one commit cost: requests sent, and how the unsettled ones among them failed."""

    attempts: int = 0
    conflicts: int = 0
    throttles: int = 0
    doubts: int = 0


@dataclass(frozen=True)
class Committed:
    """Every write of the plan is in the table, once; `answer` is the plan's."""

    answer: Any = None
    effort: Effort = field(default=Effort(), compare=False)


@dataclass(frozen=True)
class Refused:
    """Nothing was written: `write`'s rule for `refusal` did not hold for its image `old`."""

    refusal: Refusal
    write: Write
    old: dict[str, Any] | None
    effort: Effort = field(default=Effort(), compare=False)
    failed: tuple[tuple[Write, dict[str, Any] | None], ...] = field(default=(), compare=False)
    """All the writes that did not stand, with their images: what a batch goes on without."""


@dataclass(frozen=True)
class Duplicate:
    """Nothing was written now: the command record exists already, as `record`."""

    record: dict[str, Any]
    effort: Effort = field(default=Effort(), compare=False)


Outcome = Committed | Refused | Duplicate


class Unsettled(Exception):
    """Not final: the same command may be sent again, with the same key."""

    retry_after_seconds = 1

    def __init__(self, effort: Effort) -> None:
        super().__init__(f"{type(self).__name__} after {effort.attempts} attempts")
        self.effort = effort


class Throttled(Unsettled):
    """The table or the network took nothing in, until the deadline."""


class Contended(Unsettled):
    """Other transactions held an item of this plan, until the deadline."""


class Fenced(Unsettled):
    """The lost attempt did not happen and, by the fence, never can."""


class InDoubt(Unsettled):
    """Sent, and neither its success nor its failure could be established."""

    retry_after_seconds = 2


class TokenMismatch(Exception):
    """DynamoDB saw this plan's token with other content: a programmer's error, never retried."""
