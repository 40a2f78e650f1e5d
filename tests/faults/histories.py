"""Linearizability: is there an order of what many clients did that one client could have seen?

Wing and Gong's search with Lowe's memory of visited states ("Testing and verifying concurrent
objects", 1993; "Testing for linearizability", 2017). An operation takes effect at one moment
between its invocation and its answer; one whose outcome is unknown may take effect at any
moment after its invocation, or never.
"""

from __future__ import annotations

import itertools
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

UNKNOWN = "UNKNOWN"
"""The answer to a request that was lost, or that ended unsettled: it may or may not be done."""
NEVER = float("inf")
State = Hashable
Model = Callable[[Any, str, Any], tuple[State, Any]]
"""From a state, an operation's name and its argument: the state after it, and its answer."""
T = TypeVar("T")


@dataclass(frozen=True)
class Operation:
    """What one client asked of one aggregate, from when to when, and what it was told."""

    name: str
    argument: Any
    began: float
    ended: float
    answer: Any

    @property
    def known(self) -> bool:
        return bool(self.answer != UNKNOWN)


@dataclass
class Recorder:
    """Notes invocations and answers of many threads, aggregate by aggregate."""

    operations: dict[str, list[Operation]] = field(default_factory=lambda: defaultdict(list))
    _ticks: Iterator[int] = field(default_factory=itertools.count)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, aggregate: str, name: str, argument: Any, do: Callable[[], Any]) -> Any:
        """Do it, and note when; `do` returns the answer, UNKNOWN where there is none."""
        with self._lock:
            began = next(self._ticks)
        answer = do()
        with self._lock:
            ended = next(self._ticks) if answer != UNKNOWN else NEVER
            operation = Operation(name, argument, began, ended, answer)
            self.operations[aggregate].append(operation)
        return answer


def linearizable(history: Iterable[Operation], model: Model, start: State) -> bool:
    """Some order of the operations explains every answer, by the model from `start` on."""
    operations = sorted(history, key=lambda one: one.began)
    seen: set[tuple[int, State]] = set()
    must = sum(1 << place for place, one in enumerate(operations) if one.known)
    stack: list[tuple[int, State]] = [(0, start)]
    while stack:
        done, state = stack.pop()
        if done & must == must:
            return True
        if (done, state) in seen:
            continue
        seen.add((done, state))
        stack += _next(operations, done, state, model)
    return False


def _next(
    operations: Sequence[Operation], done: int, state: State, model: Model
) -> Iterator[tuple[int, State]]:
    """What may have come next: whatever began before all that is left had ended."""
    left = [(place, one) for place, one in enumerate(operations) if not done >> place & 1]
    first = min(one.ended for _, one in left)
    for place, one in left:
        if one.began > first:
            break
        after, answer = model(state, one.name, one.argument)
        if not one.known or answer == one.answer:
            yield done | 1 << place, after


def wallet(state: tuple[int, int], name: str, amount: int) -> tuple[State, Any]:
    """(balance, version): money comes in, or goes out while it is there."""
    balance, version = state
    after = balance + (amount if name == "deposit" else -amount)
    if after < 0:
        return state, "INSUFFICIENT_FUNDS"
    return (after, version + 1), (after, version + 1)


def case(state: tuple[str, int], name: str, version: int) -> tuple[State, Any]:
    """(status, version): each transition from its own states, at the version that was seen."""
    status, current = state
    froms, to = TRANSITIONS[name]
    if status not in froms:
        return state, "WRONG_STATE"
    if version != current:
        return state, "STALE_VERSION"
    return (to or status, current + 1), current + 1


TRANSITIONS: dict[str, tuple[frozenset[str], str]] = {
    "edit": (frozenset({"OPEN", "UNDER_REVIEW", "APPROVED", "REJECTED"}), ""),
    "submit": (frozenset({"OPEN"}), "UNDER_REVIEW"),
    "approve": (frozenset({"UNDER_REVIEW"}), "APPROVED"),
    "reject": (frozenset({"UNDER_REVIEW"}), "REJECTED"),
    "reopen": (frozenset({"REJECTED"}), "OPEN"),
    "close": (frozenset({"APPROVED", "REJECTED"}), "CLOSED"),
}


def stock(units: int, name: str, quantity: int) -> tuple[State, Any]:
    """Units: an order takes what is there, or nothing."""
    if name == "restock":
        return units + quantity, "OK"
    return (units - quantity, "OK") if units >= quantity else (units, "OUT_OF_STOCK")


def lease(state: tuple[str, int], name: str, argument: Any) -> tuple[State, Any]:
    """(owner, fencing number): one owner at a time, and a higher number for each."""
    owner, number = state
    if name == "acquire":
        if owner:
            return state, "LEASE_HELD"
        return (argument, number + 1), number + 1
    who, held = argument
    if (who, held) != (owner, number):
        return state, "LEASE_LOST"
    return (("", number), "OK") if name == "release" else (state, "OK")
