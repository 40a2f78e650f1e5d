"""The one table: every invariant of the service is a condition on an item in it."""

from collections.abc import Iterator
from typing import Any

from aws_cdk import CfnOutput, Environment, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct

from stacks.backups import RECOVERY_DAYS, back_up
from stacks.stage import StageConfig

CASE_FIELDS = (
    "caseId",
    "status",
    "region",
    "priority",
    "officerId",
    "title",
    "externalRef",
    "createdAt",
)
INDEXES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "cases-by-status": ("byStatus", "listedAt", CASE_FIELDS),
    "cases-by-officer": ("byOfficer", "listedAt", CASE_FIELDS),
    "cases-by-region": ("byRegion", "listedAt", CASE_FIELDS),
    "open-tasks": ("openTasks", "openedAt", ("taskId", "caseId", "title")),
    "outbox-open": (
        "outboxState",
        "outboxSort",
        (
            "eventId",
            "aggregate",
            "version",
            "type",
            "status",
            "attempts",
            "claimedUntil",
            "at",
            "tenant",
        ),
    ),
    "commands-running": ("runningState", "runningSort", ("workflow",)),
    "effects-unsettled": (
        "effectState",
        "effectSort",
        ("provider", "operationId", "status", "attempts", "eventId", "at", "tenant"),
    ),
}
"""Name: partition key, sort key and copied attributes. Sparse, for lists only: an item leaves an
index when its partition attribute is removed, and each index costs units on every write it sees."""


class DataStack(Stack):
    """The table with its stream and its expiry; in production a key of our own, and backups."""

    def __init__(self, scope: Construct, stage: StageConfig) -> None:
        super().__init__(
            scope,
            "Data",
            stack_name=f"{stage.prefix}-data",
            description=f"Holdfast {stage.name}: the table",
            termination_protection=stage.keep_data,
            env=environment(stage),
        )
        self.key = _key(self, stage) if stage.customer_key else None
        self.table: dynamodb.ITable
        if stage.replica_regions:
            self.table = _global_table(self, stage, self.key)
        else:
            self.table = _regional_table(self, stage, self.key)
        if stage.keep_data:
            back_up(self, stage, self.table)
        CfnOutput(self, "TableName", value=self.table.table_name)


def environment(stage: StageConfig) -> Environment | None:
    """A stage of several Regions says in which one it is; any other is where it is deployed to."""
    return Environment(region=stage.region) if stage.region else None


def _regional_table(scope: Construct, stage: StageConfig, key: kms.IKey | None) -> dynamodb.Table:
    encryption = dynamodb.TableEncryption
    table = dynamodb.Table(
        scope,
        "Table",
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        stream=dynamodb.StreamViewType.NEW_IMAGE,
        encryption=encryption.CUSTOMER_MANAGED if key else encryption.AWS_MANAGED,
        encryption_key=key,
        **_common(stage),
    )
    for index in _indexes():
        table.add_global_secondary_index(
            **index, contributor_insights_specification=_insights(stage)
        )
    return table


def _global_table(scope: Construct, stage: StageConfig, key: kms.IKey | None) -> dynamodb.TableV2:
    """Every replica has the protection of the first; its key is one that its own Region holds."""
    encryption, keys = dynamodb.TableEncryptionV2, dict(stage.replica_keys)
    customer = key and encryption.customer_managed_key(key, keys)
    return dynamodb.TableV2(
        scope,
        "Table",
        table_name=stage.table_name,
        billing=dynamodb.Billing.on_demand(),
        dynamo_stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
        encryption=customer or encryption.aws_managed_key(),
        global_secondary_indexes=[
            dynamodb.GlobalSecondaryIndexPropsV2(**index) for index in _indexes()
        ],
        replicas=[
            dynamodb.ReplicaTableProps(region=region, deletion_protection=stage.keep_data)
            for region in stage.replica_regions
        ],
        **_common(stage),
    )


def _common(stage: StageConfig) -> dict[str, Any]:
    return {
        "partition_key": _string("PK"),
        "sort_key": _string("SK"),
        "time_to_live_attribute": "expiresAt",
        "point_in_time_recovery_specification": dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True, recovery_period_in_days=RECOVERY_DAYS
        ),
        "contributor_insights_specification": _insights(stage),
        "deletion_protection": stage.keep_data,
        "removal_policy": _removal(stage),
    }


def _indexes() -> Iterator[dict[str, Any]]:
    for name, (partition, sort, fields) in INDEXES.items():
        yield {
            "index_name": name,
            "partition_key": _string(partition),
            "sort_key": _string(sort),
            "projection_type": dynamodb.ProjectionType.INCLUDE,
            "non_key_attributes": list(fields),
        }


def _insights(stage: StageConfig) -> dynamodb.ContributorInsightsSpecification | None:
    """The keys that are asked for most, and those that are throttled: where a hot item shows."""
    if not stage.insights:
        return None
    return dynamodb.ContributorInsightsSpecification(
        enabled=True, mode=dynamodb.ContributorInsightsMode.ACCESSED_AND_THROTTLED_KEYS
    )


def _key(scope: Construct, stage: StageConfig) -> kms.Key:
    return kms.Key(
        scope,
        "Key",
        description=f"Encrypts the Holdfast table of stage {stage.name}",
        enable_key_rotation=True,
        removal_policy=_removal(stage),
    )


def _string(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)


def _removal(stage: StageConfig) -> RemovalPolicy:
    return RemovalPolicy.RETAIN if stage.keep_data else RemovalPolicy.DESTROY
