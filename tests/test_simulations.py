"""The simulated budgets are met on any machine, by the same figures."""

from __future__ import annotations

from benchmarks.hot_stock import counter_rows, results, stock_rows


def test_a_hot_product_and_a_hot_counter_meet_their_budgets_and_nothing_is_oversold() -> None:
    assert [row for row in results() if not row["met"]] == []


def test_a_seed_gives_the_same_rows_again() -> None:
    assert counter_rows(7, (64,)) == counter_rows(7, (64,))
    assert stock_rows(7, (64,)) == stock_rows(7, (64,))
    assert stock_rows(7, (64,)) != stock_rows(8, (64,))
