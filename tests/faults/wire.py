"""The wire between a process and what it calls; `catalogue.py` lists what goes wrong on it.

A `Fault` says what happens to a call; a `Storm` is one fault in one run: it strikes at one
place among the calls that the fault can hit, keeps what it holds back, and counts how often
it has fired. All that processes see are exceptions that botocore really raises.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

WRITES = frozenset({"transact_write_items", "put_item", "update_item", "delete_item"})
READS = frozenset({"get_item", "query", "transact_get_items", "batch_get_item"})
OTHERS = frozenset({"send_message_batch", "send_message", "webhook"})


class Killed(BaseException):
    """The process ended here; nothing after this line ran."""


@dataclass
class Call:
    """One call of a process: `send` makes it reach its service."""

    name: str
    request: dict[str, Any]
    send: Callable[[], Any]

    @property
    def places(self) -> int:
        return len(self.request.get("TransactItems", ()))

    @property
    def fences(self) -> bool:
        """Its one write is a command record's: it settles what became of another call."""
        writes = self.request.get("TransactItems", [{"Put": self.request}])
        if len(writes) > 1:
            return False
        [(_, write)] = writes[0].items()
        return {**write.get("Item", {}), **write.get("Key", {})}.get("SK") == {"S": "COMMAND"}


@dataclass(frozen=True)
class Fault:
    """`act` happens to the first `times` calls that `hits` knows, from the storm's place on.

    What it holds back arrives later: with `lands_next` before the next call, else when the
    caller has had an answer, or with `lands_last` only after the caller's last try. The
    fault is over after as many answers as it `lasts`. `skew_ms` is how wrong the clock of the
    first process is, `pause_ms` how long it stands still; `expires` says that the command's
    record has outlived its time.
    """

    name: str
    hits: frozenset[str] = WRITES
    act: Callable[[Storm, Call], Any] | None = None
    times: int = 1
    lands_next: bool = False
    lands_last: bool = False
    lasts: int = 1
    skew_ms: int = 0
    pause_ms: int = 0
    expires: bool = False
    for_commands: bool = False
    """Nothing but a command with a record can meet it."""


@dataclass
class Storm:
    """One fault in one run; every call of every process of the run goes through it."""

    fault: Fault
    place: int = 0
    chance: random.Random = field(default_factory=random.Random)
    fired: int = 0
    over: bool = False
    held: list[Call] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    answers: int = 0
    keeps_tokens: bool = False
    """What arrives late has its token still, for a plan that nothing else protects."""
    meanwhile: Callable[[int], None] = lambda pause_ms: None
    """What others do while a process stands still for so many milliseconds."""

    def strike(self, call: Call) -> Any:
        """What becomes of one call."""
        if self.fault.lands_next:
            self.land()
        self.seen.append(call.name)
        if self.over or self.fault.act is None or call.name not in self.fault.hits:
            return call.send()
        before = sum(name in self.fault.hits for name in self.seen) - 1
        if before < self.place or self.fired >= self.fault.times:
            return call.send()
        self.fired += 1
        return self.fault.act(self, call)

    def answered(self) -> None:
        """The caller has had an answer, or knows that there will be none."""
        if not self.fault.lands_last:
            self.land()
        self.answers += self.fired > 0
        self.over = self.over or self.answers >= self.fault.lasts

    def land(self) -> None:
        """What was held back arrives: as it was, or so late that its token is forgotten."""
        while self.held:
            call = self.held.pop()
            if self.chance.random() < 0.5 and not self.keeps_tokens:
                call.request.pop("ClientRequestToken", None)
            try:
                call.send()
            except ClientError as error:
                code = error.response["Error"]["Code"]
                assert code in REFUSED, error


REFUSED = {
    "TransactionCanceledException",
    "ConditionalCheckFailedException",
    "IdempotentParameterMismatchException",
}


CALM = Fault("none")


class Wire:
    """A low-level client whose calls meet a storm; tokens are the run's own.

    The emulator keeps tokens by account, and runs that start alike would share them.
    """

    def __init__(self, client: Any, storm: Storm, run: str) -> None:
        self._client = client
        self._storm = storm
        self._run = run

    def __getattr__(self, name: str) -> Any:
        target = getattr(self._client, name)
        if name not in WRITES | READS | OTHERS:
            return target

        def call(**request: Any) -> Any:
            if "ClientRequestToken" in request:
                text = f"{self._run}{request['ClientRequestToken']}"
                request["ClientRequestToken"] = hashlib.sha256(text.encode()).hexdigest()[:36]
            return self._storm.strike(Call(name, request, lambda: target(**request)))

        return call
