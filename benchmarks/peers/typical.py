"""The handler that most teams write: all of Powertools, pydantic, and a boto3 resource."""

import os
import uuid
from typing import Literal

import boto3
from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.event_handler import APIGatewayRestResolver
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent,
)
from boto3_resource import member
from pydantic import BaseModel, Field
from work import create_case, submit

logger = Logger(service="cases")
metrics = Metrics(namespace="Cases", service="cases")
tracer = Tracer(service="cases")
app = APIGatewayRestResolver(enable_validation=True)
client = boto3.resource("dynamodb").meta.client
memory = DynamoDBPersistenceLayer(
    table_name=os.environ["TABLE_NAME"],
    key_attr="PK",
    sort_key_attr="SK",
    static_pk_value="IDEMPOTENCY",
)
config = IdempotencyConfig(
    event_key_jmespath='[path, headers."Idempotency-Key"]', payload_validation_jmespath="body"
)


class CreateCase(BaseModel):
    externalRef: str = Field(min_length=1, max_length=128)
    title: str = Field(min_length=1, max_length=200)
    region: str = Field(pattern=r"^[A-Z0-9-]{2,12}$")
    priority: Literal["LOW", "NORMAL", "HIGH"]


class Case(BaseModel):
    caseId: str
    externalRef: str
    title: str
    region: str
    priority: str
    status: str
    version: int
    createdAt: str
    createdBy: str


class Submit(BaseModel):
    reviewerId: str = Field(pattern=r"^[A-Za-z0-9._:@-]{1,64}$")
    expectedVersion: int = Field(ge=1)


class Submitted(BaseModel):
    caseId: str
    status: str
    version: int


@app.post("/cases")
@tracer.capture_method
def post_case(body: CreateCase) -> Case:
    answer, writes = create_case(app.current_event.raw_event, body.model_dump())
    commit("CreateCase", answer, writes)
    return Case(**answer)


@app.post("/cases/<case_id>/submissions")
@tracer.capture_method
def post_submission(case_id: str, body: Submit) -> Submitted:
    answer, writes = submit(app.current_event.raw_event, body.model_dump())
    commit("SubmitForReview", answer, writes)
    return Submitted(**answer)


@tracer.capture_method
def commit(operation, answer, writes):
    token = str(uuid.uuid4())
    client.transact_write_items(
        TransactItems=[member(write) for write in writes], ClientRequestToken=token
    )
    metrics.add_metric(name="CommandSucceeded", unit=MetricUnit.Count, value=1)
    logger.info("command", extra={"operation": operation, "caseId": answer["caseId"]})


@logger.inject_lambda_context
@tracer.capture_lambda_handler
@metrics.log_metrics
@idempotent(persistence_store=memory, config=config)
def handler(event, context):
    return app.resolve(event, context)
