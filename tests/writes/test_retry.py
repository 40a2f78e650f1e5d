"""The arithmetic of waiting."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.writes.retry import backoff_seconds, commit_deadline


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_wait_is_within_its_jitter(attempt: int, chance: float) -> None:
    assert 0 <= backoff_seconds(attempt, chance) < min(0.3, 0.02 * 2 ** min(attempt - 1, 20))


def test_the_longest_waits_double_from_20_to_300_milliseconds() -> None:
    waits = [round(backoff_seconds(attempt, 1.0), 6) for attempt in range(1, 8)]
    assert waits == [0.02, 0.04, 0.08, 0.16, 0.3, 0.3, 0.3]


def test_the_jitter_is_full() -> None:
    assert backoff_seconds(5, 0.0) == 0.0
    assert backoff_seconds(5, 0.5) == 0.15


def test_a_commit_ends_within_three_seconds_or_its_callers_deadline() -> None:
    assert commit_deadline(100.0, None) == 103.0
    assert commit_deadline(100.0, 101.0) == 101.0
    assert commit_deadline(100.0, 200.0) == 103.0
