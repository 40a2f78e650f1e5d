"""The two jobs as plain data: what every peer writes, whatever it writes it with.

A case is created by four items and its command's record; a submission changes the case and
adds an audit event, an outbox entry and the record. Standard library only.
"""

import hashlib
import json
from datetime import UTC, datetime, timedelta

TENANT = "acme"


class Put:
    """An item whose key must be free."""

    def __init__(self, key, item):
        self.key, self.item = key, item

    @property
    def whole(self):
        return {"PK": self.key[0], "SK": self.key[1], **self.item}


class Change:
    """A change of the case, if it is as its officer saw it."""

    def __init__(self, key, new, expected):
        self.key, self.new, self.expected = key, new, expected


def handler_of(write, *, remembers=True):
    """A Lambda handler of both jobs, around a function that commits writes.

    With `remembers` the command's record is one of the writes.
    """

    def handler(event, context):
        body = json.loads(event["body"])
        writes = [] if not remembers else [record(event)]
        if event["path"] == "/cases":
            answer, changes = create_case(event, body)
            write([*writes, *changes])
            return {"statusCode": 201, "body": json.dumps(answer)}
        answer, changes = submit(event, body)
        write([*writes, *changes])
        return {"statusCode": 200, "body": json.dumps(answer)}

    return handler


def create_case(event, body):
    """The answer and the writes of `POST /cases`."""
    at, case_id = now(), derived(event, "case")
    key = (f"CASE#{TENANT}#{case_id}", "META")
    case = {
        "caseId": case_id,
        "externalRef": body["externalRef"],
        "title": body["title"],
        "region": body["region"],
        "priority": body["priority"],
        "status": "OPEN",
        "version": 1,
        "createdAt": at,
        "createdBy": "o-1",
    }
    reference = body["externalRef"].strip().casefold()
    sentinel = (f"UNIQUE#{TENANT}#CASE_REF#v1#{reference}", "UNIQUE")
    data = {name: case[name] for name in ("region", "priority", "status", "title")}
    writes = [
        Put(key, {**case, **listed(case, at), "noteCount": 0}),
        Put(sentinel, {"ownerId": case_id, "original": body["externalRef"]}),
        *facts(event, key, 1, "CaseCreated", data, at),
    ]
    return case, writes


def submit(event, body):
    """The answer and the writes of `POST /cases/{caseId}/submissions`."""
    at, case_id = now(), event["path"].split("/")[2]
    key, version = (f"CASE#{TENANT}#{case_id}", "META"), body["expectedVersion"]
    new = {
        "status": "UNDER_REVIEW",
        "reviewerId": body["reviewerId"],
        "submittedAt": at,
        "byStatus": f"{TENANT}#UNDER_REVIEW",
        "version": version + 1,
    }
    expected = {"officerId": "o-1", "status": "OPEN", "version": version}
    data = {"reviewerId": body["reviewerId"], "status": "UNDER_REVIEW"}
    writes = [
        Change(key, new, expected),
        *facts(event, key, version + 1, "CaseSubmittedForReview", data, at),
    ]
    return {"caseId": case_id, "status": "UNDER_REVIEW", "version": version + 1}, writes


def record(event):
    """The command's record, for those who write it in the transaction."""
    expires = int((datetime.now(UTC) + timedelta(hours=24)).timestamp())
    item = {"status": "COMPLETED", "requestHash": digest(event["body"]), "expiresAt": expires}
    return Put((f"IDEMPOTENCY#{TENANT}#{command_id(event)}", "COMMAND"), item)


def facts(event, key, version, kind, data, at):
    """The audit event and the outbox entry of one change."""
    name = "#".join(key)
    fact = {
        "eventId": derived(event, f"event|{version}"),
        "type": kind,
        "at": at,
        "actor": "o-1",
        "tenant": TENANT,
        "version": version,
        "data": data,
    }
    shard = int(digest(name)[:4], 16) % 16
    waiting = {
        "aggregate": name,
        "status": "NEW",
        "attempts": 0,
        "outboxState": f"PENDING#{shard:02d}",
        "outboxSort": f"{at}#{name}",
    }
    outbox = (f"OUTBOX#{at[:10]}#{shard:02d}", f"EVENT#{name}#{version:010d}")
    trail = {**fact, "owner": key[1], "commandId": command_id(event)}
    return [
        Put((key[0], f"EVENT#{key[1]}#{version:010d}"), trail),
        Put(outbox, {**fact, **waiting}),
    ]


def listed(case, at):
    return {
        "byStatus": f"{TENANT}#OPEN",
        "byRegion": f"{TENANT}#{case['region']}",
        "listedAt": f"{at}#{case['caseId']}",
    }


def command_id(event):
    return digest(f"{TENANT}|{event['path']}|{event['headers']['Idempotency-Key']}")[:32]


def derived(event, purpose):
    return digest(f"{command_id(event)}|{purpose}")[:26]


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def now():
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
