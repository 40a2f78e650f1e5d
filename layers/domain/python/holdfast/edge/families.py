"""Command routes by the first part of their path: loaded when the first request for it comes.

A new function environment answers one request, and mostly more of its kind; what only other
kinds need is read when they come. `test_routes.py` holds this table to the routes.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from holdfast.edge.routes import Route

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "cases": ("case_routes.CASE_COMMANDS", "member_routes.MEMBER_COMMANDS"),
    "counters": ("count_routes.COUNT_COMMANDS",),
    "imports": ("workflow_routes.WORKFLOW_COMMANDS",),
    "officers": ("officer_routes.OFFICER_COMMANDS", "workflow_routes.WORKFLOW_COMMANDS"),
    "ops": ("ops_routes.OPS_COMMANDS", "count_routes.COUNT_COMMANDS"),
    "orders": ("money_routes.MONEY_COMMANDS",),
    "products": ("money_routes.MONEY_COMMANDS",),
    "projections": ("count_routes.COUNT_COMMANDS",),
    "wallets": ("money_routes.MONEY_COMMANDS",),
}
"""Where the routes of each family are declared, within this package."""


def family_of(path: str) -> str:
    """The first part of a path or of its template.

    >>> family_of("/cases/{caseId}/notes")
    'cases'
    """
    return path.lstrip("/").partition("/")[0]


def routes_of(family: str) -> list[Route]:
    """The command routes of one family; none of a family that there is not."""
    found = [route for place in FAMILIES.get(family, ()) for route in _declared(place)]
    return [route for route in found if family_of(route.path) == family]


def _declared(place: str) -> tuple[Route, ...]:
    module, name = place.split(".")
    routes: tuple[Route, ...] = getattr(import_module(f"holdfast.edge.{module}"), name)
    return routes
