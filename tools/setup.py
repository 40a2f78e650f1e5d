"""Make the virtual environments and the CDK command line from their lock files.

`extras` adds the one of the tools that pin packages which we use too: SAM and the audit.

It runs under the machine's own Python, so it imports nothing but the standard library. Each place
keeps a stamp of what it was made from: when nothing changed, this is done in a moment.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from tools.paths import EMULATOR_PYTHON, EXTRAS_PYTHON, LOCAL, PYTHON, ROOT
from tools.steps import step

DEV_LOCK = ROOT / "requirements-dev.txt"
EMULATOR_LOCK = ROOT / "tools" / "emulator-requirements.txt"
EXTRAS_LOCK = ROOT / "tools" / "extras-requirements.txt"
NODE_LOCK = ROOT / "package-lock.json"


class SetupFailed(RuntimeError):
    """The machine lacks something; the message says what."""


def main() -> None:
    try:
        _check_machine()
        LOCAL.mkdir(exist_ok=True)
        # Verbs may start at the same time in a fresh checkout: one of them sets up.
        with (LOCAL / "setup.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _environment(PYTHON, DEV_LOCK, "the project's environment, .venv")
            _environment(EMULATOR_PYTHON, EMULATOR_LOCK, "the emulator's environment")
            _node_modules()
            if "extras" in sys.argv[1:]:
                _environment(EXTRAS_PYTHON, EXTRAS_LOCK, "the environment of SAM and the audit")
    except (SetupFailed, subprocess.CalledProcessError) as error:
        sys.exit(f"Set-up failed: {error}")


def _check_machine() -> None:
    if sys.version_info < (3, 11):
        raise SetupFailed("Python 3.11 or later is needed: make PYTHON=<interpreter> …")
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise SetupFailed(f"`{program}` is not installed: Node.js 20 or later is needed.")


def _environment(python: Path, lock: Path, what: str) -> None:
    folder = python.parent.parent
    wanted = _digest(lock, sys.version)
    if _stamp(folder) == wanted:
        return
    with step(f"made {what}"):
        if not python.exists():
            venv.create(folder, with_pip=python == PYTHON, symlinks=True)
        _install(python, lock)
        _write_stamp(folder, wanted)


def _install(python: Path, lock: Path) -> None:
    """Make exactly what the lock says, with uv; uv itself comes by pip, from the same lock."""
    sync = [str(PYTHON), "-m", "uv", "pip", "sync", "--quiet", "--python", str(python)]
    uv_lock = LOCAL / "uv-requirements.txt"
    uv_lock.write_text(_block_of("uv", DEV_LOCK.read_text()))
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "-r"]
    subprocess.run([*pip, str(uv_lock)], check=True)
    subprocess.run([*sync, "--require-hashes", str(lock)], check=True)


def _block_of(package: str, lock: str) -> str:
    """The lines of one package in a lock file: its pin and the hashes that follow."""
    match = re.search(rf"^{package}==.*\n(?:    .*\n)*", lock, re.MULTILINE)
    if match is None:
        raise SetupFailed(f"{package} is not in {DEV_LOCK.name}.")
    return match.group()


def _node_modules() -> None:
    folder = ROOT / "node_modules"
    wanted = _digest(NODE_LOCK, "")
    if _stamp(folder) == wanted:
        return
    with step("made node_modules"):
        subprocess.run(["npm", "ci", "--silent"], cwd=ROOT, check=True)
        _write_stamp(folder, wanted)


def _digest(lock: Path, interpreter: str) -> str:
    return hashlib.sha256(interpreter.encode() + lock.read_bytes()).hexdigest()


def _stamp(folder: Path) -> str | None:
    stamp = folder / ".made-from"
    return stamp.read_text() if stamp.exists() else None


def _write_stamp(folder: Path, digest: str) -> None:
    temporary = folder / f".made-from.{os.getpid()}"
    temporary.write_text(digest)
    temporary.replace(folder / ".made-from")


if __name__ == "__main__":
    main()
