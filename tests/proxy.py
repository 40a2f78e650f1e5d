"""A fault proxy in front of the emulator, in this process: the network that fails on demand."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web
from microburst.app import make_app
from microburst.core.pipeline import Microburst

HOST = "127.0.0.1"


class Proxy:
    """`url` forwards to the emulator, but for what the rules break."""

    def __init__(self, url: str, microburst: Microburst) -> None:
        self.url = url
        self._microburst = microburst

    def rules(self, *rules: dict[str, Any]) -> None:
        """Replace all rules, and forget what fired."""
        self._microburst.fired.clear()
        self._microburst.engine.set_rules([{"service": "dynamodb", **rule} for rule in rules])

    def fired(self) -> list[str]:
        """The operations that a rule broke since the rules were set."""
        return [event.operation for event in self._microburst.fired]

    @property
    def answers(self) -> int:
        """How often the emulator has answered, whoever was still listening."""
        return self._microburst.stats.latency_n

    def await_answers(self, count: int, *, seconds: float = 5) -> None:
        """Wait until the emulator has answered `count` requests in all."""
        until = time.monotonic() + seconds
        while self.answers < count:
            assert time.monotonic() < until, f"{self.answers} answers, not {count}"
            time.sleep(0.01)


@contextmanager
def proxy(upstream: str) -> Iterator[Proxy]:
    """Run a proxy in a thread of its own until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="proxy", daemon=True)
    thread.start()
    microburst = Microburst(upstream)
    runner, port = asyncio.run_coroutine_threadsafe(_serve(microburst), loop).result(10)
    try:
        yield Proxy(f"http://{HOST}:{port}", microburst)
    finally:
        asyncio.run_coroutine_threadsafe(_stop(runner), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _serve(microburst: Microburst) -> tuple[web.AppRunner, int]:
    runner = web.AppRunner(make_app(microburst), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, HOST, 0).start()
    return runner, runner.addresses[0][1]


async def _stop(runner: web.AppRunner) -> None:
    """Requests that a fault keeps waiting for ever are cancelled with the proxy."""
    await runner.cleanup()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
