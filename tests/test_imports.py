"""Imports point one way, and only one module sends writes."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "layers" / "domain" / "python" / "holdfast"
LAYERS = ("writes", "patterns", "domain", "edge", "functions")
"""Each may import itself and what stands before it."""

SENDING = {
    "put_item",
    "update_item",
    "delete_item",
    "transact_write_items",
    "batch_write_item",
    "execute_statement",
    "batch_execute_statement",
    "execute_transaction",
}
IMPURE = {
    "boto3",
    "botocore",
    "logging",
    "os",
    "random",
    "secrets",
    "socket",
    "threading",
    "time",
    "urllib",
    "uuid",
    "aws_lambda_powertools.logging",
    "aws_lambda_powertools.metrics",
    "aws_lambda_powertools.tracing",
}
PURE_PARTS = {"boto3.dynamodb.conditions"}
"""Of the SDK, the language of conditions alone, which does no I/O."""

NOW = {"now", "utcnow", "today"}


def sources() -> list[Path]:
    return sorted([*LIBRARY.rglob("*.py"), *(ROOT / "functions").glob("*.py")])


def layer(path: Path) -> str:
    if path.parent == ROOT / "functions":
        return "functions"
    return path.relative_to(LIBRARY).parts[0]


def imports(tree: ast.AST) -> Iterator[str]:
    """Every module that a file names in an import, wherever in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.fixture(params=sources(), ids=lambda path: str(path.relative_to(ROOT)))
def source(request: pytest.FixtureRequest) -> tuple[Path, ast.AST]:
    return request.param, ast.parse(request.param.read_text())


def test_imports_point_one_way(source: tuple[Path, ast.AST]) -> None:
    path, tree = source
    if layer(path) not in LAYERS:
        assert path.name == "__init__.py"
        return
    allowed = LAYERS[: LAYERS.index(layer(path)) + 1]
    ours = [name.split(".")[1] for name in imports(tree) if name.startswith("holdfast.")]
    assert set(ours) <= set(allowed)


def test_only_the_table_sends_writes(source: tuple[Path, ast.AST]) -> None:
    path, tree = source
    called = {
        node.attr if isinstance(node, ast.Attribute) else node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    }
    if path == LIBRARY / "writes" / "table.py":
        assert called & SENDING == {"put_item", "transact_write_items"}
    else:
        assert not called & SENDING


def test_domain_and_patterns_are_pure(source: tuple[Path, ast.AST]) -> None:
    """No clock, chance, environment, client or logger: all of it arrives in the command."""
    path, tree = source
    if layer(path) not in {"domain", "patterns"}:
        return
    names = {name for name in imports(tree) if not name.startswith(tuple(PURE_PARTS))}
    impure = {name for name in names if any(is_in(name, module) for module in IMPURE)}
    assert not impure
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = {call.attr for call in calls if isinstance(call, ast.Attribute)}
    named |= {call.id for call in calls if isinstance(call, ast.Name)}
    assert not named & (NOW | {"open", "print", "input"})


def is_in(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def test_the_library_asks_for_nothing_but_its_locked_packages(source: tuple[Path, ast.AST]) -> None:
    known = {"holdfast", "boto3", "botocore", "aws_lambda_powertools", "msgspec", "urllib3"}
    tops = {name.split(".")[0] for name in imports(source[1])}
    assert tops - known <= set(sys.stdlib_module_names)
