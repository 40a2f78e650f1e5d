"""A small world of cases, tasks and orders: the events of its lives, and what they come to."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from holdfast.patterns import keys
from holdfast.writes.codec import encode_item
from holdfast.writes.plan import Key

Record = dict[str, Any]

NEXT = {
    "OPEN": ["UNDER_REVIEW"],
    "UNDER_REVIEW": ["APPROVED", "REJECTED"],
    "APPROVED": ["CLOSED"],
    "REJECTED": ["CLOSED", "OPEN"],
    "CLOSED": ["redacted"],
}
OFFICERS, REGIONS = ("o-1", "o-2"), ("EU", "US")


@dataclass
class World:
    """Events of a few cases, tasks and orders, and what their ends count for."""

    tenant: str
    chance: random.Random
    records: list[Record] = field(default_factory=list)
    expected: dict[str, Counter[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lives = [self._case(f"c{n}") for n in range(5)]
        lives += [self._task(f"c{n}", f"k{n}") for n in range(3)]
        lives += [self._order(f"r{n}") for n in range(3)]
        while lives:
            life = self.chance.choice(lives)
            if next(life, None) is None:
                lives.remove(life)

    def _case(self, case_id: str) -> Iterator[bool]:
        owner = keys.case(self.tenant, case_id)
        region, status, officer = self.chance.choice(REGIONS), "OPEN", None
        created = {"region": region, "status": status, "title": "Dust", "priority": "LOW"}
        yield self._emit(owner, 1, "CaseCreated", created)
        version = 1
        while status != "redacted" and self.chance.random() < 0.85:
            version += 1
            before, case = officer, self.chance.random()
            if case < 0.3 and status != "CLOSED":
                officer = self.chance.choice(OFFICERS)
                moved = {"officerId": officer, "fromOfficerId": before or ""}
                yield self._emit(owner, version, "CaseTransferred", moved)
            elif case < 0.4:
                yield self._emit(owner, version, "CaseEdited", {"title": "Soot"})
            else:
                was, status = status, self.chance.choice(NEXT[status])
                data = {"redacted": True} if status == "redacted" else {"status": status}
                yield self._emit(owner, version, f"Case{status}", {**data, "was": was})
        if status != "redacted":
            self._counts("cases-by-status", status)
            self._counts("cases-by-region", region)
            self._counts("cases-by-officer", officer)

    def _task(self, case_id: str, task_id: str) -> Iterator[bool]:
        owner = keys.task(keys.case(self.tenant, case_id), task_id)
        yield self._emit(owner, 1, "TaskOpened", {"caseId": case_id})
        if self.chance.random() < 0.5:
            yield self._emit(owner, 2, "TaskClosed", {"caseId": case_id})
        else:
            self._counts("open-tasks", "OPEN")

    def _order(self, order_id: str) -> Iterator[bool]:
        owner, total = keys.order(self.tenant, order_id), self.chance.randint(1, 10**9)
        yield self._emit(owner, 1, "OrderPlaced", {"total": total, "currency": "EUR"})
        if self.chance.random() < 0.3:
            yield self._emit(owner, 2, "OrderCancelled", {"status": "CANCELLED"})
        else:
            self._counts("order-value", "2030-01-02/EUR", total)

    def _counts(self, name: str, key: str | None, amount: int = 1) -> None:
        if key is not None:
            self.expected.setdefault(name, Counter())[key] += amount

    def _emit(self, owner: Key, version: int, kind: str, data: dict[str, Any]) -> bool:
        self.records.append(record_of(owner, version, kind, data, number=len(self.records)))
        return True

    def write_trail(self, client: Any, table_name: str) -> None:
        """The trail as the commands would have left it; storms deliver it from memory."""
        puts = [{"PutRequest": {"Item": one["dynamodb"]["NewImage"]}} for one in self.records]
        for start in range(0, len(puts), 25):
            client.batch_write_item(RequestItems={table_name: puts[start : start + 25]})


def record_of(
    owner: Key, version: int, kind: str, data: dict[str, Any], *, number: int = 0, **more: Any
) -> Record:
    """The stream record of a new audit event."""
    key = keys.event(owner, version)
    image = {
        **key.attributes,
        "eventId": f"e-{number}",
        "type": kind,
        "at": f"2030-01-02T03:04:{number % 60:02d}.000Z",
        "actor": "o-1",
        "tenant": owner.pk.split("#")[1],
        "version": version,
        "data": data,
        "owner": owner.sk,
        "commandId": f"{number:032x}",
        **more,
    }
    return {
        "eventName": "INSERT",
        "eventSource": "aws:dynamodb",
        "dynamodb": {
            "Keys": encode_item(key.attributes),
            "NewImage": encode_item(image),
            "SequenceNumber": f"{number:021d}",
            "ApproximateCreationDateTime": 1_893_553_445 + number,
        },
    }
