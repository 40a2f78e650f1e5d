"""The service: who may call, the API, and the functions with what each of them may do."""

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from stacks.access import COMMAND_KEYS, QUERY_KEYS, TableAccess
from stacks.announcing import Announcing
from stacks.api import Api
from stacks.counting import Counting
from stacks.data import INDEXES, DataStack, environment
from stacks.firewall import Firewall
from stacks.functions import Functions
from stacks.identity import Identity
from stacks.stage import StageConfig
from stacks.stepping import Stepping

# Longer than the 3 s deadline of a commit and its resolver, shorter than the gateway's 29 s.
API_TIMEOUT = Duration.seconds(15)


class ServiceStack(Stack):
    """Everything but the table, so that a mistake here cannot lose data."""

    def __init__(self, scope: Construct, stage: StageConfig, data: DataStack) -> None:
        super().__init__(
            scope,
            "Service",
            stack_name=f"{stage.prefix}-service",
            description=f"Holdfast {stage.name}: API, functions, users",
            termination_protection=stage.keep_data,
            env=environment(stage),
        )
        self._functions = Functions(self, stage, data.table.table_name)
        self._access = TableAccess(data.table, data.key, stage)
        identity = Identity(self, stage)
        api = Api(
            self,
            stage,
            pool=identity.pool,
            commands=self._commands_api(),
            queries=self._queries_api(),
        )
        parts = {"table": data.table, "functions": self._functions, "access": self._access}
        announcing = Announcing(self, stage, **parts)
        counting = Counting(self, stage, **parts, steps=announcing.workers["reconciliations"])
        stepping = Stepping(
            self,
            stage,
            functions=self._functions,
            access=self._access,
            steps=announcing.workers["workflows"],
        )
        workers = announcing.functions | counting.functions | stepping.functions
        for file, function in workers.items():
            self._output(f"Function{_camel(file)}", function.function_arn)
        for name, queue in (announcing.queues | counting.queues).items():
            self._output(f"Queue{_camel(name)}", queue.queue_url)
        if stage.firewall:
            Firewall(self, stage, api.rest)
        self._output("ApiId", api.rest.rest_api_id)
        self._output("UserPoolId", identity.pool.user_pool_id)
        self._output("ClientId", identity.client.user_pool_client_id)

    def _commands_api(self) -> lambda_.Function:
        function, role = self._functions.add(
            "commands_api",
            description="POST, PUT, PATCH, DELETE: one request, one command, one transaction",
            timeout=API_TIMEOUT,
        )
        self._access.read(role, COMMAND_KEYS)
        self._access.write_in_transactions(role, COMMAND_KEYS)
        self._access.store_outcomes(role)
        self._output("FunctionCommandsApi", function.function_arn)
        return function

    def _queries_api(self) -> lambda_.Function:
        function, role = self._functions.add(
            "queries_api",
            description="GET: reads, lists, health and the documentation",
            timeout=API_TIMEOUT,
        )
        self._access.read(role, QUERY_KEYS)
        self._access.read_indexes(role, tuple(INDEXES))
        self._output("FunctionQueriesApi", function.function_arn)
        return function

    def _output(self, name: str, value: str) -> None:
        CfnOutput(self, name, value=value)


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.replace("-", "_").split("_"))
