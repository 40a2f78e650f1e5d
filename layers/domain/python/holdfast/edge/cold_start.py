"""What a new function environment does once. A function imports this module before any other.

The collector rests while modules load: nearly all that they make stays, and looking at it again
and again is a twentieth of a cold start. Packages that import far more than what is used of them
are postponed: their parts are there at once, the rest when someone asks for it.
"""

from __future__ import annotations

import gc
import os
import random
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any, TypeVar

HandlerT = TypeVar("HandlerT", bound=Callable[..., Any])

_POWERTOOLS = "aws_lambda_powertools"
POSTPONED: dict[str, tuple[str, ...]] = {
    # Its conditions are used, not its sessions, resources and S3 transfer.
    "boto3": (),
    # The handler of a REST API, not those of AppSync and Bedrock.
    f"{_POWERTOOLS}.event_handler": (),
    # The decorator, not the table that it would write to.
    f"{_POWERTOOLS}.utilities.idempotency": (),
    # The events of HTTP, which that handler names, not those of thirty other services.
    f"{_POWERTOOLS}.utilities.data_classes": (
        "alb_event",
        "api_gateway_proxy_event",
        "bedrock_agent_event",
        "lambda_function_url_event",
        "vpc_lattice",
    ),
}
"""Packages, and of each the parts to look into for a name before the whole of it is run."""

SNAPSHOT = os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start"
"""This environment will be copied: what is loaded now is never loaded again."""


class _Postponed(ModuleType):
    """A package that runs its own code when it is asked for a name that only that code makes."""

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        if spec is None or spec.loader is None or find_spec(f"{self.__name__}.{name}"):
            raise AttributeError(name)  # a part of the package, which the import system finds
        for part in POSTPONED[self.__name__]:
            module = import_module(f"{self.__name__}.{part}")
            if hasattr(module, name):
                return getattr(module, name)
        self.__class__ = ModuleType  # type: ignore[assignment]
        spec.loader.exec_module(self)
        return getattr(self, name)


def postpone(package: str) -> None:
    """Let the parts of a package be imported without the package's own code."""
    spec = find_spec(package)
    if package in sys.modules or spec is None:
        return
    module = module_from_spec(spec)
    module.__class__ = _Postponed
    sys.modules[package] = module
    parent, _, name = package.rpartition(".")
    if parent:
        setattr(sys.modules[parent], name, module)


def ready(handler: HandlerT, *clients: Any) -> HandlerT:
    """The handler, when all is loaded: the collector works again, on what comes from now on.

    Where a snapshot will be taken the handler of commands is primed first, and its `clients`.
    """
    if SNAPSHOT:
        _reseed_copies()
        if clients:
            import_module("holdfast.edge.priming").prime(handler, *clients)
    gc.freeze()
    gc.enable()
    return handler


def _reseed_copies() -> None:
    """Let no two copies of this environment wait for the same random times."""
    hooks = import_module("snapshot_restore_py")  # a part of the runtime, where SnapStart is
    hooks.register_after_restore(random.seed)


gc.disable()
for _package in POSTPONED:
    postpone(_package)
