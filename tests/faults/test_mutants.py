"""Defects that were planted are caught: otherwise a matrix without violations says nothing."""

from __future__ import annotations

import pytest

from tests.faults.matrix import Matrix
from tests.faults.mutants import MUTANTS, Mutant, catch


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_defect_is_caught(matrix: Matrix, mutant: Mutant) -> None:
    assert catch(matrix, mutant).by


def test_the_service_is_whole_again_after_its_mutants(matrix: Matrix) -> None:
    for mutant in MUTANTS[::5]:
        for errand, fault in mutant.cells[:1]:
            run = matrix.run(matrix.seed(errand, fault))
            assert run
            assert run.violations == ()
