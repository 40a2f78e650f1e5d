"""Bulk import: the right rows exist once, the report says what became of each, always."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from holdfast.domain.imports import CHUNKS_PER_PLAN, ROWS_PER_STEP
from holdfast.patterns import keys
from tests.api import ADMIN, SUPERVISOR, Answer, Api, case_body
from tests.scripted import failure
from tests.working import TENANT, Wire, Works, command_of

ROWS = 2000
TAKEN = [f"OLD-{number}" for number in range(5)]
BROKEN = ['{"externalRef": "REG-1"', "[]", "null", "not a row", '{"externalRef": 7']
CSV_HEADER = "externalRef,title,region,priority"


@pytest.fixture
def works(api: Api) -> Works:
    return Works.of(api, budget=1.5)


def send(api: Api, lines: Sequence[str], key: str = "file", content: str = "jsonl") -> Answer:
    headers = {"Content-Type": {"jsonl": "application/jsonl", "csv": "text/csv"}[content]}
    key = f"{key}-{api.table.name}"
    return api.post("/imports", "\n".join(lines), actor=ADMIN, key=key, headers=headers)


def good(number: int) -> str:
    return json.dumps(case_body(f"REG-{number}", region="EU-WEST"))


def spoiled(lines: list[str]) -> dict[int, str]:
    """Make forty rows bad, and say by row number how."""
    bad: dict[int, str] = {}

    def spoil(numbers: range, what: str, texts: Iterator[str]) -> None:
        for number in numbers:
            lines[number - 1] = next(texts)
            bad[number] = what

    malformed = (json.dumps(case_body(f"M-{n}", region="nowhere at all")) for n in range(10))
    nameless = (json.dumps({"externalRef": f"N-{n}"}) for n in range(5))
    spoil(range(17, 1017, 100), "invalid", malformed)
    spoil(range(1033, 1083, 10), "invalid", nameless)
    spoil(range(51, 1801, 180), "invalid", (BROKEN[n % 5] for n in range(10)))
    # Beside the row that has the reference, in other letters; far from it; and of older cases.
    spoil(
        range(1101, 1111, 2),
        "refused",
        (json.dumps(case_body(f" reg-{n - 1} ")) for n in range(1101, 1111, 2)),
    )
    spoil(range(1300, 1800, 100), "refused", (good(n - 1290) for n in range(1300, 1800, 100)))
    spoil(range(1900, 1905), "refused", (json.dumps(case_body(taken)) for taken in TAKEN))
    assert len(bad) == 40
    return bad


def report(api: Api, command_id: str) -> list[dict[str, Any]]:
    """All outcomes, page by page."""
    found, cursor = [], ""
    while cursor is not None:
        page = api.get(f"/commands/{command_id}/rows?limit=100{cursor}", ADMIN).body
        found += page["items"]
        cursor = page["nextCursor"] and f"&cursor={page['nextCursor']}"
    return found


def cases(api: Api) -> dict[str, str]:
    """The ids of all cases by reference."""
    made = [item for item in items(api) if item["SK"]["S"] == "META"]
    assert len({case["externalRef"]["S"] for case in made}) == len(made)
    return {case["externalRef"]["S"]: case["caseId"]["S"] for case in made}


def waiting(api: Api) -> list[Any]:
    return [item for item in items(api) if item["SK"]["S"].startswith("CHUNK#")]


def items(api: Api) -> Iterator[dict[str, Any]]:
    """What tells items apart, and no more: there are many."""
    pages = api.table.client.get_paginator("scan").paginate(
        TableName=api.table.name, ProjectionExpression="PK, SK, externalRef, caseId"
    )
    return (item for page in pages for item in page["Items"])


def assert_right(
    api: Api, works: Works, command_id: str, lines: list[str], bad: dict[int, str]
) -> None:
    """The command ended well, each row has its outcome, and each right one its case."""
    told = works.command(command_id)
    assert (told["status"], told["done"], told["total"]) == ("COMPLETED", len(lines), len(lines))
    outcomes = report(api, command_id)
    assert [outcome["row"] for outcome in outcomes] == list(range(1, len(lines) + 1))
    assert {o["row"]: o["status"] for o in outcomes if o["status"] != "created"} == bad
    counted = Counter(outcome["status"] for outcome in outcomes)
    assert {name: told["result"][name] for name in counted} == counted
    made = cases(api)
    for outcome, line in zip(outcomes, lines, strict=True):
        if outcome["status"] == "created":
            assert made[json.loads(line)["externalRef"]] == outcome["caseId"]
        elif outcome["status"] == "refused":
            assert outcome["code"] == "already-exists"
        else:
            assert outcome["errors"]


def test_a_large_file_with_bad_rows_killed_twice_and_sent_again(api: Api, works: Works) -> None:
    lines = [good(number) for number in range(1, ROWS + 1)]
    bad = spoiled(lines)
    for taken in TAKEN:
        assert api.case(taken, actor=SUPERVISOR).status == 201
    command_id = command_of(send(api, lines))
    works.wire.kill(200, before=True)
    works.wire.kill(420, before=False)
    seen: list[int] = []
    works.wire.landed = lambda: seen.append(works.command(command_id)["done"])
    works.drain(command_id)
    assert works.deaths == 2
    assert seen == sorted(seen)
    assert_right(api, works, command_id, lines, bad)
    before = cases(api)
    assert len(before) == ROWS - len(bad) + len(TAKEN)

    assert send(api, lines).headers["Idempotency-Replayed"] == "true"
    again = command_of(send(api, lines, key="again"))
    works.wire.landed = lambda: None
    works.drain(again)
    assert_right(api, works, again, lines, bad)
    assert len(cases(api)) == len(before)
    counted = api.get("/counters/intake?region=EU-WEST").body
    assert counted["count"] == ROWS - len(bad) + len(TAKEN)
    assert waiting(api) == []


def test_one_file_under_two_keys_at_once_makes_each_row_once(api: Api, works: Works) -> None:
    lines = [good(number) for number in range(60)]
    first, second = (command_of(send(api, lines, key=key)) for key in ("one", "two"))
    other = Works.of(api)
    chance = random.Random(7)
    other.accepted(second)
    for number in chance.sample(range(1, 20), 6):
        works.wire.before[number] = lambda: other.queue.waiting and other.deliver()
    works.drain(first)
    other.drain()
    for command_id in (first, second):
        assert_right(api, works, command_id, lines, {})
    assert len(cases(api)) == 60


def test_a_file_sent_again_when_its_commands_are_forgotten_makes_nothing_twice(
    api: Api, works: Works
) -> None:
    lines = [good(number) for number in range(5)]
    works.drain(command_of(send(api, lines)))
    client, name = api.table.client, api.table.name
    for item in api.items():
        if item["SK"]["S"] == "COMMAND":
            client.delete_item(TableName=name, Key={"PK": item["PK"], "SK": item["SK"]})
    again = command_of(send(api, lines, key="again"))
    works.drain(again)
    assert_right(api, works, again, lines, {})
    assert len(cases(api)) == 5


def test_the_case_of_a_bad_row_is_made_when_its_row_is_right_in_another_file(
    api: Api, works: Works
) -> None:
    works.drain(command_of(send(api, [good(1), "broken", good(3)])))
    second = command_of(send(api, [good(1), good(2), good(3)], key="corrected"))
    works.drain(second)
    statuses = [outcome["status"] for outcome in report(api, second)]
    assert statuses == ["refused", "created", "refused"]
    assert len(cases(api)) == 3


def test_lines_of_csv_are_judged_each_for_itself(api: Api, works: Works) -> None:
    """An open quote, a long field or a missing column spoils its own line and no other."""
    lines = [
        CSV_HEADER,
        'REG-1,"Dust, and noise",EU-WEST,HIGH',
        'REG-2,"Open,EU-WEST,HIGH',
        "REG-3,Dust,EU-WEST",
        "",
        f"REG-4,{'x' * 200_000},EU-WEST,HIGH",
        "REG-5,Dust,EU-WEST,URGENT",
        'REG-6,"Say ""dust""",EU-WEST,LOW\r',
    ]
    command_id = command_of(send(api, lines, content="csv"))
    works.drain(command_id)
    outcomes = report(api, command_id)
    assert [(one["row"], one["status"]) for one in outcomes] == [
        (1, "created"),
        (2, "invalid"),
        (3, "invalid"),
        (4, "invalid"),
        (5, "invalid"),
        (6, "created"),
    ]
    titles = {
        reference: api.get(f"/cases/{case_id}").body["title"]
        for reference, case_id in cases(api).items()
    }
    assert titles == {"REG-1": "Dust, and noise", "REG-6": 'Say "dust"'}


