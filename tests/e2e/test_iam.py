"""The service lives within its roles: deployed anew where every action is checked against IAM."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tools.demo import Walk, announcements, eventually, life_of_a_case, many_steps, people
from tools.emulator import emulator
from tools.http import Api
from tools.local import bootstrap, deploy
from tools.paths import LOCAL
from tools.stack import client
from tools.webhook import receiving

ONE = {"sqs:SendMessage", "sqs:ChangeMessageVisibility", "sqs:DeleteMessage"}


@pytest.fixture(scope="module")
def guarded() -> Iterator[dict[str, Any]]:
    """A stack in an emulator that enforces IAM."""
    folder = Path(tempfile.mkdtemp(prefix="e2e-iam-", dir=LOCAL))
    try:
        with emulator(env={"AUTH": "true"}) as url, receiving() as receiver:
            bootstrap(url, folder)
            s3 = client("s3", url)
            for bucket in s3.list_buckets()["Buckets"]:
                s3.delete_bucket_policy(Bucket=bucket["Name"])
            stack = deploy(lambda: url, folder, receiver.url)
            _take_plain_http(stack)
            _as_the_emulator_asks(stack)
            yield stack
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _take_plain_http(stack: dict[str, Any]) -> None:
    """The queues take TLS alone, which the emulator does not speak: their policies go.

    It would not even let us say so, unless it believes that a proxy has ended our TLS.
    """
    sqs = client("sqs", stack["endpointUrl"])
    sqs.meta.events.register("before-sign.sqs", _as_if_forwarded)
    for url in stack["queues"].values():
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": ""})


def _as_the_emulator_asks(stack: dict[str, Any]) -> None:
    """Two differences to AWS, in the roles' policies.

    The single action covers its batch on AWS; the emulator asks for one of the batch's name. A
    secret's `Ref` is its ARN on AWS; the emulator puts its name there, which allows nothing.
    """
    iam = client("iam", stack["endpointUrl"])
    for role in iam.list_roles(MaxItems=200)["Roles"]:
        named = {"RoleName": role["RoleName"]}
        for policy in iam.list_role_policies(**named)["PolicyNames"]:
            document = iam.get_role_policy(**named, PolicyName=policy)["PolicyDocument"]
            for statement in document["Statement"]:
                if statement["Resource"] == "holdfast-local-webhook":
                    statement["Resource"] = (
                        "arn:aws:secretsmanager:*:*:secret:holdfast-local-webhook*"
                    )
                listed = statement["Action"]
                actions = [listed] if isinstance(listed, str) else listed
                statement["Action"] = [*actions, *(f"{one}Batch" for one in actions if one in ONE)]
            iam.put_role_policy(**named, PolicyName=policy, PolicyDocument=json.dumps(document))


def _as_if_forwarded(request: Any, **_: Any) -> None:
    request.headers["X-Forwarded-Proto"] = "https"


def test_a_case_an_order_and_the_workers_live_within_their_roles(guarded: dict[str, Any]) -> None:
    """The races of twenty run elsewhere: here it is the roles that matter."""
    walk = Walk(Api(guarded))
    for flow in (people, life_of_a_case, announcements, many_steps):
        flow(walk)
    assert eventually(lambda: walk.officer.get("/projections/cases-by-status").body["counts"])
    _shop(walk)
    checked = walk.admin.post("/ops/reconciliations", {"repair": False})
    assert checked.status == 202
    report = "/ops/reconciliations/latest"
    assert eventually(lambda: walk.admin.get(report).status == 200)


def _shop(walk: Walk) -> None:
    customer = walk.customer
    wallet = customer.post("/wallets", {"currency": "EUR"}).body["walletId"]
    assert customer.post(f"/wallets/{wallet}/deposits", {"amount": 1000}).status == 200
    lamp = {"sku": "LAMP", "name": "Lamp", "unitPrice": 100, "currency": "EUR", "stock": 5}
    assert walk.admin.post("/products", {**lamp, "stockShards": 4}).status == 201
    line = {"sku": "LAMP", "quantity": 2, "unitPrice": 100}
    order = {"walletId": wallet, "currency": "EUR", "lines": [line]}
    placed = customer.post("/orders", order)
    assert placed.status == 201
    cancel = f"/orders/{placed.body['orderId']}/cancellations"
    assert customer.post(cancel, {"expectedVersion": 1}).status == 200
    assert customer.get(f"/wallets/{wallet}").body["balance"] == 1000


def test_what_a_role_lacks_is_refused(guarded: dict[str, Any]) -> None:
    """So the emulator does enforce: the queries' role reads an item and may not write it."""
    endpoint = guarded["endpointUrl"]
    roles = client("iam", endpoint).list_roles(MaxItems=200)["Roles"]
    (arn,) = (role["Arn"] for role in roles if "QueriesApi" in role["RoleName"])
    assumed = client("sts", endpoint).assume_role(RoleArn=arn, RoleSessionName="test")
    keys = assumed["Credentials"]
    queries = boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name=guarded["region"],
        aws_access_key_id=keys["AccessKeyId"],
        aws_secret_access_key=keys["SecretAccessKey"],
        aws_session_token=keys["SessionToken"],
    )
    item = {"PK": {"S": "CASE#acme#c-1"}, "SK": {"S": "META"}}
    queries.get_item(TableName=guarded["tableName"], Key=item)
    with pytest.raises(ClientError, match="not authorized to perform: dynamodb:PutItem"):
        queries.put_item(TableName=guarded["tableName"], Item=item)
