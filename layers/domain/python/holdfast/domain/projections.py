"""What is counted: one table of projections over three kinds of aggregates.

To add a projection: one function from a state to its counts, one line in `PROJECTIONS`, and
a rebuild of its book, since the events of before were not counted for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.patterns.facts import Fact
from holdfast.patterns.projections import Book, Counts, Projection, State
from holdfast.writes.plan import Key


def fold_case(state: State, fact: Fact) -> State:
    """A case as far as it is counted; events that say nothing of it change nothing."""
    told = {name: value for name in ("status", "region", "officerId") if (value := fact.text(name))}
    redacted = {"redacted": True} if fact.has("redacted") else {}
    return {**state, **told, **redacted}


def fold_task(state: State, fact: Fact) -> State:
    return {"open": fact.type == "TaskOpened"} if fact.type in TASK_EVENTS else state


def fold_order(state: State, fact: Fact) -> State:
    """An order's value counts on the day it was placed, until it is cancelled."""
    match fact.type:
        case "OrderPlaced":
            return {
                "day": fact.at[:10],
                "currency": fact.text("currency"),
                "total": fact.whole("total"),
            }
        case "OrderCancelled":
            return {}
    return state


TASK_EVENTS = ("TaskOpened", "TaskClosed")

CASES = Book("cases", lambda owner: owner.pk.startswith("CASE#") and owner.sk == "META", fold_case)
TASKS = Book(
    "tasks", lambda owner: owner.pk.startswith("CASE#") and owner.sk.startswith("TASK#"), fold_task
)
ORDERS = Book(
    "orders", lambda owner: owner.pk.startswith("ORDER#") and owner.sk == "META", fold_order
)
BOOKS: Mapping[str, Book] = {book.name: book for book in (CASES, TASKS, ORDERS)}


def by(name: str, state: State) -> Counts:
    """A case that is not redacted counts as one under its value of `name`, if it has one."""
    return {state[name]: 1} if name in state and "redacted" not in state else {}


def open_tasks(state: State) -> Counts:
    return {"OPEN": 1} if state.get("open") else {}


def order_value(state: State) -> Counts:
    """Minor units by day and currency, for amounts of two currencies have no sum."""
    return {f"{state['day']}/{state['currency']}": state["total"]} if state else {}


PROJECTIONS: tuple[Projection, ...] = (
    Projection("cases-by-status", CASES, lambda case: by("status", case)),
    Projection("cases-by-region", CASES, lambda case: by("region", case)),
    Projection("cases-by-officer", CASES, lambda case: by("officerId", case)),
    Projection("open-tasks", TASKS, open_tasks),
    Projection("order-value", ORDERS, order_value),
)


def book_of(owner: Key) -> Book | None:
    """The book that an owner's events are counted in, None when nothing of it is counted."""
    return next((book for book in BOOKS.values() if book.is_of(owner)), None)


def named(name: str) -> Projection | None:
    return next((each for each in PROJECTIONS if each.name == name), None)
