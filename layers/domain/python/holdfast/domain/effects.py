"""Which event asks for which external effect: one table, and the words of the mails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

WEBHOOK, EMAIL = "webhook", "email"


@dataclass(frozen=True)
class Mail:
    """One e-mail; its text holds nothing that its reader may not know."""

    to: str
    subject: str
    text: str


def _welcome(data: Mapping[str, Any]) -> Mail:
    return Mail(
        data["email"],
        "You are registered as an officer",
        f"{data['name']}, you are registered and may be given up to {data['maxLoad']} cases.",
    )


def _new_address(data: Mapping[str, Any]) -> Mail:
    return Mail(
        data["email"],
        "Your address was changed",
        "This address now belongs to your registration as an officer.",
    )


MAILS: Final[Mapping[str, Callable[[Mapping[str, Any]], Mail]]] = {
    "OfficerRegistered": _welcome,
    "OfficerEmailChanged": _new_address,
}


def effects_of(event_type: str) -> tuple[str, ...]:
    """The providers that an event of this type goes to: all to the webhook, some by mail."""
    return (WEBHOOK, EMAIL) if event_type in MAILS else (WEBHOOK,)


def mail_of(event_type: str, data: Mapping[str, Any]) -> Mail:
    """The mail that an event of this type asks for. Raises `KeyError` when it asks for none."""
    return MAILS[event_type](data)
