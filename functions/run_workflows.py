"""Queue -> next steps of many-step commands; schedule -> pushes of stuck ones."""

import os

from holdfast.edge import cold_start
from holdfast.edge.clients import client, table
from holdfast.edge.executor import utc_now
from holdfast.edge.telemetry import Telemetry
from holdfast.edge.workflow_runner import Runner
from holdfast.edge.workflows_app import WORKFLOWS, WorkflowQueue, workflows_handler

_queue = WorkflowQueue(client("sqs", read_timeout=5, attempts=2), os.environ["WORKFLOWS_QUEUE_URL"])
_known = {workflow.name: workflow for workflow in WORKFLOWS}
handler = cold_start.ready(
    workflows_handler(Runner(table(), _known, Telemetry(), utc_now, _queue.send), _queue)
)
