"""What a peer asks of a real table: requests and capacity units of five scenes, and its answers.

Every peer plays the same scenes against the emulator, through a gauge that counts its requests
and reads the consumed capacity from the answers. Units of the indexes are left out, as they are
the same for all.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from benchmarks.environments import PEERS, Peer, command, variables
from tests.conftest import create_table, dynamodb
from tools.emulator import HOST, emulator

SCENES = ("create", "replay", "conflict", "submit", "stale")
SEEDED = {
    "PK": {"S": "CASE#acme#case-1"},
    "SK": {"S": "META"},
    "caseId": {"S": "case-1"},
    "title": {"S": "Dust in the ventilation of building 4"},
    "status": {"S": "OPEN"},
    "officerId": {"S": "o-1"},
    "version": {"N": "2"},
}


@dataclass
class Gauge:
    """Counts what goes through it to the emulator at `target`."""

    target: str
    requests: list[str] = field(default_factory=list)
    units: float = 0

    def reset(self) -> None:
        self.requests, self.units = [], 0

    def forward(self, headers: Any, body: bytes) -> tuple[int, bytes]:
        operation = headers["X-Amz-Target"].partition(".")[2]
        asked = json.dumps({**json.loads(body), "ReturnConsumedCapacity": "INDEXES"})
        kept = {"X-Amz-Target": headers["X-Amz-Target"], "Content-Type": headers["Content-Type"]}
        link = http.client.HTTPConnection(self.target)
        link.request("POST", "/", asked, {**kept, "Authorization": headers["Authorization"]})
        answer = link.getresponse()
        told = answer.read()
        self.requests.append(operation)
        self.units += _units(json.loads(told or b"{}").get("ConsumedCapacity", []))
        return answer.status, told


def _units(charged: Any) -> float:
    tables = charged if isinstance(charged, list) else [charged]
    return sum(
        table["CapacityUnits"]
        - sum(i["CapacityUnits"] for i in table.get("GlobalSecondaryIndexes", {}).values())
        for table in tables
    )


@contextmanager
def gauge(target: str) -> Iterator[tuple[Gauge, str]]:
    """A gauge in front of the emulator, and its URL."""
    counting = Gauge(urlsplit(target).netloc)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, told = counting.forward(self.headers, body)
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer((HOST, 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield counting, f"http://{HOST}:{server.server_port}"
    finally:
        server.shutdown()


@dataclass(frozen=True)
class Scene:
    """What one scene took, and the status that the caller was answered or the exception's name."""

    requests: int
    units: float
    answer: int | str


def scenes() -> dict[str, dict[str, Scene]]:
    """By peer and scene."""
    with emulator() as url, gauge(url) as (counting, address):
        return {peer.name: _play(peer, url, counting, address) for peer in PEERS}


def _play(peer: Peer, url: str, counting: Gauge, address: str) -> dict[str, Scene]:
    client = dynamodb(url)
    create_table(client, "bench")
    client.put_item(TableName="bench", Item=SEEDED)
    ours, theirs = os.pipe()
    process = subprocess.Popen(
        command(peer, "scenes.py"),
        env=variables(peer, address) | {"REPORT_TO": str(theirs)},
        pass_fds=[theirs],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    os.close(theirs)
    assert process.stdin is not None
    with os.fdopen(ours) as report, process.stdin as orders:
        played = {}
        for scene in SCENES:
            counting.reset()
            print(scene, file=orders, flush=True)
            answer = json.loads(report.readline())
            played[scene] = Scene(len(counting.requests), counting.units, answer)
    process.wait()
    client.delete_table(TableName="bench")
    return played
