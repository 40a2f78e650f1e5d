"""A simulation of one hot product, and of one hot counter, over 1 to 64 shards.

The clock is simulated and the chance seeded, so the figures do not depend on the machine.
Buyers choose shards and wait between attempts by the service's own functions; what is
modelled is DynamoDB: a get or a query answers after 3 ms, a transaction after 12, and it holds
its items for the 6 in its middle, during which others that want one of them are cancelled.

`python -m benchmarks.hot_stock` prints the rows; `results()` is for `make bench`.
"""

from __future__ import annotations

import heapq
import itertools
import random
import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from tools.paths import ROOT

sys.path.insert(0, str(ROOT / "layers" / "domain" / "python"))

from holdfast.patterns import keys
from holdfast.patterns.hot_stock import Taken, choose
from holdfast.writes.retry import COMMIT_SECONDS_MAX, backoff_seconds

GET, TRANSACTION, LOCK = 0.003, 0.012, 0.006
"""Seconds."""
BUYERS = WRITERS = 64
SHARDS = (1, 2, 4, 8, 16, 32, 64)
STOCK = 4_000
COUNTED_SECONDS = 10.0
BUDGET = 10.0

Step = Generator[float, None, bool]
"""A caller: yields how long it waits, and returns whether it got what it wanted."""


@dataclass
class World:
    """Simulated time, and for each item until when a transaction holds it."""

    seed: int
    now: float = 0.0
    held: dict[int, float] = field(default_factory=dict)
    attempts: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def run(self, callers: list[Generator[float, None, None]]) -> None:
        """Let all callers go on until each has ended."""
        order = itertools.count()
        queue = [(self.chance.random() * TRANSACTION, next(order), one) for one in callers]
        heapq.heapify(queue)
        while queue:
            self.now, _, caller = heapq.heappop(queue)
            try:
                wait = next(caller)
            except StopIteration:
                continue
            heapq.heappush(queue, (self.now + wait, next(order), caller))

    def transact(self, items: Taken, apply: Callable[[], bool]) -> Step:
        """A transaction, sent again by full jitter while others hold an item of it.

        Raises `TimeoutError` when that lasts until the deadline.
        """
        until = self.now + COMMIT_SECONDS_MAX
        for attempt in itertools.count(1):
            self.attempts += 1
            yield (TRANSACTION - LOCK) / 2
            if free := self.free(items):
                self.held.update(dict.fromkeys(items, self.now + LOCK))
                done = apply()
            yield (TRANSACTION + LOCK) / 2
            if free:
                return done
            wait = backoff_seconds(attempt, self.chance.random())
            if self.now + wait >= until:
                raise TimeoutError
            yield wait
        raise AssertionError("no attempt is the last")

    def free(self, items: Taken) -> bool:
        return all(self.held.get(item, 0.0) <= self.now for item in items)


@dataclass
class Shop:
    """One product's shards, and what its buyers got."""

    world: World
    units: list[int]
    sold: int = 0
    refused: int = 0
    unsettled: int = 0
    last_sale: float = 0.0
    lowest: int = 0

    def buyer(self, number: int) -> Generator[float, None, None]:
        """One who buys a unit at a time, until one is refused."""
        for order in itertools.count():
            try:
                bought = yield from self.order(f"{number}-{order}")
            except TimeoutError:
                self.unsettled += 1
                continue
            if not bought:
                self.refused += 1
                return

    def order(self, order_id: str) -> Step:
        """As `PlaceOrder` goes on: the picked shard, then where units are, then one moment."""
        shards = len(self.units)
        preferred = keys.shard_of(order_id, shards)
        seen: Taken | None = None
        for tries in itertools.count(1):
            taken = choose(1, shards, preferred, seen)
            if taken is None:
                return False
            if (yield from self.world.transact(taken, lambda taken=taken: self.take(taken))):
                return True
            if shards == 1:
                return False
            yield backoff_seconds(tries, self.world.chance.random())
            seen = yield from self.look()
        raise AssertionError("no try is the last")

    def take(self, taken: Taken) -> bool:
        if any(self.units[shard] < count for shard, count in taken.items()):
            return False
        for shard, count in taken.items():
            self.units[shard] -= count
        self.lowest = min(self.lowest, *self.units)
        self.sold += sum(taken.values())
        self.last_sale = self.world.now
        return True

    def look(self) -> Generator[float, None, Taken]:
        """A query; when it finds nothing, a snapshot, which conflicts with writers."""
        yield GET
        if sum(self.units) == 0:
            for attempt in itertools.count(1):
                yield GET
                if self.world.free(dict.fromkeys(range(len(self.units)), 0)):
                    break
                yield backoff_seconds(attempt, self.world.chance.random())
        return dict(enumerate(self.units))


