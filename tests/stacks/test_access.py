"""Each function has a role of its own with exactly the actions that its job needs."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from stacks.access import COMMAND_KEYS, QUERY_KEYS
from stacks.data import INDEXES
from tests.stacks.conftest import Resources
from tools.paths import ROOT

CHANGES = {"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"}
READS = {"dynamodb:GetItem", "dynamodb:Query"}
FENCED = ("dev", "prod")


def statements(resources: Resources, stage: str, function: str) -> Iterator[dict[str, Any]]:
    """The statements of the policies that hang on the function's role."""
    for name, policy in resources(stage, "AWS::IAM::Policy").items():
        if function in name:
            yield from policy["Properties"]["PolicyDocument"]["Statement"]


def item_statements(resources: Resources, stage: str, function: str) -> dict[str, dict[str, Any]]:
    return {
        statement["Sid"]: statement
        for statement in statements(resources, stage, function)
        if any(action.startswith("dynamodb:") for action in actions(statement))
    }


def actions(statement: dict[str, Any]) -> set[str]:
    listed = statement["Action"]
    return {listed} if isinstance(listed, str) else set(listed)


def test_commands_may_read_change_and_check_single_items(resources: Resources, stage: str) -> None:
    found = item_statements(resources, stage, "CommandsApi")
    assert {name: actions(statement) for name, statement in found.items()} == {
        "ReadItems": READS,
        "WriteInTransactions": CHANGES,
        "CheckInTransactions": {"dynamodb:ConditionCheckItem"},
        "StoreOutcomes": {"dynamodb:PutItem"},
    }


def test_queries_may_only_read_the_table_and_the_named_indexes(
    resources: Resources, stage: str
) -> None:
    found = item_statements(resources, stage, "QueriesApi")
    assert {name: actions(statement) for name, statement in found.items()} == {
        "ReadItems": READS,
        "ListByIndex": {"dynamodb:Query"},
    }
    listed = found["ListByIndex"]["Resource"]
    assert {resource["Fn::Join"][1][-1] for resource in listed} == {
        f"/index/{name}" for name in INDEXES
    }


def test_no_role_may_write_in_batches_or_do_everything(resources: Resources, stage: str) -> None:
    granted = {
        action
        for policy in resources(stage, "AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        for action in actions(statement)
    }
    assert granted
    assert not {action for action in granted if "BatchWrite" in action or "PartiQL" in action}
    assert not {action for action in granted if action.endswith("*")}


@pytest.mark.parametrize("stage", FENCED)
@pytest.mark.parametrize(
    ("function", "keys"), [("CommandsApi", COMMAND_KEYS), ("QueriesApi", QUERY_KEYS)]
)
def test_a_fenced_role_reaches_only_keys_with_its_prefixes(
    resources: Resources, stage: str, function: str, keys: tuple[str, ...]
) -> None:
    found = item_statements(resources, stage, function)
    fence = found["ReadItems"]["Condition"]
    assert set(fence["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]) == set(keys)
    on_table = [statement for name, statement in found.items() if name != "ListByIndex"]
    for statement in on_table:
        assert statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
        assert statement["Condition"]["Null"] == {"dynamodb:LeadingKeys": "false"}


@pytest.mark.parametrize("stage", FENCED)
def test_items_change_only_inside_transactions(resources: Resources, stage: str) -> None:
    found = item_statements(resources, stage, "CommandsApi")
    assert found["WriteInTransactions"]["Condition"]["ForAnyValue:StringEquals"] == {
        "dynamodb:EnclosingOperation": "TransactWriteItems"
    }


@pytest.mark.parametrize("stage", FENCED)
def test_a_single_put_outside_transactions_can_only_be_a_command_record(
    resources: Resources, stage: str
) -> None:
    alone = item_statements(resources, stage, "CommandsApi")["StoreOutcomes"]
    assert alone["Condition"]["ForAllValues:StringLike"] == {
        "dynamodb:LeadingKeys": ["IDEMPOTENCY#*"]
    }
    assert "ForAnyValue:StringEquals" not in alone["Condition"]


def test_every_kind_of_key_that_the_domain_makes_is_within_the_fences() -> None:
    source = (ROOT / "layers/domain/python/holdfast/patterns/keys.py").read_text()
    made = {f"{prefix}#*" for prefix in re.findall(r'return Key\(f"([A-Z_]+)#', source)}
    assert made
    assert made <= {*COMMAND_KEYS, *QUERY_KEYS}


def test_local_roles_have_no_fence_because_the_emulator_knows_none(resources: Resources) -> None:
    for function in ("CommandsApi", "QueriesApi"):
        for statement in item_statements(resources, "local", function).values():
            assert "Condition" not in statement


def test_the_customer_key_opens_only_through_dynamodb(resources: Resources) -> None:
    for function in ("CommandsApi", "QueriesApi"):
        opened = [
            statement
            for statement in statements(resources, "prod", function)
            if any(action.startswith("kms:") for action in actions(statement))
        ]
        assert opened
        for statement in opened:
            assert "kms:ViaService" in statement["Condition"]["StringEquals"]


def test_each_function_has_a_role_of_its_own(resources: Resources, stage: str) -> None:
    functions = resources(stage, "AWS::Lambda::Function").values()
    roles = [function["Properties"]["Role"]["Fn::GetAtt"][0] for function in functions]
    assert len(roles) == len(set(roles)) == len(functions)
    assert set(roles) <= set(resources(stage, "AWS::IAM::Role"))
