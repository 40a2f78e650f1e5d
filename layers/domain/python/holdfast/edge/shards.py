"""How many shards a counter has, as a writer guesses it: no command waits for the answer.

A young process takes the default; from then on the stored number is read at most once a
minute. A wrong guess costs nothing but contention.
"""

from __future__ import annotations

from holdfast.patterns.counters import SHARDS_DEFAULT
from holdfast.writes.outcomes import Throttled
from holdfast.writes.plan import Key
from holdfast.writes.table import Table


def shards_guess(table: Table, counter: Key) -> int:
    """The number of shards to pick one from."""
    image = table.recent.get(counter)
    if image is None and not table.recent.young:
        image = _stored(table, counter)
        table.recent.put(counter, image)
    return int((image or {}).get("shards", SHARDS_DEFAULT))


def _stored(table: Table, counter: Key) -> dict[str, int]:
    try:
        return table.get(counter) or {}
    except Throttled:
        return {}
