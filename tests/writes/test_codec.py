"""Values survive the way to DynamoDB and back, and are never measured too small."""

from __future__ import annotations

import itertools
import math
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from boto3.dynamodb.types import Binary
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.writes.codec import decode, decode_item, encode, encode_item, size_bytes
from holdfast.writes.plan import ITEM_BYTES_MAX, Key, Plan, create
from holdfast.writes.table import Table
from tests.conftest import create_table

NUMBERS = st.integers(-(10**38) + 1, 10**38 - 1) | st.decimals(
    min_value=-(10**9), max_value=10**9, places=6
).map(lambda number: int(number) if number == int(number) else number)
SCALARS = st.text(max_size=30) | NUMBERS | st.booleans() | st.none() | st.binary(max_size=30)
SETS = st.sets(st.text(), min_size=1, max_size=4) | st.sets(NUMBERS, min_size=1, max_size=4)
VALUES = st.recursive(
    SCALARS | SETS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=12,
)
ITEMS = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=9), VALUES | st.text(min_size=500), max_size=6
)


@given(VALUES)
def test_a_value_comes_back_as_it_went(value: Any) -> None:
    assert decode(encode(value)) == value


def test_whole_numbers_come_back_as_int() -> None:
    assert [type(decode({"N": text})) for text in ("7", "7.0", "1E2", "0.5")] == [
        int,
        int,
        int,
        Decimal,
    ]


def test_bytes_of_every_kind_are_binary() -> None:
    for value in (b"x", bytearray(b"x"), Binary(b"x")):
        assert encode(value) == {"B": b"x"}


@pytest.fixture(scope="module")
def shared(client: Any) -> Iterator[str]:
    name = f"sizes-{uuid.uuid4().hex[:12]}"
    create_table(client, name)
    yield name
    client.delete_table(TableName=name)


fresh = itertools.count(10_000)


def write_units(client: Any, name: str, item: dict[str, Any]) -> float:
    """What putting the item costs; under a new key each time, since a larger old item counts."""
    item = {**item, "SK": str(next(fresh))}
    answer = client.put_item(TableName=name, Item=encode_item(item), ReturnConsumedCapacity="TOTAL")
    return answer["ConsumedCapacity"]["CapacityUnits"]


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(item=ITEMS)
def test_an_item_is_never_measured_too_small(
    client: Any, shared: str, item: dict[str, Any]
) -> None:
    """DynamoDB charges a unit for each kilobyte that an item begins."""
    whole = {"PK": "P", "SK": "12345", **item}
    assert math.ceil(size_bytes(whole) / 1024) >= write_units(client, shared, whole)


@pytest.mark.parametrize("more", [0, 1])
def test_an_item_of_strings_is_measured_exactly(client: Any, shared: str, more: int) -> None:
    item = {"PK": "P", "SK": "12345", "é": "ü" * 500}
    item["x"] = "a" * (2048 - size_bytes(item) - 1 + more)
    assert size_bytes(item) == 2048 + more
    assert write_units(client, shared, item) == 2 + more


def test_lists_and_maps_are_measured_with_their_overhead() -> None:
    """Source: developer guide, "DynamoDB item sizes and formats"."""
    assert size_bytes({"m": {"key": "text"}}) == len("m") + 3 + 1 + len("keytext")
    assert size_bytes({"l": ["text", None]}) == len("l") + 3 + 1 + len("text") + 1 + 1
    assert size_bytes({"s": {"a", "bc"}, "b": b"abc", "n": 1}) == 1 + 3 + 1 + 3 + 1 + 21


def test_the_largest_item_that_a_plan_takes_is_taken_by_dynamodb(client: Any, shared: str) -> None:
    key = Key("LARGE", "ITEM")
    room = ITEM_BYTES_MAX - size_bytes({**key.attributes, "x": ""})
    table = Table(client, shared)
    table.commit(Plan("large", (create(key, {"x": "a" * room}, "It just fits."),)))
    stored = client.get_item(TableName=shared, Key=encode_item(key.attributes))["Item"]
    assert size_bytes(decode_item(stored)) == ITEM_BYTES_MAX
