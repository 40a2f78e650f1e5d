"""Every kind of event that is announced: whose history it belongs to, and what its data says.

Fields are only ever added. `docs/events.md` is generated from this table, and the tests hold
the planners to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Kind:
    """One kind of event. `optional` fields are there when they apply."""

    owner: str
    says: str
    data: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


_CASE, _OFFICER, _PRODUCT, _ORDER = "a case", "an officer", "a product", "an order"

KINDS: Final[Mapping[str, Kind]] = {
    "CaseCreated": Kind(
        _CASE, "A case was opened.", ("region", "priority", "status"), ("title", "officerId")
    ),
    "CaseEdited": Kind(_CASE, "Its officer corrected it.", (), ("title", "priority")),
    "CaseExternalRefChanged": Kind(_CASE, "It has another reference.", (), ("externalRef",)),
    "CaseAssigned": Kind(_CASE, "It was given to an officer.", ("officerId", "status")),
    "CaseTransferred": Kind(
        _CASE, "It went from one officer to another.", ("officerId", "fromOfficerId")
    ),
    "CaseSubmittedForReview": Kind(_CASE, "A reviewer has it.", ("reviewerId", "status")),
    "CaseApproved": Kind(_CASE, "Its reviewer approved it.", ("status",)),
    "CaseRejected": Kind(_CASE, "Its reviewer rejected it.", ("status",), ("reason",)),
    "CaseReopened": Kind(_CASE, "Its officer took it up again.", ("status",)),
    "CaseClosed": Kind(_CASE, "It is closed.", ("status",), ("resolution",)),
    "CaseRedacted": Kind(_CASE, "Its personal text is gone.", ("redacted",)),
    "LegalHoldSet": Kind(_CASE, "It may not be redacted."),
    "LegalHoldCleared": Kind(_CASE, "It may be redacted again."),
    "NoteAdded": Kind("a note", "A note was added; its text is not told.", ("caseId", "noteId")),
    "InvestigatorAdded": Kind("a membership", "A user investigates.", ("caseId", "userId")),
    "InvestigatorRemoved": Kind(
        "a membership", "The user does so no longer.", ("caseId", "userId")
    ),
    "TaskOpened": Kind("a task", "There is something to do.", ("caseId",), ("title",)),
    "TaskClosed": Kind("a task", "It is done.", ("caseId",)),
    "EnforcementOpened": Kind("an enforcement", "It began.", ("caseId", "kind")),
    "EnforcementCompleted": Kind("an enforcement", "It ended.", ("caseId",)),
    "OfficerRegistered": Kind(
        _OFFICER, "An officer is known.", ("name", "email", "activeLoad", "maxLoad")
    ),
    "OfficerEmailChanged": Kind(_OFFICER, "The address is another.", ("email",)),
    "OfficerActivated": Kind(_OFFICER, "The officer may be given work.", ("status",)),
    "OfficerDeactivated": Kind(_OFFICER, "The officer is given no more work.", ("status",)),
    "OfficerMaxLoadChanged": Kind(_OFFICER, "The limit is another.", ("maxLoad",)),
    "OfficerLeaving": Kind(_OFFICER, "The officer's cases are being moved.", ("status",)),
    "OfficerLeft": Kind(_OFFICER, "The officer has no cases any more.", ("status",)),
    "WalletOpened": Kind("a wallet", "A wallet is there.", ("walletId", "ownerId", "currency")),
    "MoneyMoved": Kind(
        "a ledger entry",
        "Money came (above zero) or went, in minor units.",
        ("walletId", "amount", "balance", "cause"),
    ),
    "ProductRegistered": Kind(
        _PRODUCT, "A product is sold.", ("sku", "unitPrice", "currency"), ("stock",)
    ),
    "ProductRestocked": Kind("a delivery", "There is more of it.", ("sku", "quantity")),
    "ProductPriceChanged": Kind(_PRODUCT, "It has another price.", ("sku", "unitPrice")),
    "ProductStockSpread": Kind(_PRODUCT, "Its stock lies on more shards.", ("sku", "stockShards")),
    "OrderPlaced": Kind(
        _ORDER,
        "It was paid and the goods were taken.",
        ("orderId", "walletId", "currency", "total", "status"),
    ),
    "OrderCancelled": Kind(_ORDER, "Money and goods went back.", ("orderId", "status")),
    "IntakeSpread": Kind("a counter", "It counts on more shards.", ("shards",)),
    "DriftRepaired": Kind(
        "a repair", "Reconciliation put a value right.", ("check", "key", "old", "new")
    ),
    "SideEffectRedriven": Kind(
        "a side effect",
        "An administrator sent it again; it has no effect of its own.",
        ("provider", "operationId"),
    ),
}
