"""What each verb does to a real table, and how two plans race for one item."""

from __future__ import annotations

from typing import Any

import pytest
from boto3.dynamodb.conditions import Attr
from botocore.exceptions import ClientError

from holdfast.writes.codec import encode_item
from holdfast.writes.outcomes import Committed, Contended, Duplicate, Outcome, Refused
from holdfast.writes.plan import (
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
from holdfast.writes.table import Table

KEY, OTHER = Key("CASE#t#1", "META"), Key("CASE#t#2", "META")
OPEN = Rule(Refusal.CASE_NOT_OPEN, Attr("status").eq("OPEN"))


def at_version(version: int) -> Rule:
    return Rule(Refusal.STALE_VERSION, Attr("version").eq(version))


def stored(table: Table, key: Key, **fields: Any) -> None:
    """Put an item in place as an older release or another program would have."""
    item = encode_item({**key.attributes, **fields})
    table.client.put_item(TableName=table.name, Item=item)


def send(table: Table, *writes: Write, intent: str = "test") -> Outcome:
    return table.commit(plan(table, *writes, intent=intent))


def plan(table: Table, *writes: Write, intent: str = "test") -> Plan:
    """A token is an account's, and each test has a table of its own: the intent names it."""
    return Plan(f"{intent} in {table.name}", writes)


def refusal(outcome: Outcome) -> Refusal:
    assert isinstance(outcome, Refused)
    return outcome.refusal


@pytest.mark.parametrize("others", [(), (accumulate(OTHER, "Counted.", add={"n": 1}),)])
def test_create_needs_a_free_key(table: Table, others: tuple[Write, ...]) -> None:
    taken = create(KEY, {"title": "second"}, "Once.", or_else=Refusal.CASE_ASSIGNED)
    assert isinstance(send(table, create(KEY, {"title": "first"}, "Once."), *others), Committed)
    outcome = send(table, taken, *others)
    assert refusal(outcome) is Refusal.CASE_ASSIGNED
    assert outcome.old == table.get(KEY) == {**KEY.attributes, "title": "first"}
    assert (table.get(OTHER) or {}).get("n", 1) == 1


def test_update_changes_what_it_names_and_nothing_else(table: Table) -> None:
    """Field report 13: an attribute that this release does not know survives."""
    stored(table, KEY, status="OPEN", version=1, old="x", futureField={"kept": [1]})
    change = update(
        KEY, "It is.", [OPEN], set={"status": "SHUT"}, add={"version": 1, "seen": 2}, remove=["old"]
    )
    assert isinstance(send(table, change), Committed)
    assert table.get(KEY) == {
        **KEY.attributes,
        "status": "SHUT",
        "version": 2,
        "seen": 2,
        "futureField": {"kept": [1]},
    }


@pytest.mark.parametrize(
    "write",
    [
        update(KEY, "It is.", [OPEN], set={"x": 1}),
        delete(KEY, "It is.", [OPEN]),
        require(KEY, "It is.", [OPEN]),
    ],
    ids=lambda write: write.verb,
)
def test_a_write_on_an_item_needs_it_and_its_rules(table: Table, write: Write) -> None:
    assert refusal(send(table, write)) is Refusal.NOT_FOUND
    assert table.get(KEY) is None
    stored(table, KEY, status="SHUT")
    assert refusal(send(table, write)) is Refusal.CASE_NOT_OPEN
    assert table.get(KEY) == {**KEY.attributes, "status": "SHUT"}
    stored(table, KEY, status="OPEN")
    assert isinstance(send(table, write), Committed)


def test_an_update_may_make_its_item(table: Table) -> None:
    room = Rule(Refusal.LIMIT_REACHED, Attr("n").not_exists() | Attr("n").lt(2))
    take = [update(KEY, "At most two.", [room], add={"n": 1}, missing=None) for _ in range(3)]
    outcomes = [send(table, write, intent=f"take {n}") for n, write in enumerate(take)]
    assert [type(outcome) for outcome in outcomes] == [Committed, Committed, Refused]


def test_additions_commute_and_need_no_item(table: Table) -> None:
    for intent, n in (("one", 1), ("two", 2), ("three", -4)):
        send(table, accumulate(KEY, "Sums commute.", add={"n": n}), intent=intent)
    assert table.get(KEY) == {**KEY.attributes, "n": -1}


def test_of_a_refused_plan_nothing_is_written(table: Table) -> None:
    stored(table, OTHER, status="SHUT")
    outcome = send(
        table,
        create(KEY, {}, "Once."),
        accumulate(Key("N", "N"), "Counted.", add={"n": 1}),
        update(OTHER, "It is.", [OPEN], set={"status": "DONE"}),
    )
    assert refusal(outcome) is Refusal.CASE_NOT_OPEN
    assert table.get(KEY) is None
    assert table.get(Key("N", "N")) is None


def test_a_stranger_learns_of_the_actor_before_state_and_version(table: Table) -> None:
    stored(table, KEY, owner="you", status="SHUT", version=1)
    owner = Rule(Refusal.NOT_OWNER, Attr("owner").eq("me"))
    write = update(KEY, "It is.", [at_version(7), OPEN, owner], set={"x": 1})
    assert refusal(send(table, write)) is Refusal.NOT_OWNER


def test_the_second_of_five_actions_is_named_with_its_old_item(table: Table) -> None:
    """Field report 12: the reasons of a cancelled transaction keep their link to the write."""
    for n in range(5):
        stored(table, Key(f"K#{n}", "K"), version=9 if n == 1 else 7, title=f"item {n}")
    five = [
        update(Key(f"K#{n}", "K"), f"Reason {n}.", [at_version(7)], add={"version": 1})
        for n in range(5)
    ]
    outcome = send(table, *five)
    assert isinstance(outcome, Refused)
    assert (outcome.write, outcome.refusal) == (five[1], Refusal.STALE_VERSION)
    assert outcome.old == {"PK": "K#1", "SK": "K", "version": 9, "title": "item 1"}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_updates_at_one_version_the_first_to_commit_wins(
    table: Table, order: tuple[int, int]
) -> None:
    stored(table, KEY, version=1)
    plans = [
        plan(table, update(KEY, "It is.", [at_version(1)], set={"by": n}, add={"version": 1}))
        for n in (0, 1)
    ]
    first, second = order
    assert isinstance(table.commit(plans[first]), Committed)
    assert refusal(table.commit(plans[second])) is Refusal.STALE_VERSION
    assert table.get(KEY) == {**KEY.attributes, "by": first, "version": 2}


def test_one_token_applies_an_addition_once(table: Table) -> None:
    """Field report 17: the same plan sent twice counts once, where tokens are honoured."""
    counted = plan(table, accumulate(KEY, "Counted.", add={"n": 1}))
    table.commit(counted)
    table.commit(counted)
    assert table.get(KEY) == {**KEY.attributes, "n": 1}


def test_a_token_used_with_other_content_is_answered_by_the_record(table: Table) -> None:
    """Field report 17: the mismatch that the token reports is handled, not passed on."""
    record = Key("IDEMPOTENCY#t#c", "COMMAND")
    fence = create(record, {"status": "FAILED_RETRYABLE"}, "A fence.")
    plans = [
        Plan("p", (create(record, {"hash": n}, "Once."), sums), fence=fence)
        for n, sums in ((n, accumulate(KEY, "Sums.", add={"n": n})) for n in (10, 20))
    ]
    plans[1].__dict__["text"] = plans[0].text
    assert plans[0].token == plans[1].token
    table.commit(plans[0])
    outcome = table.commit(plans[1])
    assert outcome == Duplicate({**record.attributes, "hash": 10})
    assert table.get(KEY) == {**KEY.attributes, "n": 10}


def test_a_mistake_in_the_request_is_not_retried(table: Table) -> None:
    stored(table, KEY, title="text")
    with pytest.raises(ClientError, match="ValidationException|ValidationError"):
        send(table, accumulate(KEY, "A sum of text.", add={"title": 1}))


def test_a_read_compute_write_plans_again_when_its_read_had_moved(table: Table) -> None:
    stored(table, KEY, balance=100)

    def planner(item: dict[str, Any] | None) -> Plan:
        assert item is not None
        seen = Rule(Refusal.STALE_READ, Attr("balance").eq(item["balance"]))
        change = update(KEY, "Interest.", [seen], set={"balance": item["balance"] * 2})
        if item["balance"] == 100:
            stored(table, KEY, balance=150)
        return plan(table, change, intent="interest")

    outcome = table.commit_from(lambda stale: table.get(KEY), planner)
    assert isinstance(outcome, Committed)
    assert table.get(KEY) == {**KEY.attributes, "balance": 300}


def test_a_read_that_moves_for_ever_is_contention(table: Table) -> None:
    stored(table, KEY, n=0)

    def planner(item: dict[str, Any] | None) -> Plan:
        assert item is not None
        stored(table, KEY, n=item["n"] + 1)
        seen = Rule(Refusal.STALE_READ, Attr("n").eq(item["n"]))
        return plan(table, update(KEY, "It is.", [seen], set={"x": 1}))

    with pytest.raises(Contended):
        table.commit_from(lambda stale: table.get(KEY), planner, deadline=table.clock() + 0.5)
