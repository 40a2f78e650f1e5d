"""The invariant table of the README is what the code says, and each row has a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import invariants

ROOT = Path(__file__).resolve().parent.parent


def test_the_readmes_table_is_the_codes() -> None:
    assert invariants.written() == invariants.table(), "run `python -m tools.invariants`"


def test_every_invariant_has_a_test_and_no_other_sentence_has() -> None:
    assert {row.because for row in invariants.rows()} == set(invariants.TESTS)


@pytest.mark.parametrize("test", sorted(set(invariants.TESTS.values())))
def test_the_test_of_an_invariant_is_there(test: str) -> None:
    path, _, name = test.partition("::")
    assert f"def {name}(" in (ROOT / path).read_text()
