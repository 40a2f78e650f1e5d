"""The one place that sends writes to DynamoDB, and settles what comes back.

A commit ends in a value (Committed, Refused, Duplicate) or an Unsettled exception. An
attempt whose answer was lost is sent again under its token, which DynamoDB honours for ten
minutes; if the deadline passes in doubt, the resolver fences the plan's command record,
after which the lost attempt has landed or never can.
"""

from __future__ import annotations

import random as chance
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from holdfast.writes import settling
from holdfast.writes.codec import decode_item, encode_item
from holdfast.writes.diagnosis import diagnose
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
    Unsettled,
)
from holdfast.writes.plan import Key, Plan, Write
from holdfast.writes.recent import Recent
from holdfast.writes.refusals import Refusal
from holdfast.writes.retry import backoff_seconds, commit_deadline
from holdfast.writes.settling import Attempt, Sign

State = TypeVar("State")
Image = dict[str, Any]

SNAPSHOT_KEYS_MAX = 100
RESOLVE_ATTEMPTS_MAX = 3
RESOLVE_SECONDS_MAX = 1.0
"""The resolver's own bounds; a caller's deadline leaves this much time behind it."""


class Table:
    """One DynamoDB table.

    `client` is a low-level boto3 client with short timeouts and no retries of its own; `reader`,
    by default the same, may retry. `clock` and `sleep` count seconds, `random` is in [0, 1).
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
        self.recent = Recent(clock)

    def get(self, key: Key) -> dict[str, Any] | None:
        """The item as it is now (a consistent read), or None. Raises Throttled."""
        answer = self.read(
            self.reader.get_item,
            TableName=self.name,
            Key=encode_item(key.attributes),
            ConsistentRead=True,
        )
        return decode_item(answer["Item"]) if "Item" in answer else None

    def state(self, key: Key, stale: Refused | None, *, guess: bool = False) -> Image | None:
        """The item for a plan to stand on: a consistent read, unless something saves it.

        That is the image which refused the last plan, and with `guess` what this process
        saw of the item lately.
        """
        if stale is not None and stale.write.key == key:
            image = stale.old or self.get(key)
        elif guess and (image := self.recent.get(key)) is not None:
            return image
        else:
            image = self.get(key)
        if guess and image is not None:
            self.recent.put(key, image)
        return image

    def snapshot(self, keys: Sequence[Key]) -> list[Image | None]:
        """The items as they all were at one moment (TransactGetItems), in the order of `keys`.

        Raises `ValueError` for more than 100 keys, Throttled when the moment cannot be had.
        """
        if len(keys) > SNAPSHOT_KEYS_MAX:
            raise ValueError(f"a snapshot holds at most {SNAPSHOT_KEYS_MAX} items")
        gets = [{"Get": {"TableName": self.name, "Key": encode_item(k.attributes)}} for k in keys]
        answer = self.read(self.reader.transact_get_items, TransactItems=gets)
        return [decode_item(a["Item"]) if "Item" in a else None for a in answer["Responses"]]

    def query(self, **parameters: Any) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """One page of a Query: decoded items, and the raw LastEvaluatedKey or None.

        `parameters` are those of the Query API; ExpressionAttributeValues are plain values.
        Raises Throttled.
        """
        values = encode_item(parameters.pop("ExpressionAttributeValues"))
        answer = self.read(
            self.reader.query,
            TableName=self.name,
            ExpressionAttributeValues=values,
            **parameters,
        )
        return [decode_item(item) for item in answer["Items"]], answer.get("LastEvaluatedKey")

    def partition(self, pk: str, prefix: str, *, pages_max: int = 20) -> Iterator[dict[str, Any]]:
        """Consistently read items of one partition whose sort key starts with `prefix`, in order.

        Reads at most `pages_max` pages of 1 MB; raises `LookupError` when there is more.
        """
        start: dict[str, Any] = {}
        # A condition may not compare a key with an empty string.
        within = (" AND begins_with(SK, :prefix)", {":prefix": prefix}) if prefix else ("", {})
        for _ in range(pages_max):
            items, last = self.query(
                KeyConditionExpression=f"PK = :pk{within[0]}",
                ExpressionAttributeValues={":pk": pk, **within[1]},
                ConsistentRead=True,
                **start,
            )
            yield from items
            if last is None:
                return
            start = {"ExclusiveStartKey": last}
        raise LookupError(f"more than {pages_max} pages in one partition")

    def read(self, call: Callable[..., dict[str, Any]], **parameters: Any) -> dict[str, Any]:
        """A read has no effect, so any passing failure of one is safe to try again later."""
        try:
            return call(**parameters)
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
            effort = settling.counted(effort, attempt.sign)
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
        read: Callable[[Refused | None], State],
        planner: Callable[[State], Plan],
        *,
        deadline: float | None = None,
    ) -> Outcome:
        """Read, plan and commit, again from the read while what was read had moved.

        Only for true read-compute-write: the plan repeats as rules, under the refusal
        STALE_READ, whatever of the read its decisions rest on. `read` is given that refusal,
        None at first. The first one is planned on anew at once, from its old image; later
        ones show that others want the item too, and are waited out, after which the image
        is out of date and is not given. Raises Contended when the refusal outlasts the
        deadline, Throttled when the read fails until then, and whatever `commit` raises.
        """
        until, tries, stale = commit_deadline(self.clock(), deadline), 0, None
        while True:
            tries += 1
            try:
                found = read(stale)
            except Throttled as error:  # a snapshot conflicts with each writer of its items
                unsettled: Unsettled = error
            else:
                outcome = self.commit(planner(found), deadline=until)
                if not (isinstance(outcome, Refused) and outcome.refusal is Refusal.STALE_READ):
                    return outcome
                if tries == 1:
                    stale = outcome
                    continue
                stale, unsettled = replace(outcome, old=None), Contended(outcome.effort)
            wait = backoff_seconds(tries, self.random())
            if self.clock() + wait >= until:
                raise unsettled
            self.sleep(wait)

    def _send(self, plan: Plan, series: int) -> Attempt:
        try:
            if plan.single:
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
                self.recent.learn(plan)
                return Committed(plan.answer, effort)
            case Sign.REFUSED:
                return diagnose(plan, attempt, effort)
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


def _next_token(plan: Plan, sign: Sign, effort: Effort) -> int:
    """1 when the token just used is certainly spent, else 0.

    Once in doubt, a plan without a command record keeps its token, since a late first
    attempt is then recognised by nothing else.
    """
    cancelled = sign in {Sign.CONFLICT, Sign.THROTTLE}
    return int(cancelled and (effort.doubts == 0 or plan.fence is not None))
