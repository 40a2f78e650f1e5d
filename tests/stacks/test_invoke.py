"""What is deployed runs as it is packaged: under AWS's runtime client, and by SAM's reading."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import create_table
from tests.settings import environment, make_queues
from tools.invoke import Asset, assets, invoke
from tools.paths import EXTRAS_PYTHON, ROOT
from tools.synth import synth
from tools.webhook import receiving

EVENTS = ROOT / "events"
FUNCTIONS = sorted(file.stem for file in (ROOT / "functions").glob("*.py"))
NO_FAILURE = {"batchItemFailures": []}
SAM = EXTRAS_PYTHON.parent / "sam"

pytestmark = pytest.mark.emulator


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stage local as it is deployed, assets and all."""
    out = tmp_path_factory.mktemp("assembly")
    synth("local", out, assets=True)
    return out


@pytest.fixture(scope="module")
def functions(assembly: Path) -> dict[str, Asset]:
    return assets(assembly)


@pytest.fixture(scope="module")
def settings(endpoint: str, client: Any) -> Iterator[dict[str, str]]:
    """The environment of every function, on a table of this module's own."""
    name = f"holdfast-{uuid.uuid4().hex[:12]}"
    create_table(client, name)
    with receiving() as receiver:
        yield environment(endpoint, name, make_queues(endpoint), receiver.url)
    client.delete_table(TableName=name)


def test_every_function_has_a_sample_event_and_an_asset_that_is_there(
    functions: dict[str, Asset],
) -> None:
    assert sorted(file.stem for file in EVENTS.glob("*.json")) == FUNCTIONS
    assert sorted(functions) == FUNCTIONS
    for name, asset in functions.items():
        assert (asset.code / f"{name}.py").is_file()
        assert [(layer / "holdfast").is_dir() for layer in asset.layers].count(True) == 1
        assert [(layer / "botocore").is_dir() for layer in asset.layers].count(True) == 1


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_answers_its_sample_event_under_the_runtime_client(
    functions: dict[str, Asset], settings: dict[str, str], function: str
) -> None:
    event = (EVENTS / f"{function}.json").read_bytes()
    found = invoke(functions[function], event, settings)
    assert found.error is None, found.error
    if function.endswith("_api"):
        status = 201 if function == "commands_api" else 200
        assert found.answer["statusCode"] == status, found.answer["body"]
    else:
        assert found.answer in (None, NO_FAILURE)


def test_what_a_handler_raises_is_reported_as_lambda_reports_it(
    functions: dict[str, Asset], settings: dict[str, str]
) -> None:
    found = invoke(functions["project_events"], b'{"Records": 1}', settings)
    assert found.answer is None
    assert found.error["errorType"] == "TypeError"


@pytest.fixture(scope="module")
def sam() -> Path:
    assert SAM.exists(), "`make test` makes the environment of SAM"
    return SAM


@pytest.mark.slow
def test_sam_accepts_the_template_and_lists_every_function(sam: Path, assembly: Path) -> None:
    template = ["--template-file", str(assembly / "Service.template.json")]
    listed = _run(sam, "list", "resources", "--output", "json", *template)
    found = {item["LogicalResourceId"] for item in json.loads(listed)}
    resources = json.loads((assembly / "Service.template.json").read_text())["Resources"]
    functions = {
        name for name, item in resources.items() if item["Type"] == "AWS::Lambda::Function"
    }
    assert functions <= found
    assert "is a valid SAM Template" in _run(sam, "validate", *template)


def _run(sam: Path, *arguments: str) -> str:
    offline = {
        "SAM_CLI_TELEMETRY": "0",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    done = subprocess.run(
        [str(sam), *arguments],
        env=os.environ | offline,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
