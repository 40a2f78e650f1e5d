"""The one table: every invariant of the service is a condition on an item in it."""

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct

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
    """The table with its stream, its expiry and, in production, a key of our own."""

    def __init__(self, scope: Construct, stage: StageConfig) -> None:
        super().__init__(
            scope,
            "Data",
            stack_name=f"{stage.prefix}-data",
            description=f"Holdfast {stage.name}: the table",
            termination_protection=stage.keep_data,
        )
        self.key = _key(self, stage) if stage.customer_key else None
        self.table = _table(self, stage, self.key)
        for name, (partition, sort, fields) in INDEXES.items():
            self.table.add_global_secondary_index(
                index_name=name,
                partition_key=_string(partition),
                sort_key=_string(sort),
                projection_type=dynamodb.ProjectionType.INCLUDE,
                non_key_attributes=list(fields),
            )
        CfnOutput(self, "TableName", value=self.table.table_name)


def _table(scope: Construct, stage: StageConfig, key: kms.IKey | None) -> dynamodb.Table:
    encryption = dynamodb.TableEncryption
    return dynamodb.Table(
        scope,
        "Table",
        partition_key=_string("PK"),
        sort_key=_string("SK"),
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        stream=dynamodb.StreamViewType.NEW_IMAGE,
        time_to_live_attribute="expiresAt",
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
        encryption=encryption.CUSTOMER_MANAGED if key else encryption.AWS_MANAGED,
        encryption_key=key,
        deletion_protection=stage.keep_data,
        removal_policy=_removal(stage),
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