@dataclass(frozen=True)
class Row:
    """What one run came to; rates are per simulated second."""

    shards: int
    rate: float
    ratio: float
    attempts_each: float
    oversold: int = 0
    unsold: int = 0
    unsettled: int = 0


def stock_rows(seed: int = 1, over: Sequence[int] = SHARDS) -> list[Row]:
    """`BUYERS` buy `STOCK` units of one product, over each number of shards."""
    rows: list[Row] = []
    for shards in over:
        world = World(seed)
        share, rest = divmod(STOCK, shards)
        shop = Shop(world, [share + (shard < rest) for shard in range(shards)])
        world.run([shop.buyer(number) for number in range(BUYERS)])
        rate = shop.sold / shop.last_sale
        rows.append(
            Row(
                shards,
                rate,
                rate / (rows[0].rate if rows else rate),
                world.attempts / shop.sold,
                oversold=max(shop.sold - STOCK, -shop.lowest),
                unsold=sum(shop.units),
                unsettled=shop.unsettled,
            )
        )
    return rows


@dataclass
class Counter:
    """One sharded counter, to which writers add for a while."""

    world: World
    counts: list[int]
    unsettled: int = 0

    def writer(self, number: int) -> Generator[float, None, None]:
        for turn in itertools.count():
            if self.world.now >= COUNTED_SECONDS:
                return
            shard = keys.shard_of(f"{number}-{turn}", len(self.counts))
            try:
                yield from self.world.transact({shard: 1}, lambda shard=shard: self.add(shard))
            except TimeoutError:
                self.unsettled += 1

    def add(self, shard: int) -> bool:
        self.counts[shard] += 1
        return True


def counter_rows(seed: int = 1, over: Sequence[int] = SHARDS) -> list[Row]:
    """`WRITERS` add to one counter for `COUNTED_SECONDS`, over each number of shards."""
    rows: list[Row] = []
    for shards in over:
        counter = Counter(world := World(seed), [0] * shards)
        world.run([counter.writer(number) for number in range(WRITERS)])
        rate = sum(counter.counts) / world.now
        first = rows[0].rate if rows else rate
        each = world.attempts / sum(counter.counts)
        rows.append(Row(shards, rate, rate / first, each, unsettled=counter.unsettled))
    return rows


def results(seed: int = 1) -> list[dict[str, object]]:
    """The budgets of `docs/performance.md` that this simulation decides."""
    stock, counter = stock_rows(seed), counter_rows(seed)
    wrong = sum(row.oversold + row.unsold for row in stock)
    return [
        _budget("hot stock item, 64 buyers: rate on 64 shards, of one", stock[-1].ratio),
        _budget("sharded counter, 64 writers: rate on 64 shards, of one", counter[-1].ratio),
        {
            "name": "hot stock item: units oversold or left unsold, 1 to 64 shards",
            "budget": 0,
            "measured": wrong,
            "met": wrong == 0,
        },
    ]


def _budget(name: str, ratio: float) -> dict[str, object]:
    return {
        "name": name,
        "budget": BUDGET,
        "measured": round(ratio, 1),
        "met": ratio >= BUDGET,
        "at_least": True,
    }


def main() -> None:
    for title, rows in (("hot stock", stock_rows()), ("sharded counter", counter_rows())):
        print(f"{title}: shards, per second, of one shard, attempts each, unsettled")
        for row in rows:
            print(
                f"{row.shards:6} {row.rate:8.0f} {row.ratio:6.1f}x {row.attempts_each:6.2f}"
                f" {row.unsettled:6}"
            )


if __name__ == "__main__":
    main()
