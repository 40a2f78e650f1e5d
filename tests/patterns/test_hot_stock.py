"""The sharded conditional counter: what is taken from where, and when it is refused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.patterns.hot_stock import choose, give_back, open_shards, take
from holdfast.writes.plan import Key
from holdfast.writes.refusals import Refusal

PRODUCT = Key("PRODUCT#acme#lamp", "META")


def test_before_anyone_looked_the_picked_shard_is_asked() -> None:
    assert choose(3, 8, 5, None) == {5: 3}


def test_a_single_other_shard_is_taken_before_several_are_gathered() -> None:
    assert choose(3, 4, 1, {0: 3, 1: 2, 2: 2, 3: 9}) == {3: 3}


def test_of_several_that_suffice_the_next_after_the_picked_one_is_taken() -> None:
    assert choose(1, 4, 2, {0: 5, 1: 5, 2: 0, 3: 5}) == {3: 1}


def test_gathering_touches_the_fewest_shards() -> None:
    assert choose(6, 4, 0, {0: 1, 1: 3, 2: 4, 3: 1}) == {2: 4, 1: 2}


def test_only_a_whole_that_is_short_is_refused() -> None:
    assert choose(5, 3, 0, {0: 1, 1: 1, 2: 2}) is None
    assert choose(4, 3, 0, {0: 1, 1: 1, 2: 2}) == {2: 2, 0: 1, 1: 1}


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=64),
    st.integers(1, 40),
    st.integers(0, 63),
)
def test_what_is_chosen_is_there_and_is_all_that_was_asked(
    units: list[int], quantity: int, preferred: int
) -> None:
    seen = dict(enumerate(units))
    taken = choose(quantity, len(units), preferred % len(units), seen)
    assert (taken is None) == (sum(units) < quantity)
    if taken is not None:
        assert sum(taken.values()) == quantity
        assert all(0 < count <= seen[shard] for shard, count in taken.items())


@given(st.integers(0, 10**9), st.integers(1, 64))
def test_stock_is_spread_evenly_and_wholly(units: int, shards: int) -> None:
    held = [write.item["units"] for write in open_shards(PRODUCT, units, range(shards))]
    assert sum(held) == units
    assert max(held) - min(held) <= 1


def test_what_is_taken_is_given_back_to_the_same_shards() -> None:
    taken = {1: 2, 3: 1}
    out = take(PRODUCT, taken, Refusal.OUT_OF_STOCK)
    back = give_back(PRODUCT, taken)
    assert [write.key for write in out] == [write.key for write in back]
    assert [write.add["units"] for write in out] == [-write.add["units"] for write in back]
