"""The judge: what must hold of a table after anything at all, checked by plain reads.

It is written a second time on purpose. It knows keys as strings and items as attributes, and
nothing of the code that wrote them; reconciliation checks the same things from the inside, so
the one can check the other. Each rule yields a sentence for everything that is wrong.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

from tests.faults.evidence import Evidence, Item

STUCK_MS = 120_000
SILENT = ("/leases", "/redrives", "/external-ref", "/email")
"""Operations that may be done and leave no event: leases, redrives, renames to the same."""


def command_id(record: Item) -> str:
    return str(record["PK"].split("#")[2])


def one_effect(seen: Evidence) -> Iterator[str]:
    """A command id has one effect, if it was done, and none if it was not."""
    for event, times in Counter(
        (e["commandId"], e["PK"], e["owner"], e["type"]) for e in seen.events
    ).items():
        if times > 1:
            yield f"{event} happened {times} times"
    records = {command_id(record): record for record in seen.of("IDEMPOTENCY#")}
    for unknown in seen.by_command.keys() - records.keys():
        yield f"command {unknown} has events and no record"
    for one, record in records.items():
        if "workflow" not in record:
            yield from _effect(record, seen.by_command.get(one, []))
    leases = Counter(
        record["response"]["body"].split('"caseId":"')[1].split('"')[0]
        for record in records.values()
        if record["status"] == "COMPLETED" and record["operation"] == "POST /cases/{caseId}/leases"
    )
    for lock in seen.of("WORK#"):
        case = lock["PK"].split("#")[2]
        if lock["version"] != leases[case]:
            yield f"{lock['PK']} has fencing number {lock['version']} of {leases[case]} leases"


def _effect(record: Item, events: Sequence[Item]) -> Iterator[str]:
    done, silent = record["status"] == "COMPLETED", record["operation"].endswith(SILENT)
    if silent or "/leases/" in record["operation"]:
        allowed = {0, 1} if done else {0}
    else:
        allowed = {int(done)}
    if len(events) not in allowed:
        yield f"{record['PK']} is {record['status']} and has {len(events)} events"


def equal_answers(seen: Evidence) -> Iterator[str]:
    """Equal requests have equal final answers, which are those on record."""
    for one, told in seen.answers.items():
        final = [a for a in told if a.status < 500 and a.code != "command-in-progress"]
        yield from (f"{one} was answered {a.status} {a.code}" for a in told if a.status == 500)
        if len({(answer.status, answer.text) for answer in final}) > 1:
            yield f"{one} has answers {[(a.status, a.text[:80]) for a in final]}"
        records = [record for record in seen.of("IDEMPOTENCY#") if command_id(record) == one]
        if final and not records:
            yield f"{one} was answered {final[0].status} and is not on record"
        for record in records if final else ():
            stored = record.get("response", {})
            if (stored.get("status"), stored.get("body")) != (final[0].status, final[0].text):
                yield f"{one} was answered {final[0].status}, on record is {stored}"
            elif record["responseHash"] != hashlib.sha256(final[0].text.encode()).hexdigest():
                yield f"{one} has another answer's hash"


def dense_trails(seen: Evidence) -> Iterator[str]:
    """An owner's history has every version from 1 to its own."""
    trails = defaultdict(list)
    for event in seen.events:
        trails[event["PK"], event["owner"]].append(int(event["version"]))
        if event["SK"] != f"EVENT#{event['owner']}#{event['version']:0>10}":
            yield f"{event['PK']} {event['SK']} says version {event['version']}"
    for (pk, owner), versions in trails.items():
        if sorted(versions) != list(range(1, len(versions) + 1)):
            yield f"{pk} {owner} has a trail of {sorted(versions)}"
    for item in seen.items:
        tracked = item["SK"] in {"META", "PROFILE"} or item["SK"].startswith(
            ("TASK#", "ENFORCEMENT#")
        )
        if tracked and int(item["version"]) != len(trails[item["PK"], item["SK"]]):
            trail = trails[item["PK"], item["SK"]]
            yield f"{item['PK']} {item['SK']} is at {item['version']} with a trail of {trail}"


