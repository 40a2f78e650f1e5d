"""boto3's resource, whose client serializes by itself."""

import os
import uuid

import boto3
from expressions import ABSENT, of_change
from work import Put, handler_of

TABLE = os.environ["TABLE_NAME"]
client = boto3.resource("dynamodb").meta.client


def member(write):
    if isinstance(write, Put):
        return {"Put": {"TableName": TABLE, "Item": write.whole, "ConditionExpression": ABSENT}}
    update, condition, names, values = of_change(write)
    return {
        "Update": {
            "TableName": TABLE,
            "Key": {"PK": write.key[0], "SK": write.key[1]},
            "UpdateExpression": update,
            "ConditionExpression": condition,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
        }
    }


def write(writes):
    client.transact_write_items(
        TransactItems=[member(write) for write in writes], ClientRequestToken=str(uuid.uuid4())
    )


handler = handler_of(write)
