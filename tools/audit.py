"""Dependencies are exactly what was locked: every package pinned, hashed and installed as such.

This part needs no network and is in `make check`. `make audit` also asks the advisory service
about every locked package, which needs one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.lock import FILES
from tools.paths import EMULATOR_PYTHON, EXTRAS_PYTHON, PYTHON, ROOT

PINNED = re.compile(r"^[a-z0-9][a-z0-9._-]*(\[[a-z0-9,_-]+\])?==[^ ]+( ;.*)? \\$", re.IGNORECASE)
INSTALLED = {
    "requirements-dev.txt": PYTHON,
    "tools/emulator-requirements.txt": EMULATOR_PYTHON,
    "tools/extras-requirements.txt": EXTRAS_PYTHON,
}


def lock_faults(text: str) -> Iterator[str]:
    """Lines of a lock file that name a package without a version and a hash, or a place."""
    lines = text.splitlines()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith(("#", "    ")) or not line.strip():
            continue
        if not PINNED.match(line) or "--hash=sha256:" not in after:
            yield f"not pinned with a hash: {line}"
    yield from (f"names a place: {line}" for line in lines if "://" in line or "--index" in line)


def environment_faults(lock: str, python: Path) -> Iterator[str]:
    """What an environment has that differs from its lock file."""
    command = [sys.executable, "-m", "uv", "pip", "sync", "--dry-run", "--offline"]
    done = subprocess.run(
        [*command, "--require-hashes", "--python", str(python), lock],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or "Would make no changes" not in done.stderr:
        yield f"{python.parent.parent.name} differs from {lock}: run `make setup`.\n{done.stderr}"


def faults() -> Iterator[str]:
    for name in FILES:
        for fault in lock_faults((ROOT / f"{name}.txt").read_text()):
            yield f"{name}.txt: {fault}"
    for lock, python in INSTALLED.items():
        if python.exists():
            yield from environment_faults(lock, python)


def ask_advisories() -> int:
    """Ask about every locked package; 0 when no advisory names one."""
    locks = [part for name in FILES for part in ("--requirement", f"{name}.txt")]
    command = [str(EXTRAS_PYTHON), "-m", "pip_audit", "--disable-pip", "--require-hashes"]
    asked = subprocess.run([*command, "--progress-spinner", "off", *locks], cwd=ROOT, check=False)
    return asked.returncode


def main() -> None:
    found = list(faults())
    print(*found, sep="\n" if found else "")
    if found:
        sys.exit(1)
    if "--advisories" in sys.argv[1:]:
        sys.exit(ask_advisories())


if __name__ == "__main__":
    main()
