"""The types of request fields: what a value must look like before a command starts.

A type's description is what a caller is told when a value does not fit, so it never repeats
the value itself.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from holdfast.domain.officers import LOAD_MAX

AMOUNT_MAX = 10**15
VERSION_MAX = 10**10 - 1
"""Ten digits, as many as an event's key has for its version."""

ID_PATTERN = r"^[A-Za-z0-9._:@-]{1,64}$(?!\n)"
_LINE = r"^(?=[\s\S]*\S)(?![\s\S]*[\u0000-\u001f\u007f-\u009f])"
_LINES = r"^(?=[\s\S]*\S)(?![\s\S]*[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f])"
"""Not blank, and no control character but, in the second, tabs and line ends."""

Id = Annotated[
    str,
    Meta(pattern=ID_PATTERN, max_length=64, description="1 to 64 of A-Z a-z 0-9 . _ : @ -"),
]
Line = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        pattern=_LINE,
        description="one line of 1 to 200 characters, not blank, without control characters",
    ),
]
Reference = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=128,
        pattern=_LINE,
        description="one line of 1 to 128 characters, not blank, without control characters",
    ),
]
Text = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=4000,
        pattern=_LINES,
        description="text of 1 to 4000 characters, not blank, without control characters",
    ),
]
Email = Annotated[
    str, Meta(min_length=3, max_length=320, pattern=_LINE, description="an e-mail address")
]
Region = Annotated[
    str,
    Meta(
        pattern=r"^[A-Z0-9-]{2,12}$(?!\n)",
        min_length=2,
        max_length=12,
        description="2 to 12 of A-Z 0-9 -",
    ),
]
Priority = Annotated[Literal["LOW", "NORMAL", "HIGH"], Meta(description="one of LOW, NORMAL, HIGH")]
Version = Annotated[
    int, Meta(ge=1, le=VERSION_MAX, description="the version that was read: a whole number from 1")
]
FencingNumber = Annotated[
    int, Meta(ge=1, le=VERSION_MAX, description="the lease's fencing number: a whole number from 1")
]
MaxLoad = Annotated[
    int, Meta(ge=0, le=LOAD_MAX, description=f"a whole number from 0 to {LOAD_MAX}")
]
LeaseSeconds = Annotated[int, Meta(ge=1, le=900, description="a whole number from 1 to 900")]
Amount = Annotated[
    int,
    Meta(ge=1, le=AMOUNT_MAX, description="minor units: a whole number from 1 to 10^15"),
]
Flag = Annotated[bool, Meta(description="true or false")]


class BadField(ValueError):
    """A field that fits its type and still cannot be right; `message` never repeats the value."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


class Body(Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """The fields of a command's request; an absent optional field leaves no trace."""

    def fields(self) -> dict[str, object]:
        """What the command is made of, under its own names."""
        named = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return {name: value for name, value in named if value is not UNSET}


class Nothing(Body, kw_only=True):
    """A command that needs no more than its address."""


class Versioned(Body, kw_only=True):
    """A command on what the caller read; `If-Match` may carry the version instead."""

    expected_version: Version | UnsetType = UNSET
