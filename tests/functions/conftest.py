from __future__ import annotations

import pytest

from holdfast.writes.table import Table
from tests.api import Api


@pytest.fixture
def api(table: Table) -> Api:
    return Api(table)
