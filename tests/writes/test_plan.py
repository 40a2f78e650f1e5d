"""What a plan refuses to be, and what stays the same about it on every machine."""

from __future__ import annotations

import os
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest
from boto3.dynamodb.conditions import Attr
from hypothesis import given
from hypothesis import strategies as st

from holdfast.writes.plan import (
    ITEM_BYTES_MAX,
    Key,
    Plan,
    Write,
    accumulate,
    create,
    delete,
    require,
    update,
)
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

KEY = Key("A#1", "META")
OPEN = Rule(Refusal.CASE_NOT_OPEN, Attr("status").eq("OPEN"))


def made(**item: Any) -> Write:
    return create(KEY, item, "An id is used once.")


def many(count: int) -> tuple[Write, ...]:
    return tuple(create(Key(f"A#{n}", "META"), {}, "An id is used once.") for n in range(count))


def test_a_plan_has_at_least_one_write() -> None:
    with pytest.raises(ValueError, match="1 to 100 writes, not 0"):
        Plan("nothing", ())


def test_a_plan_has_at_most_a_hundred_writes() -> None:
    assert len(Plan("a hundred", many(100)).writes) == 100
    with pytest.raises(ValueError, match="1 to 100 writes, not 101"):
        Plan("too many", many(101))


def test_a_plan_writes_a_key_once() -> None:
    with pytest.raises(ValueError, match="two writes on one key"):
        Plan("twice", (made(), require(KEY, "It stands.")))


def test_an_item_is_at_most_400_kilobytes() -> None:
    empty = len("PK" + KEY.pk + "SK" + KEY.sk + "x")
    assert Plan("full", (made(x="a" * (ITEM_BYTES_MAX - empty)),))
    with pytest.raises(ValueError, match="over 409600 bytes"):
        Plan("over", (made(x="a" * (ITEM_BYTES_MAX - empty + 1)),))


def test_an_update_sets_at_most_400_kilobytes() -> None:
    with pytest.raises(ValueError, match="over 409600 bytes"):
        Plan("over", (update(KEY, "It grows.", set={"x": "a" * ITEM_BYTES_MAX}),))


def test_a_plan_is_at_most_4_megabytes() -> None:
    tenth = "a" * 400_000
    writes = [create(Key(f"A#{n}", "META"), {"x": tenth}, "Once.") for n in range(11)]
    assert Plan("below", tuple(writes[:10]))
    with pytest.raises(ValueError, match="4194304 bytes in all"):
        Plan("over", tuple(writes))


@pytest.mark.parametrize(
    "write",
    [
        update(KEY, "Blind.", set={"x": 1}, missing=None),
        require(KEY, "Blind.", missing=None),
        Write("create", KEY, "Blind.", ()),
        Write("delete", KEY, "Blind.", ()),
    ],
    ids=lambda write: write.verb,
)
def test_a_blind_write_cannot_be_said(write: Write) -> None:
    with pytest.raises(ValueError, match="a blind"):
        Plan("blind", (write,))


@pytest.mark.parametrize(
    "write",
    [update(KEY, "Nothing."), accumulate(KEY, "Nothing.", add={})],
    ids=lambda write: write.verb,
)
def test_a_change_changes_something(write: Write) -> None:
    with pytest.raises(ValueError, match="changes nothing"):
        Plan("idle", (write,))


def test_a_change_leaves_the_key_alone_and_names_an_attribute_once() -> None:
    rule = Rule(Refusal.NOT_FOUND, Attr("PK").exists())
    for change in (
        {"set": {"PK": "other"}},
        {"remove": ("SK",)},
        {"set": {"count": 1}, "add": {"count": 1}},
        {"set": {"count": 1}, "remove": ("count",)},
    ):
        with pytest.raises(ValueError, match="changes its key, or a name twice"):
            Plan("change", (update(KEY, "Why not.", [rule], **change),))


def test_a_write_says_why() -> None:
    with pytest.raises(ValueError, match="does not say why"):
        Plan("mute", (create(KEY, {}, ""),))


def test_a_rule_has_a_condition() -> None:
    rule = Rule(Refusal.NOT_OWNER, "status = :open")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has no condition"):
        Plan("text", (require(KEY, "It stands.", [rule]),))


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        float("nan"),
        Decimal("NaN"),
        Decimal("Infinity"),
        10**38 + 1,
        Decimal("1e126"),
        set(),
        {1, "one"},
        {None},
        object(),
    ],
    ids=[
        "float",
        "nan",
        "NaN",
        "Infinity",
        "39 digits",
        "1e126",
        "no set",
        "mixed",
        "null",
        "object",
    ],
)
@pytest.mark.parametrize("place", ["item", "set", "rule"])
def test_a_value_that_dynamodb_cannot_hold_is_refused_at_once(value: Any, place: str) -> None:
    write = {
        "item": lambda: made(x={"deep": [value]}),
        "set": lambda: update(KEY, "It changes.", set={"x": [value]}),
        "rule": lambda: require(KEY, "It is.", [Rule(Refusal.NOT_OWNER, Attr("x").eq([value]))]),
    }[place]()
    with pytest.raises(ValueError, match="DynamoDB"):
        Plan("impossible", (write,))


