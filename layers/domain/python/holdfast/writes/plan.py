"""Plans: everything that one commit writes, as a value that can be read before it is sent.

A blind put cannot be said here. Each write states the invariant it serves in one English
sentence (`because`) and the rules that must hold; `accumulate` alone has no rule, since
additions commute.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import and_
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import msgspec
from boto3.dynamodb.conditions import Attr, ConditionBase, ConditionExpressionBuilder

from holdfast.writes.codec import encode_item, size_bytes
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

WRITES_MAX = 100
PLAN_BYTES_MAX = 4 * 1024 * 1024
ITEM_BYTES_MAX = 400 * 1024
# Source of the three: Amazon DynamoDB API reference, TransactWriteItems.

Verb = Literal["create", "update", "delete", "require", "accumulate"]
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Key(NamedTuple):
    """The primary key of one item."""

    pk: str
    sk: str

    @property
    def attributes(self) -> dict[str, str]:
        return {"PK": self.pk, "SK": self.sk}


@dataclass(frozen=True)
class Write:
    """One write and the rules it stands on; made by the five verbs below."""

    verb: Verb
    key: Key
    because: str
    rules: tuple[Rule, ...]
    item: Mapping[str, Any] = field(default_factory=dict)
    set: Mapping[str, Any] = field(default_factory=dict)
    add: Mapping[str, Any] = field(default_factory=dict)
    remove: tuple[str, ...] = ()

    @cached_property
    def request(self) -> dict[str, Any]:
        """The member of `TransactItems`, without table name: one entry, action to parameters.

        The order of dictionary keys in `item`, `set` and `add` leaves no trace in it.
        """
        action = _ACTIONS[self.verb]
        body: dict[str, Any] = (
            {"Item": encode_item({**self.key.attributes, **self.item})}
            if action == "Put"
            else {"Key": encode_item(self.key.attributes)}
        )
        names: dict[str, str] = {}
        values: dict[str, Any] = {}
        if self.rules:
            condition = reduce(and_, (rule.condition for rule in self.rules))
            built = ConditionExpressionBuilder().build_expression(condition)
            body["ConditionExpression"] = built.condition_expression
            names.update(built.attribute_name_placeholders)
            values.update(built.attribute_value_placeholders)
        if action == "Update":
            body["UpdateExpression"] = self._update_expression(names, values)
        if names:
            body["ExpressionAttributeNames"] = names
        if values:
            body["ExpressionAttributeValues"] = encode_item(values)
        return {action: body}

    @cached_property
    def size(self) -> int:
        """Upper bound, in bytes, of what the write names and brings."""
        return size_bytes({**self.key.attributes, **self.item, **self.set, **self.add})

    def _update_expression(self, names: dict[str, str], values: dict[str, Any]) -> str:
        clauses = []
        for word, joint, changes in (("SET", " = ", self.set), ("ADD", " ", self.add)):
            parts = list[str]()
            for name in sorted(changes):
                placeholder = f"{word[0].lower()}{len(parts)}"
                names[f"#{placeholder}"], values[f":{placeholder}"] = name, changes[name]
                parts.append(f"#{placeholder}{joint}:{placeholder}")
            clauses += [f"{word} {', '.join(parts)}"] if parts else []
        if self.remove:
            removed = {f"#r{place}": name for place, name in enumerate(sorted(self.remove))}
            names.update(removed)
            clauses.append(f"REMOVE {', '.join(removed)}")
        return " ".join(clauses)


_ACTIONS: dict[Verb, str] = {
    "create": "Put",
    "update": "Update",
    "accumulate": "Update",
    "delete": "Delete",
    "require": "ConditionCheck",
}


def create(
    key: Key,
    item: Mapping[str, Any],
    because: str,
    or_else: Refusal = Refusal.ALREADY_EXISTS,
) -> Write:
    """Put an item whose key must be free; `or_else` is the refusal when it is taken."""
    free = Rule(or_else, Attr("PK").not_exists())
    return Write("create", key, because, (free,), item=dict(item))


def update(
    key: Key,
    because: str,
    only_if: Sequence[Rule] = (),
    *,
    set: Mapping[str, Any] = _NOTHING,
    add: Mapping[str, Any] = _NOTHING,
    remove: Sequence[str] = (),
    missing: Refusal | None = Refusal.NOT_FOUND,
) -> Write:
    """Change named attributes of an item and leave every other attribute as it is.

    The item must exist, else the refusal is `missing`; with `missing=None` an absent item
    is made by the update, and the rules are judged against no attributes at all.
    """
    rules = _existing(missing, only_if)
    return Write("update", key, because, rules, set=set, add=add, remove=tuple(remove))


def delete(
    key: Key,
    because: str,
    only_if: Sequence[Rule] = (),
    *,
    missing: Refusal = Refusal.NOT_FOUND,
) -> Write:
    """Remove an item that must exist and satisfy the rules."""
    return Write("delete", key, because, _existing(missing, only_if))


def require(
    key: Key,
    because: str,
    only_if: Sequence[Rule] = (),
    *,
    missing: Refusal | None = Refusal.NOT_FOUND,
) -> Write:
    """Write nothing, but let the plan stand only if the item satisfies the rules."""
    return Write("require", key, because, _existing(missing, only_if))


def accumulate(key: Key, because: str, add: Mapping[str, Any]) -> Write:
    """Add numbers to an item that may be absent; commutes, so it needs no rule."""
    return Write("accumulate", key, because, (), add=add)


def _existing(missing: Refusal | None, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules in the catalogue's order of precedence, behind the item's existence."""
    exists = () if missing is None else (Rule(missing, Attr("PK").exists()),)
    return (*exists, *sorted(rules, key=lambda rule: rule.refusal.precedence))


