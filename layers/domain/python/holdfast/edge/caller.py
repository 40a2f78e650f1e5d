"""Who calls: read from the claims of the ID token that the gateway has checked, nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.edge.fields import ID_PATTERN
from holdfast.edge.problems import FORBIDDEN, UNAUTHENTICATED, Rejected

OFFICER, REVIEWER, SUPERVISOR = "officer", "reviewer", "supervisor"
CUSTOMER, ADMIN = "customer", "admin"
ANYONE: frozenset[str] = frozenset()
"""No role in particular: any caller with a tenant."""


@dataclass(frozen=True)
class Caller:
    tenant: str
    subject: str
    roles: frozenset[str]

    def require(self, allowed: frozenset[str]) -> None:
        """Raise 403 unless the caller has one of the roles, or none is asked for."""
        if allowed and not allowed & self.roles:
            raise Rejected(FORBIDDEN, "The caller's groups do not allow this.")


def caller_of(event: Mapping[str, Any]) -> Caller:
    """The caller of an API Gateway event. Raises 401 without an ID token, 403 without a tenant."""
    context = event.get("requestContext") or {}
    claims = (context.get("authorizer") or {}).get("claims") or {}
    subject = _text(claims.get("sub"))
    if not subject or claims.get("token_use") != "id":
        raise Rejected(UNAUTHENTICATED, "Send a valid ID token: Authorization: Bearer <token>.")
    tenant = _text(claims.get("custom:tenantId"))
    if not re.search(ID_PATTERN, tenant):
        raise Rejected(FORBIDDEN, "The caller belongs to no tenant.")
    return Caller(tenant, subject, _roles(claims.get("cognito:groups")))


def _text(claim: Any) -> str:
    """A claim that is text; anything else names nobody."""
    return claim if isinstance(claim, str) and claim.isprintable() else ""


def _roles(groups: Any) -> frozenset[str]:
    """A list, or a string that the gateway joined by commas or, in brackets, by spaces."""
    if isinstance(groups, str):
        groups = re.split(r"[,\s]+", groups.strip("[]"))
    listed = groups if isinstance(groups, list) else ()
    return frozenset(group for group in listed if group and isinstance(group, str))
