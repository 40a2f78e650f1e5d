"""What a role may do, judged from its synthesized policy as IAM does: no statement, no access.

Only what our policies say is understood: Allow statements with exact actions, resources by the
name that a template gives them, and three kinds of conditions. Anything else is an error, so
that no statement is taken for stricter or wider than it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

Statement = Mapping[str, Any]
LEADING, ENCLOSING = "dynamodb:LeadingKeys", "dynamodb:EnclosingOperation"
WRITES = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
SINGLE = {"GetItem", "PutItem", "UpdateItem", "DeleteItem"}
QUEUE_ACTIONS = {
    "SendMessage": "SendMessage",
    "SendMessageBatch": "SendMessage",
    "ChangeMessageVisibility": "ChangeMessageVisibility",
    "ChangeMessageVisibilityBatch": "ChangeMessageVisibility",
}


@dataclass(frozen=True)
class Call:
    """One action as IAM sees it; a transaction is one for each of its items."""

    action: str
    resource: str
    leading_keys: tuple[str, ...] = ()
    enclosing: str | None = None


def calls_of(service: str, operation: str, params: Mapping[str, Any]) -> Iterator[Call]:
    """What IAM is asked about one request of the SDK."""
    if service == "sqs":
        queue = params["QueueUrl"].rpartition("/")[2].removesuffix(".fifo")
        yield Call(f"sqs:{QUEUE_ACTIONS[operation]}", f"queue/{queue}")
    elif service == "secrets-manager":
        yield Call(f"secretsmanager:{operation}", "secret")
    elif service == "dynamodb":
        yield from _item_calls(operation, params)
    else:
        raise AssertionError(f"{service}:{operation} is a request that no policy here knows")


def _item_calls(operation: str, params: Mapping[str, Any]) -> Iterator[Call]:
    if operation in {"TransactWriteItems", "TransactGetItems"}:
        for entry in params["TransactItems"]:
            ((kind, item),) = entry.items()
            action = WRITES.get(kind, "GetItem")
            yield Call(f"dynamodb:{action}", "table", (_key(item),), operation)
    elif operation == "BatchGetItem":
        for asked in params["RequestItems"].values():
            yield Call("dynamodb:BatchGetItem", "table", tuple(map(_partition, asked["Keys"])))
    elif operation in SINGLE:
        yield Call(f"dynamodb:{operation}", "table", (_key(params),))
    elif operation == "Query" and "IndexName" in params:
        yield Call("dynamodb:Query", f"table/index/{params['IndexName']}")
    elif operation == "Query":
        yield Call("dynamodb:Query", "table", (_queried(params),))
    else:
        yield Call(f"dynamodb:{operation}", "table")


def _key(request: Mapping[str, Any]) -> str:
    return _partition(request.get("Key") or request["Item"])


def _partition(key: Mapping[str, Any]) -> str:
    return str(key["PK"]["S"])


def _queried(params: Mapping[str, Any]) -> str:
    """The partition that a query names."""
    found = re.search(r"(#?\w+)\s*=\s*(:\w+)", params["KeyConditionExpression"])
    assert found is not None
    name = params.get("ExpressionAttributeNames", {}).get(found[1], found[1])
    assert name == "PK"
    return str(params["ExpressionAttributeValues"][found[2]]["S"])


def allowed(statements: Sequence[Statement], call: Call) -> bool:
    """True if any statement allows the call; there is no other way to be allowed."""
    return any(_allows(statement, call) for statement in statements)


def _allows(statement: Statement, call: Call) -> bool:
    assert statement["Effect"] == "Allow"
    return (
        call.action in _listed(statement["Action"])
        and call.resource in {resource_name(one) for one in _listed(statement["Resource"])}
        and all(
            _holds(operator, name, wanted, call)
            for operator, conditions in statement.get("Condition", {}).items()
            for name, wanted in conditions.items()
        )
    )


def _holds(operator: str, name: str, wanted: Any, call: Call) -> bool:
    match operator, name:
        case "ForAllValues:StringLike", "dynamodb:LeadingKeys":
            patterns = _listed(wanted)
            return all(any(fnmatchcase(key, one) for one in patterns) for key in call.leading_keys)
        case "Null", "dynamodb:LeadingKeys":
            return wanted == "false" and bool(call.leading_keys)
        case "ForAnyValue:StringEquals", "dynamodb:EnclosingOperation":
            return call.enclosing in _listed(wanted)
    raise AssertionError(f"a condition that is not understood: {operator} {name}")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def resource_name(resource: Any) -> str:
    """A resource of a template by our own name for it."""
    text = json.dumps(resource)
    index = re.search(r"/index/([\w-]+)", text)
    if index:
        return f"table/index/{index[1]}"
    if re.search(r"Table\w*Arn", text):
        return "table"
    queue = re.search(r'"queue/([\w-]+)"', text)
    if queue:
        return f"queue/{queue[1]}"
    return "secret" if "Secret" in text else text


def with_queue_names(statements: Sequence[Statement], queues: Mapping[str, str]) -> list[Statement]:
    """The statements with queues by the names of `queues`, which are by logical id."""
    text = json.dumps(statements)
    for logical, name in queues.items():
        arn = json.dumps({"Fn::GetAtt": [logical, "Arn"]})
        text = text.replace(arn, json.dumps(f"queue/{name}"))
    return list(json.loads(text))
