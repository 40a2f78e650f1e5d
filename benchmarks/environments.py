"""Where each peer runs: our functions from their assets, the others in their environment."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from tools.paths import LOCAL, PYTHON, ROOT
from tools.steps import step

HERE = Path(__file__).resolve().parent
LOCK = HERE / "peers" / "requirements.txt"
PEERS_PYTHON = LOCAL / "peers" / "bin" / "python"
ASSETS = LOCAL / "bench"
TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"


class BenchFailed(RuntimeError):
    """The machine lacks something, or a peer failed; the message says what."""


@dataclass(frozen=True)
class Peer:
    """Someone who does both jobs: `module` has the handler, `title` is what the table says."""

    name: str
    module: str
    title: str
    python: Path = PEERS_PYTHON
    path: tuple[Path, ...] = (HERE / "peers",)


OURS = Peer(
    "holdfast",
    "commands_api",
    "**Holdfast**, the deployed assets",
    PYTHON,
    (ASSETS / "functions", ASSETS / "domain", ASSETS / "dependencies"),
)
TYPICAL = Peer("typical", "typical", "typical: Powertools, pydantic, boto3 resource")
PEERS = (
    OURS,
    TYPICAL,
    Peer("powertools", "powertools", "stock Powertools idempotency and a transaction"),
    Peer("boto3-client", "boto3_client", "boto3 client"),
    Peer("boto3-resource", "boto3_resource", "boto3 resource"),
    Peer("pynamodb", "pynamodb_", "PynamoDB"),
    Peer("dyntastic", "dyntastic_", "dyntastic"),
    Peer("aiodynamo", "aiodynamo_", "aiodynamo"),
    Peer("pydynox", "pydynox_", "pydynox"),
    Peer("floor", "floor", "no SDK at all"),
)


def variables(peer: Peer, endpoint: str) -> dict[str, str]:
    """The environment of a peer's process: much of what Lambda sets, and a fixed hash seed."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(map(str, peer.path)),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TABLE_NAME": "bench",
        "AWS_ENDPOINT_URL_DYNAMODB": endpoint,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_LAMBDA_FUNCTION_NAME": "bench",
        "LAMBDA_TASK_ROOT": "/var/task",
        "_X_AMZN_TRACE_ID": TRACE,
        "COMMIT_READ_TIMEOUT_SECONDS": "300",
        "CONNECT_TIMEOUT_SECONDS": "60",
    }


def command(peer: Peer, script: str, *arguments: str) -> list[str]:
    """A script of this folder under a peer's interpreter; ours sees the assets alone."""
    alone = ["-S"] if peer is OURS else []
    return [str(peer.python), *alone, str(HERE / script), peer.module, *arguments]


def prepare() -> None:
    """Make what the runs need; tells what the machine lacks."""
    LOCAL.mkdir(exist_ok=True)
    _valgrind()
    with step("made the peers' environment"):
        _peers_environment()
    with step("built our assets"):
        _assets()


def _valgrind() -> None:
    """Instructions are counted by valgrind; as root on Debian it is installed, else asked for."""
    if shutil.which("valgrind") is None and os.geteuid() == 0 and shutil.which("apt-get"):
        with step("installed valgrind"):
            subprocess.run(["apt-get", "update", "-qq"], check=False)
            subprocess.run(["apt-get", "install", "-qq", "-y", "valgrind"], check=False)
    if shutil.which("valgrind") is None:
        raise BenchFailed("Instructions are counted by valgrind: `apt-get install valgrind`.")


def _peers_environment() -> None:
    stamp = PEERS_PYTHON.parent.parent / ".made-from"
    wanted = hashlib.sha256(sys.version.encode() + LOCK.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if not PEERS_PYTHON.exists():
        venv.create(PEERS_PYTHON.parent.parent, symlinks=True)
    sync = [str(PYTHON), "-m", "uv", "pip", "sync", "--quiet", "--compile-bytecode"]
    options = ["--python", str(PEERS_PYTHON), "--require-hashes", str(LOCK)]
    subprocess.run([*sync, *options], check=True)
    stamp.write_text(wanted)


def _assets() -> None:
    """What `cdk deploy` would upload to stage local: trimmed and compiled."""
    from stacks.bundling import build_dependencies, build_own  # noqa: PLC0415 -- the CDK is slow
    from stacks.stage import LOCAL as STAGE  # noqa: PLC0415

    shutil.rmtree(ASSETS, ignore_errors=True)
    build_dependencies(ASSETS / "dependencies", STAGE)
    build_own(ROOT / "layers" / "domain" / "python", ASSETS / "domain", "/opt/python", STAGE)
    build_own(ROOT / "functions", ASSETS / "functions", "/var/task", STAGE)
