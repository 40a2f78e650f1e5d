"""How a command is made: a frozen dataclass that costs little to define.

A dataclass has six methods compiled for it, over a millisecond at each cold start. With dozens
of commands that was a fifth of one, so commands share the methods of `Frozen` instead.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, TypeVar, cast, dataclass_transform

FrozenT = TypeVar("FrozenT", bound="Frozen")


class Frozen:
    """What values of all commands have in common: fields by keyword, equality, and a text."""

    _defaults: ClassVar[dict[str, Any]]
    _names: ClassVar[frozenset[str]]

    def __init__(self, **given: Any) -> None:
        values = {**self._defaults, **given}
        if values.keys() != self._names:
            wrong = ", ".join(sorted(values.keys() ^ self._names))
            raise TypeError(f"{type(self).__name__} lacks these fields, or has none such: {wrong}")
        self.__dict__.update(values)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        told = (f"{name}={value!r}" for name, value in self._values())
        return f"{type(self).__name__}({', '.join(told)})"

    def _values(self) -> tuple[tuple[str, Any], ...]:
        return tuple((name, getattr(self, name)) for name in sorted(self._names))


@dataclass_transform(frozen_default=True, kw_only_default=True)
def command(kind: type[FrozenT]) -> type[FrozenT]:
    """Make a class of fields a frozen dataclass whose fields are given by keyword."""
    made = dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)(kind)
    found = {field.name: field.default for field in fields(cast("Any", made))}
    made._names = frozenset(found)
    made._defaults = {name: found[name] for name in found if found[name] is not MISSING}
    return made
