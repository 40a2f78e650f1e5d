"""Storms: what can happen to a projector between the stream and the table, from one seed.

A storm writes the trail of a small world and delivers its records as a hostile stream would:
batches of moving limits, duplicates, lost answers, shards that split, lanes in parallel (one
runs while another stands between its read and its commit), requests that arrive late, after
their sender gave up (zombies), and records given up on and redriven much later.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from holdfast.edge.projector import Projector
from holdfast.patterns import keys
from holdfast.patterns.facts import fact_of
from holdfast.patterns.projections import totals
from holdfast.writes.outcomes import Unsettled
from holdfast.writes.plan import Key, Plan, accumulate
from holdfast.writes.table import Table
from tests.scripted import Clock, cancelled
from tests.worlds import Record, World

Handler = Callable[[Table, Sequence[Record]], bool]
"""Handles a batch with a table of its own; false when it must come again."""


@dataclass
class Storm:
    """One seeded run: deliver a world's records with everything that can go wrong."""

    client: Any
    table_name: str
    world: World
    handler: Handler
    chance: random.Random
    factor: int
    zombies: list[dict[str, Any]] = field(default_factory=list)
    dead: list[Record] = field(default_factory=list)
    lanes: list[list[Record]] = field(default_factory=list)
    depth: int = 0

    def blow(self) -> None:
        self.lanes = self._split(self.world.records, self.factor)
        while any(self.lanes):
            if self.chance.random() < 0.03:
                left = sorted(
                    (record for lane in self.lanes for record in lane),
                    key=lambda record: record["dynamodb"]["SequenceNumber"],
                )
                self.lanes = self._split(left, self.factor + self.chance.randint(0, 2))
            self.deliver()
        self._redrive()
        while self.zombies:
            self.rise()

    def deliver(self) -> None:
        """One invocation for one lane; what it is told may be lost, or it is given up on."""
        lane = self.chance.choice([lane for lane in self.lanes if lane] or [[]])
        batch = lane[: self.chance.randint(1, 12)]
        if not batch:
            return
        if self.chance.random() < 0.06:
            self.dead += batch
            del lane[: len(batch)]
        elif self._handle(batch) and self.chance.random() > 0.2 and lane[: len(batch)] == batch:
            kept = self.chance.randint(0, len(batch) - 1) if self.chance.random() < 0.15 else 0
            del lane[: len(batch) - kept]

    def meanwhile(self) -> None:
        """What else happens while an invocation stands between two requests."""
        if self.depth < 3 and self.factor > 1 and self.chance.random() < 0.25:
            self.deliver()
        if self.chance.random() < 0.2:
            self.rise()

    def rise(self) -> None:
        """A request arrives long after its sender gave up, perhaps after its token expired."""
        if not self.zombies:
            return
        request = self.zombies.pop(self.chance.randrange(len(self.zombies)))
        if self.chance.random() < 0.5:
            request = {name: v for name, v in request.items() if name != "ClientRequestToken"}
        try:
            self.client.transact_write_items(**request)
        except ClientError as error:
            assert error.response["Error"]["Code"] in (
                "TransactionCanceledException",
                "IdempotentParameterMismatchException",
            ), error

    def _handle(self, batch: Sequence[Record]) -> bool:
        self.depth += 1
        clock = Clock()
        table = Table(
            Weather(self),
            self.table_name,
            clock=clock,
            sleep=clock.sleep,
            random=self.chance.random,
        )
        try:
            return self.handler(table, batch)
        finally:
            self.depth -= 1

    def _redrive(self) -> None:
        """Everything that was given up on, in any order, twice where the answer was lost."""
        self.chance.shuffle(self.dead)
        while self.dead:
            batch = self.dead[: self.chance.randint(1, 3)]
            if self._handle(batch) and self.chance.random() > 0.2:
                del self.dead[: len(batch)]

    @staticmethod
    def _split(records: Sequence[Record], lanes: int) -> list[list[Record]]:
        """Order is kept per partition key, as a shard keeps it."""
        found: list[list[Record]] = [[] for _ in range(lanes)]
        for record in records:
            pk = record["dynamodb"]["Keys"]["PK"]["S"]
            found[keys.shard_of(f"{lanes}{pk}", lanes)].append(record)
        return found


@dataclass
class Weather:
    """The client as an invocation has it: answers are lost, requests are late or in conflict."""

    storm: Storm

    def __getattr__(self, name: str) -> Any:
        return getattr(self.storm.client, name)

    def batch_get_item(self, **request: Any) -> Any:
        answer = self.storm.client.batch_get_item(**request)
        self.storm.meanwhile()
        return answer

    def transact_write_items(self, **request: Any) -> Any:
        storm = self.storm
        fate = storm.chance.random()
        if fate < 0.06:
            raise cancelled(*["TransactionConflict"] * len(request["TransactItems"]))
        if fate < 0.12:
            storm.zombies.append(request)
            raise ReadTimeoutError(endpoint_url="http://any")
        answer = storm.client.transact_write_items(**request)
        storm.meanwhile()
        if fate < 0.20:
            storm.zombies.append(request)
            raise ReadTimeoutError(endpoint_url="http://any")
        return answer


def marked(table: Table, batch: Sequence[Record]) -> bool:
    """The projector of the service."""
    facts = [fact_of(record["dynamodb"]["NewImage"]) for record in batch]
    return not Projector(table).count(facts)


def plain(table: Table, batch: Sequence[Record]) -> bool:
    """The projector that most write first: each record adds to a counter, in one transaction."""
    sums: Counter[Key] = Counter()
    for record in batch:
        fact = fact_of(record["dynamodb"]["NewImage"])
        status, was = fact.text("status"), fact.text("was")
        if fact.owner.pk.startswith("CASE#") and fact.owner.sk == "META":
            for name, amount in ((status, 1), (was, -1)):
                if name:
                    sums[keys.projected(fact.tenant, "cases-by-status", 1, name, 0)] += amount
    if not sums:
        return True
    number = record["dynamodb"]["SequenceNumber"]
    adds = tuple(accumulate(key, "Counted.", {"count": n}) for key, n in sums.items())
    try:
        table.commit(Plan(f"{fact.tenant} {number} {len(batch)}", adds))
    except Unsettled:
        return False
    return True


def storm(client: Any, table_name: str, seed: int, handler: Handler, tenant: str) -> Storm:
    """Run one; the parallelisation factor is 1 for even seeds and 4 for odd ones."""
    chance = random.Random(seed)
    world = World(tenant, chance)
    world.write_trail(client, table_name)
    one = Storm(client, table_name, world, handler, chance, factor=4 if seed % 2 else 1)
    one.blow()
    return one


def wrong(table: Table, world: World, names: Sequence[str]) -> dict[str, Any]:
    """What was counted and is not what the world came to, by projection."""
    found = {}
    for name in names:
        counted = totals(table.partition(keys.projection(world.tenant, name), ""))
        expected = {key: count for key, count in world.expected.get(name, {}).items() if count}
        if counted != expected:
            found[name] = {"counted": counted, "expected": expected}
    return found
