"""What a function loads before its first request, and how its clients are set."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": f"{ROOT}/layers/domain/python:{ROOT}/functions",
    "TABLE_NAME": "holdfast",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
}


def python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize("function", ["commands_api", "queries_api"])
def test_neither_pydantic_nor_a_tracer_is_in_the_request_path(function: str) -> None:
    code = f"import sys, {function}; print(*sys.modules)"
    loaded = {name.split(".")[0] for name in python(code).split()}
    assert not {"pydantic", "aws_xray_sdk", "boto3.resources"} & loaded
    assert "holdfast" in loaded


def test_commits_are_tried_once_by_the_sdk_and_reads_more_often() -> None:
    code = (
        "from holdfast.edge.clients import table; t = table();"
        "c = [x.meta.config for x in (t.client, t.reader)];"
        "print(*[(k.retries['total_max_attempts'], k.connect_timeout, k.read_timeout) for k in c])"
    )
    assert python(code).strip() == "(1, 1.0, 2.0) (3, 1.0, 2.0)"
