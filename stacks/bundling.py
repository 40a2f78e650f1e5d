"""Assets without Docker: the layers and the functions, with bytecode that the runtime accepts.

Stale or missing bytecode about doubles a cold start. Files are compiled with *unchecked-hash*
bytecode, which is valid whatever the time stamps of the unpacked asset are.
"""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsii
from aws_cdk import BundlingOptions, ILocalBundling
from aws_cdk import aws_lambda as lambda_

from stacks import sdk_trimming
from stacks.sdk_trimming import trim_sdk
from stacks.stage import StageConfig

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = lambda_.Runtime.PYTHON_3_14
RUNTIME_PYTHON = "3.14"
HOST_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
MOUNTED = "/opt/python"


class BundlingFailed(RuntimeError):
    """An asset could not be built; the message says what to do."""


@jsii.implements(ILocalBundling)
class _Build:
    """Hands the CDK's bundling to a function of ours, so that no container is ever asked for."""

    def __init__(self, build: Callable[[Path], None]) -> None:
        self._build = build

    def try_bundle(self, output_dir: str, *_: object, **__: object) -> bool:
        self._build(Path(output_dir))
        return True


def functions_code(stage: StageConfig) -> lambda_.Code:
    """The flat `functions/` folder: one asset that all functions share."""
    source = ROOT / "functions"
    return _code(source, lambda out: build_own(source, out, "/var/task", stage), stage)


def domain_code(stage: StageConfig) -> lambda_.Code:
    source = ROOT / "layers" / "domain" / "python"
    return _code(source, lambda out: build_own(source, out / "python", MOUNTED, stage), stage)


def dependencies_code(stage: StageConfig) -> lambda_.Code:
    source = ROOT / "layers" / "dependencies"
    return _code(source, lambda out: build_dependencies(out / "python", stage), stage)


def build_own(source: Path, target: Path, mounted: str, stage: StageConfig) -> None:
    """Copy our own sources and compile them."""
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
    _compile(target, mounted, stage)


def build_dependencies(target: Path, stage: StageConfig) -> None:
    """Install the layer's lock file for the stage's platform, trim the SDK, and compile."""
    _install(ROOT / "layers" / "dependencies" / "requirements.txt", target, stage)
    _trim(target)
    _compile(target, MOUNTED, stage)


def _code(source: Path, build: Callable[[Path], None], stage: StageConfig) -> lambda_.Code:
    return lambda_.Code.from_asset(
        str(source.relative_to(ROOT)),
        asset_hash=_digest(source, stage),
        bundling=BundlingOptions(image=RUNTIME.bundling_image, local=_Build(build)),
    )


def _digest(source: Path, stage: StageConfig) -> str:
    """The same sources for the same target are the same asset, whoever builds it."""
    python = _target_python(stage)
    target = f"{stage.layer_platform} {python} compiled={_compiler(python) is not None}"
    digest = hashlib.sha256(target.encode())
    for code in (__file__, sdk_trimming.__file__):
        digest.update(Path(code).read_bytes())
    files = (path for path in source.rglob("*") if path.is_file() and path.suffix != ".pyc")
    for path in sorted(files):
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
    """Leave out what no function reads: scripts, locks and most of the SDK's data."""
    shutil.rmtree(target / "bin", ignore_errors=True)
    (target / ".lock").unlink(missing_ok=True)
    trim_sdk(target)


def _compiler(python: str) -> str | None:
    """An interpreter of exactly the target's version: bytecode of any other would be ignored."""
    return sys.executable if python == HOST_PYTHON else shutil.which(f"python{python}")


def _compile(folder: Path, mounted: str, stage: StageConfig) -> None:
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
