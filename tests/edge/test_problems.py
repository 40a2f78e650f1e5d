"""The table of problems is whole, and says nothing that it should not."""

from __future__ import annotations

import re

import msgspec
import pytest
from boto3.dynamodb.conditions import Attr

from holdfast.edge import problems
from holdfast.writes.outcomes import Contended, Effort, Fenced, InDoubt, Refused, Throttled
from holdfast.writes.plan import Key, require
from holdfast.writes.refusals import Refusal
from holdfast.writes.rules import Rule

OLD = {"version": 7, "status": "OPEN", "title": "canary", "PK": "CASE#t#1"}


def refused(refusal: Refusal, *, by_tag: bool = False) -> problems.Response:
    write = require(Key("CASE#t#1", "META"), "why", [Rule(refusal, Attr("a").exists())])
    return problems.refused(
        Refused(refusal, write, OLD), instance="/cases/1", command_id="c", by_tag=by_tag
    )


@pytest.mark.parametrize("refusal", list(Refusal))
def test_every_refusal_has_a_row(refusal: Refusal) -> None:
    answer = refused(refusal)
    body = msgspec.json.decode(answer.body)
    assert (answer.status, body["type"]) == (body["status"], f"urn:problem:{body['code']}")
    assert "canary" not in answer.body
    assert "CASE#" not in answer.body


@pytest.mark.parametrize("refusal", list(Refusal))
def test_only_refusals_of_state_and_version_tell_either(refusal: Refusal) -> None:
    body = msgspec.json.decode(refused(refusal).body)
    told = "currentVersion" in body and "currentState" in body
    assert told == (body["code"] in {"invalid-state", "version-conflict"})


def test_a_stale_version_is_412_only_when_it_came_in_if_match() -> None:
    assert refused(Refusal.STALE_VERSION).status == 409
    assert refused(Refusal.STALE_VERSION, by_tag=True).status == 412
    assert refused(Refusal.CASE_NOT_OPEN, by_tag=True).status == 409


@pytest.mark.parametrize("kind", [Throttled, Contended, Fenced, InDoubt])
def test_every_unsettled_outcome_is_a_retryable_503(kind: type[Exception]) -> None:
    found = problems.failure(kind(Effort()))
    assert found is not None
    assert (found[0].status, found[0].retryable) == (503, True)


def test_what_the_table_does_not_know_is_not_explained() -> None:
    assert problems.failure(RuntimeError()) is None


def test_codes_are_kebab_case_and_each_has_one_status() -> None:
    kinds = [kind for kind in vars(problems).values() if isinstance(kind, problems.Kind)]
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", kind.code) for kind in kinds)
    assert len({kind.code for kind in kinds}) == len(kinds)
