"""The simulated budgets are met on any machine, by the same figures."""

from __future__ import annotations

from benchmarks.hot_stock import SHARDS, counter_rows, results, stock_rows


def test_a_hot_product_and_a_hot_counter_meet_their_budgets() -> None:
    assert [row for row in results() if not row["met"]] == []


def test_a_seed_gives_the_same_rows_again() -> None:
    assert counter_rows(7) == counter_rows(7)


def test_nothing_is_oversold_and_nothing_left_unsold_on_any_number_of_shards() -> None:
    rows = stock_rows(3)
    assert [row.shards for row in rows] == list(SHARDS)
    assert {(row.oversold, row.unsold) for row in rows} == {(0, 0)}
    assert [row.rate for row in rows] == sorted(row.rate for row in rows)
