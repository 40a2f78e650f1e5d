"""Assets carry bytecode that the runtime takes as it is, and nothing of the building machine."""

import marshal
import subprocess
import sys
from pathlib import Path

import pytest

from stacks import bundling
from stacks.bundling import build_dependencies, build_own
from stacks.sdk_trimming import OPERATIONS
from stacks.stage import LOCAL, PROD

UNCHECKED_HASH = 0b01
PYC_HEADER_BYTES = 16


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "__pycache__" / "stale.cpython-311.pyc").write_bytes(b"stale")
    (folder / "job.py").write_text("def handler(event, context):\n    return event\n")
    return folder


def test_bytecode_is_valid_whatever_the_time_stamps_and_names_the_mounted_file(
    source: Path, tmp_path: Path
) -> None:
    build_own(source, tmp_path / "asset", "/var/task", LOCAL)
    (compiled,) = (tmp_path / "asset").rglob("*.pyc")
    content = compiled.read_bytes()
    assert int.from_bytes(content[4:8], "little") == UNCHECKED_HASH
    assert marshal.loads(content[PYC_HEADER_BYTES:]).co_filename == "/var/task/job.py"  # noqa: S302
    assert str(tmp_path).encode() not in content


def test_without_the_target_python_an_asset_ships_source_alone_and_says_so(
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bundling, "_compiler", lambda python: None)
    build_own(source, tmp_path / "asset", "/var/task", PROD)
    assert [path.name for path in (tmp_path / "asset").rglob("*.py*")] == ["job.py"]
    assert "ships without bytecode" in capfd.readouterr().err


@pytest.mark.slow
def test_the_dependencies_layer_imports_by_itself_with_the_models_it_needs(
    tmp_path: Path,
) -> None:
    layer = tmp_path / "python"
    build_dependencies(layer, LOCAL)
    models = {path.name for path in (layer / "botocore" / "data").iterdir() if path.is_dir()}
    assert models == set(OPERATIONS)
    script = f"""
import sys; sys.path.insert(0, {str(layer)!r})
import boto3, msgspec, aws_lambda_powertools
for service, operations in {OPERATIONS}.items():
    client = boto3.client(service, region_name="us-east-1")
    assert set(client.meta.method_to_api_mapping.values()) == operations, service
print(boto3.__file__)
"""
    ran = subprocess.run(
        [sys.executable, "-S", "-c", script], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(str(layer))
