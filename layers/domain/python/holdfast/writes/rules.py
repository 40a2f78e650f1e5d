"""Rules: a refusal code and the condition that must hold, and their local evaluation.

DynamoDB says only *that* a condition failed and returns the old image
(`ReturnValuesOnConditionCheckFailure=ALL_OLD`). Evaluating the rules of the write against
that image, in order, names the refusal without a second read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from boto3.dynamodb import conditions as c

from holdfast.writes.refusals import Refusal

Item = Mapping[str, Any]


@dataclass(frozen=True)
class Rule:
    """`condition` (a boto3 `Attr` expression, stated positively) must hold, else `refusal`."""

    refusal: Refusal
    condition: c.ConditionBase


def never(refusal: Refusal) -> Rule:
    """A rule that no item satisfies, for what is refused whatever the table says.

    It still goes to the table with the rest of its plan, so a duplicate gets its stored
    answer, and a refusal that stands before it in the catalogue is told first.
    """
    return Rule(refusal, c.Attr("PK").exists() & c.Attr("PK").not_exists())


def first_broken(rules: Iterable[Rule], item: Item | None) -> Rule | None:
    """The first rule that does not hold for the image `item` (None: the item is absent)."""
    image = item or {}
    return next((rule for rule in rules if not holds(rule.condition, image)), None)


def holds(condition: c.ConditionBase, item: Item) -> bool:
    """Evaluate a condition as DynamoDB does.

    A comparison with an absent attribute is false, but for `<>`, which is true of it.

    Raises `ValueError` for an operator that the evaluator does not know, so that a new kind
    of condition is noticed when its first test runs, not when it misnames a refusal.
    Source: Amazon DynamoDB developer guide, "Condition and filter expressions".
    """
    match condition:
        case c.And():
            return all(holds(part, item) for part in _operands(condition))
        case c.Or():
            return any(holds(part, item) for part in _operands(condition))
        case c.Not():
            return not holds(_operands(condition)[0], item)
        case c.AttributeExists():
            return _value(_operands(condition)[0], item) is not _ABSENT
        case c.AttributeNotExists():
            return _value(_operands(condition)[0], item) is _ABSENT
    operator = _OPERATORS.get(type(condition))
    if operator is None:
        raise ValueError(f"no local evaluation for {type(condition).__name__}")
    operands = [_value(operand, item) for operand in _operands(condition)]
    if any(operand is _ABSENT for operand in operands):
        return isinstance(condition, c.NotEquals)
    return operator(*operands)


def _operands(condition: Any) -> Any:
    return condition.get_expression()["values"]


class _Absent:
    """The value of an attribute that the image lacks; equal to itself alone."""


_ABSENT = _Absent()


def _value(operand: Any, item: Item) -> Any:
    if isinstance(operand, c.Size):
        inner = _value(_operands(operand)[0], item)
        return len(inner) if isinstance(inner, (str, bytes, list, dict, set)) else _ABSENT
    if not isinstance(operand, c.AttributeBase):
        return operand
    if "[" in operand.name:
        raise ValueError(f"no local evaluation for the list place in {operand.name!r}")
    found: Any = item
    for name in operand.name.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return _ABSENT
        found = found[name]
    return found


def _kind(value: Any) -> str:
    """The DynamoDB type of a value; values of different types are never equal or ordered."""
    match value:
        case bool():
            return "BOOL"
        case int() | Decimal():
            return "N"
        case str():
            return "S"
        case bytes() | bytearray():
            return "B"
        case None:
            return "NULL"
        case list() | tuple():
            return "L"
        case set() | frozenset():
            return f"{_kind(next(iter(value)))}S"
    return "M"


def _same_kind(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: _kind(left) == _kind(right) and test(left, right)


def _ordered(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Strings order by UTF-8 bytes, which is the order of code points, as Python's is."""
    return _same_kind(lambda left, right: _kind(left) in {"N", "S", "B"} and test(left, right))


def _equal(left: Any, right: Any) -> bool:
    if _kind(left) != _kind(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_equal(left[k], right[k]) for k in left)
    return bool(left == right)


def _contains(container: Any, part: Any) -> bool:
    if isinstance(container, str):
        return isinstance(part, str) and part in container
    if isinstance(container, (list, set, frozenset)):
        return any(_equal(member, part) for member in container)
    return False


_at_most = _ordered(lambda left, right: left <= right)

_OPERATORS: dict[type, Callable[..., bool]] = {
    c.Equals: _equal,
    c.NotEquals: lambda left, right: not _equal(left, right),
    c.LessThan: _ordered(lambda left, right: left < right),
    c.LessThanEquals: _at_most,
    c.GreaterThan: _ordered(lambda left, right: left > right),
    c.GreaterThanEquals: _ordered(lambda left, right: left >= right),
    c.Between: lambda value, low, high: _at_most(low, value) and _at_most(value, high),
    c.In: lambda value, options: any(_equal(value, option) for option in options),
    c.BeginsWith: _same_kind(
        lambda left, right: isinstance(left, (str, bytes)) and left.startswith(right)
    ),
    c.Contains: _contains,
    c.AttributeType: lambda value, name: _kind(value) == name,
}
