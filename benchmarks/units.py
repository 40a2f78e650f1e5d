"""What the service's own commands are charged on the emulator, apart from its indexes."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

from holdfast.domain.cases import CreateCase
from holdfast.writes.table import Table
from tests import scenes
from tests.api import Api
from tests.commands import Office, made
from tests.conftest import create_table, dynamodb
from tests.metering import Meter
from tests.scenes import CUSTOMER, basket
from tools.emulator import emulator

TITLE = "Dust in the ventilation of building 4"


def units() -> dict[str, float]:
    """Capacity units by the name of their budget."""
    with emulator() as url, redirect_stdout(io.StringIO()):
        create_table(dynamodb(url), "bench")
        client = dynamodb(url)
        table, meter = Table(client, "bench"), Meter(client)
        api = Api(table)
        found = {}
        Office(table).send(made(CreateCase, title=TITLE))
        found["capacity units: create_case by itself"] = meter.units
        scenes.product(api)
        wallet_id = scenes.wallet(api, 50_000)
        # The first order of a process reads its wallet and its product.
        for _ in range(2):
            meter.reset()
            answer = api.post("/orders", basket(wallet_id, 1), actor=CUSTOMER)
            assert answer.status == 201
        found["capacity units: place an order of one line"] = meter.units
    return found
