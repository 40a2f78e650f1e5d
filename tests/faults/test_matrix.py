"""A part of the matrix that every test run takes; `make faults` takes all of it."""

from __future__ import annotations

import pytest

from tests.faults.catalogue import FAULTS
from tests.faults.errands import ERRANDS
from tests.faults.matrix import Matrix

CELLS = len(ERRANDS) * len(FAULTS)
STRIDE = 7
"""Shares no factor with the matrix, so that every errand and every fault has its turn."""


def test_the_matrix_is_as_large_as_it_says() -> None:
    assert len(ERRANDS) >= 12
    assert len(FAULTS) >= 12
    assert len({errand.name for errand in ERRANDS}) == len(ERRANDS)
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("part", range(4))
def test_nothing_is_lost_and_nothing_doubled(matrix: Matrix, part: int) -> None:
    runs = [matrix.run(seed) for seed in range(part * STRIDE, CELLS, 4 * STRIDE)]
    wrong = [run for run in runs if run and (run.violations or not run.fired)]
    assert wrong == []
    assert sum(run is not None for run in runs) > 30


def test_a_seed_says_which_run_it_is_and_repeats_it(matrix: Matrix) -> None:
    """The seed that the table prints for a failing run shows the same run again."""
    seed = matrix.seed("place an order", "killed after a call", 3)
    errand, fault = matrix.cell(seed)
    assert (errand.name, fault.name) == ("place an order", "killed after a call")
    assert matrix.run(seed) == matrix.run(seed)
