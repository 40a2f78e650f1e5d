"""dyntastic: pydantic models over a boto3 resource."""

import os

from dyntastic import A, Dyntastic, transaction
from pydantic import ConfigDict
from work import Put, handler_of


class Item(Dyntastic):
    model_config = ConfigDict(extra="allow")
    __table_name__ = os.environ["TABLE_NAME"]
    __table_host__ = os.environ["AWS_ENDPOINT_URL_DYNAMODB"]
    __table_region__ = os.environ["AWS_DEFAULT_REGION"]
    __hash_key__ = "PK"
    __range_key__ = "SK"
    PK: str
    SK: str


def write(writes):
    with transaction():
        for write in writes:
            if isinstance(write, Put):
                Item(**write.whole).save(condition=A.PK.not_exists())
                continue
            actions = [getattr(A, name).set(value) for name, value in write.new.items()]
            tests = [getattr(A, name) == value for name, value in write.expected.items()]
            item = Item(PK=write.key[0], SK=write.key[1])
            item.update(*actions, condition=tests[0] & tests[1] & tests[2], refresh=False)


handler = handler_of(write)
