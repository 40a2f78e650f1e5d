"""One owner per value: claim, rename and retire, with sentinels that never leak."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.patterns import keys
from holdfast.patterns.uniqueness import CASE_REFERENCE, Kind, claim, folded, rename, retire
from holdfast.writes.outcomes import Committed, Outcome, Refused
from holdfast.writes.plan import Plan, Write
from holdfast.writes.refusals import Refusal
from holdfast.writes.table import Table

KIND = CASE_REFERENCE


def send(table: Table, *writes: Write, intent: str = "") -> Outcome:
    return table.commit(Plan(f"{intent} in {table.name}", writes))


def owner(table: Table, value: str, kind: Kind = KIND) -> str | None:
    key = keys.sentinel("acme", kind.name, kind.version, kind.normalise(value))
    return (table.get(key) or {}).get("ownerId")


def refusal(outcome: Outcome) -> Refusal:
    assert isinstance(outcome, Refused)
    return outcome.refusal


@pytest.mark.parametrize("same", ["REG-1", " reg-1 ", "ＲＥＧ-１", "Reg-1\u00a0", "\treg-1"])
def test_what_only_looks_different_is_one_value(table: Table, same: str) -> None:
    """Field report 26: case, width and surrounding space do not tell values apart."""
    send(table, claim(KIND, "acme", "REG-1", "one"))
    assert refusal(send(table, claim(KIND, "acme", same, "two"))) is Refusal.ALREADY_EXISTS
    assert owner(table, same) == "one"


def test_the_original_is_kept_for_display(table: Table) -> None:
    """Field report 26."""
    send(table, claim(KIND, "acme", " ＲＥＧ-１ ", "one"))
    key = keys.sentinel("acme", KIND.name, KIND.version, "reg-1")
    assert (table.get(key) or {})["original"] == " ＲＥＧ-１ "


@given(st.text())
def test_a_normalised_value_stays_as_it_is(text: str) -> None:
    assert folded(folded(text)) == folded(text)


@given(st.text("aAßſİiıŉǰΐẞﬁＡÅ\u0345\u0301 ", max_size=5))
def test_case_and_width_never_tell_two_values_apart(text: str) -> None:
    assert folded(text.upper()) == folded(text.upper().casefold())


def test_another_tenant_may_have_the_same_value(table: Table) -> None:
    for tenant in ("acme", "globex"):
        assert isinstance(send(table, claim(KIND, tenant, "REG-1", "one")), Committed)


def test_a_new_version_of_a_normalisation_is_claimed_beside_the_old_one(table: Table) -> None:
    newer = replace(KIND, version=2)
    both = (claim(kind, "acme", "REG-1", "one") for kind in (KIND, newer))
    assert isinstance(send(table, *both), Committed)


def test_a_rename_takes_the_new_value_and_gives_the_old_one_back(table: Table) -> None:
    """Field report 25."""
    send(table, claim(KIND, "acme", "REG-1", "one"))
    assert isinstance(send(table, *rename(KIND, "acme", "REG-1", "REG-2", "one")), Committed)
    assert (owner(table, "REG-1"), owner(table, "REG-2")) == (None, "one")


def test_a_rename_to_a_taken_value_writes_nothing(table: Table) -> None:
    """Field report 25."""
    send(table, claim(KIND, "acme", "REG-1", "one"), claim(KIND, "acme", "REG-2", "two"))
    outcome = send(table, *rename(KIND, "acme", "REG-1", "reg-2", "one"))
    assert refusal(outcome) is Refusal.ALREADY_EXISTS
    assert (owner(table, "REG-1"), owner(table, "REG-2")) == ("one", "two")


def test_a_rename_never_gives_back_what_is_anothers(table: Table) -> None:
    send(table, claim(KIND, "acme", "REG-1", "two"))
    outcome = send(table, *rename(KIND, "acme", "REG-1", "REG-2", "one"))
    assert refusal(outcome) is Refusal.STALE_READ
    assert (owner(table, "REG-1"), owner(table, "REG-2")) == ("two", None)


def test_a_rename_that_only_looks_different_changes_what_is_displayed(table: Table) -> None:
    send(table, claim(KIND, "acme", "REG-1", "one"))
    [write] = rename(KIND, "acme", "REG-1", "reg-1", "one")
    assert isinstance(send(table, write), Committed)
    assert (table.get(write.key) or {})["original"] == "reg-1"
    [foreign] = rename(KIND, "acme", "REG-1", "Reg-1", "two")
    assert refusal(send(table, foreign)) is Refusal.STALE_READ


def test_an_unchanged_value_needs_no_write() -> None:
    assert rename(KIND, "acme", "REG-1", "REG-1", "one") == []


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_claims_the_first_to_commit_wins(table: Table, order: tuple[int, int]) -> None:
    plans = [
        Plan(f"{n} in {table.name}", (claim(KIND, "acme", value, f"owner {n}"),))
        for n, value in enumerate(("REG-1", "reg-1"))
    ]
    first, second = order
    assert isinstance(table.commit(plans[first]), Committed)
    assert refusal(table.commit(plans[second])) is Refusal.ALREADY_EXISTS
    assert owner(table, "REG-1") == f"owner {first}"


@pytest.mark.parametrize("kept", [True, False])
def test_a_retired_value_is_free_again_only_by_its_kinds_policy(table: Table, kept: bool) -> None:
    """Field report 25: reuse follows the policy."""
    kind = replace(KIND, kept=kept)
    send(table, claim(kind, "acme", "REG-1", "one"))
    retired = retire(kind, "acme", "REG-1", "one")
    assert bool(retired) is not kept
    if retired:
        assert isinstance(send(table, *retired, intent="retire"), Committed)
    again = send(table, claim(kind, "acme", "REG-1", "two"), intent="again")
    assert isinstance(again, Refused if kept else Committed)
    assert owner(table, "REG-1", kind) == ("one" if kept else "two")
