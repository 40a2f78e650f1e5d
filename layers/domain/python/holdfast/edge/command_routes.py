"""Every command route. A new command is one body struct and one Route in its aggregate's file."""

from __future__ import annotations

from holdfast.edge.case_routes import CASE_COMMANDS
from holdfast.edge.count_routes import COUNT_COMMANDS
from holdfast.edge.member_routes import MEMBER_COMMANDS
from holdfast.edge.money_routes import MONEY_COMMANDS
from holdfast.edge.officer_routes import OFFICER_COMMANDS
from holdfast.edge.ops_routes import OPS_COMMANDS
from holdfast.edge.routes import Route
from holdfast.edge.workflow_routes import WORKFLOW_COMMANDS

COMMANDS: tuple[Route, ...] = (
    *CASE_COMMANDS,
    *MEMBER_COMMANDS,
    *OFFICER_COMMANDS,
    *MONEY_COMMANDS,
    *WORKFLOW_COMMANDS,
    *COUNT_COMMANDS,
    *OPS_COMMANDS,
)
