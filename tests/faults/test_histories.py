"""The checker of histories: good ones pass, and ones that no single client could see do not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.histories import (
    NEVER,
    UNKNOWN,
    Model,
    Operation,
    Recorder,
    case,
    lease,
    linearizable,
    stock,
    wallet,
)

WALLET, CASE, LEASE = (100, 0), ("OPEN", 1), ("", 0)


def op(name: str, argument: Any, began: int, ended: float, answer: Any) -> Operation:
    return Operation(name, argument, began, ended, answer)


GOOD: list[tuple[str, Model, Any, list[Operation]]] = [
    (
        "overlapping, in the order of their answers",
        wallet,
        WALLET,
        [op("withdraw", 60, 0, 3, (40, 1)), op("withdraw", 60, 1, 2, "INSUFFICIENT_FUNDS")],
    ),
    (
        "overlapping, against the order of their answers",
        wallet,
        WALLET,
        [op("deposit", 1, 0, 3, (102, 2)), op("deposit", 1, 1, 2, (101, 1))],
    ),
    (
        "an unknown one that was done",
        wallet,
        WALLET,
        [op("withdraw", 60, 0, NEVER, UNKNOWN), op("deposit", 1, 5, 6, (41, 2))],
    ),
    (
        "an unknown one that was never done",
        wallet,
        WALLET,
        [op("withdraw", 60, 0, NEVER, UNKNOWN), op("deposit", 1, 5, 6, (101, 1))],
    ),
    (
        "an unknown one that was done late",
        stock,
        5,
        [
            op("take", 3, 0, NEVER, UNKNOWN),
            op("take", 3, 1, 2, "OK"),
            op("restock", 1, 3, 4, "OK"),
            op("take", 1, 5, 6, "OUT_OF_STOCK"),
        ],
    ),
    (
        "of two at one version, one wins",
        case,
        CASE,
        [op("submit", 1, 0, 2, 2), op("edit", 1, 1, 3, "STALE_VERSION")],
    ),
    (
        "leases that follow each other",
        lease,
        LEASE,
        [
            op("acquire", "a", 0, 1, 1),
            op("acquire", "b", 2, 3, "LEASE_HELD"),
            op("release", ("a", 1), 4, 5, "OK"),
            op("acquire", "b", 6, 7, 2),
            op("renew", ("a", 1), 8, 9, "LEASE_LOST"),
        ],
    ),
]

BAD: list[tuple[str, Model, Any, list[Operation]]] = [
    (
        "a lost update",
        wallet,
        WALLET,
        [op("deposit", 1, 0, 3, (101, 1)), op("deposit", 1, 1, 2, (101, 1))],
    ),
    (
        "an answer from the past",
        wallet,
        WALLET,
        [op("withdraw", 60, 0, 1, (40, 1)), op("withdraw", 60, 2, 3, (40, 1))],
    ),
    (
        "a refusal that nothing explains",
        wallet,
        WALLET,
        [op("withdraw", 60, 0, 1, "INSUFFICIENT_FUNDS")],
    ),
    (
        "a refusal by what came later",
        wallet,
        WALLET,
        [op("withdraw", 60, 0, 1, "INSUFFICIENT_FUNDS"), op("withdraw", 50, 2, 3, (50, 1))],
    ),
    (
        "an unknown one that was done before it began",
        wallet,
        WALLET,
        [op("deposit", 1, 0, 1, (41, 2)), op("withdraw", 60, 2, NEVER, UNKNOWN)],
    ),
    (
        "an unknown one that was done twice",
        wallet,
        WALLET,
        [op("withdraw", 40, 0, NEVER, UNKNOWN), op("deposit", 1, 1, 2, (21, 3))],
    ),
    ("oversold", stock, 5, [op("take", 3, 0, 2, "OK"), op("take", 3, 1, 3, "OK")]),
    (
        "the last unit not sold",
        stock,
        1,
        [op("take", 1, 0, 2, "OUT_OF_STOCK"), op("take", 1, 1, 3, "OUT_OF_STOCK")],
    ),
    (
        "two winners at one version",
        case,
        CASE,
        [op("submit", 1, 0, 2, 2), op("edit", 1, 1, 3, 2)],
    ),
    (
        "a transition from a state that was never reached",
        case,
        CASE,
        [op("approve", 1, 0, 1, 2)],
    ),
    (
        "two holders of one lease",
        lease,
        LEASE,
        [op("acquire", "a", 0, 2, 1), op("acquire", "b", 1, 3, 2)],
    ),
    (
        "a fencing number used twice",
        lease,
        LEASE,
        [
            op("acquire", "a", 0, 1, 1),
            op("release", ("a", 1), 2, 3, "OK"),
            op("acquire", "b", 4, 5, 1),
        ],
    ),
    (
        "a renewal after the takeover",
        lease,
        LEASE,
        [
            op("acquire", "a", 0, 1, 1),
            op("release", ("a", 1), 2, 3, "OK"),
            op("acquire", "b", 4, 5, 2),
            op("renew", ("a", 1), 6, 7, "OK"),
        ],
    ),
]


@pytest.mark.parametrize(("name", "model", "start", "history"), GOOD, ids=[one[0] for one in GOOD])
def test_a_history_that_one_client_could_see_passes(
    name: str, model: Model, start: Any, history: list[Operation]
) -> None:
    assert linearizable(history, model, start), name


@pytest.mark.parametrize(("name", "model", "start", "history"), BAD, ids=[one[0] for one in BAD])
def test_a_history_that_no_client_could_see_fails(
    name: str, model: Model, start: Any, history: list[Operation]
) -> None:
    assert not linearizable(history, model, start), name


@given(st.data())
def test_whatever_one_client_sees_passes_however_its_calls_are_stretched(data: Any) -> None:
    """An operation that took effect at one moment began before it and ended after it."""
    state, history = WALLET, []
    moves = st.tuples(st.sampled_from(["deposit", "withdraw"]), st.integers(1, 80))
    for moment, (name, amount) in enumerate(data.draw(st.lists(moves, max_size=12))):
        state, answer = wallet(state, name, amount)
        began, ended = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
        known = data.draw(st.booleans()) or began == 0
        history.append(
            op(
                name,
                amount,
                moment - began,
                moment + ended + 0.5 if known else NEVER,
                answer if known else UNKNOWN,
            )
        )
    assert linearizable(history, wallet, WALLET)


def test_the_recorder_notes_what_overlapped() -> None:
    recorder = Recorder()
    inner = lambda: recorder.run("w", "deposit", 2, lambda: (102, 1))  # noqa: E731
    recorder.run("w", "deposit", 1, lambda: inner() and (103, 2))
    recorder.run("w", "deposit", 9, lambda: UNKNOWN)
    first, second, third = recorder.operations["w"]
    assert second.began < first.began < first.ended < second.ended < third.began
    assert third.ended == NEVER
    assert linearizable(recorder.operations["w"], wallet, WALLET)
