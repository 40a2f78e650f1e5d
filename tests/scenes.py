"""Cases and shops as many tests find them, brought there by requests."""

from __future__ import annotations

from tests.api import ADMIN, OTHER_OFFICER, REVIEWER, SUPERVISOR, Actor, Api

CUSTOMER = Actor("cy", "customer")
OTHER_CUSTOMER = Actor("dee", "customer")

LATER = {"submitted": 3, "approved": 4, "closed": 5, "redacted": 6}
"""Versions of a case by how far it has come; before that it is `assigned`, at 2."""


def case(api: Api, reached: str = "assigned", reference: str = "REG-1") -> str:
    """The id of a case of officer `o-1`, with an investigator `u-1`, that has come this far.

    There are two more officers: `o-2`, who has room for one case, and `o-3`, who has none.
    """
    case_id = api.assigned(reference)
    api.officer("o-2", max_load=1)
    api.officer("o-3", max_load=0)
    assert api.post(f"/cases/{case_id}/investigators", {"userId": "u-1"}).status == 201
    steps = [state for state, version in LATER.items() if version <= LATER.get(reached, 0)]
    for state in steps:
        advance(api, case_id, state)
    return case_id


def advance(api: Api, case_id: str, state: str) -> None:
    """Bring a case that is one step before `state` there."""
    path, seen = f"/cases/{case_id}", {"expectedVersion": LATER[state] - 1}
    answer = {
        "submitted": lambda: api.post(f"{path}/submissions", {"reviewerId": "r-1", **seen}),
        "approved": lambda: api.post(f"{path}/approvals", seen, actor=REVIEWER),
        "closed": lambda: api.post(f"{path}/closures", {"resolution": "Filed", **seen}),
        "redacted": lambda: api.call(
            "DELETE", f"{path}?expectedVersion={seen['expectedVersion']}", actor=SUPERVISOR
        ),
    }[state]()
    assert answer.status == 200, answer.text


def wallet(api: Api, balance: int = 0, actor: Actor = CUSTOMER, currency: str = "EUR") -> str:
    """The id of a wallet of `actor`."""
    wallet_id = api.post("/wallets", {"currency": currency}, actor=actor).body["walletId"]
    if balance:
        paid = api.post(f"/wallets/{wallet_id}/deposits", {"amount": balance}, actor=actor)
        assert paid.status == 200, paid.text
    return str(wallet_id)


def product(api: Api, sku: str = "lamp", *, stock: int = 20, shards: int = 1) -> None:
    """A product for 10.00 EUR a piece."""
    body = {"sku": sku, "name": "A lamp", "unitPrice": 1000, "currency": "EUR", "stock": stock}
    made = api.post("/products", {**body, "stockShards": shards}, actor=ADMIN)
    assert made.status == 201, made.text


def basket(wallet_id: str, *quantities: int, sku: str = "lamp", unit_price: int = 1000) -> dict:
    """An order of one line for each quantity."""
    lines = [{"sku": sku, "quantity": q, "unitPrice": unit_price} for q in quantities or (1,)]
    return {"walletId": wallet_id, "currency": "EUR", "lines": lines}


def open_enforcement(api: Api, case_id: str) -> str:
    opened = api.post(f"/cases/{case_id}/enforcements", {"kind": "FINE"})
    return str(opened.body["enforcementId"])


def open_task(api: Api, case_id: str) -> str:
    return str(api.post(f"/cases/{case_id}/tasks", {"title": "Call"}).body["taskId"])


def lease(api: Api, case_id: str, actor: Actor = OTHER_OFFICER) -> str:
    held = api.post(f"/cases/{case_id}/leases", {"seconds": 60}, actor=actor)
    return str(held.body["leaseId"])
