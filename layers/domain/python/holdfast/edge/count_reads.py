"""Reads of counters and projections."""

from __future__ import annotations

from typing import Any

from holdfast.domain.checks import CHECKS
from holdfast.domain.intake import INTAKE
from holdfast.domain.projections import PROJECTIONS
from holdfast.edge import counted
from holdfast.edge.caller import ADMIN
from holdfast.edge.fields import Body, Region
from holdfast.edge.reading import Question, Read, absent, resource
from holdfast.edge.views import View
from holdfast.patterns import counters, keys
from holdfast.patterns.commands import Response
from holdfast.patterns.projections import Projection


class OfRegion(Body, kw_only=True):
    region: Region


class Intake(View, kw_only=True):
    region: str
    count: int
    as_of: str


class Counts(View, kw_only=True):
    """`asOf` is the time up to which events are counted; null before the first."""

    counts: dict[str, int]
    as_of: str | None


def read_intake(question: Question) -> Response:
    """How many cases were opened in a region, up to this moment."""
    region = question.query.region
    shard = keys.counter_shard(question.caller.tenant, INTAKE, region, 0)
    count = counters.total(question.table.partition(shard.pk, "SHARD#"))
    return resource(Intake(region=region, count=count, as_of=question.now))


class CheckReport(View, kw_only=True):
    name: str
    checked: int
    drift: int
    examples: list[dict[str, Any]]
    repaired: int


class Reconciliation(View, kw_only=True):
    """The newest report of each check; the times are those of the newest run."""

    started_at: str
    finished_at: str
    checks: list[CheckReport]


def read_latest(question: Question) -> Response:
    """What the last runs of every check have found."""
    found = []
    for name in CHECKS:
        newest = _newest(question, name)
        if newest is not None:
            found.append((name, newest))
    if not found:
        raise absent()
    last = max((report for _, report in found), key=lambda report: report["startedAt"])
    checks = [
        CheckReport(
            name=name,
            checked=report["checked"],
            drift=report["drift"],
            examples=report["examples"],
            repaired=report["repaired"],
        )
        for name, report in found
    ]
    times = {"started_at": last["startedAt"], "finished_at": last["finishedAt"]}
    return resource(Reconciliation(**times, checks=checks))


def _newest(question: Question, name: str) -> dict[str, Any] | None:
    """Reports sort by their time, before the letters of other items."""
    reports, _ = question.table.query(
        KeyConditionExpression="PK = :pk AND SK < :letters",
        ExpressionAttributeValues={
            ":pk": keys.report(question.caller.tenant, name, "").pk,
            ":letters": "A",
        },
        ScanIndexForward=False,
        Limit=1,
        ConsistentRead=True,
    )
    return reports[0] if reports else None


def _read(projection: Projection) -> Read:
    def answer(question: Question) -> Response:
        found = counted.read(question.table, question.caller.tenant, projection)
        return resource(Counts(counts=dict(found.counts), as_of=found.as_of))

    answer.__name__ = f"read_{projection.name.replace('-', '_')}"
    answer.__doc__ = f"What {projection.name} counts, and up to when."
    return Read(f"/projections/{projection.name}", answer, Counts)


COUNT_READS = (
    Read("/counters/intake", read_intake, Intake, OfRegion),
    Read(
        "/ops/reconciliations/latest",
        read_latest,
        Reconciliation,
        roles=frozenset({ADMIN}),
    ),
    *(_read(projection) for projection in PROJECTIONS),
)
