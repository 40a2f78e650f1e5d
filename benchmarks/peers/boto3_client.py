"""boto3's low-level client, and its serializer."""

import os
import uuid

import boto3
from boto3.dynamodb.types import TypeSerializer
from expressions import ABSENT, of_change
from work import Put, handler_of

TABLE = os.environ["TABLE_NAME"]
client = boto3.client("dynamodb")
serializer = TypeSerializer()


def serialized(item):
    return {name: serializer.serialize(value) for name, value in item.items()}


def member(write):
    if isinstance(write, Put):
        item = serialized(write.whole)
        return {"Put": {"TableName": TABLE, "Item": item, "ConditionExpression": ABSENT}}
    update, condition, names, values = of_change(write)
    return {
        "Update": {
            "TableName": TABLE,
            "Key": serialized({"PK": write.key[0], "SK": write.key[1]}),
            "UpdateExpression": update,
            "ConditionExpression": condition,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": serialized(values),
        }
    }


def write(writes):
    client.transact_write_items(
        TransactItems=[member(write) for write in writes], ClientRequestToken=str(uuid.uuid4())
    )


handler = handler_of(write)
