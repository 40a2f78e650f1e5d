"""Every night and on request: recounts, compares, reports, and repairs where it was asked to."""

import os

from holdfast.edge import cold_start
from holdfast.edge.clients import client, table
from holdfast.edge.executor import utc_now
from holdfast.edge.reconcile_app import reconcile_handler
from holdfast.edge.reconciling import Reconciling
from holdfast.edge.telemetry import Telemetry
from holdfast.edge.workflow_runner import Runner
from holdfast.edge.workflows_app import WorkflowQueue

_telemetry = Telemetry()
_queue = WorkflowQueue(
    client("sqs", read_timeout=5, attempts=2), os.environ["RECONCILIATIONS_QUEUE_URL"]
)
_flow = Reconciling(_telemetry).workflow()
_runner = Runner(table(), {_flow.name: _flow}, _telemetry, utc_now, _queue.send)
handler = cold_start.ready(reconcile_handler(_runner, _queue))
