"""The one place that sends writes to DynamoDB, and settles what comes back.

A commit ends in a value (Committed, Refused, Duplicate) or an Unsettled exception. An
attempt whose answer was lost is sent again under the same token, which DynamoDB honours
for ten minutes; if the deadline passes in doubt, the resolver reads the plan's command
record and, if that is absent, fences it, so that the lost attempt can never land.
"""

from __future__ import annotations

import random as chance
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from holdfast.writes import settling
from holdfast.writes.codec import decode_item, encode, encode_item
from holdfast.writes.outcomes import (
    Committed,
    Contended,
    Duplicate,
    Effort,
    Fenced,
    InDoubt,
    Outcome,
    Refused,
    Throttled,
    TokenMismatch,
)
from holdfast.writes.plan import Key, Plan, Write
from holdfast.writes.refusals import Refusal
from holdfast.writes.retry import backoff_seconds, commit_deadline
from holdfast.writes.rules import first_broken
from holdfast.writes.settling import Attempt, Sign

RESOLVE_ATTEMPTS_MAX = 3
RESOLVE_SECONDS_MAX = 1.0
"""The resolver's own bounds; a caller's deadline leaves this much time behind it."""


class Table:
    """One DynamoDB table.

    `client` is a low-level boto3 client with short timeouts and the SDK's retries off;
    `reader`, by default the same, may retry. `clock` and `sleep` count seconds, `random`
    is uniform in [0, 1).
    """

    def __init__(
        self,
        client: Any,
        name: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        random: Callable[[], float] = chance.random,
        reader: Any = None,
    ) -> None:
        self.client = client
        self.reader = reader or client
        self.name = name
        self.clock = clock
        self.sleep = sleep
        self.random = random

    def get(self, key: Key) -> dict[str, Any] | None:
        """The item as it is now (a consistent read), or None. Raises Throttled."""
        answer = self._read(
            self.reader.get_item, Key=encode_item(key.attributes), ConsistentRead=True
        )
        return decode_item(answer["Item"]) if "Item" in answer else None

    def query(self, **parameters: Any) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """One page of a Query: decoded items, and the raw LastEvaluatedKey or None.

        `parameters` are those of the Query API; ExpressionAttributeValues are plain values.
        Raises Throttled.
        """
        values = encode_item(parameters.pop("ExpressionAttributeValues"))
        answer = self._read(self.reader.query, ExpressionAttributeValues=values, **parameters)
        return [decode_item(item) for item in answer["Items"]], answer.get("LastEvaluatedKey")

    def partition(self, pk: str, prefix: str, *, pages_max: int = 20) -> Iterator[dict[str, Any]]:
        """Consistently read items of one partition whose sort key starts with `prefix`, in order.

        Reads at most `pages_max` pages of 1 MB; raises `LookupError` when there is more.
        """
        start: dict[str, Any] = {}
        for _ in range(pages_max):
            items, last = self.query(
                KeyConditionExpression="PK = :pk AND begins_with(SK, :prefix)",
                ExpressionAttributeValues={":pk": pk, ":prefix": prefix},
                ConsistentRead=True,
                **start,
            )
            yield from items
            if last is None:
                return
            start = {"ExclusiveStartKey": last}
        raise LookupError(f"more than {pages_max} pages in one partition")

    def _read(self, call: Callable[..., dict[str, Any]], **parameters: Any) -> dict[str, Any]:
        """A read has no effect, so any passing failure of one is safe to try again later."""
        try:
            return call(TableName=self.name, **parameters)
        except settling.ERRORS as error:
            settling.classify(error)
            raise Throttled(Effort(attempts=1)) from error

    def commit(self, plan: Plan, *, deadline: float | None = None) -> Outcome:
        """Send `plan` until its outcome is final or `deadline` (an instant of `clock`) is past.

        The deadline is never more than `COMMIT_SECONDS_MAX` away. Raises Throttled,
        Contended, Fenced or InDoubt when it passes unsettled, TokenMismatch for a
        programmer's error, and whatever the SDK raised if this module does not know it.
        """
        until = commit_deadline(self.clock(), deadline)
        effort, series = Effort(), 0
        while True:
            attempt = self._send(plan, series)
            effort = _count(effort, attempt.sign)
            final = self._final(plan, attempt, effort)
            if final is not None:
                return final
            series += _next_token(plan, attempt.sign, effort)
            wait = backoff_seconds(effort.attempts, self.random())
            if self.clock() + wait >= until:
                return self._give_up(plan, attempt.sign, effort)
            self.sleep(wait)

    def commit_from(
        self,
        read: Callable[[], Any],
        planner: Callable[[Any], Plan],
        *,
        deadline: float | None = None,
    ) -> Outcome:
        """Read, plan and commit, again from the read while what was read had moved.

        Only for true read-compute-write: the plan repeats as rules, under the refusal
        STALE_READ, whatever of the read its decisions rest on. Raises Contended when that
        refusal outlasts the deadline, and whatever `commit` raises.
        """
        until, tries = commit_deadline(self.clock(), deadline), 0
        while True:
            outcome = self.commit(planner(read()), deadline=until)
            if not (isinstance(outcome, Refused) and outcome.refusal is Refusal.STALE_READ):
                return outcome
            tries += 1
            wait = backoff_seconds(tries, self.random())
            if self.clock() + wait >= until:
                raise Contended(outcome.effort)
            self.sleep(wait)

    def _send(self, plan: Plan, series: int) -> Attempt:
        try:
            if _is_single(plan):
                self._put(plan.writes[0])
            else:
                self.client.transact_write_items(
                    TransactItems=[self._member(write) for write in plan.writes],
                    ClientRequestToken=plan.token_of(series),
                )
        except settling.ERRORS as error:
            return settling.classify(error)
        return Attempt(Sign.LANDED)

    def _put(self, write: Write) -> None:
        self.client.put_item(
            TableName=self.name,
            **write.request["Put"],
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )

    def _member(self, write: Write) -> dict[str, Any]:
        [(action, body)] = write.request.items()
        more = {"TableName": self.name}
        if write.rules:
            more["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return {action: {**body, **more}}

    def _final(self, plan: Plan, attempt: Attempt, effort: Effort) -> Outcome | None:
        match attempt.sign:
            case Sign.LANDED:
                return Committed(plan.answer, effort)
            case Sign.REFUSED:
                return _diagnose(plan, attempt, effort)
            case Sign.MISMATCH:
                return self._recall(plan, effort)
        return None

    def _recall(self, plan: Plan, effort: Effort) -> Outcome:
        """A token that was used with other content: the record tells whose it was."""
        record = self.get(plan.fence.key) if plan.fence else None
        if record is None:
            raise TokenMismatch(plan.intent)
        return Duplicate(record, effort)

    def _give_up(self, plan: Plan, last: Sign, effort: Effort) -> Outcome:
        if effort.doubts == 0:
            raise (Contended if last is Sign.CONFLICT else Throttled)(effort)
        if plan.fence is None:
            raise InDoubt(effort)
        return self._resolve(Plan(f"fence {plan.intent}", (plan.fence,)), effort)

    def _resolve(self, fence: Plan, effort: Effort) -> Outcome:
        """Establish what became of a lost attempt: its record stands, or the fence does.

        The fence goes first: it lands only where no record stands, and is refused with the
        record's image where one does, so it is the consistent read and the write in one.
        """
        until = self.clock() + RESOLVE_SECONDS_MAX
        for number in range(1, RESOLVE_ATTEMPTS_MAX + 1):
            attempt = self._send(fence, 0)
            if attempt.sign is Sign.LANDED:
                raise Fenced(effort)
            if attempt.sign is Sign.REFUSED:
                return self._read_fence(fence.writes[0], attempt, effort)
            wait = backoff_seconds(number, self.random())
            if self.clock() + wait >= until:
                break
            self.sleep(wait)
        raise InDoubt(effort)

    def _read_fence(self, fence: Write, attempt: Attempt, effort: Effort) -> Outcome:
        """The record that refused the fence: our own fence, sent twice, or the lost attempt."""
        [(_, old)] = attempt.failed
        if old is None:
            raise InDoubt(effort)
        made = {**fence.item, **fence.set}
        if all(old.get(name) == value for name, value in made.items()):
            raise Fenced(effort)
        return Duplicate(old, effort)


def _is_single(plan: Plan) -> bool:
    """One `create` needs no transaction: the item that stands afterwards tells whose it is."""
    return len(plan.writes) == 1 and plan.writes[0].verb == "create"


def _next_token(plan: Plan, sign: Sign, effort: Effort) -> int:
    """1 when the token just used is certainly spent, else 0.

    Once in doubt, a plan without a command record keeps its token, since a late first
    attempt is then recognised by nothing else.
    """
    cancelled = sign in {Sign.CONFLICT, Sign.THROTTLE}
    return int(cancelled and (effort.doubts == 0 or plan.fence is not None))


def _count(effort: Effort, sign: Sign) -> Effort:
    return replace(
        effort,
        attempts=effort.attempts + 1,
        conflicts=effort.conflicts + (sign is Sign.CONFLICT),
        throttles=effort.throttles + (sign is Sign.THROTTLE),
        doubts=effort.doubts + (sign is Sign.DOUBT),
    )


def _diagnose(plan: Plan, attempt: Attempt, effort: Effort) -> Outcome:
    """Name the refusal that stands first in the catalogue among the writes that failed."""
    failed = dict(attempt.failed)
    if plan.fence and 0 in failed and failed[0] is not None:
        return Duplicate(failed[0], effort)
    refused = []
    for place, old in attempt.failed:
        write = plan.writes[place]
        if _is_single(plan) and effort.doubts and old and encode(old) == _made(write):
            return Committed(plan.answer, effort)
        broken = first_broken(write.rules, old)
        if broken is None:
            raise RuntimeError(f"DynamoDB refused {write.because!r}, but every rule holds")
        refused.append(Refused(broken.refusal, write, old, effort))
    return min(refused, key=lambda refusal: refusal.refusal.precedence)


def _made(write: Write) -> dict[str, Any]:
    return encode({**write.key.attributes, **write.item})
