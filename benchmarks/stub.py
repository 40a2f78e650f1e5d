"""A server that says yes to every DynamoDB request and does nothing: what remains is the client.

It runs in a process of its own, so that only the client's instructions and memory are counted.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection

HOST = "127.0.0.1"
LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nConnection: keep-alive\r\n"
    b"x-amzn-RequestId: 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQ\r\n"
    b"Content-Length: 2\r\n\r\n{}"
)


class _Connection(asyncio.Protocol):
    """Answers each complete request; a request is its head and as many bytes as it announces."""

    def __init__(self) -> None:
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (head := self.buffer.find(b"\r\n\r\n")) >= 0:
            length = LENGTH.search(self.buffer, 0, head)
            end = head + 4 + (int(length[1]) if length else 0)
            if len(self.buffer) < end:
                return
            self.buffer = self.buffer[end:]
            self.transport.write(ANSWER)  # type: ignore[attr-defined]


async def _serve(ready: Connection) -> None:
    server = await asyncio.get_running_loop().create_server(_Connection, HOST, 0)
    ready.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def _main(ready: Connection) -> None:
    asyncio.run(_serve(ready))


@contextmanager
def stub() -> Iterator[str]:
    """The server's URL while the block runs."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_main, args=(theirs,), daemon=True)
    process.start()
    try:
        yield f"http://{HOST}:{ours.recv()}"
    finally:
        process.terminate()
        process.join()


if __name__ == "__main__":
    with stub() as url:
        print(url, flush=True)
        sys.stdin.read()
