"""A receiver of webhooks on the loopback address, that shows what arrived and fails on demand.

It behaves as a good receiver does: `Idempotency-Key` names an operation, which runs once
however often it is delivered, and `GET /<operation id>` says whether it ran. `GET /received`
lists every delivery as it arrived, oldest first, with the number of its attempt, whatever was
answered; `GET /effects` lists the operations that ran, each with the attempt that ran it. Both
take `?eventId=`. `PUT /behaviour` takes a list of what the next deliveries get, one item each:
`{"status": 500}`, `{"hang": seconds}` (nothing runs and nothing is answered) or
`{"drop": true}` (it runs, and the answer is lost); an item may have `"times"`, and `"type"`
or `"aggregate"` to wait for such an event. `DELETE /received` forgets everything.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tools.emulator import HOST
from tools.paths import ROOT

BODY_BYTES_MAX = 1 << 20
CHOICES = ("status", "hang", "drop")
SHOWN = ("eventId", "aggregate", "version", "type", "at")


class Receiver:
    """What arrived, in order, and what the next deliveries get."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ran: dict[str, dict[str, Any]] = {}
        self.deliveries: list[dict[str, Any]] = []
        self.rules: list[dict[str, Any]] = []

    def behave(self, rules: list[dict[str, Any]]) -> None:
        for rule in rules:
            if sum(choice in rule for choice in CHOICES) != 1:
                raise ValueError(f"each item has one of {', '.join(CHOICES)}")
        with self.lock:
            self.rules = [{"times": 1, **rule} for rule in rules]

    def take(self, key: str, event: dict[str, Any], attempt: int) -> dict[str, Any]:
        """Note a delivery, run its operation unless it is told to fail, and say what to answer."""
        shown = {name: event.get(name) for name in SHOWN} | {"attempt": attempt}
        with self.lock:
            rule = self._rule(event)
            if not rule or "drop" in rule:
                self.ran.setdefault(key, shown)
            self.deliveries.append(shown)
            return rule

    def _rule(self, event: dict[str, Any]) -> dict[str, Any]:
        for rule in self.rules:
            wanted = {name: rule[name] for name in ("type", "aggregate") if name in rule}
            if all(event.get(name) == value for name, value in wanted.items()):
                rule["times"] -= 1
                if rule["times"] == 0:
                    self.rules.remove(rule)
                return {name: rule[name] for name in CHOICES if name in rule}
        return {}


class Handler(BaseHTTPRequestHandler):
    """One connection to the receiver."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        receiver, address = self.server.receiver, urlsplit(self.path)
        with receiver.lock:
            ran, deliveries = dict(receiver.ran), list(receiver.deliveries)
        wanted = parse_qs(address.query).get("eventId")
        lists = {
            "/received": ("deliveries", deliveries),
            "/effects": ("effects", list(ran.values())),
        }
        if address.path in lists:
            name, listed = lists[address.path]
            shown = [one for one in listed if wanted is None or one["eventId"] in wanted]
            self._answer(200, {name: shown})
        else:
            known = address.path.rpartition("/")[2] in ran
            self._answer(200 if known else 404, {"ran": known})

    def do_PUT(self) -> None:
        if self.path != "/behaviour":
            return self._answer(404, {})
        try:
            rules = json.loads(self._body())
            self.server.receiver.behave(rules if isinstance(rules, list) else [rules])
        except (ValueError, TypeError) as error:
            return self._answer(422, {"error": str(error)})
        return self._answer(200, {"behaviour": self.server.receiver.rules})

    def do_DELETE(self) -> None:
        receiver = self.server.receiver
        with receiver.lock:
            receiver.ran.clear()
            receiver.deliveries.clear()
            receiver.rules.clear()
        self._answer(200, {})

    def do_POST(self) -> None:
        try:
            event = json.loads(self._body())
            key, attempt = self.headers["Idempotency-Key"], int(self.headers["Holdfast-Attempt"])
        except (ValueError, TypeError):
            return self._answer(400, {})
        rule = self.server.receiver.take(key, event, attempt)
        if "hang" in rule:
            time.sleep(float(rule["hang"]))
        if "status" in rule or not rule:
            return self._answer(int(rule.get("status", 200)), {})
        self.close_connection = True
        return None

    def _body(self) -> bytes:
        length = int(self.headers.get("Content-Length") or 0)
        if length > BODY_BYTES_MAX:
            raise ValueError("the body is too large")
        return self.rfile.read(length)

    def _answer(self, status: int, body: Any) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        """Nothing is logged: what arrived can be asked for."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__((HOST, port), Handler)
        self.receiver = Receiver()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_address[1]}"


@contextmanager
def receiving() -> Iterator[Server]:
    """Run a receiver in a thread of this process until the block ends."""
    server = Server(0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def start(port: int) -> int:
    """Start a receiver that outlives this command, and return its process id at once."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.webhook", str(port)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return process.pid


def is_receiver(pid: int) -> bool:
    """True if the process is a receiver, and not another that was given its number since."""
    command = ["ps", "-o", "command=", "-p", str(pid)]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    return "tools.webhook" in listed.stdout


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("port", type=int)
    Server(arguments.parse_args().port).serve_forever()


if __name__ == "__main__":
    main()