@pytest.mark.parametrize("field", ["\ud800", {"\udfff": 1}], ids=ascii)
def test_text_that_has_no_utf_8_is_refused_at_once(field: Any) -> None:
    with pytest.raises(ValueError, match="surrogates"):
        Plan("impossible", (made(x=field),))


def test_a_fence_stands_on_the_key_of_the_first_write() -> None:
    with pytest.raises(ValueError, match="fence stands on the key"):
        Plan("astray", many(2), fence=many(2)[1])


BUILD = """
from boto3.dynamodb.conditions import Attr
from holdfast.writes.plan import Key, Plan, create, update
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule
names = {word for word in "alpha beta gamma delta epsilon zeta".split()}
rules = [
    Rule(refusal, Attr(refusal.lower()).is_in(sorted(names)))
    for refusal in {Refusal.LIMIT_REACHED, Refusal.NOT_OWNER, Refusal.STALE_VERSION}
]
made = create(Key("A", "1"), {"tags": names, **{name: {name: 1} for name in names}}, "Once.")
changed = update(Key("A", "2"), "It is.", rules, set=dict.fromkeys(names, 1), remove=[])
plan = Plan("hash", (made, changed))
print(plan.text, plan.token_of(0), plan.token_of(1))
"""


def test_text_and_tokens_are_the_same_in_every_process() -> None:
    """Field report 3: neither the hash seed nor the order of a dictionary or set shows."""
    texts = set()
    for seed in ("1", "2", "3"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        texts.add(subprocess.check_output([sys.executable, "-c", BUILD], env=env))
    assert len(texts) == 1


@given(st.permutations([(name, {name: 1, "k": name}) for name in "abcdef"]), st.data())
def test_the_order_of_dictionary_keys_leaves_no_trace(pairs: list[Any], data: Any) -> None:
    other = data.draw(st.permutations(pairs))
    for verb in (
        lambda fields: create(KEY, fields, "Once."),
        lambda fields: update(KEY, "It is.", [OPEN], set=fields, remove=["g"]),
        lambda fields: update(KEY, "It is.", [OPEN], add=dict.fromkeys(fields, 1)),
        lambda fields: update(KEY, "It is.", [OPEN], remove=list(fields)),
    ):
        one, two = (Plan("p", (verb(dict(order)),)) for order in (pairs, other))
        assert (one.text, one.token) == (two.text, two.token)


def test_a_token_has_36_characters_and_each_of_a_series_differs() -> None:
    tokens = [Plan("p", (made(),)).token_of(series) for series in range(50)]
    assert {len(token) for token in tokens} == {36}
    assert len(set(tokens)) == 50
    assert Plan("p", (made(),)).token == tokens[0]


def test_another_intent_or_another_write_has_another_token() -> None:
    plans = [
        Plan("p", (made(x=1),)),
        Plan("q", (made(x=1),)),
        Plan("p", (made(x=2),)),
        Plan("p", (made(x="1"),)),
        Plan("p", (made(x=1), *many(1))),
    ]
    assert len({plan.token for plan in plans}) == len(plans)


def test_the_answer_takes_no_part_in_the_token() -> None:
    assert Plan("p", (made(),), answer=1).token == Plan("p", (made(),), answer=2).token


def test_rules_stand_in_the_order_of_precedence_behind_existence() -> None:
    rules = [
        Rule(refusal, Attr("x").eq(1))
        for refusal in (
            Refusal.LIMIT_REACHED,
            Refusal.STALE_VERSION,
            Refusal.CASE_NOT_OPEN,
            Refusal.NOT_CASE_OFFICER,
        )
    ]
    expected = [Refusal.NOT_FOUND, *(rule.refusal for rule in reversed(rules))]
    for write in (
        update(KEY, "It is.", rules, set={"y": 1}),
        delete(KEY, "It is.", rules),
        require(KEY, "It is.", rules),
    ):
        assert [rule.refusal for rule in write.rules] == expected


def test_an_update_names_every_attribute_by_a_placeholder() -> None:
    write = update(
        KEY,
        "It is.",
        [OPEN],
        set={"status": "SHUT", "at": 1},
        add={"version": 1},
        remove=["size", "by"],
        missing=None,
    )
    assert write.request == {
        "Update": {
            "Key": {"PK": {"S": "A#1"}, "SK": {"S": "META"}},
            "ConditionExpression": "#n0 = :v0",
            "UpdateExpression": "SET #s0 = :s0, #s1 = :s1 ADD #a0 :a0 REMOVE #r0, #r1",
            "ExpressionAttributeNames": {
                "#n0": "status",
                "#s0": "at",
                "#s1": "status",
                "#a0": "version",
                "#r0": "by",
                "#r1": "size",
            },
            "ExpressionAttributeValues": {
                ":v0": {"S": "OPEN"},
                ":s0": {"N": "1"},
                ":s1": {"S": "SHUT"},
                ":a0": {"N": "1"},
            },
        }
    }


def test_an_addition_has_no_condition() -> None:
    assert accumulate(KEY, "Sums commute.", add={"count": 1}).request == {
        "Update": {
            "Key": {"PK": {"S": "A#1"}, "SK": {"S": "META"}},
            "UpdateExpression": "ADD #a0 :a0",
            "ExpressionAttributeNames": {"#a0": "count"},
            "ExpressionAttributeValues": {":a0": {"N": "1"}},
        }
    }