@pytest.mark.parametrize(
    ("lines", "content"),
    [([""], "jsonl"), ([CSV_HEADER], "csv"), (["a,b"], "csv"), (['"'], "csv"), ([""], "csv")],
)
def test_a_file_without_rows_or_header_is_422(api: Api, lines: list[str], content: str) -> None:
    answer = send(api, lines, content=content)
    assert (answer.status, answer.code) == (422, "validation-failed")


def test_a_row_with_a_field_of_any_name_is_told_in_few_words(api: Api, works: Works) -> None:
    strange = json.dumps({**case_body(), **{f"{'x' * 500}{n}": 1 for n in range(50)}})
    command_id = command_of(send(api, [strange] * 30))
    works.drain(command_id)
    errors = report(api, command_id)[0]["errors"]
    assert len(errors) == 5
    assert max(len(error["path"]) for error in errors) == 64


def test_rows_of_a_file_that_was_not_accepted_are_not_taken_for_those_of_another(
    api: Api, works: Works
) -> None:
    """The first request dies after its rows are put down; its key then brings another file."""
    lost, sent = [good(number) for number in range(3)], [good(number) for number in range(7, 9)]
    client = api.table.client
    api.table.client = wire = Wire(client)
    api.table.clock = works.clock
    wire.before.update(dict.fromkeys(range(2, 400), throttled))
    assert send(api, lost).status == 503
    api.table.client = client
    command_id = command_of(send(api, sent))
    works.drain(command_id)
    assert set(cases(api)) == {"REG-7", "REG-8"}
    assert_right(api, works, command_id, sent, {})