def outbox_is_audit(seen: Evidence) -> Iterator[str]:
    """Every event waits or waited to be announced, nothing else does, and order is kept."""
    entries = {e["eventId"]: e for e in seen.of("OUTBOX#") if e.get("channel") != "workflows"}
    trail = {event["eventId"]: event for event in seen.events}
    yield from (f"event {one} is not in the outbox" for one in trail.keys() - entries.keys())
    yield from (f"entry {one} has no event" for one in entries.keys() - trail.keys())
    for one in entries.keys() & trail.keys():
        entry, event = entries[one], trail[one]
        aggregate = f"{event['PK']}#{event['owner']}"
        same = all(entry[name] == event[name] for name in ("type", "version", "data", "at"))
        if entry["aggregate"] != aggregate or not same:
            yield f"entry {one} is not what its event says"
        waits = "outboxState" in entry
        if waits == (entry["status"] == "PUBLISHED"):
            yield f"entry {one} is {entry['status']} and {'' if waits else 'not '}listed"
    versions: dict[str, list[int]] = defaultdict(list)
    for message in seen.messages:
        if message["eventId"] not in trail and message["type"] != "CommandAdvanced":
            yield f"{message['eventId']} was announced and never happened"
        first = versions[message["aggregate"]]
        if message["version"] not in first:
            if first and message["version"] != first[-1] + 1:
                yield f"{message['aggregate']} was announced {message['version']} after {first}"
            first.append(message["version"])
    sent = {message["eventId"] for message in seen.messages}
    for one, entry in entries.items():
        if entry["status"] == "PUBLISHED" and one not in sent and "messageId" in entry:
            yield f"entry {one} is PUBLISHED and was never sent"


def money(seen: Evidence) -> Iterator[str]:
    """A balance is the sum of its dense ledger, and an order is one debit, and one refund."""
    entries = seen.of("WALLET#", "ENTRY#")
    for one, times in Counter(entry["commandId"] for entry in entries).items():
        if times > 1:
            yield f"command {one} moved money {times} times"
    for wallet in seen.of("WALLET#", "BALANCE"):
        mine = sorted((e for e in entries if e["PK"] == wallet["PK"]), key=lambda e: e["version"])
        if [e["version"] for e in mine] != list(range(1, int(wallet["version"]) + 1)):
            yield f"{wallet['PK']} is at {wallet['version']} of {len(mine)} entries"
        if [e["balance"] for e in mine] != list(accumulate(e["amount"] for e in mine)):
            yield f"{wallet['PK']} has entries that do not follow from each other"
        if wallet["balance"] != sum(e["amount"] for e in mine) or wallet["balance"] < 0:
            yield f"{wallet['PK']} holds {wallet['balance']}"
    for order in seen.of("ORDER#", "META"):
        amounts = sorted(e["amount"] for e in entries if e.get("orderId") == order["orderId"])
        back = [order["total"]] if order["status"] == "CANCELLED" else []
        if amounts != [-order["total"], *back]:
            yield f"{order['PK']} is {order['status']} with movements {amounts}"
    ordered = {order["orderId"] for order in seen.of("ORDER#", "META")}
    yield from (
        f"a movement for no order: {e}"
        for e in entries
        if e.get("orderId", "") not in {"", *ordered}
    )


def stock(seen: Evidence) -> Iterator[str]:
    """What came in is on the shards or was taken by an order that stands."""
    for product in seen.of("PRODUCT#", "META"):
        shards = seen.of(product["PK"], "STOCK#")
        came = sum(
            event["data"].get("quantity", event["data"].get("stock", 0))
            for event in seen.of(product["PK"], "EVENT#")
        )
        orders = [order for order in seen.of("ORDER#", "META") if order["status"] == "PLACED"]
        gone = sum(sum(order["taken"].get(product["sku"], {}).values()) for order in orders)
        left = sum(shard["units"] for shard in shards)
        if left + gone != came or min(shard["units"] for shard in shards) < 0:
            yield f"{product['PK']}: {came} came, {gone} went, {left} are left"
    for order in seen.of("ORDER#", "META"):
        for line in order["lines"]:
            if sum(order["taken"][line["sku"]].values()) != line["quantity"]:
                yield f"{order['PK']} took {order['taken']} for {line}"


