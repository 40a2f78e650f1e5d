"""What the documents say of how commands write is what their plans do."""

from __future__ import annotations

import re

import pytest

from holdfast.edge.command_routes import COMMANDS
from holdfast.writes.refusals import Refusal
from tools.paths import ROOT
from tools.plan import units
from tools.samples import SAMPLES, Sample

DOCS = ROOT / "docs"
DECISION = DOCS / "decisions" / "0005-how-each-command-writes.md"
CHOOSING = (
    (ROOT / "README.md").read_text().partition("## Choosing a write\n")[2].partition("\n## ")[0]
)
ROUTES = {route.command.__name__: route for route in COMMANDS}


def rows() -> dict[str, str]:
    """The form of each command, as the decision says it."""
    found = re.findall(r"^\| ([A-Z]\w+) \| ([a-z, ]+) \| .+ \|$", DECISION.read_text(), re.M)
    assert len(dict(found)) == len(found)
    return dict(found)


def form(name: str, sample: Sample) -> str:
    """The form of a plan, as it is defined at the head of the decision."""
    facts = ("EVENT#", "COMMAND")
    changes = [write for write in sample.plan.writes if not write.key.sk.startswith(facts)]
    rules = [rule for write in changes for rule in write.rules]
    by_version = any(rule.refusal is Refusal.STALE_VERSION for rule in rules)
    shape = "transaction" if len(changes) > 1 else "version" if by_version else "condition"
    return f"{shape}, read first" if ROUTES[name].reads else shape


def test_the_decision_names_every_command_once() -> None:
    assert rows().keys() == ROUTES.keys()


@pytest.mark.parametrize("name", ROUTES)
def test_a_command_writes_in_the_form_that_was_decided(name: str) -> None:
    assert rows()[name] == form(name, SAMPLES[name])


def test_the_examples_of_the_choice_are_commands() -> None:
    lines = [line for line in CHOOSING.splitlines() if line.startswith("| …")]
    examples = [re.findall(r"`([A-Z][A-Za-z]+)`", line.split("|")[-2]) for line in lines]
    assert all(len(named) == 1 and named[0] in ROUTES for named in examples), examples
    assert len(examples) == 10


def test_every_command_that_a_document_names_is_one() -> None:
    named = re.findall(r"`(?:make plan COMMAND=)?([A-Z][a-z]+[A-Z][A-Za-z]+)`", CHOOSING)
    assert set(named) <= ROUTES.keys()


def test_an_order_costs_what_its_document_adds_up() -> None:
    text = (DOCS / "orders.md").read_text()
    listed = re.findall(r"^\| [^|]+ \| (\d+) \|", text, re.M)
    plan = SAMPLES["PlaceOrder"].plan
    assert [int(one) for one in listed] == [units(write) for write in plan.writes]
    assert f"**one request and {sum(map(units, plan.writes))} write units**" in text
