"""PynamoDB: models over botocore."""

import os
import uuid

from pynamodb.attributes import MapAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.connection import Connection
from pynamodb.models import Model
from pynamodb.transactions import TransactWrite
from work import Put, handler_of

TEXTS = [
    "caseId",
    "externalRef",
    "title",
    "region",
    "priority",
    "status",
    "createdAt",
    "createdBy",
    "byStatus",
    "byRegion",
    "listedAt",
    "ownerId",
    "original",
    "eventId",
    "type",
    "at",
    "actor",
    "tenant",
    "owner",
    "commandId",
    "aggregate",
    "outboxState",
    "outboxSort",
    "requestHash",
    "officerId",
    "reviewerId",
    "submittedAt",
]


class Item(Model):
    class Meta:
        table_name = os.environ["TABLE_NAME"]
        host = os.environ["AWS_ENDPOINT_URL_DYNAMODB"]
        region = os.environ["AWS_DEFAULT_REGION"]

    PK = UnicodeAttribute(hash_key=True)
    SK = UnicodeAttribute(range_key=True)
    version = NumberAttribute(null=True)
    attempts = NumberAttribute(null=True)
    noteCount = NumberAttribute(null=True)
    expiresAt = NumberAttribute(null=True)
    data = MapAttribute(null=True)
    for _name in TEXTS:
        locals()[_name] = UnicodeAttribute(null=True)
    del _name


connection = Connection(region=Item.Meta.region, host=Item.Meta.host)


def write(writes):
    with TransactWrite(connection=connection, client_request_token=str(uuid.uuid4())) as batch:
        for write in writes:
            if isinstance(write, Put):
                batch.save(Item(*write.key, **write.item), condition=Item.PK.does_not_exist())
                continue
            actions = [getattr(Item, name).set(value) for name, value in write.new.items()]
            tests = [getattr(Item, name) == value for name, value in write.expected.items()]
            batch.update(Item(*write.key), actions, condition=tests[0] & tests[1] & tests[2])


handler = handler_of(write)
