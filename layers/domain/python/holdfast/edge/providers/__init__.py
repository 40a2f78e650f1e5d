"""What makes external effects: one small protocol, and how a call may end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from holdfast.patterns.envelope import Envelope


@dataclass(frozen=True)
class Done:
    """The provider has done it, and calls it `reference`."""

    reference: str


@dataclass(frozen=True)
class NotDone:
    """Certainly not done, as far as the provider's key goes; a later call may succeed."""

    reason: str


@dataclass(frozen=True)
class Never:
    """Refused for a reason that no repetition changes."""

    reason: str


@dataclass(frozen=True)
class Unheard:
    """Sent, and no answer came: done or not, nobody here knows."""

    reason: str


Verdict = Done | NotDone | Never | Unheard


class Provider(Protocol):
    """Calls carry the operation's id as the provider's own idempotency key.

    `repeatable` says whether the provider honours it: if not, a call whose answer was lost
    is never repeated by itself.
    """

    repeatable: bool

    def call(self, envelope: Envelope, operation_id: str, attempt: int) -> Verdict:
        """Make the effect; every way in which that can end is a value."""
        ...

    def ask(self, operation_id: str) -> Done | NotDone | Unheard:
        """What became of an earlier call, Unheard when the provider cannot say."""
        ...
