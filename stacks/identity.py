"""Who calls: users with an immutable tenant and a role group, and the client that they use."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from stacks.findings import acknowledge
from stacks.stage import StageConfig

GROUPS = ("officer", "reviewer", "supervisor", "customer", "admin")


class Identity(Construct):
    """The user pool. Only administrators make users, since whoever makes one names its tenant."""

    def __init__(self, scope: Construct, stage: StageConfig) -> None:
        super().__init__(scope, "Identity")
        self.pool = self._pool(stage)
        self.client = self._client(stage)
        for group in GROUPS:
            cognito.CfnUserPoolGroup(
                self,
                group.capitalize(),
                user_pool_id=self.pool.user_pool_id,
                group_name=group,
            )
        if not stage.strong_sign_in:
            reason = "A second factor and threat protection are on in prod; here scripts sign in."
            findings = ("AwsSolutions-COG2", "AwsSolutions-COG3", "AwsSolutions-COG8")
            acknowledge(self.pool, reason, *findings)

    def _pool(self, stage: StageConfig) -> cognito.UserPool:
        strong = stage.strong_sign_in
        protection = cognito.StandardThreatProtectionMode.FULL_FUNCTION
        return cognito.UserPool(
            self,
            "Users",
            user_pool_name=f"{stage.prefix}-users",
            self_sign_up_enabled=False,
            sign_in_aliases=cognito.SignInAliases(username=True),
            sign_in_case_sensitive=True,
            custom_attributes={
                "tenantId": cognito.StringAttribute(mutable=False, min_len=1, max_len=64)
            },
            password_policy=cognito.PasswordPolicy(
                min_length=14,
                require_digits=True,
                require_lowercase=True,
                require_symbols=True,
                require_uppercase=True,
                temp_password_validity=Duration.days(3),
            ),
            account_recovery=cognito.AccountRecovery.NONE,
            mfa=cognito.Mfa.REQUIRED if strong else cognito.Mfa.OFF,
            mfa_second_factor=cognito.MfaSecondFactor(otp=True, sms=False) if strong else None,
            feature_plan=cognito.FeaturePlan.PLUS if strong else cognito.FeaturePlan.ESSENTIALS,
            standard_threat_protection_mode=protection if strong else None,
            deletion_protection=stage.keep_data,
            removal_policy=RemovalPolicy.RETAIN if stage.keep_data else RemovalPolicy.DESTROY,
        )

    def _client(self, stage: StageConfig) -> cognito.UserPoolClient:
        return self.pool.add_client(
            "Client",
            user_pool_client_name=f"{stage.prefix}-client",
            auth_flows=cognito.AuthFlow(user_srp=True, user_password=stage.password_sign_in),
            disable_o_auth=True,
            prevent_user_existence_errors=True,
            id_token_validity=Duration.hours(1),
            access_token_validity=Duration.hours(1),
            refresh_token_validity=Duration.days(1),
            write_attributes=cognito.ClientAttributes().with_standard_attributes(fullname=True),
        )
