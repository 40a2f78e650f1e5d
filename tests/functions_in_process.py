"""The service's functions in one process, fed by streams and queues as Lambda feeds them."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import boto3

from tests.api import ADMIN, Api
from tests.conftest import CREDENTIALS
from tests.policies import Call, calls_of
from tests.pump import Stream
from tools.emulator import REGION
from tools.paths import ROOT

WAIT_SECONDS_MAX = 90
COUNTED = {"PK": ("CASE#", "ORDER#"), "SK": ("EVENT#META#", "EVENT#TASK#")}


class Context:
    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 60_000


@dataclass
class Company:
    """The service's functions in one process, and what each of them asked AWS for."""

    endpoint: str
    queues: dict[str, str]
    stream: Stream
    api: Api
    handlers: dict[str, Callable[..., Any]]
    asked: dict[str, set[Call]] = field(default_factory=lambda: defaultdict(set))
    running: str = ""

    def note(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        service = str(model.service_model.service_id.hyphenize())
        self.asked[self.running] |= set(calls_of(service, model.name, params))

    def run(self, function: str, event: dict[str, Any]) -> Any:
        self.running = function
        return self.handlers[function](event, Context)

    def deliver(self, function: str, queue: str) -> int:
        """Hand a function what waits on its queue; the number of messages."""
        sqs = boto3.client("sqs", endpoint_url=self.endpoint, region_name=REGION, **CREDENTIALS)
        url = self.queues[queue]
        found = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"], VisibilityTimeout=30
        ).get("Messages", [])
        records = [
            {
                "messageId": one["MessageId"],
                "receiptHandle": one["ReceiptHandle"],
                "body": one["Body"],
                "attributes": one["Attributes"],
                "eventSource": "aws:sqs",
            }
            for one in found
        ]
        failed = self.run(function, {"Records": records}) if records else None
        kept = {item["itemIdentifier"] for item in (failed or {}).get("batchItemFailures", [])}
        for one in found:
            if one["MessageId"] not in kept:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
        return len(records)

    def settle(self) -> None:
        """Let every worker do what waits for it, until nothing does."""
        busy = True
        while busy:
            records = self.stream.read()
            for function in ("relay_outbox", "project_events"):
                mine = [one for one in records if _is_for(function, one)]
                if mine:
                    self.run(function, {"Records": mine})
            busy = bool(records) + sum(
                self.deliver(function, queue)
                for function, queue in (
                    ("perform_effects", "events.fifo"),
                    ("run_workflows", "workflows.fifo"),
                    ("reconcile", "reconciliations.fifo"),
                )
            )

    def settle_until(self, path: str) -> None:
        """Settle until a read is answered: a worker may put a message off for seconds."""
        until = time.monotonic() + WAIT_SECONDS_MAX
        self.settle()
        while self.api.get(path, ADMIN).status != 200:
            assert time.monotonic() < until, path
            time.sleep(0.5)
            self.settle()


def _is_for(function: str, record: dict[str, Any]) -> bool:
    """What the mappings' filters let through."""
    named = record["dynamodb"]["Keys"]
    starts = {"PK": ("OUTBOX#",), "SK": ("",)} if function == "relay_outbox" else COUNTED
    return record["eventName"] == "INSERT" and all(
        named[name]["S"].startswith(some) for name, some in starts.items()
    )


def load(function: str) -> Callable[..., Any]:
    """The handler of a fresh copy of the function's module."""
    path = ROOT / "functions" / f"{function}.py"
    spec = importlib.util.spec_from_file_location(f"loaded_{function}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.handler
