"""Resolve the requirement files into lock files, with hashes and without any registry's address.

One resolution serves Python 3.11, on which the tests run, and 3.14, on which the functions run.
"""

import subprocess
import sys

from tools.paths import ROOT

FILES = (
    "requirements",
    "requirements-dev",
    "layers/dependencies/requirements",
    "tools/emulator-requirements",
    "benchmarks/peers/requirements",
    "tools/extras-requirements",
)
OPTIONS = ("--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url")


def main() -> None:
    compile_ = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-header", *OPTIONS]
    for file in FILES:
        command = [*compile_, f"{file}.in", "--output-file", f"{file}.txt"]
        subprocess.run(command, cwd=ROOT, check=True)
        print(f"{file}.txt")


if __name__ == "__main__":
    main()
