"""Defects planted on purpose: whoever calls the matrix good must see it catch each of them.

A mutant is planted by replacing a function of the service while its cells of the matrix run.
`make faults` says who caught which, and puts the table into docs/faults.md.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from boto3.dynamodb.conditions import Attr

from holdfast.domain import officers, orders, transitions, wallets
from holdfast.edge import effects
from holdfast.patterns import (
    commands,
    guards,
    hot_stock,
    idempotency,
    leases,
    outbox,
    projections,
    uniqueness,
)
from holdfast.writes import settling, table
from holdfast.writes.plan import Plan, Write, accumulate, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule
from holdfast.writes.settling import Sign
from tests.conftest import dynamodb
from tests.faults import report
from tests.faults.matrix import Matrix
from tests.faults.report import Caught
from tools.emulator import emulator

Change = tuple[Any, str, Any]
AGAIN_MAX = 12
"""How many seeds of a cell are tried; where a fault strikes is a matter of chance."""
ANYTHING = Attr("PK").exists() | Attr("PK").not_exists()


@dataclass(frozen=True)
class Mutant:
    """`changes` are (where, name, what instead); `cells` are errands and faults to try."""

    name: str
    changes: tuple[Change, ...]
    cells: tuple[tuple[str, str], ...]


def _loose(write: Write) -> Write:
    """The same write, whatever stands in its way."""
    if write.verb == "create":
        whole = {"set": write.item, "missing": None}
        return update(write.key, write.because, [Rule(Refusal.NOT_FOUND, ANYTHING)], **whole)
    return replace(write, rules=(Rule(Refusal.NOT_FOUND, ANYTHING),))


def _loosened(original: Callable[..., Write]) -> Callable[..., Write]:
    return lambda *given, **named: _loose(original(*given, **named))


def _first_loosened(original: Callable[..., Any]) -> Callable[..., Any]:
    """Of several writes, the first one loses its rules."""

    def writes(*given: Any, **named: Any) -> list[Write]:
        first, *rest = original(*given, **named)
        return [_loose(first), *rest]

    return writes


def _without_record(*given: Any, **named: Any) -> Plan:
    whole = _remembered(*given, **named)
    return replace(whole, writes=whole.writes[1:], fence=None) if whole.writes[1:] else whole


def _fenced_loosely(*given: Any, **named: Any) -> Plan:
    whole = _remembered(*given, **named)
    return replace(whole, fence=_loose(whole.fence)) if whole.fence else whole


def _unsettled_refusal(cmd: Any, outcome: Any, settle: Any, explain: Any) -> Any:
    if isinstance(outcome, table.Refused):
        return explain(cmd, outcome)
    return _answer(cmd, outcome, settle, explain)


def _claimed_only(kind: Any, tenant: str, old: str, new: str, owner_id: str) -> list[Write]:
    return [uniqueness.claim(kind, tenant, new, owner_id)]


def _unlimited(guard: Any, counted: str, limit: int, because: str) -> Write:
    return update(
        guard, because, [Rule(Refusal.LIMIT_REACHED, ANYTHING)], add={counted: 1}, missing=None
    )


def _taken_blindly(product: Any, taken: Any, short: Refusal) -> list[Write]:
    return [accumulate(w.key, w.because, w.add) for w in _take(product, taken, short)]


def _not_written_down(self: Any, write: Write, operation: Any) -> None:
    if "heldUntil" not in {**write.item, **write.set}:
        _commit(self, write, operation)


_remembered, _answer = commands.remembered, idempotency._answer
_take, _commit, _announce = hot_stock.take, effects.Effects._commit, outbox.announce

_CONFLICT_REFUSES = {**settling.CANCELLATIONS, "TransactionConflict": Sign.REFUSED}

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "the command record is not written",
        ((commands, "remembered", _without_record),),
        (("deposit", "commit, answer dropped"),),
    ),
    Mutant(
        "the command record is written whatever stands there",
        ((commands, "_record", _loosened(commands._record)),),
        (("deposit", "delivered twice"),),
    ),
    Mutant(
        "the fence is written whatever stands there",
        ((commands, "remembered", _fenced_loosely),),
        (("deposit", "commit, answers lost to the deadline"),),
    ),
    Mutant(
        "a stored answer is not used",
        ((idempotency.CommandMemory, "_may_go_on", lambda self, found: True),),
        (("deposit", "conflict once"),),
    ),
    Mutant(
        "a refusal is not stored",
        ((idempotency, "_answer", _unsettled_refusal),),
        (("refuse an overdraft", "conflict once"),),
    ),
    Mutant(
        "each retry has a token of its own",
        ((Plan, "token_of", lambda self, series: str(uuid.uuid4())),),
        (("add without a record", "commit, answer dropped"),),
    ),
    Mutant(
        "in doubt, an addition is sent under a new token",
        ((table, "_next_token", lambda plan, sign, effort: 1),),
        (("add without a record", "commit, answer timed out"),),
    ),
    Mutant(
        "a time-out is taken for a failure",
        ((settling, "SENT", ()), (settling, "NEVER_SENT", (*settling.NEVER_SENT, *settling.SENT))),
        (("add without a record", "commit, answer timed out"),),
    ),
    Mutant(
        "a conflict is taken for a refusal",
        (
            (
                settling,
                "CANCELLATIONS",
                {**settling.CANCELLATIONS, "TransactionConflict": Sign.REFUSED},
            ),
        ),
        (("approve a case", "conflict once"),),
    ),
    Mutant(
        "members enter without a limit",
        ((guards, "enter", _unlimited),),
        (("refuse a fourth investigator", "conflict once"),),
    ),
    Mutant(
        "an officer's load has no limit",
        ((officers, "take_load", _loosened(officers.take_load)),),
        (("refuse an officer without room", "conflict once"),),
    ),
    Mutant(
        "a load is not given back",
        ((officers, "free_load", officers.require_active),),
        (("transfer a case", "conflict once"),),
    ),
    Mutant(
        "stock is taken without a condition",
        ((hot_stock, "take", _taken_blindly),),
        (("refuse what is sold out", "conflict once"),),
    ),
    Mutant(
        "money is taken without a condition",
        ((wallets, "move", _first_loosened(wallets.move)),),
        (("refuse an overdraft", "conflict once"),),
    ),
    Mutant(
        "an order is cancelled in any state",
        ((orders, "_cancelled", _loosened(orders._cancelled)),),
        (("refuse a second refund", "conflict once"),),
    ),
    Mutant(
        "a rename does not give the old value back",
        ((uniqueness, "rename", _claimed_only),),
        (("rename a case", "conflict once"),),
    ),
    Mutant(
        "a rename does not look whether the value is taken",
        ((uniqueness, "claim", _loosened(uniqueness.claim)),),
        (("refuse a taken reference", "conflict once"),),
    ),
    Mutant(
        "a lease is released by anyone",
        ((leases, "release", _loosened(leases.release)),),
        (("refuse to release a lost lease", "conflict once"),),
    ),
    Mutant(
        "a write does not look at its lease",
        ((transitions, "under_lease", lambda cmd: []),),
        (("refuse a lost lease", "conflict once"),),
    ),
    Mutant(
        "a case is closed over open work",
        ((guards, "require_none", _loosened(guards.require_none)),),
        (("refuse to close over a task", "conflict once"),),
    ),
    Mutant(
        "an event is not put into the outbox",
        ((commands, "announce", lambda event, **about: _announce(event, **about)[:1]),),
        (("submit a case", "conflict once"),),
    ),
    Mutant(
        "an entry is marked after its claim was lost",
        ((outbox, "_mine", lambda claim, now_ms: Rule(Refusal.LEASE_LOST, ANYTHING)),),
        (("announce a batch", "paused for ten minutes and overtaken"),),
    ),
    Mutant(
        "the projector has no watermark",
        (
            (projections, "mark_from", lambda image: projections.Mark()),
            (projections, "_moved", _loosened(projections._moved)),
        ),
        (("count a batch", "commit, answer dropped"),),
    ),
    Mutant(
        "a call is made before it is written down",
        ((effects.Effects, "_commit", _not_written_down),),
        (("make effects", "killed after a call"),),
    ),
)


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """The service with this defect, and without it afterwards."""
    patches = [mock.patch.object(where, name, what) for where, name, what in _everywhere(mutant)]
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in reversed(patches):
            patch.stop()


def _everywhere(mutant: Mutant) -> Iterator[Change]:
    """A function of a module is also replaced where others have imported it."""
    for where, name, what in mutant.changes:
        original = getattr(where, name)
        yield where, name, what
        for module in list(sys.modules.values()):
            known = getattr(module, "__name__", "").startswith("holdfast.")
            if known and module is not where and vars(module).get(name) is original:
                yield module, name, what


def catch(matrix: Matrix, mutant: Mutant) -> Caught:
    """Run the mutant's cells until somebody notices."""
    for errand, _ in mutant.cells:
        matrix.start(next(one for one in matrix.errands if one.name == errand))
    with planted(mutant):
        for again in range(AGAIN_MAX):
            for errand, fault in mutant.cells:
                run = matrix.run(matrix.seed(errand, fault, again))
                if run and run.violations:
                    by = dict.fromkeys(one.split(":")[0] for one in run.violations)
                    return Caught(mutant.name, ", ".join(by), errand, fault)
    return Caught(mutant.name, "")


def main() -> int:
    """The exit code: 0 when every mutant was caught."""
    with emulator() as url:
        matrix = Matrix(dynamodb(url))
        return report.write_mutants([catch(matrix, mutant) for mutant in MUTANTS])


if __name__ == "__main__":
    sys.exit(main())
