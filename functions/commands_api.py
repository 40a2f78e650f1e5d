"""POST, PUT, PATCH, DELETE: request -> command -> planner -> answer."""

from holdfast.edge.clients import table
from holdfast.edge.commands_app import commands_handler

handler = commands_handler(table())
