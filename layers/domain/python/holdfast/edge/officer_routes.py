"""Commands on officers."""

from __future__ import annotations

import re

from holdfast.domain import officers
from holdfast.edge.caller import ADMIN, SUPERVISOR
from holdfast.edge.fields import BadField, Body, Email, Id, Line, MaxLoad, Versioned
from holdfast.edge.routes import Route, one
from holdfast.patterns.uniqueness import folded

EMAIL_PATTERN = re.compile(r"[^\s@\"(),:;<>\[\\\]]{1,64}@(?:[^\W_](?:[\w-]*[^\W_])?\.)+[^\W\d_]\w+")


def check_email(text: str) -> None:
    """Syntax after normalisation, so that a full-width `@` is the `@` that it stands for."""
    if len(normal := folded(text)) > 254 or not EMAIL_PATTERN.fullmatch(normal):
        raise BadField("email", "must be an e-mail address")


class RegisterOfficer(Body, kw_only=True):
    officer_id: Id
    name: Line
    email: Email
    max_load: MaxLoad

    def __post_init__(self) -> None:
        check_email(self.email)


class ChangeEmail(Versioned, kw_only=True):
    email: Email

    def __post_init__(self) -> None:
        check_email(self.email)


class ChangeMaxLoad(Versioned, kw_only=True):
    max_load: MaxLoad


_ADMIN = frozenset({ADMIN})
_SUPERVISOR = frozenset({SUPERVISOR})

OFFICER_COMMANDS = (
    Route(
        "POST",
        "/officers",
        _ADMIN,
        RegisterOfficer,
        officers.RegisterOfficer,
        officers.register_officer,
        creates=True,
    ),
    Route(
        "PUT",
        "/officers/{officerId}/email",
        _ADMIN,
        ChangeEmail,
        officers.ChangeEmail,
        officers.change_email,
        reads=one(lambda cmd: cmd.key),
    ),
    Route(
        "PUT",
        "/officers/{officerId}/max-load",
        _SUPERVISOR,
        ChangeMaxLoad,
        officers.ChangeMaxLoad,
        officers.change_max_load,
    ),
    Route(
        "POST",
        "/officers/{officerId}/activations",
        _ADMIN,
        Versioned,
        officers.ActivateOfficer,
        officers.activate_officer,
    ),
    Route(
        "POST",
        "/officers/{officerId}/deactivations",
        _ADMIN,
        Versioned,
        officers.DeactivateOfficer,
        officers.deactivate_officer,
    ),
)
