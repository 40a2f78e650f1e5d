"""How long to wait between attempts: pure arithmetic, with the chance passed in.

Full jitter within a deadline, not a count of attempts: under contention it loses 0.3 % of
commands within three seconds, where four plain attempts lose one in eight
(`docs/performance.md`).
"""

from __future__ import annotations

BACKOFF_BASE_SECONDS = 0.020
BACKOFF_CAP_SECONDS = 0.300
COMMIT_SECONDS_MAX = 3.0
"""A commit gives up after this long, however much time its caller has."""


def backoff_seconds(attempt: int, chance: float) -> float:
    """Wait after the `attempt`-th failure (1 first); `chance` is uniform in [0, 1).

    >>> backoff_seconds(1, 0.5), backoff_seconds(9, 0.5)
    (0.01, 0.15)
    """
    ceiling = min(BACKOFF_CAP_SECONDS, BACKOFF_BASE_SECONDS * 2.0 ** min(attempt - 1, 10))
    return ceiling * chance


def commit_deadline(now: float, until: float | None) -> float:
    """The instant, on the caller's clock, after which no new attempt starts."""
    latest = now + COMMIT_SECONDS_MAX
    return latest if until is None else min(latest, until)
