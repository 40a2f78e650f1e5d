"""Ways to go wrong that the source itself is searched for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.domain import imports, offboarding, orders, redaction
from holdfast.edge.claiming import CLAIMS_MAX
from holdfast.edge.command_routes import COMMANDS
from holdfast.edge.projector import AGGREGATES_MAX
from holdfast.patterns import keys
from holdfast.writes.plan import WRITES_MAX
from tests.test_imports import LIBRARY, ROOT, sources
from tools.samples import SAMPLES, Sample

REPORTS = range(1, 31)
FINDERS = {
    "domain/offboarding.py": "each case is read again, and the step's commit decides",
    "edge/inspector.py": "reconciliation reads what it lists again",
    "edge/lists.py": "lists say when they were read",
    "edge/ops_routes.py": "the dead entry itself decides about its redrive",
    "edge/outbox_sweep.py": "each entry is read again, and its claim decides",
    "edge/workflow_runner.py": "each record is read again, and the push's commit decides",
}
"""Who may ask an index, and why nothing is decided by its answer."""
NONCES = {
    "edge/claiming.py": "a claim is no command: two of them are two intents",
    "edge/cold_start.py": "copies of a snapshot are seeded anew",
    "edge/effects.py": "an attempt is no command",
    "edge/relay.py": "nor is a mark",
    "writes/table.py": "jitter",
}
"""Who may ask for chance, and what for."""
NO_EVENT = {
    "AcquireLease",
    "RenewLease",
    "ReleaseLease",
    "RedriveEntry",
}
"""Commands about who works, not about what is so."""


def trees() -> Iterator[tuple[str, ast.AST]]:
    for path in sources():
        base = LIBRARY if path.is_relative_to(LIBRARY) else ROOT
        yield path.relative_to(base).as_posix(), ast.parse(path.read_text())


def test_an_index_is_asked_only_by_who_decides_nothing_by_it() -> None:
    asking = {
        name
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "IndexName"
    }
    assert asking == set(FINDERS)


def test_reads_that_decide_are_consistent() -> None:
    """Every GetItem says so, and so does every Query of the table itself."""
    source = (LIBRARY / "writes" / "table.py").read_text()
    for call in re.findall(r"self\.reader\.get_item,.*?\n        \)", source, re.S):
        assert "ConsistentRead=True" in call
    for name, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "query":
                named = {keyword.arg for keyword in node.keywords}
                opened = None in named and not named & {"KeyConditionExpression"}
                assert named & {"IndexName", "ConsistentRead"} or opened, (name, node.lineno)


def test_no_token_is_random() -> None:
    """A token is the plan's own, and chance is asked for in few places, each for a reason."""
    random = {
        name
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in [getattr(node, "module", None), *(alias.name for alias in node.names)]
        if module in {"uuid", "random", "secrets"}
    }
    assert random <= set(NONCES)
    tokens = [
        ast.unparse(node.value)
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "ClientRequestToken"
    ]
    assert tokens == ["plan.token_of(series)"]


def test_a_key_is_made_in_one_module() -> None:
    """So that no part of a key escapes the check for the reserved character."""
    for name, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Key":
                literal = any(isinstance(part, ast.JoinedStr | ast.Constant) for part in node.args)
                assert not literal or name == "patterns/keys.py", (name, node.lineno)


@pytest.mark.parametrize("text", ["a#b", "#", ""])
def test_no_key_takes_the_reserved_character(text: str) -> None:
    case, product = keys.case("t", "c"), keys.product("t", "p")
    for make in (
        lambda: keys.case(text, "c"),
        lambda: keys.case("t", text),
        lambda: keys.note(case, text),
        lambda: keys.task(case, text),
        lambda: keys.investigator(case, text),
        lambda: keys.membership(case, "u", text),
        lambda: keys.enforcement(case, text),
        lambda: keys.lease("t", text),
        lambda: keys.officer_profile("t", text),
        lambda: keys.officer_workload("t", text),
        lambda: keys.wallet("t", text),
        lambda: keys.product("t", text),
        lambda: keys.restocking(product, text),
        lambda: keys.order("t", text),
        lambda: keys.command("t", text),
        lambda: keys.sentinel(text, "K", 1, "v"),
        lambda: keys.side_effect("p", text),
        lambda: keys.counter_shard("t", "n", text, 0),
    ):
        with pytest.raises(ValueError, match="part of a key"):
            make()


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_a_command_writes_nothing_blindly_and_stays_within_a_transaction(sample: Sample) -> None:
    plan = sample.plan
    assert len(plan.writes) <= WRITES_MAX
    first, *others = plan.writes
    assert first.key == keys.command(sample.command.tenant, sample.command.command_id)
    assert first.rules
    for write in others:
        assert write.rules or write.verb == "accumulate"
        assert write.because.endswith(".")
    events = [write for write in others if write.key.sk.startswith("EVENT#")]
    assert events or type(sample.command).__name__ in NO_EVENT


def test_every_command_has_a_sample() -> None:
    assert {route.command for route in COMMANDS} == {
        type(sample.command) for sample in SAMPLES.values()
    }


def test_what_grows_with_its_input_stays_within_a_transaction() -> None:
    """The largest plan of each kind: its parts times their most, and what stands beside them."""
    case, intake, step = 5, 1, 3
    assert imports.ROWS_PER_STEP * (case + intake) + step <= WRITES_MAX
    assert redaction.ITEMS_PER_STEP * 3 + 1 <= WRITES_MAX
    assert redaction.BESIDE_MAX + 6 <= WRITES_MAX
    assert orders.PRODUCTS_MAX * 2 + orders.WRITES_BESIDE_LINES <= WRITES_MAX
    assert offboarding.TARGETS_MAX + 5 <= WRITES_MAX
    assert CLAIMS_MAX * 2 <= WRITES_MAX
    assert AGGREGATES_MAX * 3 + 1 <= WRITES_MAX


def test_every_field_report_has_a_test_that_names_it() -> None:
    named: set[int] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                named |= set(_reports(ast.get_docstring(node) or ""))
    assert named >= set(REPORTS), f"not named: {sorted(set(REPORTS) - named)}"


def _reports(docstring: str) -> Iterator[int]:
    for listed in re.findall(r"\b[Rr]eports? (\d+(?:(?:, | and )\d+)*)", docstring):
        yield from map(int, re.findall(r"\d+", listed))


def test_every_module_is_short_enough_to_be_read_at_once() -> None:
    long = {
        path.relative_to(ROOT).as_posix(): lines
        for folder in ("layers/domain/python", "functions", "stacks", "tools")
        for path in Path(ROOT / folder).rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > 310
    }
    assert not long
