"""One synthesis per stage and state of the sources; the tests read the JSON that it wrote."""

import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from stacks.stage import PROD, STAGES
from tools.paths import LOCAL, ROOT
from tools.synth import synth

Resources = Callable[..., dict[str, dict[str, Any]]]


@pytest.fixture(scope="session")
def assemblies() -> dict[str, Path]:
    """The assembly of each stage, from `.local/assemblies` while no source of theirs changed."""
    folder = LOCAL / "assemblies" / _digest()
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        _forget_old(folder.parent)
        scratch = Path(tempfile.mkdtemp(dir=folder.parent))
        with ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(lambda name: _synthesize(name, scratch / name), STAGES))
        with suppress(OSError):  # another process has made the same meanwhile
            scratch.rename(folder)
    return {name: folder / name for name in STAGES}


def _synthesize(name: str, out: Path) -> None:
    """The CDK's own validation takes seconds, and production has every kind of resource."""
    synth(name, out, nag=True, validation=name == PROD.name)


@pytest.fixture(params=list(STAGES))
def stage(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def resources(assemblies: dict[str, Path]) -> Resources:
    """`resources(stage, type)`: the resources of a type by logical id, of all stacks."""

    def of(stage: str, kind: str) -> dict[str, dict[str, Any]]:
        return {
            name: resource
            for template in templates(assemblies[stage])
            for name, resource in template["Resources"].items()
            if resource["Type"] == kind
        }

    return of


def templates(assembly: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(assembly.glob("*.template.json")):
        yield json.loads(file.read_text())


def only(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The one resource of its type."""
    (resource,) = found.values()
    return resource


def _forget_old(assemblies: Path) -> None:
    """Those of the last hour stay: another session may be reading them."""
    for old in assemblies.iterdir():
        if time.time() - old.stat().st_mtime > 3600:
            shutil.rmtree(old, ignore_errors=True)


def _digest() -> str:
    """Of all that these tests read of a template; the code in an asset changes its hash alone."""
    sources = [ROOT / name for name in ("app.py", "cdk.json", "requirements.txt")]
    sources += [ROOT / "tools" / "synth.py", *(ROOT / "stacks").glob("*.py")]
    digest = hashlib.sha256()
    for path in sorted(sources):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
