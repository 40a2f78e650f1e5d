"""Every command's plan as text: a changed condition, cost or sentence is a visible difference."""

from __future__ import annotations

import subprocess
import sys

import pytest
from boto3.dynamodb.conditions import Attr

from holdfast.edge.command_routes import COMMANDS
from tools.paths import ROOT
from tools.plan import GOLDEN, condition, text_of
from tools.samples import SAMPLES

STALE = "if this change is meant, run `python -m tools.plan --golden`"


@pytest.mark.parametrize("name", SAMPLES)
def test_a_plan_is_the_one_on_record(name: str) -> None:
    assert (GOLDEN / f"{name}.txt").read_text() == text_of(SAMPLES[name]), STALE


def test_there_is_a_record_for_each_plan_and_no_other() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == SAMPLES.keys(), STALE


def test_every_command_of_the_service_has_a_sample() -> None:
    sampled = {type(sample.command) for sample in SAMPLES.values()}
    assert sampled == {route.command for route in COMMANDS}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_plan_remembers_its_command_first(name: str) -> None:
    record = SAMPLES[name].plan.writes[0]
    assert (record.verb, record.key.sk) == ("create", "COMMAND")


def test_make_plan_prints_a_plan_and_names_the_commands_when_it_knows_none() -> None:
    def printed(name: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tools.plan", name]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert printed("ApproveCase").stdout == (GOLDEN / "ApproveCase.txt").read_text()
    unknown = printed("Approve")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "ApproveCase" in unknown.stderr


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (Attr("PK").exists(), "the item is there"),
        (Attr("PK").not_exists(), "the item is absent"),
        (Attr("a").eq("x") & Attr("b").lt(Attr("c")), 'a = "x" and b < c'),
        (Attr("a").eq(1) & (Attr("b").eq(2) | Attr("c").gte(3)), "a = 1 and (b = 2 or c >= 3)"),
        (~Attr("a").eq(True), "not (a = true)"),
        (Attr("a").is_in(["x", "y"]), 'a in ["x", "y"]'),
        (Attr("a").between(1, 2), "a between 1 and 2"),
    ],
)
def test_a_condition_is_told_in_words(rule: object, text: str) -> None:
    assert condition(rule) == text
