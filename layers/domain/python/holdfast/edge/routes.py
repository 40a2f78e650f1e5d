"""A route as a value: who may send which body where, and the command and planner it becomes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from typing import Any

from holdfast.edge.fields import Body
from holdfast.patterns.commands import Command
from holdfast.writes.outcomes import Refused
from holdfast.writes.plan import Key, Plan
from holdfast.writes.table import Table

BODY_BYTES_MAX = 256 * 1024
Reading = Callable[[Table, Any, Refused | None], Any]
"""From the table, the command and the refusal of a plan on a stale read, what to plan on."""


@dataclass(frozen=True)
class Route:
    """One command route. Field names of path, body and command agree (`{caseId}`, `case_id`).

    `allows` says of a command whether the caller's role permits it, where that depends on
    what is asked. `creates` and `many_steps` say what success is: 201 and 202, not 200.
    `reads` is for read-compute-write alone: what it reads is the planner's
    second argument, and the whole is done again while it had moved. `decode` reads a body
    that is no JSON object, given its bytes and content type. `before` are plans that are put
    down before the command's own; each requires, like it, that the command is new.
    """

    method: str
    path: str
    roles: frozenset[str]
    body: type[Body]
    command: type[Command]
    planner: Callable[..., Plan]
    reads: Reading | None = None
    allows: Callable[[Any], bool] | None = None
    decode: Callable[[bytes, str], dict[str, Any]] | None = None
    before: Callable[[Any], list[Plan]] | None = None
    creates: bool = False
    many_steps: bool = False
    body_bytes_max: int = BODY_BYTES_MAX

    @cached_property
    def operation(self) -> str:
        """The route's name: the same key under another operation is another command."""
        return f"{self.method} {self.path}"

    @cached_property
    def versioned(self) -> bool:
        """The command needs the version that its caller read."""
        return any(
            field.name == "expected_version" and field.default is MISSING
            for field in fields(self.command)
        )

    @cached_property
    def fenced(self) -> bool:
        """The command may be made under a lease, whose number comes in a header."""
        named = {field.name for field in fields(self.command)}
        return "fencing_number" in named and "fencing_number" not in self.body.__struct_fields__


def one(key_of: Callable[[Any], Key], *, guess: bool = False) -> Reading:
    """Read one item, the one that a command's `key_of` names; `guess` as in `Table.state`."""
    return lambda table, cmd, stale: table.state(key_of(cmd), stale, guess=guess)


def rule_of(path: str) -> str:
    """A path template in the resolver's notation: `/cases/{caseId}` is `/cases/<case_id>`."""
    return re.sub(r"\{(\w+)\}", lambda found: f"<{snake(found[1])}>", path)


def concrete(path: str, ids: Mapping[str, str]) -> str:
    """The path that a request was sent to, in one spelling however it was encoded."""
    return re.sub(r"\{(\w+)\}", lambda found: ids[snake(found[1])], path)


def snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", name)
