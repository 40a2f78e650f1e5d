"""A Region that may not write: reads from its replica, and the way to the write Region.

DynamoDB's transactions hold in the Region that runs them and no further, so there is one Region
that commits. Here the commands' function has no grant to write, and is told to answer every
command with that Region's address: by configuration and by role, each enough alone.
"""

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_cognito as cognito
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct

from stacks.access import QUERY_KEYS, TableAccess
from stacks.api import Api
from stacks.data import INDEXES, environment
from stacks.firewall import Firewall
from stacks.functions import Functions
from stacks.service import API_TIMEOUT
from stacks.stage import StageConfig


class ReplicaStack(Stack):
    """The API of one more Region. The table and its users belong to the write Region's stacks."""

    def __init__(self, scope: Construct, stage: StageConfig) -> None:
        super().__init__(
            scope,
            "Service",
            stack_name=f"{stage.prefix}-service",
            description=f"Holdfast {stage.name}: reads in a Region that may not write",
            termination_protection=stage.keep_data,
            env=environment(stage),
        )
        table = dynamodb.TableV2.from_table_attributes(
            self, "Table", table_name=stage.table_name, grant_index_permissions=True
        )
        self._functions = Functions(self, stage, table.table_name)
        pool = cognito.UserPool.from_user_pool_arn(self, "Users", stage.user_pool_arn)
        queries, role = self._functions.add(
            "queries_api", description="GET: reads from the replica", timeout=API_TIMEOUT
        )
        access = TableAccess(table, self._key(stage), stage)
        access.read(role, QUERY_KEYS)
        access.read_indexes(role, tuple(INDEXES))
        commands, _ = self._functions.add(
            "commands_api",
            description="POST, PUT, PATCH, DELETE: names the Region that takes commands",
            timeout=API_TIMEOUT,
            environment={"WRITE_URL": stage.write_url or ""},
        )
        api = Api(self, stage, pool=pool, commands=commands, queries=queries)
        if stage.firewall:
            Firewall(self, stage, api.rest)
        CfnOutput(self, "ApiId", value=api.rest.rest_api_id)

    def _key(self, stage: StageConfig) -> kms.IKey | None:
        arn = dict(stage.replica_keys).get(stage.region or "")
        return kms.Key.from_key_arn(self, "Key", arn) if arn else None
