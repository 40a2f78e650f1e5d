"""Commands with defaults, and an office that runs them as the service does, without HTTP."""

from __future__ import annotations

import inspect
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from holdfast.domain import case_leases, cases, enforcement, members, officers, reviews
from holdfast.domain.cases import AssignCase, CreateCase
from holdfast.domain.officers import RegisterOfficer
from holdfast.domain.reviews import ApproveCase, CloseCase, RejectCase, SubmitForReview
from holdfast.patterns import keys
from holdfast.patterns.commands import Command, Response
from holdfast.patterns.idempotency import Result, run
from holdfast.writes.codec import decode_item, encode_item
from holdfast.writes.outcomes import Outcome, Refused
from holdfast.writes.plan import Key, Plan
from holdfast.writes.refusals import Refusal
from holdfast.writes.table import Table

C = TypeVar("C", bound=Command)
Item = dict[str, Any]

AT, TENANT = "2030-01-02T03:04:05.678Z", "acme"
OFFICER, OTHER_OFFICER, REVIEWER, STRANGER = "o-1", "o-2", "r-1", "x-1"
SUPERVISOR = {"caller": "s-1", "roles": frozenset({"supervisor"})}

_numbers = itertools.count(1)
_DEFAULTS: dict[type[Command], dict[str, Any]] = {
    CreateCase: {
        "caller": OFFICER,
        "external_ref": "REG-1",
        "title": "A title",
        "region": "EU",
        "priority": "NORMAL",
    },
    AssignCase: {**SUPERVISOR, "officer_id": OFFICER},
    SubmitForReview: {"reviewer_id": REVIEWER},
    ApproveCase: {"caller": REVIEWER},
    RejectCase: {"caller": REVIEWER, "reason": "Not yet"},
    CloseCase: {"resolution": "Done"},
    RegisterOfficer: {
        "caller": "admin",
        "officer_id": OFFICER,
        "name": "Ada",
        "email": "ada@example.com",
        "max_load": 5,
    },
}


def made(kind: type[C], /, **fields: Any) -> C:
    """A command of its own; what `fields` leave out is a valid request of its officer."""
    number = next(_numbers)
    common = {
        "tenant": TENANT,
        "caller": OFFICER,
        "at": AT,
        "command_id": f"{number:032x}",
        "request_hash": f"hash {number}",
    }
    return kind(**{**common, **_DEFAULTS.get(kind, {}), **fields})


def planner_of(kind: type[Command]) -> Callable[..., Plan]:
    """The planner has the command's name, in the module of its aggregate or beside it."""
    name = "".join(f"_{c.lower()}" if c.isupper() else c for c in kind.__name__).lstrip("_")
    modules = (inspect.getmodule(kind), cases, reviews, officers, members, enforcement)
    return next(getattr(module, name) for module in modules if hasattr(module, name))


def explain(cmd: Command, refused: Refused) -> Response:
    return Response(409, {}, json.dumps({"refusal": refused.refusal}))


@dataclass(frozen=True)
class Office:
    """Runs commands on a table, and looks at what they left there."""

    table: Table

    def attempt(self, cmd: Command) -> Outcome:
        """Plan and commit; the planners that compute from a read read what they name."""
        planner = planner_of(type(cmd))
        if len(inspect.signature(planner).parameters) == 1:
            return self.table.commit(planner(cmd))
        return self.table.commit_from(lambda stale: self.read(cmd), lambda i: planner(cmd, i))

    def read(self, cmd: Any) -> Item | None:
        if isinstance(cmd, members.RemoveInvestigator):
            return self.table.get(keys.investigator(cmd.key, cmd.user_id))
        if isinstance(cmd, case_leases.AcquireLease):
            return self.table.get(keys.lease(cmd.tenant, cmd.case_id))
        return self.table.get(cmd.key)

    def send(self, cmd: Command) -> Result:
        """The command's final answer, fresh or stored; raises what is unsettled."""
        return run(cmd, self.attempt, settle=self.table.commit, explain=explain)

    def refusal(self, cmd: Command) -> Refusal:
        """Send a command that must be refused, and say why it was."""
        outcome = self.send(cmd).outcome
        assert isinstance(outcome, Refused), outcome
        return outcome.refusal

    def do(self, kind: type[Command], /, **fields: Any) -> dict[str, Any]:
        """Send a command that must succeed, and return the body of its answer."""
        result = self.send(made(kind, **fields))
        assert result.response.status in {200, 201}, result.response.body
        return json.loads(result.response.body)

    def register(self, officer_id: str = OFFICER, **fields: Any) -> None:
        email = f"{officer_id}@example.com"
        self.do(RegisterOfficer, **{"officer_id": officer_id, "email": email, **fields})

    def case(self, state: str = "OPEN", *, assigned: bool = True, **fields: Any) -> Item:
        """A new case, brought to a state by the commands that lead there."""
        case_id = self.do(CreateCase, **fields)["caseId"]
        path: dict[str, list[type[Command]]] = {
            "OPEN": [],
            "UNDER_REVIEW": [SubmitForReview],
            "APPROVED": [SubmitForReview, ApproveCase],
            "REJECTED": [SubmitForReview, RejectCase],
            "CLOSED": [SubmitForReview, ApproveCase, CloseCase],
        }
        steps = [AssignCase, *path[state]] if assigned else path[state]
        for version, kind in enumerate(steps, start=1):
            self.do(kind, case_id=case_id, expected_version=version)
        return self.stored(keys.case(TENANT, case_id))

    def stored(self, key: Key) -> Item:
        item = self.table.get(key)
        assert item is not None, key
        return item

    def put(self, key: Key, **fields: Any) -> None:
        """Put an item in place as another program would have."""
        item = encode_item({**key.attributes, **fields})
        self.table.client.put_item(TableName=self.table.name, Item=item)

    def items(self) -> dict[Key, Item]:
        """All that is in the table."""
        pages = self.table.client.get_paginator("scan").paginate(TableName=self.table.name)
        found = [decode_item(item) for page in pages for item in page["Items"]]
        return {Key(item["PK"], item["SK"]): item for item in found}
