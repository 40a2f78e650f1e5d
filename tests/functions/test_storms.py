"""Counts under a hostile stream: the projector is exact, and the plain one shows it is hostile."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from holdfast.domain.projections import PROJECTIONS
from holdfast.writes.table import Table
from tests.storms import marked, plain, storm, wrong

SEEDS = range(24)
NAMES = [projection.name for projection in PROJECTIONS]


@pytest.fixture
def tenants() -> str:
    """Tokens are an account's, so no two sessions' worlds may be the same."""
    return uuid.uuid4().hex[:8]


def test_every_storm_ends_in_exact_counts(client: Any, table: Table, tenants: str) -> None:
    for seed in SEEDS:
        run = storm(client, table.name, seed, marked, f"{tenants}-{seed}")
        assert wrong(table, run.world, NAMES) == {}, f"seed {seed}"


def test_the_same_storms_leave_a_plain_counter_wrong(
    client: Any, table: Table, tenants: str
) -> None:
    runs = [storm(client, table.name, seed, plain, f"{tenants}-{seed}") for seed in SEEDS]
    assert sum(bool(wrong(table, run.world, ["cases-by-status"])) for run in runs) > len(SEEDS) / 2
