"""What a function may do to the table: exact item actions, fenced to the keys that it owns.

`dynamodb:LeadingKeys` limits a statement to partition keys with the given prefixes, and
`dynamodb:EnclosingOperation` limits writes to transactions. The emulator knows neither key, so
stage local leaves them out (`StageConfig.fenced`).
"""

from collections.abc import Sequence
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from stacks.stage import StageConfig

COMMAND_RECORDS = ("IDEMPOTENCY#*",)
AGGREGATES = ("CASE#*", "WORK#*", "OFFICER#*", "WALLET#*", "PRODUCT#*", "ORDER#*")
IMPORTS = ("IMPORT#*",)
COMMAND_KEYS = (
    *AGGREGATES,
    *COMMAND_RECORDS,
    *IMPORTS,
    "UNIQUE#*",
    "OUTBOX#*",
    "COUNTER#*",
    "SIDE_EFFECT#*",
)
QUERY_KEYS = (
    *AGGREGATES,
    *COMMAND_RECORDS,
    *IMPORTS,
    "OUTBOX#*",
    "COUNTER#*",
    "SIDE_EFFECT#*",
    "PROJECTION#*",
    "RECONCILIATION#*",
)
READ = ("dynamodb:GetItem", "dynamodb:Query")
READ_MANY = ("dynamodb:BatchGetItem",)
WRITE = ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem")
CHECK = ("dynamodb:ConditionCheckItem",)
STORE = ("dynamodb:PutItem",)


class TableAccess:
    """Grants on the table; each is one statement with a name that says what it is for."""

    def __init__(self, table: dynamodb.ITable, key: kms.IKey | None, stage: StageConfig) -> None:
        self._table = table
        self._key = key
        self._fenced = stage.fenced

    def read(self, role: iam.Role, keys: Sequence[str]) -> None:
        self._grant(role, "ReadItems", READ, keys)
        self._unlock(role, "kms:Decrypt", "kms:DescribeKey")

    def read_indexes(self, role: iam.Role, names: Sequence[str]) -> None:
        """Query the named indexes: their keys are built from the tenant of the caller's token."""
        indexes = [f"{self._table.table_arn}/index/{name}" for name in names]
        role.add_to_policy(_statement("ListByIndex", ("dynamodb:Query",), indexes, {}))

    def read_many(self, role: iam.Role, keys: Sequence[str]) -> None:
        """Read many items in one request: the marks that a batch of events stands on."""
        self._grant(role, "ReadMany", READ_MANY, keys)

    def scan(self, role: iam.Role) -> None:
        """Read everything: for reconciliation alone, since a scan has no leading key to fence."""
        scan = _statement("ScanAll", ("dynamodb:Scan",), [self._table.table_arn], {})
        role.add_to_policy(scan)

    def write_in_transactions(self, role: iam.Role, keys: Sequence[str]) -> None:
        """Change items in TransactWriteItems alone; a condition check has no such limit to set."""
        inside = {"ForAnyValue:StringEquals": {"dynamodb:EnclosingOperation": "TransactWriteItems"}}
        self._grant(role, "WriteInTransactions", WRITE, keys, inside)
        self._grant(role, "CheckInTransactions", CHECK, keys)
        self._unlock(role, *_KEY_WRITES)

    def store_outcomes(self, role: iam.Role) -> None:
        """Put command records alone: refusals, and the fence of a commit that is in doubt."""
        self.store(role, "StoreOutcomes", COMMAND_RECORDS)

    def store(self, role: iam.Role, name: str, keys: Sequence[str]) -> None:
        """Put single items outside transactions: what is made in a plan of its own."""
        self._grant(role, name, STORE, keys)

    def _grant(
        self,
        role: iam.Role,
        name: str,
        actions: Sequence[str],
        keys: Sequence[str],
        inside: dict[str, Any] | None = None,
    ) -> None:
        fence = {
            "ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(keys)},
            # ForAllValues is true of a request that names no key at all.
            "Null": {"dynamodb:LeadingKeys": "false"},
        }
        conditions = fence | (inside or {}) if self._fenced else {}
        role.add_to_policy(_statement(name, actions, [self._table.table_arn], conditions))

    def _unlock(self, role: iam.Role, *actions: str) -> None:
        if self._key is None:
            return
        service = f"dynamodb.{Stack.of(role).region}.amazonaws.com"
        conditions = {"StringEquals": {"kms:ViaService": service}}
        role.add_to_policy(_statement(None, actions, [self._key.key_arn], conditions))


_KEY_WRITES = (
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)


def _statement(
    name: str | None, actions: Sequence[str], resources: Sequence[str], conditions: dict[str, Any]
) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=name, actions=list(actions), resources=list(resources), conditions=conditions or None
    )
