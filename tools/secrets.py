"""No key, token or private key is in the sources: the detectors of `detect-secrets`, offline.

Detectors that guess from entropy or from a word are left out: ids and hashes are everywhere here,
and ruff (S105 to S107) looks for passwords in code.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.core.scan import scan_file
from detect_secrets.settings import transient_settings

from tools.paths import ROOT

GUESSES = {"Base64HighEntropyString", "HexHighEntropyString", "KeywordDetector", "IPPublicDetector"}
GENERATED = {".txt", "package-lock.json", "openapi.json"}
"""Locks and printed plans are made from sources, and are nine lines in ten."""


def detectors() -> list[str]:
    """The names of the detectors that know what they are looking for."""
    kinds: dict[str, type] = get_mapping_from_secret_type_to_class()
    known = {kind.__name__ for kind in kinds.values()}
    return sorted(known - GUESSES)


def findings(files: Iterable[Path]) -> Iterator[str]:
    """Where a secret seems to be, and of what kind; never the secret itself."""
    with transient_settings({"plugins_used": [{"name": name} for name in detectors()]}):
        for file in files:
            for found in scan_file(str(file)):
                yield f"{file}:{found.line_number}: {found.type}"


def sources() -> list[Path]:
    """Every file that is, or is about to be, in the repository."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = (ROOT / name for name in listed.stdout.splitlines())
    return [file for file in found if file.is_file() and not GENERATED & {file.name, file.suffix}]


def main() -> None:
    found = list(findings(sources()))
    print(*found, sep="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