def guards(seen: Evidence) -> Iterator[str]:
    """Guards, loads and counters count what is there, and stay within their limits."""
    cases = seen.of("CASE#", "META")
    for case in cases:
        pk = case["PK"]
        tasks = [t for t in seen.of(pk, "TASK#") if t["status"] == "OPEN"]
        active = [
            e["enforcementId"] for e in seen.of(pk, "ENFORCEMENT#") if e["status"] == "ACTIVE"
        ]
        held = seen.at.get((pk, "ACTIVE_ENFORCEMENT_GUARD"), {}).get("enforcementId")
        counts = {
            ("INVESTIGATOR_GUARD", "activeCount"): len(seen.of(pk, "INVESTIGATOR#")),
            ("TASK_GUARD", "openCount"): len(tasks),
            ("META", "noteCount"): len(seen.of(pk, "NOTE#")),
        }
        for (sk, name), count in counts.items():
            if seen.at.get((pk, sk), {}).get(name, 0) != count:
                yield f"{pk} {sk} counts {seen.at.get((pk, sk))}, not {count}"
        if active != ([held] if held else []) or counts["INVESTIGATOR_GUARD", "activeCount"] > 3:
            yield f"{pk} has enforcements {active} under {held}, or too many investigators"
    for load in seen.of("OFFICER#", "WORKLOAD"):
        tenant, officer = load["PK"].split("#")[1:]
        theirs = [c for c in cases if (_tenant(c), c.get("officerId")) == (tenant, officer)]
        opened = sum(case["status"] != "CLOSED" for case in theirs)
        if load["activeLoad"] != opened or opened > load["maxLoad"]:
            yield f"{load['PK']} counts {load['activeLoad']} of {opened}, at most {load['maxLoad']}"
    intake = Counter((_tenant(case), case["region"]) for case in cases)
    counted: Counter[tuple[str, str]] = Counter()
    for shard in seen.of("COUNTER#", "SHARD#"):
        counted[_tenant(shard), shard["PK"].split("#")[3]] += int(shard["count"])
    if +intake != +counted:
        yield f"intake counts {dict(counted)}, not {dict(intake)}"


def sentinels(seen: Evidence) -> Iterator[str]:
    """A sentinel stands for each unique value, and for nothing else."""
    found = {item["PK"]: item["ownerId"] for item in seen.of("UNIQUE#")}
    due = {
        _sentinel(_tenant(case), "CASE_REF", case["externalRef"]): case["caseId"]
        for case in seen.of("CASE#", "META")
        if "externalRef" in case
    } | {
        _sentinel(_tenant(officer), "EMAIL", officer["email"]): officer["officerId"]
        for officer in seen.of("OFFICER#", "PROFILE")
    }
    redacted = {case["caseId"] for case in seen.of("CASE#", "META") if case.get("redacted")}
    for pk in found.keys() | due.keys():
        if found.get(pk) != due.get(pk) and found.get(pk) not in redacted:
            yield f"{pk} is held by {found.get(pk)}, and should be by {due.get(pk)}"


def nothing_stuck(seen: Evidence) -> Iterator[str]:
    """No command is in progress that made none for two minutes; each call is written down."""
    for record in seen.of("IDEMPOTENCY#"):
        idle = seen.now_ms - int(record.get("progressAt", 0))
        if record["status"] == "IN_PROGRESS" and idle > STUCK_MS:
            yield f"{record['PK']} is in progress and idle for {idle} ms"
        if (
            record["status"] == "COMPLETED"
            and "total" in record
            and record["done"] != record["total"]
        ):
            yield f"{record['PK']} is done with {record['done']} of {record['total']}"
    for operation, calls in seen.calls.items():
        ledger = seen.at.get((f"SIDE_EFFECT#webhook#{operation}", "RESULT"))
        written = int(ledger["attempts"]) if ledger else 0
        if calls > written:
            yield f"operation {operation} was called {calls} times, {written} are written down"


def projections(seen: Evidence) -> Iterator[str]:
    """The projections are what a count of the cases says, and no mark is ahead of its trail."""
    if not seen.counted:
        return
    expected: Counter[tuple[str, str, str]] = Counter()
    for case in seen.of("CASE#", "META"):
        for name in ("status", "region", "officerId") if not case.get("redacted") else ():
            if name in case:
                book = f"cases-by-{name.removesuffix('Id')}"
                expected[_tenant(case), book, case[name]] += 1
    found: Counter[tuple[str, str, str]] = Counter()
    for item in seen.of("PROJECTION#"):
        tenant, name = item["PK"].split("#")[1:]
        if "count" in item and name.startswith("cases-by-"):
            found[tenant, name, item["SK"].rpartition("#")[0]] += int(item["count"])
    if expected != Counter({key: count for key, count in found.items() if count}):
        yield f"projections count {dict(found)}, not {dict(expected)}"


def _tenant(item: Item) -> str:
    return str(item["PK"].split("#")[1])


def _sentinel(tenant: str, kind: str, value: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", value).strip().casefold())
    return f"UNIQUE#{tenant}#{kind}#v1#{folded.strip()}"


RULES: tuple[Callable[[Evidence], Iterable[str]], ...] = (
    one_effect,
    equal_answers,
    dense_trails,
    outbox_is_audit,
    money,
    stock,
    guards,
    sentinels,
    nothing_stuck,
    projections,
)


def judge(seen: Evidence) -> list[str]:
    """Everything that is wrong, each under the name of its rule; nothing is the good answer."""
    return [f"{rule.__name__}: {fault}" for rule in RULES for fault in rule(seen)]
