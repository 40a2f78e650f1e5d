"""No SDK at all: one kept connection, a cached signing key, JSON. What a client must cost."""

import hashlib
import hmac
import json
import os
import uuid
from datetime import UTC, datetime
from http.client import HTTPConnection
from urllib.parse import urlsplit

from expressions import ABSENT, of_change
from work import Put, handler_of

TABLE, REGION = os.environ["TABLE_NAME"], os.environ["AWS_DEFAULT_REGION"]
HOST = urlsplit(os.environ["AWS_ENDPOINT_URL_DYNAMODB"]).netloc
ACCESS, SECRET = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
TARGET = "DynamoDB_20120810.TransactWriteItems"
connection = HTTPConnection(HOST, timeout=300)
keys = {}


def typed(value):
    if isinstance(value, str):
        return {"S": value}
    return {"N": str(value)} if isinstance(value, int) else {"M": typed_item(value)}


def typed_item(item):
    return {name: typed(value) for name, value in item.items()}


def member(write):
    if isinstance(write, Put):
        item = typed_item(write.whole)
        return {"Put": {"TableName": TABLE, "Item": item, "ConditionExpression": ABSENT}}
    update, condition, names, values = of_change(write)
    return {
        "Update": {
            "TableName": TABLE,
            "Key": typed_item({"PK": write.key[0], "SK": write.key[1]}),
            "UpdateExpression": update,
            "ConditionExpression": condition,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": typed_item(values),
        }
    }


def signed(body):
    at = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{at[:8]}/{REGION}/dynamodb/aws4_request"
    names = "host;x-amz-date;x-amz-target"
    head = f"host:{HOST}\nx-amz-date:{at}\nx-amz-target:{TARGET}\n"
    request = f"POST\n/\n\n{head}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{at}\n{scope}\n{digest}"
    signature = hmac.new(key_of(scope), text.encode(), hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Date": at,
        "X-Amz-Target": TARGET,
        "Authorization": f"AWS4-HMAC-SHA256 Credential={ACCESS}/{scope}, "
        f"SignedHeaders={names}, Signature={signature}",
    }


def key_of(scope):
    if scope not in keys:
        key = f"AWS4{SECRET}".encode()
        for part in scope.split("/"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        keys[scope] = key
    return keys[scope]


def write(writes):
    members = [member(write) for write in writes]
    body = json.dumps({"TransactItems": members, "ClientRequestToken": str(uuid.uuid4())}).encode()
    connection.request("POST", "/", body, signed(body))
    answer = connection.getresponse()
    told = answer.read()
    if answer.status != 200:
        raise RuntimeError(told[:200])


handler = handler_of(write)
