"""GET: reads, lists, health and the documentation."""

from holdfast.edge import cold_start
from holdfast.edge.clients import table
from holdfast.edge.queries_app import queries_handler

handler = cold_start.ready(queries_handler(table()))
