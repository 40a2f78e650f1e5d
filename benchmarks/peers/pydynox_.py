"""pydynox: a client written in Rust."""

import os
import uuid

from expressions import ABSENT, of_change
from pydynox import DynamoDBClient, SyncTransaction
from work import Put, handler_of

TABLE = os.environ["TABLE_NAME"]
client = DynamoDBClient(
    region=os.environ["AWS_DEFAULT_REGION"],
    access_key=os.environ["AWS_ACCESS_KEY_ID"],
    secret_key=os.environ["AWS_SECRET_ACCESS_KEY"],
    endpoint_url=os.environ["AWS_ENDPOINT_URL_DYNAMODB"],
    connect_timeout=60,
    read_timeout=300,
)


def write(writes):
    with SyncTransaction(client, client_request_token=str(uuid.uuid4())) as batch:
        for write in writes:
            if isinstance(write, Put):
                batch.put(TABLE, write.whole, condition_expression=ABSENT)
                continue
            update, condition, names, values = of_change(write)
            key = {"PK": write.key[0], "SK": write.key[1]}
            batch.update(TABLE, key, update, condition, names, values)


handler = handler_of(write)