@dataclass(frozen=True)
class Plan:
    """The writes of one commit: all of them land together, or none does.

    `intent` names what the plan is for and takes part in its token. A plan with a `fence`
    remembers itself: its first write is the command record, and the fence is a write on
    the same key that lands only if the first write has not, after which the first write
    never can. `answer` is what the caller is told on success; the kernel only carries it.
    `remember` names items whose next state this plan knows, as guesses for later plans.

    Raises `ValueError` when built with no write or more than 100, two writes on one key, a
    write without a rule that is not an addition, an item over 400 KB, more than 4 MB in
    all, or a value that DynamoDB cannot hold.
    """

    intent: str
    writes: tuple[Write, ...]
    fence: Write | None = None
    answer: Any = field(default=None, compare=False)
    remember: tuple[Key, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.writes) <= WRITES_MAX:
            raise ValueError(f"a plan has 1 to {WRITES_MAX} writes, not {len(self.writes)}")
        if len({write.key for write in self.writes}) < len(self.writes):
            raise ValueError(f"two writes on one key in {self.intent!r}")
        if self.fence and self.fence.key != self.writes[0].key:
            raise ValueError("a fence stands on the key of the plan's first write")
        for write in self.writes:
            _check(write)
        if sum(write.size for write in self.writes) > PLAN_BYTES_MAX:
            raise ValueError(f"a plan holds at most {PLAN_BYTES_MAX} bytes in all")

    @property
    def single(self) -> bool:
        """One `create` needs no transaction: the item that stands afterwards tells whose it is."""
        return len(self.writes) == 1 and self.writes[0].verb == "create"

    @cached_property
    def text(self) -> str:
        """The plan as canonical JSON: equal for equal intents and writes, on any machine."""
        requests = [write.request for write in self.writes]
        return msgspec.json.encode([self.intent, requests], order="sorted").decode()

    @property
    def token(self) -> str:
        """The `ClientRequestToken` of the first attempt, 36 characters."""
        return self.token_of(0)

    def token_of(self, series: int) -> str:
        """The token that replaces the `series`-th one which was certainly cancelled."""
        digest = hashlib.sha256(f"{series}:{self.text}".encode()).hexdigest()
        return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]))


def _check(write: Write) -> None:
    if not write.because:
        raise ValueError(f"the write on {write.key} does not say why")
    if not write.rules and write.verb != "accumulate":
        raise ValueError(f"a blind {write.verb} on {write.key}")
    if write.verb in {"update", "accumulate"} and not (write.set or write.add or write.remove):
        raise ValueError(f"the {write.verb} of {write.key} changes nothing")
    if any(isinstance(rule.condition, ConditionBase) is False for rule in write.rules):
        raise ValueError(f"a rule on {write.key} has no condition")
    changed = [*write.set, *write.add, *write.remove]
    if len(changed) > len({*changed} - {"PK", "SK"}):
        raise ValueError(f"the {write.verb} of {write.key} changes its key, or a name twice")
    if write.size > ITEM_BYTES_MAX:
        raise ValueError(f"the item {write.key} is over {ITEM_BYTES_MAX} bytes")
    write.request  # noqa: B018 -- a value that DynamoDB cannot hold is found here, not at the commit
