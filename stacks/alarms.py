"""Every alarm, as one table: what is watched, from where on it rings, and why somebody must look.

A name is also that of the alarm's runbook, `docs/runbooks/<name>.md`. Thresholds are those of a
service that is well: a refusal or a conflict now and then is the table doing its job.
"""

from dataclasses import dataclass
from enum import Enum, auto


class Of(Enum):
    """What a metric belongs to; each kind has the dimensions that its emitter gives it."""

    SERVICE = auto()
    API = auto()
    FUNCTION = auto()
    STREAM_READER = auto()
    DEAD_LETTERS = auto()
    TABLE = auto()
    """The table and every index of it, summed."""


@dataclass(frozen=True, kw_only=True)
class Watch:
    """One alarm, or one for each function or queue: above `threshold` in each of `minutes`."""

    name: str
    metric: str
    of: Of = Of.SERVICE
    statistic: str = "Sum"
    threshold: float
    minutes: int = 1
    urgent: bool = False
    """Callers are turned away or facts are at stake now; it wakes somebody."""
    why: str

    @property
    def runbook(self) -> str:
        return f"docs/runbooks/{self.name}.md"


WATCHES = (
    Watch(
        name="conflict-spike",
        metric="command.conflict.count",
        threshold=100,
        why="Many commands are refused: a client works on stale data, or two fight for one item.",
    ),
    Watch(
        name="reuse-mismatch",
        metric="command.idempotency.reuse_mismatch.count",
        threshold=0,
        why="A client sends one idempotency key with two different requests; it has a fault.",
    ),
    Watch(
        name="transaction-conflicts",
        metric="command.transaction_conflict.count",
        threshold=200,
        minutes=5,
        why="Transactions collide all the time: an item is hotter than one item can be.",
    ),
    Watch(
        name="commands-throttled",
        metric="command.throttled.count",
        threshold=10,
        minutes=3,
        urgent=True,
        why="The table turns commands away; callers get 503 once the deadline has passed.",
    ),
    Watch(
        name="ambiguous-timeouts",
        metric="command.ambiguous_timeout.count",
        threshold=5,
        minutes=3,
        why="Commits end without an answer; the resolver settles them, at the price of time.",
    ),
    Watch(
        name="outbox-age",
        metric="outbox.oldest_pending.seconds",
        statistic="Maximum",
        threshold=300,
        urgent=True,
        why="A committed fact waits to be announced, so the world outside does not know of it.",
    ),
    Watch(
        name="outbox-dead",
        metric="outbox.dead.count",
        statistic="Maximum",
        threshold=0,
        urgent=True,
        why="A fact could not be announced in all its attempts; its aggregate's later ones wait.",
    ),
    Watch(
        name="publish-failures",
        metric="outbox.publish_failed.count",
        threshold=20,
        minutes=3,
        why="The queue refuses what the relay sends; entries die when their attempts are used up.",
    ),
    Watch(
        name="dead-letters",
        metric="ApproximateNumberOfMessagesVisible",
        of=Of.DEAD_LETTERS,
        statistic="Maximum",
        threshold=0,
        urgent=True,
        why="A message failed for good and waits for somebody to look at it and send it again.",
    ),
    Watch(
        name="stuck-commands",
        metric="command.stuck_in_progress.count",
        statistic="Maximum",
        threshold=0,
        why="A command of many steps stopped half-way, and its caller waits for an end.",
    ),
    Watch(
        name="leases-lost",
        metric="lease.lost.count",
        threshold=20,
        minutes=3,
        why="Work goes on under leases that have ended; it is refused, and done again.",
    ),
    Watch(
        name="effects-failed",
        metric="side_effect.failed_final.count",
        threshold=0,
        why="A webhook or a mail was given up; the receiver never heard of an event.",
    ),
    Watch(
        name="projection-lag",
        metric="projection.lag.seconds",
        statistic="Maximum",
        threshold=300,
        minutes=3,
        why="Counts are minutes behind the facts that they count.",
    ),
    Watch(
        name="projection-failures",
        metric="projection.failed.count",
        threshold=10,
        minutes=3,
        why="The projector cannot count what the stream brings, and puts it aside.",
    ),
    Watch(
        name="drift",
        metric="reconciliation.drift.count",
        statistic="Maximum",
        threshold=0,
        why="A count, a balance or a guard differs from its source; an invariant was broken.",
    ),
    Watch(
        name="table-reads-throttled",
        metric="ReadThrottleEvents",
        of=Of.TABLE,
        threshold=0,
        minutes=3,
        why="DynamoDB turns reads of the table or of an index away.",
    ),
    Watch(
        name="table-writes-throttled",
        metric="WriteThrottleEvents",
        of=Of.TABLE,
        threshold=0,
        minutes=3,
        urgent=True,
        why="DynamoDB turns writes away; an index that is throttled throttles its table.",
    ),
    Watch(
        name="stream-age",
        metric="IteratorAge",
        of=Of.STREAM_READER,
        statistic="Maximum",
        threshold=60_000,
        minutes=3,
        urgent=True,
        why="A reader of the stream is behind; what it has not read in 24 hours is lost to it.",
    ),
    Watch(
        name="function-errors",
        metric="Errors",
        of=Of.FUNCTION,
        threshold=0,
        minutes=2,
        urgent=True,
        why="Invocations fail or time out, for a reason that nobody foresaw.",
    ),
    Watch(
        name="api-errors",
        metric="5XXError",
        of=Of.API,
        threshold=5,
        minutes=2,
        urgent=True,
        why="Callers get 500 or 503 instead of an answer.",
    ),
    Watch(
        name="api-latency",
        metric="Latency",
        of=Of.API,
        statistic="p99",
        threshold=2_000,
        minutes=5,
        why="One request in a hundred takes longer than two seconds.",
    ),
)

TOGETHER = Watch(
    name="table-in-trouble",
    metric="5XXError",
    of=Of.API,
    threshold=0,
    urgent=True,
    why="Callers are turned away and the table is the cause: start there, not in the code.",
)
TOGETHER_OF = (
    ("api-errors",),
    ("commands-throttled", "table-writes-throttled", "ambiguous-timeouts"),
)
"""A composite alarm: of each group, at least one rings."""

BASELINE = Watch(
    name="conflicts-above-baseline",
    metric="command.transaction_conflict.count",
    threshold=4,
    minutes=3,
    why="Transactions collide more than at this hour of other days, and nobody set a limit.",
)
"""An anomaly band; its threshold is in standard deviations."""
