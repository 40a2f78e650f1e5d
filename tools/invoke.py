"""One function as AWS runs it: its synthesized asset and layers under AWS's own runtime client.

`make invoke FUNCTION=queries_api EVENT=events/queries_api.json` needs no Docker: a small server
speaks Lambda's runtime API to the `awslambdaric` package, which loads the handler and calls it.
Nothing of this project's environment is seen by the function, so a package that the layer lacks
is missed. Its settings are those of the function in the running local stack.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tools.emulator import HOST, REGION
from tools.paths import LOCAL
from tools.stack import CREDENTIALS, NoStack, client, read_stack

RUNTIME_PACKAGES = ("awslambdaric", "simplejson", "snapshot-restore-py")
SECONDS_MAX = 60
API = "/2018-06-01/runtime"


class InvokeFailed(RuntimeError):
    """The function could not be run; the message says why."""


@dataclass
class Invocation:
    """One event, and what became of it."""

    event: bytes
    arn: str
    answer: Any = None
    error: Any = None
    taken: bool = False
    done: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Asset:
    """A function as it is packaged: where its code and its layers are, and what is called."""

    name: str
    handler: str
    code: Path
    layers: tuple[Path, ...]

    @property
    def path(self) -> str:
        return os.pathsep.join(str(part) for part in (self.code, *self.layers))


def assets(assembly: Path) -> dict[str, Asset]:
    """Every function of an assembly that was made with its assets, by its file's name."""
    template = json.loads((assembly / "Service.template.json").read_text())
    resources = template["Resources"]

    def place(resource: Mapping[str, Any]) -> Path:
        return assembly / str(resource["Metadata"]["aws:asset:path"])

    found = {}
    for resource in resources.values():
        if resource["Type"] == "AWS::Lambda::Function":
            properties = resource["Properties"]
            file = properties["Handler"].partition(".")[0]
            layers = tuple(place(resources[one["Ref"]]) / "python" for one in properties["Layers"])
            named = (properties["FunctionName"], properties["Handler"])
            found[file] = Asset(*named, place(resource), layers)
    return found


def invoke(asset: Asset, event: bytes, environment: Mapping[str, str]) -> Invocation:
    """Run the function once; its log goes to standard error."""
    invocation = Invocation(event, f"arn:aws:lambda:{REGION}:000000000000:function:{asset.name}")
    with _server(invocation) as address, _runtime() as runtime:
        process = subprocess.Popen(
            # Without `site` the function sees its asset, its layers and the runtime, as on AWS.
            [sys.executable, "-S", "-m", "awslambdaric", asset.handler],
            cwd=asset.code,
            stdout=sys.stderr,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": f"{runtime}{os.pathsep}{asset.path}",
                "PYTHONUNBUFFERED": "1",
                "AWS_LAMBDA_RUNTIME_API": address,
                "AWS_LAMBDA_FUNCTION_NAME": asset.name,
                "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
                "LAMBDA_TASK_ROOT": str(asset.code),
                **environment,
            },
        )
        try:
            _wait(invocation, process)
        finally:
            process.kill()
            process.wait()
    return invocation


def _wait(invocation: Invocation, process: subprocess.Popen[bytes]) -> None:
    for _ in range(SECONDS_MAX * 10):
        if invocation.done.wait(0.1):
            return
        if process.poll() is not None:
            raise InvokeFailed(f"The runtime ended by itself: {process.returncode}.")
    raise InvokeFailed(f"No answer within {SECONDS_MAX} s.")


@contextmanager
def _runtime() -> Iterator[str]:
    """A folder with the runtime client alone."""
    with tempfile.TemporaryDirectory() as folder:
        for package in RUNTIME_PACKAGES:
            found = importlib.metadata.distribution(package)
            for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
                (Path(folder) / top).symlink_to(str(found.locate_file(top)))
        yield folder


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """The process is ended while it asks for its next event, which is no error."""


@contextmanager
def _server(invocation: Invocation) -> Iterator[str]:
    """The runtime API for one invocation: `host:port`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if invocation.taken:
                # The next event never comes: the process is ended when the first is answered.
                invocation.done.wait(SECONDS_MAX)
                self.close_connection = True
            else:
                invocation.taken = True
                self._send(invocation.event)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "null")
            if self.path.endswith("/response"):
                invocation.answer = body
            else:
                invocation.error = body
            self._send(b"{}", 202)
            invocation.done.set()

        def _send(self, body: bytes, status: int = 200) -> None:
            self.send_response(status)
            # The client, which is written in C, crashes without a content type.
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Lambda-Runtime-Aws-Request-Id", str(uuid.uuid4()))
            self.send_header("Lambda-Runtime-Invoked-Function-Arn", invocation.arn)
            self.send_header("Lambda-Runtime-Deadline-Ms", _deadline_ms())
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """The function's own log is what matters."""

    server = _Server((HOST, 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"{HOST}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def _deadline_ms() -> str:
    return str(int((time.time() + SECONDS_MAX) * 1000))


def local_environment(function: str) -> dict[str, str]:
    """The settings of the function in the running local stack."""
    stack = read_stack()
    found = client("lambda", stack["endpointUrl"]).get_function_configuration(
        FunctionName=stack["functions"][function]
    )
    settings: dict[str, str] = found["Environment"]["Variables"]
    return settings | {
        **{name.upper(): value for name, value in CREDENTIALS.items()},
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": stack["endpointUrl"],
    }


def main() -> None:
    arguments = argparse.ArgumentParser(prog="make invoke", description=__doc__)
    arguments.add_argument("function")
    arguments.add_argument("event", type=Path)
    chosen = arguments.parse_args()
    try:
        known = assets(LOCAL / "cdk.out")
        if chosen.function not in known:
            raise InvokeFailed(f"FUNCTION= is one of {', '.join(sorted(known))}.")
        environment = local_environment(chosen.function)
        found = invoke(known[chosen.function], chosen.event.read_bytes(), environment)
    except (NoStack, InvokeFailed) as error:
        sys.exit(str(error))
    print(json.dumps(found.error or found.answer, indent=2))
    sys.exit(1 if found.error else 0)


if __name__ == "__main__":
    main()
