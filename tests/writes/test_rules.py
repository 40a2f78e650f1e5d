"""The local evaluator says of every condition and item what DynamoDB says of them."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from boto3.dynamodb import conditions as c
from boto3.dynamodb.conditions import Attr
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.writes.codec import decode_item, encode_item
from holdfast.writes.plan import Key, require
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule, first_broken, holds
from tests.conftest import create_table

NAMES = ("a", "b", "c", "m", "m.x", "m.y", "missing")
TEXTS = st.text(alphabet="abzé😀", max_size=3)
NUMBERS = st.integers(-3, 3) | st.sampled_from([Decimal("0.5"), Decimal("2.0"), 10**20])
BLOBS = st.binary(max_size=2)
ORDERED = TEXTS | NUMBERS | BLOBS
SCALARS = ORDERED | st.booleans() | st.none()
SETS = (
    st.sets(TEXTS, min_size=1, max_size=3)
    | st.sets(NUMBERS, min_size=1, max_size=3)
    | st.sets(BLOBS, min_size=1, max_size=3)
)
VALUES = st.recursive(
    SCALARS | SETS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xy"), inner),
    max_leaves=4,
)
ITEMS = st.fixed_dictionaries(
    {}, optional={"a": VALUES, "b": VALUES, "c": VALUES, "m": st.dictionaries(st.just("x"), VALUES)}
)
PATHS = st.sampled_from(NAMES).map(Attr)
TYPES = st.sampled_from(["S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"])


def ordered_pair() -> st.SearchStrategy[list[Any]]:
    """Two bounds of one type, the lower first: DynamoDB refuses others as malformed."""
    return st.one_of(
        st.lists(kind, min_size=2, max_size=2).map(sorted) for kind in (TEXTS, NUMBERS, BLOBS)
    )


LEAVES = st.one_of(
    st.builds(lambda path, value: path.eq(value), PATHS, VALUES | PATHS),
    st.builds(lambda path, value: path.ne(value), PATHS, VALUES | PATHS),
    st.builds(lambda path, value: path.lt(value), PATHS, ORDERED | PATHS),
    st.builds(lambda path, value: path.lte(value), PATHS, ORDERED | PATHS),
    st.builds(lambda path, value: path.gt(value), PATHS, ORDERED | PATHS),
    st.builds(lambda path, value: path.gte(value), PATHS, ORDERED | PATHS),
    st.builds(lambda path, pair: path.between(*pair), PATHS, ordered_pair()),
    st.builds(
        lambda path, options: path.is_in(options), PATHS, st.lists(VALUES, min_size=1, max_size=3)
    ),
    st.builds(lambda path, value: path.begins_with(value), PATHS, TEXTS | BLOBS),
    st.builds(lambda path, value: path.contains(value), PATHS, SCALARS),
    st.builds(lambda path, name: path.attribute_type(name), PATHS, TYPES),
    st.builds(lambda path: path.exists(), PATHS),
    st.builds(lambda path: path.not_exists(), PATHS),
    st.builds(lambda path, count: path.size().gte(count), PATHS, st.integers(0, 4)),
    st.builds(lambda path, count: path.size().eq(count), PATHS, st.integers(0, 4)),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda left, right: left & right, inner, inner),
        st.builds(lambda left, right: left | right, inner, inner),
        st.builds(lambda part: ~part, inner),
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def shared(client: Any) -> Iterator[str]:
    name = f"rules-{uuid.uuid4().hex[:12]}"
    create_table(client, name)
    yield name
    client.delete_table(TableName=name)


MISSING = object()
keys = (Key(f"RULE#{number}", "META") for number in itertools.count())


def emulator_holds(client: Any, name: str, key: Key, condition: c.ConditionBase) -> bool:
    """What a ConditionCheck of the stored item says."""
    body = require(key, "Asked.", [Rule(Refusal.NOT_OWNER, condition)], missing=None).request
    check = {**body["ConditionCheck"], "TableName": name}
    try:
        client.transact_write_items(TransactItems=[{"ConditionCheck": check}])
    except ClientError as error:
        assert error.response["CancellationReasons"][0]["Code"] == "ConditionalCheckFailed"
        return False
    return True


@settings(
    max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(item=ITEMS, trees=st.lists(TREES, min_size=1, max_size=5))
def test_the_local_evaluator_agrees_with_dynamodb(
    client: Any, shared: str, item: dict[str, Any], trees: list[c.ConditionBase]
) -> None:
    key = next(keys)
    image = encode_item({**item, **key.attributes})
    client.put_item(TableName=shared, Item=image)
    old = decode_item(image)
    for tree in trees:
        if not any(undecided(leaf, old) for leaf in leaves(tree)):
            assert holds(tree, old) is emulator_holds(client, shared, key, tree)


def leaves(condition: Any) -> Iterator[c.ConditionBase]:
    if isinstance(condition, c.And | c.Or | c.Not):
        for part in condition.get_expression()["values"]:
            yield from leaves(part)
    else:
        yield condition


def undecided(leaf: c.ConditionBase, item: dict[str, Any]) -> bool:
    """Where the emulator cannot judge, or AWS does not say.

    A prefix of another type than the attribute's: the emulator calls the request malformed,
    AWS does so only for operands in the request, and finds the condition false.
    The size of a string beyond ASCII: the emulator counts UTF-16 units, AWS says "length".
    The size of what has none, such as a number: the emulator says 0, AWS names no value.
    Two absent attributes: AWS says nothing of comparing them, and no rule here does.
    """
    operands = leaf.get_expression()["values"]
    values = [lookup(operand, item) for operand in operands]
    match leaf:
        case c.BeginsWith():
            return values[0] is not MISSING and type(values[0]) is not type(values[1])
        case _ if isinstance(operands[0], c.Size):
            return unmeasured(operands[0].get_expression()["values"][0], item)
        case c.Equals() | c.NotEquals():
            return all(is_path(path) and holds(path.not_exists(), item) for path in operands)
    return False


def unmeasured(path: c.AttributeBase, item: dict[str, Any]) -> bool:
    value = lookup(path, item)
    if isinstance(value, str):
        return not value.isascii()
    return value is None or isinstance(value, int | Decimal)


def is_path(operand: Any) -> bool:
    return isinstance(operand, c.AttributeBase)


def lookup(operand: Any, item: dict[str, Any]) -> Any:
    """The operand's value; MISSING for an absent attribute."""
    if not is_path(operand):
        return operand
    head, _, tail = operand.name.partition(".")
    found = item.get(head, MISSING)
    if tail:
        return found.get(tail, MISSING) if isinstance(found, dict) else MISSING
    return found


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Attr("n").eq(5), True),
        (Attr("n").eq(Decimal("5.0")), True),
        (Attr("n").eq("5"), False),
        (Attr("t").eq(1), False),
        (Attr("n").ne(5), False),
        (Attr("n").ne("5"), True),
        (Attr("gone").eq(5), False),
        (Attr("gone").ne(5), True),
        (Attr("gone").lt(5), False),
        (~Attr("gone").lt(5), True),
        (Attr("n").lt(6), True),
        (Attr("n").lt(5), False),
        (Attr("n").lte(5), True),
        (Attr("n").gt(5), False),
        (Attr("n").gte(5), True),
        (Attr("n").lt("6"), False),
        (Attr("s").lt("b"), True),
        (Attr("n").lt(Attr("max")), True),
        (Attr("max").lt(Attr("n")), False),
        (Attr("n").between(5, 6), True),
        (Attr("n").between(4, 5), True),
        (Attr("n").between(6, 7), False),
        (Attr("n").between(3, 4), False),
        (Attr("s").is_in(["x", "abc"]), True),
        (Attr("s").is_in(["x"]), False),
        (Attr("s").begins_with("ab"), True),
        (Attr("s").begins_with("b"), False),
        (Attr("n").begins_with("5"), False),
        (Attr("b").begins_with(b"a"), True),
        (Attr("s").contains("bc"), True),
        (Attr("s").contains("x"), False),
        (Attr("l").contains(2), True),
        (Attr("l").contains("2"), False),
        (Attr("ss").contains("x"), True),
        (Attr("s").attribute_type("S"), True),
        (Attr("t").attribute_type("N"), False),
        (Attr("nul").attribute_type("NULL"), True),
        (Attr("m.x").eq(1), True),
        (Attr("m.y").exists(), False),
        (Attr("s.x").not_exists(), True),
        (Attr("s").size().eq(3), True),
        (Attr("n").size().gte(0), False),
        (Attr("s").exists() & Attr("n").eq(6), False),
        (Attr("s").not_exists() | Attr("n").eq(5), True),
    ],
    ids=lambda value: None,
)
def test_a_condition_is_judged_as_dynamodb_judges_it(
    client: Any, shared: str, condition: c.ConditionBase, expected: bool
) -> None:
    key = next(keys)
    item = {
        "n": 5,
        "max": 6,
        "s": "abc",
        "b": b"ab",
        "t": True,
        "nul": None,
        "l": [1, 2],
        "ss": {"x", "y"},
        "m": {"x": 1},
    }
    assert holds(condition, item) is expected
    if not undecided(condition, item):
        client.put_item(TableName=shared, Item=encode_item({**item, **key.attributes}))
        assert emulator_holds(client, shared, key, condition) is expected


def test_the_first_broken_rule_in_order_is_named() -> None:
    owner = Rule(Refusal.NOT_OWNER, Attr("owner").eq("me"))
    version = Rule(Refusal.STALE_VERSION, Attr("version").eq(1))
    assert first_broken([owner, version], {"owner": "you", "version": 2}) is owner
    assert first_broken([owner, version], {"owner": "me", "version": 2}) is version
    assert first_broken([owner, version], {"owner": "me", "version": 1}) is None
    assert first_broken([owner, version], None) is owner


class NewOperator(c.ComparisonCondition):
    """An operator that a later boto3 might add."""


@pytest.mark.parametrize(
    "condition", [NewOperator(Attr("l"), 1), Attr("l[0]").eq(1)], ids=["operator", "place"]
)
def test_what_the_evaluator_does_not_know_is_an_error(condition: c.ConditionBase) -> None:
    with pytest.raises(ValueError, match="no local evaluation"):
        holds(condition, {"l": [1]})
