"""The catalogue of refusals, in order of precedence.

When several conditions of one transaction fail together, the caller is told the refusal
that stands first here: existence, actor, state, version, resource. A stranger learns
nothing about an item's state, and a stale reader is not told about stock.
"""

from __future__ import annotations

from enum import StrEnum


class Refusal(StrEnum):
    """Why a command that was understood is final and changed nothing."""

    # existence
    NOT_FOUND = "NOT_FOUND"
    UNKNOWN_SKU = "UNKNOWN_SKU"
    # actor
    NOT_CASE_OFFICER = "NOT_CASE_OFFICER"
    NOT_CASE_REVIEWER = "NOT_CASE_REVIEWER"
    NOT_OWNER = "NOT_OWNER"
    # state
    CASE_REDACTED = "CASE_REDACTED"
    CASE_CLOSED = "CASE_CLOSED"
    CASE_NOT_OPEN = "CASE_NOT_OPEN"
    CASE_NOT_UNDER_REVIEW = "CASE_NOT_UNDER_REVIEW"
    CASE_NOT_APPROVED = "CASE_NOT_APPROVED"
    CASE_NOT_REJECTED = "CASE_NOT_REJECTED"
    CASE_NOT_DECIDED = "CASE_NOT_DECIDED"
    CASE_NOT_CLOSED = "CASE_NOT_CLOSED"
    CASE_ASSIGNED = "CASE_ASSIGNED"
    CASE_UNASSIGNED = "CASE_UNASSIGNED"
    TASK_NOT_OPEN = "TASK_NOT_OPEN"
    ENFORCEMENT_NOT_ACTIVE = "ENFORCEMENT_NOT_ACTIVE"
    OFFICER_NOT_ACTIVE = "OFFICER_NOT_ACTIVE"
    OFFICER_NOT_INACTIVE = "OFFICER_NOT_INACTIVE"
    OFFICER_LEAVING = "OFFICER_LEAVING"
    ORDER_NOT_PLACED = "ORDER_NOT_PLACED"
    ENTRY_NOT_DEAD = "ENTRY_NOT_DEAD"
    EARLIER_UNPUBLISHED = "EARLIER_UNPUBLISHED"
    EFFECT_NOT_FAILED = "EFFECT_NOT_FAILED"
    LEGAL_HOLD = "LEGAL_HOLD"
    # version
    STALE_VERSION = "STALE_VERSION"
    STALE_READ = "STALE_READ"
    # resource
    LEASE_LOST = "LEASE_LOST"
    LEASE_HELD = "LEASE_HELD"
    OFFICER_UNAVAILABLE = "OFFICER_UNAVAILABLE"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    ALREADY_ACTIVE = "ALREADY_ACTIVE"
    OPEN_WORK = "OPEN_WORK"
    PRICE_CHANGED = "PRICE_CHANGED"
    INSUFFICIENT_FUNDS = "INSUFFICIENT_FUNDS"
    OUT_OF_STOCK = "OUT_OF_STOCK"
    LIMIT_REACHED = "LIMIT_REACHED"

    @property
    def precedence(self) -> int:
        """Place in the catalogue, 0 first; the lowest of several is the one reported."""
        return _PRECEDENCE[self]


_PRECEDENCE = {refusal: place for place, refusal in enumerate(Refusal)}
