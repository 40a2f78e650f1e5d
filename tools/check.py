"""The fast loop: format, lint, types, unit tests and synth, each named and timed.

The synthesis of every stage, with the rule checks, is among the unit tests of the stacks.
"""

import subprocess
import sys

from tools.paths import ROOT
from tools.steps import step

CHECKS = {
    "format": ["ruff", "format", "--check", "--quiet", "."],
    "lint": ["ruff", "check", "--quiet", "."],
    "types": ["mypy", "--no-error-summary"],
    "secrets": ["tools.secrets"],
    "dependencies": ["tools.audit"],
    "unit tests and synth": [
        "pytest",
        "-n",
        "2",
        "--dist",
        "loadgroup",
        "-m",
        "not emulator and not e2e and not slow",
        "tests",
    ],
}


def main() -> None:
    for name, command in CHECKS.items():
        try:
            with step(name):
                subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=True)
        except subprocess.CalledProcessError:
            sys.exit(f"`make check` stopped at: {name}.")


if __name__ == "__main__":
    main()
