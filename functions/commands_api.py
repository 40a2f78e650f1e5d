"""POST, PUT, PATCH, DELETE: request -> command -> planner -> answer."""

import os

from holdfast.edge import cold_start
from holdfast.edge.clients import table
from holdfast.edge.commands_app import commands_handler
from holdfast.edge.write_region import only_where_written

handler = cold_start.ready(only_where_written(commands_handler(table()), os.environ))
