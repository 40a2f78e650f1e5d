"""Say what is being done and how long it took: one line per step, on stderr."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_begun = time.monotonic()


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print the step when it is done, with its own seconds and those since the verb began."""
    start = time.monotonic()
    try:
        yield
    except BaseException:
        say(f"{what}: failed", start)
        raise
    say(what, start)


def say(what: str, start: float | None = None) -> None:
    now = time.monotonic()
    took = f"{now - start:5.1f} s" if start is not None else " " * 7
    print(f"{now - _begun:6.1f} s  {took}  {what}", file=sys.stderr, flush=True)
