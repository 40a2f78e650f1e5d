"""Powertools' own idempotency around a boto3 client's transaction, and nothing else."""

import os

from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent,
)
from boto3_client import write
from work import handler_of

memory = DynamoDBPersistenceLayer(
    table_name=os.environ["TABLE_NAME"],
    key_attr="PK",
    sort_key_attr="SK",
    static_pk_value="IDEMPOTENCY",
)
config = IdempotencyConfig(
    event_key_jmespath='[path, headers."Idempotency-Key"]', payload_validation_jmespath="body"
)
handler = idempotent(handler_of(write, remembers=False), persistence_store=memory, config=config)
