"""Keys cannot be forged by the text they are made of, and ids follow from their command."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.patterns import keys
from holdfast.writes.plan import Key

TEXTS = st.text(min_size=1, max_size=200)


@pytest.mark.parametrize("bad", ["", "#", "a#b", "acme#1"])
def test_an_id_in_a_key_is_not_empty_and_holds_no_separator(bad: str) -> None:
    for key_of in (keys.case, keys.officer_profile, keys.officer_workload, keys.command):
        for ids in ((bad, "1"), ("acme", bad)):
            with pytest.raises(ValueError, match="not empty and holds no '#'"):
                key_of(*ids)


@given(TEXTS, TEXTS)
def test_different_texts_have_different_keys(one: str, two: str) -> None:
    assume(one != two)
    assert keys.text_part(one) != keys.text_part(two)


@given(st.text("#%23a", min_size=1))
def test_free_text_never_brings_a_separator_into_a_key(text: str) -> None:
    assert "#" not in keys.text_part(text)


def test_a_text_that_looks_escaped_is_not_the_text_it_looks_like() -> None:
    assert len({keys.text_part(text) for text in ("a#b", "a%23b", "a%2523b")}) == 3


def test_long_text_is_keyed_by_its_digest() -> None:
    short, long, other = "é" * 256, "é" * 257, "é" * 258
    assert keys.text_part(short) == short
    assert keys.text_part(long).startswith("sha256:")
    assert keys.text_part(long) != keys.text_part(other)
    sentinel = keys.sentinel("t" * 128, "CASE_REF", 1, "x" * 100_000)
    assert len(sentinel.pk.encode()) < 2048


def test_free_text_is_not_empty() -> None:
    with pytest.raises(ValueError, match="not empty"):
        keys.text_part("")


def test_an_id_follows_from_its_command_and_its_purpose() -> None:
    case_id = keys.derived_id("c1", "case")
    assert case_id == keys.derived_id("c1", "case")
    assert len(case_id) == 26
    assert case_id.isalnum()
    others = {keys.derived_id("c2", "case"), keys.derived_id("c1", "task")}
    assert len({case_id, *others}) == 3


def test_events_of_an_owner_sort_by_version() -> None:
    owner = keys.case("acme", "1")
    sorted_keys = [keys.event(owner, version).sk for version in (1, 2, 9, 10, 11, 100, 12_345)]
    assert sorted_keys == sorted(sorted_keys)
    assert keys.event(owner, 7) == Key("CASE#acme#1", "EVENT#META#0000000007")


def test_the_outbox_entries_of_an_aggregate_stay_in_one_shard_of_a_day() -> None:
    owner = keys.case("acme", "1")
    entries = [keys.outbox(owner, version, "2030-01-02") for version in range(1, 20)]
    assert len({entry.pk for entry in entries}) == 1
    assert entries[0].pk.startswith("OUTBOX#2030-01-02#")
    assert entries[0].sk == "EVENT#CASE#acme#1#META#0000000001"


@given(TEXTS, st.integers(1, 64))
def test_a_shard_is_one_of_those_there_are(text: str, shards: int) -> None:
    assert 0 <= keys.shard_of(text, shards) < shards


def test_owners_spread_over_all_shards_of_the_outbox() -> None:
    partitions = {keys.outbox(keys.case("acme", str(n)), 1, "2030-01-02").pk for n in range(500)}
    assert len(partitions) == keys.OUTBOX_SHARDS
