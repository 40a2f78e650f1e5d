"""Assets without Docker: the layers and the functions, with bytecode that the runtime accepts.

Stale or missing bytecode about doubles a cold start. Files are compiled with *unchecked-hash*
bytecode, which is valid whatever the time stamps of the unpacked asset are.
"""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jsii
from aws_cdk import BundlingOptions, ILocalBundling
from aws_cdk import aws_lambda as lambda_

from stacks.stage import StageConfig

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = lambda_.Runtime.PYTHON_3_14
RUNTIME_PYTHON = "3.14"
HOST_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SDK_SERVICES = ("dynamodb", "sesv2", "sqs")
"""The SDK's service models that the functions use; the other 400 are 28 MB that it would walk."""


class BundlingFailed(RuntimeError):
    """An asset could not be built; the message says what to do."""


@jsii.implements(ILocalBundling)
class _Build:
    """Hands the CDK's bundling to a function of ours, so that no container is ever asked for."""

    def __init__(self, build: Any) -> None:
        self._build = build

    def try_bundle(self, output_dir: str, *_: object, **__: object) -> bool:
        self._build(Path(output_dir))
        return True


def functions_code(stage: StageConfig) -> lambda_.Code:
    """The flat `functions/` folder: one asset that all functions share."""
    return _own_code(stage, ROOT / "functions", ".", "/var/task")


def domain_code(stage: StageConfig) -> lambda_.Code:
    return _own_code(stage, ROOT / "layers" / "domain" / "python", "python", "/opt/python")


def dependencies_code(stage: StageConfig) -> lambda_.Code:
    """Third-party packages of the lock file, for the stage's platform."""
    lock = ROOT / "layers" / "dependencies" / "requirements.txt"

    def build(out: Path) -> None:
        target = out / "python"
        _install(lock, target, stage)
        _trim(target)
        _compile(target, stage, "/opt/python")

    return _code(lock.parent, build, [lock, Path(__file__)], stage)


def _own_code(stage: StageConfig, source: Path, inside: str, mounted: str) -> lambda_.Code:
    def build(out: Path) -> None:
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(source, out / inside, ignore=ignored, dirs_exist_ok=True)
        _compile(out / inside, stage, mounted)

    files = (path for path in source.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return _code(source, build, files, stage)


def _code(source: Path, build: Any, inputs: Iterable[Path], stage: StageConfig) -> lambda_.Code:
    return lambda_.Code.from_asset(
        str(source.relative_to(ROOT)),
        asset_hash=_digest(inputs, stage),
        bundling=BundlingOptions(image=RUNTIME.bundling_image, local=_Build(build)),
    )


def _digest(inputs: Iterable[Path], stage: StageConfig) -> str:
    """The same sources for the same target are the same asset, whoever builds it."""
    python = _target_python(stage)
    digest = hashlib.sha256(f"{stage.layer_platform} {python} {bool(_compiler(python))}".encode())
    for path in sorted(inputs):
        digest.update(f"\0{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _target_python(stage: StageConfig) -> str:
    """The emulator runs functions under this machine's interpreter, whatever the runtime says."""
    return RUNTIME_PYTHON if stage.layer_platform else HOST_PYTHON


def _install(lock: Path, target: Path, stage: StageConfig) -> None:
    """Install from uv's cache if it can, else from the registry, else with pip."""
    options = ["--target", str(target), "--no-deps", "--only-binary", ":all:"]
    options += ["--require-hashes", "-r", str(lock)]
    for installer in _installers(stage):
        result = subprocess.run([*installer, *options], capture_output=True, text=True, check=False)
        if result.returncode == 0:
            return
        shutil.rmtree(target, ignore_errors=True)
    raise BundlingFailed(f"The layer's packages could not be installed:\n{result.stderr}")


def _installers(stage: StageConfig) -> list[list[str]]:
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--link-mode", "copy"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile"]
    if stage.layer_platform:
        uv += ["--python-platform", stage.layer_platform, "--python-version", RUNTIME_PYTHON]
        machine = stage.layer_platform.partition("-")[0]
        pip += ["--platform", f"manylinux2014_{machine}", "--python-version", RUNTIME_PYTHON]
        pip += ["--platform", f"manylinux_2_28_{machine}"]
    else:
        uv += ["--python", sys.executable]
    return [[*uv, "--offline"], uv, pip]


def _trim(target: Path) -> None:
    """Leave out what no function reads: scripts, locks and the SDK's models of other services."""
    shutil.rmtree(target / "bin", ignore_errors=True)
    (target / ".lock").unlink(missing_ok=True)
    for model in (target / "botocore" / "data").iterdir():
        if model.is_dir() and model.name not in SDK_SERVICES:
            shutil.rmtree(model)


def _compiler(python: str) -> str | None:
    """An interpreter of exactly the target's version: bytecode of any other would be ignored."""
    return sys.executable if python == HOST_PYTHON else shutil.which(f"python{python}")


def _compile(folder: Path, stage: StageConfig, mounted: str) -> None:
    """Compile if this machine has the target's Python; a build on it ships bytecode, else source.

    Paths in tracebacks name the place where the asset is mounted, not the building machine.
    """
    python = _target_python(stage)
    compiler = _compiler(python)
    if compiler is None:
        print(f"No python{python} here: {mounted} ships without bytecode.", file=sys.stderr)
        return
    options = ["--invalidation-mode", "unchecked-hash", "-q", "-s", str(folder), "-p", mounted]
    subprocess.run([compiler, "-m", "compileall", *options, str(folder)], check=True)
