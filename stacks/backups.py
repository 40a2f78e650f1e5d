"""What brings data back: every second of 35 days by the table itself, and copies in a vault.

The vault is not the table's: whoever may delete the table may not delete its copies. How to
restore is in docs/runbooks/restore.md.
"""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_backup as backup
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from constructs import Construct

from stacks.findings import acknowledge
from stacks.stage import StageConfig

RECOVERY_DAYS = 35
"""The most that DynamoDB offers."""
DAILY = Duration.days(35)
MONTHLY = Duration.days(365)


def back_up(scope: Construct, stage: StageConfig, table: dynamodb.ITable) -> None:
    """Daily copies for 35 days and monthly ones for a year, which nobody can delete earlier."""
    vault = backup.BackupVault(
        scope,
        "Vault",
        backup_vault_name=f"{stage.prefix}-vault",
        block_recovery_point_deletion=True,
        removal_policy=RemovalPolicy.RETAIN,
    )
    plan = backup.BackupPlan(
        scope,
        "Backups",
        backup_plan_name=f"{stage.prefix}-backups",
        backup_vault=vault,
        backup_plan_rules=[
            _rule("daily", DAILY, day="*"),
            _rule("monthly", MONTHLY, day="1"),
        ],
    )
    selected = plan.add_selection(
        "Table", resources=[backup.BackupResource.from_dynamo_db_table(table)]
    )
    reason = "AWS Backup copies and restores with the policy that AWS maintains for it."
    policy = "service-role/AWSBackupServiceRolePolicyForBackup"
    acknowledge(
        selected,
        reason,
        f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{policy}]",
    )


def _rule(name: str, kept: Duration, *, day: str) -> backup.BackupPlanRule:
    return backup.BackupPlanRule(
        rule_name=name,
        delete_after=kept,
        schedule_expression=events.Schedule.cron(hour="3", minute="0", day=day),
    )
