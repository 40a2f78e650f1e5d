"""The table keeps its promises in every stage, and cannot be lost in production."""

from stacks.data import INDEXES
from tests.stacks.conftest import Resources, only

TABLE = "AWS::DynamoDB::Table"


def test_the_table_has_generic_string_keys_and_is_paid_by_request(
    resources: Resources, stage: str
) -> None:
    table = only(resources(stage, TABLE))["Properties"]
    assert table["KeySchema"] == [
        {"AttributeName": "PK", "KeyType": "HASH"},
        {"AttributeName": "SK", "KeyType": "RANGE"},
    ]
    assert {attribute["AttributeType"] for attribute in table["AttributeDefinitions"]} == {"S"}
    assert table["BillingMode"] == "PAY_PER_REQUEST"


def test_the_table_streams_new_images_expires_items_and_can_be_restored(
    resources: Resources, stage: str
) -> None:
    table = only(resources(stage, TABLE))["Properties"]
    assert table["StreamSpecification"] == {"StreamViewType": "NEW_IMAGE"}
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expiresAt", "Enabled": True}
    assert table["PointInTimeRecoverySpecification"] == {
        "PointInTimeRecoveryEnabled": True,
        "RecoveryPeriodInDays": 35,
    }
    assert table["SSESpecification"]["SSEEnabled"] is True


def test_each_index_is_narrow_and_copies_only_what_its_list_shows(
    resources: Resources, stage: str
) -> None:
    table = only(resources(stage, TABLE))["Properties"]
    built = {
        index["IndexName"]: (
            *(key["AttributeName"] for key in index["KeySchema"]),
            index["Projection"]["ProjectionType"],
            set(index["Projection"]["NonKeyAttributes"]),
        )
        for index in table["GlobalSecondaryIndexes"]
    }
    assert built == {
        name: (partition, sort, "INCLUDE", set(fields))
        for name, (partition, sort, fields) in INDEXES.items()
    }


def test_production_keeps_the_table_when_its_stack_goes(resources: Resources) -> None:
    table = only(resources("prod", TABLE))
    assert table["Properties"]["DeletionProtectionEnabled"] is True
    assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_production_encrypts_with_a_key_of_its_own_that_rotates(resources: Resources) -> None:
    (name, key), *others = resources("prod", "AWS::KMS::Key").items()
    assert not others
    assert key["Properties"]["EnableKeyRotation"] is True
    assert key["DeletionPolicy"] == "Retain"
    encryption = only(resources("prod", TABLE))["Properties"]["SSESpecification"]
    assert encryption["KMSMasterKeyId"] == {"Fn::GetAtt": [name, "Arn"]}


def test_production_has_copies_in_a_vault_that_nobody_can_empty(resources: Resources) -> None:
    vault = only(resources("prod", "AWS::Backup::BackupVault"))
    assert vault["DeletionPolicy"] == "Retain"
    (denied,) = vault["Properties"]["AccessPolicy"]["Statement"]
    assert denied["Effect"] == "Deny"
    assert "backup:DeleteRecoveryPoint" in denied["Action"]
    plan = only(resources("prod", "AWS::Backup::BackupPlan"))["Properties"]["BackupPlan"]
    kept = {
        rule["RuleName"]: rule["Lifecycle"]["DeleteAfterDays"] for rule in plan["BackupPlanRule"]
    }
    assert kept == {"daily": 35, "monthly": 365}
    (table,) = resources("prod", TABLE)
    selected = only(resources("prod", "AWS::Backup::BackupSelection"))["Properties"]
    assert selected["BackupSelection"]["Resources"] == [{"Fn::GetAtt": [table, "Arn"]}]


def test_hot_keys_of_the_table_and_of_every_index_show(resources: Resources) -> None:
    for stage in ("dev", "prod"):
        table = only(resources(stage, TABLE))["Properties"]
        for place in (table, *table["GlobalSecondaryIndexes"]):
            assert place["ContributorInsightsSpecification"] == {
                "Enabled": True,
                "Mode": "ACCESSED_AND_THROTTLED_KEYS",
            }


def test_local_and_dev_leave_nothing_behind(resources: Resources) -> None:
    for stage in ("local", "dev"):
        table = only(resources(stage, TABLE))
        assert not table["Properties"].get("DeletionProtectionEnabled")
        assert table["DeletionPolicy"] == "Delete"
