"""The web firewall of production: AWS's common rules and a limit per address."""

from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_wafv2 as wafv2
from constructs import Construct

from stacks.stage import StageConfig

REQUESTS_PER_5_MINUTES = 5000
COUNTED = ("SizeRestrictions_BODY", "CrossSiteScripting_BODY")
"""Only counted: an import may have 5 MB, and a note may quote markup, which nobody renders."""


class Firewall(Construct):
    def __init__(self, scope: Construct, stage: StageConfig, api: apigateway.RestApi) -> None:
        super().__init__(scope, "Firewall")
        acl = wafv2.CfnWebACL(
            self,
            "Rules",
            scope="REGIONAL",
            default_action=wafv2.CfnWebACL.DefaultActionProperty(allow={}),
            visibility_config=_metric(f"{stage.prefix}-firewall"),
            rules=[_common_rules(stage), _rate_limit(stage)],
        )
        wafv2.CfnWebACLAssociation(
            self,
            "Protects",
            resource_arn=api.deployment_stage.stage_arn,
            web_acl_arn=acl.attr_arn,
        )


def _common_rules(stage: StageConfig) -> wafv2.CfnWebACL.RuleProperty:
    count = wafv2.CfnWebACL.RuleActionProperty(count={})
    return wafv2.CfnWebACL.RuleProperty(
        name="common",
        priority=0,
        override_action=wafv2.CfnWebACL.OverrideActionProperty(none={}),
        visibility_config=_metric(f"{stage.prefix}-common"),
        statement=wafv2.CfnWebACL.StatementProperty(
            managed_rule_group_statement=wafv2.CfnWebACL.ManagedRuleGroupStatementProperty(
                vendor_name="AWS",
                name="AWSManagedRulesCommonRuleSet",
                rule_action_overrides=[
                    wafv2.CfnWebACL.RuleActionOverrideProperty(name=name, action_to_use=count)
                    for name in COUNTED
                ],
            )
        ),
    )


def _rate_limit(stage: StageConfig) -> wafv2.CfnWebACL.RuleProperty:
    return wafv2.CfnWebACL.RuleProperty(
        name="rate",
        priority=1,
        action=wafv2.CfnWebACL.RuleActionProperty(block={}),
        visibility_config=_metric(f"{stage.prefix}-rate"),
        statement=wafv2.CfnWebACL.StatementProperty(
            rate_based_statement=wafv2.CfnWebACL.RateBasedStatementProperty(
                aggregate_key_type="IP", limit=REQUESTS_PER_5_MINUTES
            )
        ),
    )


def _metric(name: str) -> wafv2.CfnWebACL.VisibilityConfigProperty:
    return wafv2.CfnWebACL.VisibilityConfigProperty(
        cloud_watch_metrics_enabled=True, sampled_requests_enabled=False, metric_name=name
    )
