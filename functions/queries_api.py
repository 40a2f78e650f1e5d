"""GET: reads, lists, health and the documentation."""

from holdfast.edge.clients import table
from holdfast.edge.queries_app import queries_handler

handler = queries_handler(table())
