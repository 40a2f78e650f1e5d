"""One matrix for all of its tests, so that what its errands start from is made once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults.matrix import Matrix


@pytest.fixture(scope="session")
def matrix(client: Any) -> Matrix:
    return Matrix(client)
