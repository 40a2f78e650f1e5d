"""Start and stop the local AWS emulator, always by process id and only on the loopback address.

`emulator()` gives a test session an emulator of its own; `tools.local` uses `start` and `stop`
for the one that outlives the command.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tools.paths import EMULATOR_PYTHON, LOCAL

HOST = "127.0.0.1"
REGION = "us-east-1"
START_SECONDS = 60
TERM_SECONDS = 3


class EmulatorFailed(RuntimeError):
    """The emulator did not start, or stopped by itself; the message says what to do."""


@contextmanager
def emulator(
    port: int | None = None, state: Path | None = None, env: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Run an emulator and yield its endpoint URL.

    Without `port` it takes a free one. Without `state` it keeps nothing: its folder is removed
    afterwards. `env` adds settings of the emulator, such as `AUTH=true`.
    """
    port = port or free_port()
    folder = state or _scratch_folder()
    try:
        pid = start(port, folder, persist=state is not None, env=env)
        try:
            wait_until_healthy(port, pid, folder)
            yield endpoint(port)
        finally:
            stop(pid)
    finally:
        if state is None:
            shutil.rmtree(folder, ignore_errors=True)


def endpoint(port: int) -> str:
    return f"http://{HOST}:{port}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def start(port: int, state: Path, *, persist: bool, env: Mapping[str, str] | None = None) -> int:
    """Start the emulator in a session of its own and return its process id at once."""
    if not EMULATOR_PYTHON.exists():
        raise EmulatorFailed("The emulator is not installed here: run `make setup`.")
    if not is_free(port):
        raise EmulatorFailed(f"Port {port} is in use by another program: choose one with PORT=.")
    (state / "tmp").mkdir(parents=True, exist_ok=True)
    with (state / "emulator.log").open("ab") as log:
        process = subprocess.Popen(
            [EMULATOR_PYTHON, "-m", "ministack"],
            cwd=state,
            env=_environment(port, state, persist) | dict(env or {}),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return process.pid


def wait_until_healthy(port: int, pid: int, state: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not is_healthy(port):
        if not is_running(pid):
            raise EmulatorFailed(f"The emulator stopped while starting: read {_log(state)}.")
        if time.monotonic() > deadline:
            raise EmulatorFailed(f"No answer within {START_SECONDS} s: read {_log(state)}.")
        time.sleep(0.05)


def is_healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"{endpoint(port)}/_ministack/health", timeout=2) as answer:
            return bool(json.load(answer))
    except (OSError, urllib.error.URLError, ValueError):
        return False


def is_running(pid: int) -> bool:
    """True while the process lives; a child of ours that has ended is collected on the way."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def is_emulator(pid: int) -> bool:
    """True if the process is an emulator, and not another that was given its number since."""
    command = ["ps", "-o", "command=", "-p", str(pid)]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    return "ministack" in listed.stdout


def stop(pid: int) -> None:
    """End the emulator and the function workers of its session: it saves its state on SIGTERM."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + TERM_SECONDS
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    while is_running(pid):
        time.sleep(0.02)


def _environment(port: int, state: Path, persist: bool) -> dict[str, str]:
    """The emulator's settings, which functions inherit: the caller's own AWS_* stay outside."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return inherited | {
        "BIND_HOST": HOST,
        "GATEWAY_PORT": str(port),
        "MINISTACK_REGION": REGION,
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "LOG_LEVEL": os.environ.get("EMULATOR_LOG_LEVEL", "WARNING"),
        "PERSIST_STATE": "1" if persist else "0",
        "STATE_DIR": str(state / "state"),
        "S3_PERSIST": "1" if persist else "0",
        "S3_DATA_DIR": str(state / "s3"),
        "TMPDIR": str(state / "tmp"),
        "PYTHONUNBUFFERED": "1",
    }


def _scratch_folder() -> Path:
    LOCAL.mkdir(exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="emulator-", dir=LOCAL))


def is_free(port: int) -> bool:
    """Nothing listens there."""
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) != 0


def _log(state: Path) -> Path:
    return state / "emulator.log"
