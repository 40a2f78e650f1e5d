"""POST, PUT, PATCH, DELETE: request -> command -> planner -> answer."""

import os

from holdfast.edge import cold_start
from holdfast.edge.clients import table
from holdfast.edge.commands_app import commands_handler
from holdfast.edge.write_region import only_where_written

_table = table()
handler = cold_start.ready(
    only_where_written(commands_handler(_table), os.environ), _table.client, _table.reader
)
