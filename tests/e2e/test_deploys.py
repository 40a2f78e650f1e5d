"""A second deployment changes nothing, and the table can be brought back: the restore drill."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Tenant
from tools.local import deploy
from tools.stack import client

CASE = {"externalRef": "REG-1", "title": "Dust", "region": "EU-1", "priority": "HIGH"}


def test_a_second_deployment_changes_nothing(stack: dict[str, Any], tmp_path: Path) -> None:
    again = deploy(lambda: stack["endpointUrl"], tmp_path, stack["webhookUrl"])
    assert again == stack
    log = (tmp_path / "cdk-deploy.log").read_text()
    assert log.count("(no changes)") == 3, log


def test_a_restored_table_has_the_aggregate_as_it_was(
    stack: dict[str, Any], tenant: Tenant
) -> None:
    """The drill of docs/runbooks/restore.md: restore beside the live table, and compare."""
    case_id = tenant.officer.post("/cases", CASE).body["caseId"]
    dynamodb, live = client("dynamodb", stack["endpointUrl"]), stack["tableName"]
    before = _aggregate(dynamodb, live, tenant, case_id)
    assert len(before) >= 2
    backup = dynamodb.create_backup(TableName=live, BackupName=f"drill-{uuid.uuid4().hex[:8]}")
    hold = {"hold": True, "expectedVersion": 1}
    assert tenant.supervisor.call("PUT", f"/cases/{case_id}/legal-hold", hold).status == 200
    drill = f"{live}-drill"
    dynamodb.restore_table_from_backup(
        TargetTableName=drill, BackupArn=backup["BackupDetails"]["BackupArn"]
    )
    try:
        assert _aggregate(dynamodb, drill, tenant, case_id) == before
        assert _aggregate(dynamodb, live, tenant, case_id) != before
    finally:
        dynamodb.delete_table(TableName=drill)


def _aggregate(dynamodb: Any, table: str, tenant: Tenant, case_id: str) -> list[dict[str, Any]]:
    """A case with its trail, as one partition holds them."""
    found: list[dict[str, Any]] = dynamodb.query(
        TableName=table,
        ConsistentRead=True,
        KeyConditionExpression="PK = :case",
        ExpressionAttributeValues={":case": {"S": f"CASE#{tenant.name}#{case_id}"}},
    )["Items"]
    return found