def throttled() -> None:
    raise failure("ThrottlingException")


def test_the_rows_of_an_accepted_import_are_put_down_once(api: Api, works: Works) -> None:
    """A retry while it runs, and after it was given up, brings back no personal text."""
    lines = [good(number) for number in range(30)]
    command_id = command_of(send(api, lines))
    works.wire.kill(8, before=False)
    works.accepted(command_id)
    works.deliver()
    works.queue.waiting.clear()
    assert len(waiting(api)) == 1
    assert send(api, lines).code == "command-in-progress"
    while works.later(200) or works.sweep():
        works.queue.waiting.clear()
    assert send(api, lines).status == 202
    assert len(waiting(api)) == 1
    works.drain(command_id)
    assert_right(api, works, command_id, lines, {})
    assert waiting(api) == []


def test_an_import_whose_rows_are_gone_says_how_far_it_came(api: Api, works: Works) -> None:
    lines = [good(number) for number in range(30)]
    command_id = command_of(send(api, lines))
    [gone] = [item for item in waiting(api) if item["SK"]["S"].endswith("#000013")]
    api.table.client.delete_item(TableName=api.table.name, Key=gone)
    works.drain(command_id)
    told = works.command(command_id)
    assert (told["status"], told["done"]) == ("FAILED_FINAL", ROWS_PER_STEP)
    assert (told["result"]["created"], told["result"]["left"]) == (12, 18)
    works.drain(command_of(send(api, lines, key="again")))
    assert len(cases(api)) == 30


def test_a_file_of_many_chunks_is_put_down_in_few_transactions(api: Api) -> None:
    rows = ROWS_PER_STEP * CHUNKS_PER_PLAN + 1
    wire = Wire(api.table.client)
    api.table.client = wire
    command_id = command_of(send(api, ["broken"] * rows))
    assert wire.calls == ["transact_write_items"] * 3
    partition = keys.import_rows(TENANT, command_id, 1).pk
    assert len(list(api.table.partition(partition, "CHUNK#"))) == CHUNKS_PER_PLAN + 1


def test_the_report_is_for_its_caller_and_for_administrators(api: Api) -> None:
    command_id = command_of(send(api, [good(1)]))
    for path in (f"/commands/{command_id}", f"/commands/{command_id}/rows"):
        assert api.get(path, SUPERVISOR).status == 404
