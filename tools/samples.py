"""One sample of every command, with what its planner reads: what `make plan` prints.

Golden files in `tests/golden` are printed from these, so a sample changes only on purpose.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from tools.paths import ROOT

sys.path.insert(0, str(ROOT / "layers" / "domain" / "python"))

from holdfast.domain import (
    case_leases,
    cases,
    enforcement,
    imports,
    intake,
    members,
    offboarding,
    officers,
    operations,
    orders,
    products,
    reconciliations,
    redaction,
    reviews,
    wallets,
)
from holdfast.edge.command_routes import COMMANDS
from holdfast.patterns import keys
from holdfast.patterns.commands import Command
from holdfast.patterns.outbox import Event, announce
from holdfast.writes.plan import Key, Plan, Write

TENANT, AT = "acme", "2030-01-02T03:04:05.678Z"
BY_CASE = {"case_id": "c-1"}
SEEN = {**BY_CASE, "expected_version": 2}
OF_OFFICER = {"officer_id": "o-1", "expected_version": 1}


@dataclass(frozen=True)
class Sample:
    """A command as its planner gets it; `found` is what a route reads for it."""

    name: str
    command: Command
    found: Any = None

    @property
    def plan(self) -> Plan:
        route = next(route for route in COMMANDS if route.command is type(self.command))
        return route.planner(self.command, *([self.found] if route.reads else []))


def _sample(kind: type[Command], caller: str, found: Any = None, /, **fields: Any) -> Sample:
    command = kind(
        tenant=TENANT,
        caller=caller,
        command_id="c0ffee".ljust(32, "0"),
        at=AT,
        request_hash="b0d7".ljust(64, "0"),
        operation=next(route.operation for route in COMMANDS if route.command is kind),
        client_key="key-1",
        **fields,
    )
    return Sample(kind.__name__, command, found)


def _image(key: Key, **attributes: Any) -> dict[str, Any]:
    return {**key.attributes, **attributes}


_CASE_KEY = keys.case(TENANT, "c-1")
_CASE = _image(_CASE_KEY, caseId="c-1", version=2, officerId="o-1", externalRef="REG-1")
_CLOSED = {**_CASE, "version": 6, "status": "CLOSED", "resolution": "Filed"}
_MEMBER = _image(keys.investigator(_CASE_KEY, "u-1"), userId="u-1", membershipId="m-1")
_LOCK = _image(keys.lease(TENANT, "c-1"), version=3)
_OFFICER = _image(
    keys.officer_profile(TENANT, "o-1"), email="ada@example.org", version=1, activeLoad=2
)
_WALLET = _image(keys.wallet(TENANT, "w-1"), balance=10_000, version=4, currency="EUR")
_PRODUCT = _image(keys.product(TENANT, "lamp"), stockShards=2, version=1)
_ORDER = _image(
    keys.order(TENANT, "r-1"), walletId="w-1", total=2_000, taken={"lamp": {"1": 2}}, version=1
)
_LINE = orders.Line("lamp", 2, 1_000)


def _item(write: Write) -> dict[str, Any]:
    return _image(write.key, **write.item)


def _trail() -> list[dict[str, Any]]:
    """A closed case with a note, and the event that its closure left with its outbox entry."""
    closed = Event("CaseClosed", _CASE_KEY, 6, {"resolution": "Filed", "status": "CLOSED"})
    facts = announce(closed, command_id="c1", tenant=TENANT, actor="o-1", at=AT)
    return [
        _CLOSED,
        _image(keys.note(_CASE_KEY, "n-1"), text="Seen on site."),
        *map(_item, facts),
        _image(keys.command(TENANT, "c1"), response={"body": '{"resolution":"Filed"}'}),
    ]


_CASES = (
    _sample(
        cases.CreateCase,
        "o-1",
        4,
        external_ref="REG-1",
        title="Dust at the works",
        region="EU-WEST",
        priority="HIGH",
    ),
    _sample(cases.EditCase, "o-1", title="Dust and noise", **SEEN),
    _sample(cases.ChangeExternalRef, "o-1", _CASE, external_ref="REG-2", **SEEN),
    _sample(cases.AssignCase, "sue", officer_id="o-1", **BY_CASE, expected_version=1),
    _sample(cases.TransferCase, "o-1", _CASE, to_officer_id="o-2", **SEEN),
    _sample(cases.SetLegalHold, "sue", hold=True, **SEEN),
    _sample(reviews.SubmitForReview, "o-1", reviewer_id="r-1", **SEEN),
    _sample(reviews.ApproveCase, "r-1", **SEEN),
    _sample(reviews.RejectCase, "r-1", reason="No signature.", **SEEN),
    _sample(reviews.ReopenCase, "o-1", **SEEN),
    _sample(reviews.CloseCase, "o-1", _CASE, resolution="Filed", **SEEN),
    _sample(
        redaction.RedactCase,
        "sue",
        redaction.Trail(_CLOSED, _trail()),
        **BY_CASE,
        expected_version=6,
    ),
)
_MEMBERS = (
    _sample(members.AddNote, "o-2", text="Seen on site.", **BY_CASE),
    _sample(members.AddInvestigator, "o-1", user_id="u-1", **BY_CASE),
    _sample(members.RemoveInvestigator, "o-1", _MEMBER, user_id="u-1", **BY_CASE),
    _sample(members.OpenTask, "o-1", title="Call the works", **BY_CASE),
    _sample(members.CloseTask, "o-1", task_id="t-1", **BY_CASE),
    _sample(enforcement.OpenEnforcement, "o-1", kind="FINE", **BY_CASE),
    _sample(
        enforcement.CompleteEnforcement, "o-1", enforcement_id="e-1", outcome="Paid", **BY_CASE
    ),
    _sample(case_leases.AcquireLease, "o-1", _LOCK, seconds=60, **BY_CASE),
    _sample(case_leases.RenewLease, "o-1", lease_id="l-1", fencing_number=3, seconds=60, **BY_CASE),
    _sample(case_leases.ReleaseLease, "o-1", lease_id="l-1", fencing_number=3, **BY_CASE),
)
_OFFICERS = (
    _sample(
        officers.RegisterOfficer,
        "root",
        officer_id="o-1",
        name="Ada Example",
        email="ada@example.org",
        max_load=5,
    ),
    _sample(officers.ChangeEmail, "root", _OFFICER, email="a@example.org", **OF_OFFICER),
    _sample(officers.ActivateOfficer, "root", **OF_OFFICER),
    _sample(officers.DeactivateOfficer, "root", **OF_OFFICER),
    _sample(officers.ChangeMaxLoad, "sue", max_load=9, **OF_OFFICER),
)
_MONEY = (
    _sample(wallets.OpenWallet, "c-1", currency="EUR"),
    _sample(wallets.Deposit, "c-1", _WALLET, wallet_id="w-1", amount=500),
    _sample(wallets.Withdraw, "c-1", _WALLET, wallet_id="w-1", amount=500),
    _sample(wallets.AccrueInterest, "root", _WALLET, wallet_id="w-1", rate_basis_points=150),
    _sample(
        products.RegisterProduct,
        "root",
        sku="lamp",
        name="A lamp",
        unit_price=1_000,
        currency="EUR",
        stock=9,
        stock_shards=2,
    ),
    _sample(products.Restock, "root", _PRODUCT, sku="lamp", quantity=5),
    _sample(products.ChangePrice, "root", sku="lamp", unit_price=1_100, expected_version=1),
    _sample(products.SpreadStock, "root", _PRODUCT, sku="lamp", stock_shards=4, expected_version=1),
    _sample(
        orders.PlaceOrder,
        "c-1",
        orders.Market(_WALLET, {"lamp": 2}),
        wallet_id="w-1",
        currency="EUR",
        lines=(_LINE,),
    ),
    _sample(
        orders.CancelOrder,
        "c-1",
        orders.Receipt(_ORDER, _WALLET),
        order_id="r-1",
        expected_version=1,
    ),
)
_MANY_STEPS = (
    _sample(
        offboarding.OffboardOfficer,
        "root",
        offboarding.Leaver(_OFFICER, load=2),
        officer_id="o-1",
        to_officer_ids=("o-2",),
    ),
    _sample(
        imports.ImportCases,
        "root",
        rows=(
            {
                "case": {
                    "external_ref": "REG-1",
                    "title": "Dust",
                    "region": "EU-WEST",
                    "priority": "LOW",
                }
            },
        ),
    ),
    Sample(
        "RedactCase-long",
        _CASES[-1].command,
        redaction.Trail(_CLOSED, None),
    ),
    _sample(intake.SpreadIntake, "root", None, shards=4),
)

_OPERATIONS = (
    _sample(
        operations.RedriveEntry, "root", keys.outbox(_CASE_KEY, 6, AT[:10]), event_id="event-1"
    ),
    _sample(
        operations.RedriveEffect,
        "root",
        {"redrives": 1},
        provider="webhook",
        operation_id="event-1",
    ),
    _sample(reconciliations.Reconcile, "root", names=("wallets",), repair=True),
    _sample(reconciliations.RebuildProjection, "root", projection="cases-by-status"),
)

SAMPLES = {
    sample.name: sample
    for sample in (*_CASES, *_MEMBERS, *_OFFICERS, *_MONEY, *_MANY_STEPS, *_OPERATIONS)
}
"""By name: the command's class, and for another form of the same command a word more."""
