"""Between Python values and DynamoDB's typed JSON, and the sizes that DynamoDB counts."""

from __future__ import annotations

from decimal import Clamped, Context, Decimal, Inexact, Overflow, Rounded, Underflow
from typing import Any

NUMBER_EXPONENT_MAX = 125
NUMBERS = Context(
    prec=38, Emin=-128, Emax=126, traps=[Clamped, Overflow, Inexact, Rounded, Underflow]
)
"""Source: Amazon DynamoDB API reference, "Data types"; the context is boto3's, which allows one
power of ten more."""
WHOLE_BOUND = 10**38
"""Whole numbers below it have at most 38 digits."""


def encode(value: Any) -> dict[str, Any]:
    """One value as an AttributeValue; the members of a set come in one order everywhere.

    Raises `ValueError` for what DynamoDB cannot hold exactly: floats, empty or mixed sets,
    numbers of more than 38 significant digits.
    """
    match value:
        case str():
            return {"S": value}
        case bool():
            return {"BOOL": value}
        case int() | Decimal():
            return {"N": _number_text(value)}
        case None:
            return {"NULL": True}
        case bytes() | bytearray():
            return {"B": bytes(value)}
        case dict():
            return {"M": encode_item(value)}
        case list() | tuple():
            return {"L": [encode(member) for member in value]}
        case set() | frozenset():
            return _encode_set(value)
    if hasattr(value, "__bytes__"):  # boto3's Binary
        return {"B": bytes(value)}
    raise ValueError(f"DynamoDB has no type for {type(value).__name__}")


def _encode_set(members: Any) -> dict[str, Any]:
    pairs = [pair for member in members for pair in encode(member).items()]
    kinds = {kind for kind, _ in pairs}
    if len(kinds) != 1 or not kinds <= {"S", "N", "B"}:
        raise ValueError("a DynamoDB set holds strings, numbers or bytes, and is not empty")
    return {f"{kinds.pop()}S": sorted(content for _, content in pairs)}


def _number_text(value: int | Decimal) -> str:
    if isinstance(value, int) and abs(value) < WHOLE_BOUND:
        return str(value)
    try:
        number = NUMBERS.create_decimal(value)
    except ArithmeticError as error:
        raise ValueError("a DynamoDB number has at most 38 significant digits") from error
    if not number.is_finite() or number.adjusted() > NUMBER_EXPONENT_MAX:
        raise ValueError("DynamoDB holds no NaN, no infinity, and numbers below 1e126")
    return str(number)


def encode_item(item: dict[str, Any]) -> dict[str, Any]:
    return {name: encode(value) for name, value in item.items()}


def decode(value: dict[str, Any]) -> Any:
    """One AttributeValue as a Python value; whole numbers become `int`, others `Decimal`."""
    [(kind, content)] = value.items()
    match kind:
        case "S" | "BOOL":
            return content
        case "N":
            return _number(content)
        case "M":
            return {name: decode(member) for name, member in content.items()}
        case "L":
            return [decode(member) for member in content]
        case "NULL":
            return None
        case "SS":
            return set(content)
        case "NS":
            return {_number(member) for member in content}
        case "B":
            return bytes(content)
        case "BS":
            return {bytes(member) for member in content}
    raise ValueError(f"unknown AttributeValue type {kind!r}")


def decode_item(image: dict[str, Any]) -> dict[str, Any]:
    return {name: decode(value) for name, value in image.items()}


def _number(text: str) -> int | Decimal:
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else number


def size_bytes(item: dict[str, Any]) -> int:
    """Upper bound, in bytes, of an item's size as DynamoDB counts it.

    Source: developer guide, "DynamoDB item sizes and formats": names and strings in UTF-8,
    a number at most 21 bytes, 3 bytes for a list or map and 1 for each member.
    """
    return sum(len(name.encode()) + _size(value) for name, value in item.items())


def _size(value: Any) -> int:
    match value:
        case str():
            return len(value.encode())
        case bytes() | bytearray():
            return len(value)
        case dict():
            return 3 + len(value) + size_bytes(value)
        case list() | tuple():
            return 3 + sum(1 + _size(member) for member in value)
        case set() | frozenset():
            return sum(_size(member) for member in value)
        case bool() | None:
            return 1
        case int() | Decimal():
            return 21
    return len(bytes(value)) if hasattr(value, "__bytes__") else 0
