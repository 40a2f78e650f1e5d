"""The web firewall of production: AWS's managed rules, and limits per address and per caller."""

from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_wafv2 as wafv2
from constructs import Construct

from stacks.problems import TOO_MANY
from stacks.stage import StageConfig

MANAGED = (
    "AWSManagedRulesAmazonIpReputationList",
    "AWSManagedRulesCommonRuleSet",
    "AWSManagedRulesKnownBadInputsRuleSet",
)
COUNTED = ("SizeRestrictions_BODY", "CrossSiteScripting_BODY")
"""Only counted: an import may have 5 MB, and a note may quote markup, which nobody renders."""
PER_ADDRESS, PER_CALLER = 5000, 2000
"""Requests in five minutes. Behind one address there may be an office of callers."""
SLOW_DOWN = "slow-down"

_ACL = wafv2.CfnWebACL


class Firewall(Construct):
    def __init__(self, scope: Construct, stage: StageConfig, api: apigateway.RestApi) -> None:
        super().__init__(scope, "Firewall")
        managed = [_managed(stage, place, name) for place, name in enumerate(MANAGED)]
        limits = [
            _limit(stage, len(MANAGED), "address", PER_ADDRESS, aggregate_key_type="IP"),
            _limit(stage, len(MANAGED) + 1, "caller", PER_CALLER, **_by_token()),
        ]
        acl = wafv2.CfnWebACL(
            self,
            "Rules",
            scope="REGIONAL",
            default_action=_ACL.DefaultActionProperty(allow={}),
            visibility_config=_metric(f"{stage.prefix}-firewall"),
            custom_response_bodies={
                SLOW_DOWN: _ACL.CustomResponseBodyProperty(
                    content=TOO_MANY.body, content_type="APPLICATION_JSON"
                )
            },
            rules=[*managed, *limits],
        )
        wafv2.CfnWebACLAssociation(
            self,
            "Protects",
            resource_arn=api.deployment_stage.stage_arn,
            web_acl_arn=acl.attr_arn,
        )


def _managed(stage: StageConfig, priority: int, name: str) -> wafv2.CfnWebACL.RuleProperty:
    count = _ACL.RuleActionProperty(count={})
    counted = COUNTED if name == "AWSManagedRulesCommonRuleSet" else ()
    return _ACL.RuleProperty(
        name=name,
        priority=priority,
        override_action=_ACL.OverrideActionProperty(none={}),
        visibility_config=_metric(f"{stage.prefix}-{name}"),
        statement=_ACL.StatementProperty(
            managed_rule_group_statement=_ACL.ManagedRuleGroupStatementProperty(
                vendor_name="AWS",
                name=name,
                rule_action_overrides=[
                    _ACL.RuleActionOverrideProperty(name=rule, action_to_use=count)
                    for rule in counted
                ],
            )
        ),
    )


def _by_token() -> dict[str, object]:
    """A caller is whoever sends one token; the token itself stays inside the firewall."""
    whole = _ACL.TextTransformationProperty(priority=0, type="NONE")
    token = _ACL.RateLimitHeaderProperty(name="authorization", text_transformations=[whole])
    keys = [_ACL.RateBasedStatementCustomKeyProperty(header=token)]
    return {"aggregate_key_type": "CUSTOM_KEYS", "custom_keys": keys}


def _limit(
    stage: StageConfig, priority: int, whose: str, requests: int, **by: object
) -> wafv2.CfnWebACL.RuleProperty:
    """Above the limit the answer is the contract's 429, until the five minutes have passed."""
    headers = [
        _ACL.CustomHTTPHeaderProperty(name=name, value=value) for name, value in TOO_MANY.headers
    ]
    answer = _ACL.CustomResponseProperty(
        response_code=TOO_MANY.status,
        custom_response_body_key=SLOW_DOWN,
        response_headers=headers,
    )
    return _ACL.RuleProperty(
        name=f"rate-per-{whose}",
        priority=priority,
        action=_ACL.RuleActionProperty(block=_ACL.BlockActionProperty(custom_response=answer)),
        visibility_config=_metric(f"{stage.prefix}-rate-per-{whose}"),
        statement=_ACL.StatementProperty(
            rate_based_statement=_ACL.RateBasedStatementProperty(limit=requests, **by)
        ),
    )


def _metric(name: str) -> wafv2.CfnWebACL.VisibilityConfigProperty:
    return _ACL.VisibilityConfigProperty(
        cloud_watch_metrics_enabled=True, sampled_requests_enabled=False, metric_name=name
    )
