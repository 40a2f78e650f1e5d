"""Stream of audit events -> every projection; and what was put aside, again."""

import os
import time

from holdfast.edge import cold_start
from holdfast.edge.clients import client, table
from holdfast.edge.projector import Projector
from holdfast.edge.projector_app import ProjectorApp, queue_sender
from holdfast.edge.set_aside import SetAside
from holdfast.edge.telemetry import Telemetry

_table, _telemetry = table(), Telemetry()
_send = queue_sender(
    client("sqs", read_timeout=5, attempts=2), os.environ["PROJECTION_FAILURES_URL"]
)
handler = cold_start.ready(
    ProjectorApp(Projector(_table), SetAside(_table, _telemetry, _send), _telemetry, time.time)
)
