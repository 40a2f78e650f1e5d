"""A case lives its life over HTTP, right under duplicates and races."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.conftest import Tenant
from tools.demo import STAGES, Walk
from tools.http import Api

CASE = {"externalRef": "REG-1", "title": "Dust", "region": "EU-1", "priority": "HIGH"}


def test_the_demo_walks_its_flows(api: Api) -> None:
    walk = Walk(api)
    for flow in STAGES:
        flow(walk)
    assert len(walk.proven) >= 6


def test_twenty_identical_requests_have_one_effect_and_equal_bodies(tenant: Tenant) -> None:
    with ThreadPoolExecutor(20) as pool:
        answers = list(
            pool.map(lambda _: tenant.officer.post("/cases", CASE, key="same"), range(20))
        )
    assert Counter(answer.status for answer in answers) == {201: 20}
    assert len({answer.body["caseId"] for answer in answers}) == 1
    assert len({str(answer.body) for answer in answers}) == 1
    assert len(tenant.officer.get("/cases?status=OPEN").body["items"]) == 1


def test_another_tenants_case_is_not_there(tenant: Tenant, api: Api) -> None:
    case = tenant.officer.post("/cases", CASE).headers["location"]
    stranger = Tenant(api)
    assert stranger.officer.get(case).status == 404
    assert stranger.supervisor.call("DELETE", f"{case}?expectedVersion=1").status == 404


@pytest.mark.parametrize("token", ["", "x", "a.b.c"])
def test_a_broken_token_is_401_problem_json(tenant: Tenant, token: str) -> None:
    answer = tenant.api.send("GET", "/cases", {"Authorization": f"Bearer {token}"}, None)
    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert answer.headers["content-type"].startswith("application/problem+json")


def test_a_tampered_token_is_401(tenant: Tenant) -> None:
    head, payload, signature = tenant.officer.token.split(".")
    forged = ".".join(
        (head, payload[:-4] + ("AAAA" if payload[-4:] != "AAAA" else "BBBB"), signature)
    )
    answer = tenant.api.send("GET", "/cases", {"Authorization": f"Bearer {forged}"}, None)
    assert answer.status == 401


def test_the_documents_are_public(api: Api) -> None:
    for path in ("/health", "/openapi.json", "/docs"):
        assert api.send("GET", path, {}, None).status == 200
