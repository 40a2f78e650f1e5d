"""What comes from outside is pinned, and nothing that should stay inside is in the sources."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tools.audit import lock_faults
from tools.check import CHECKS
from tools.paths import ROOT
from tools.secrets import findings

WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
PLANTED = {
    "an access key": "key = 'AKIA" + "IOSFODNN7EXAMPLQ'",
    "a private key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "a token": "t = 'ghp_" + "a" * 36 + "'",
}


@pytest.mark.parametrize("what", list(PLANTED))
def test_a_planted_secret_is_found_and_not_repeated(tmp_path: Path, what: str) -> None:
    file = tmp_path / "planted.py"
    file.write_text(f"{PLANTED[what]}\n")
    (found,) = findings([file])
    assert "planted.py:1" in found
    assert PLANTED[what] not in found


@pytest.mark.parametrize(
    "line",
    [
        "boto3>=1.0 \\\n    --hash=sha256:0",
        "boto3==1.0",
        "boto3 @ https://example.org/boto3.whl",
        "--index-url https://example.org/simple",
    ],
)
def test_a_loose_dependency_is_found(line: str) -> None:
    assert list(lock_faults(line))


def test_the_workflow_runs_the_same_verbs_and_names_no_registry() -> None:
    text = WORKFLOW.read_text()
    jobs = yaml.safe_load(text)["jobs"]
    run = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert {"make check", "make test", "make demo"} <= set(run)
    assert all(command.startswith("make ") for command in run)
    assert "://" not in text


def test_the_fast_loop_looks_for_secrets_and_loose_dependencies() -> None:
    assert {"secrets", "dependencies"} <= CHECKS.keys()
