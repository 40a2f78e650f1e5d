"""Reads of counters and projections."""

from __future__ import annotations

from holdfast.domain.intake import INTAKE
from holdfast.domain.projections import PROJECTIONS
from holdfast.edge import counted
from holdfast.edge.fields import Body, Region
from holdfast.edge.reading import Question, Read, resource
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


def _read(projection: Projection) -> Read:
    def answer(question: Question) -> Response:
        found = counted.read(question.table, question.caller.tenant, projection)
        return resource(Counts(counts=dict(found.counts), as_of=found.as_of))

    return Read(f"/projections/{projection.name}", answer, Counts)


COUNT_READS = (
    Read("/counters/intake", read_intake, Intake, OfRegion),
    *(_read(projection) for projection in PROJECTIONS),
)
