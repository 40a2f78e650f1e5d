"""What differs between stages, in one frozen value; everything else is the same everywhere."""

from dataclasses import dataclass, replace

API_STAGE = "v1"
"""The first part of every path, as API Gateway wants one."""


@dataclass(frozen=True, kw_only=True)
class StageConfig:
    """One stage. The defaults are those of production; `DEV` and `LOCAL` say what they give up."""

    name: str
    memory_mb: int = 1024
    log_days: int = 365
    keep_data: bool = True
    """Deletion protection, RETAIN, and termination protection of every stack."""
    customer_key: bool = True
    docs_public: bool = False
    password_sign_in: bool = False
    """Sign-in by plain password, for scripts; elsewhere a client proves the password by SRP."""
    strong_sign_in: bool = True
    """A second factor and Cognito's threat protection."""
    firewall: bool = True
    api_logs: bool = True
    tracing: bool = True
    math_alarms: bool = True
    """Alarms on sums, on anomaly bands and on other alarms; the emulator refuses them."""
    fenced: bool = True
    """Roles limited by partition key and to writes in transactions; the emulator knows neither."""
    rate_per_second: int | None = 500
    custom_id: str | None = None
    """A fixed id of the REST API, so that the emulator's address never changes."""
    event_bus: bool = False
    """Facts go to an EventBridge bus, which keeps no order, instead of straight to their queue."""
    webhook_url: str | None = None
    """Where events are delivered: `-c webhookUrl=https://…`; None delivers nowhere."""
    mail_from: str | None = None
    """The verified address that mail comes from: `-c mailFrom=…`; None sends none."""
    layer_platform: str | None = "aarch64-manylinux2014"
    """Platform of compiled packages; None builds for this machine and its interpreter."""

    @property
    def prefix(self) -> str:
        return f"holdfast-{self.name}"


PROD = StageConfig(name="prod")
DEV = replace(
    PROD,
    name="dev",
    log_days=30,
    keep_data=False,
    customer_key=False,
    docs_public=True,
    password_sign_in=True,
    strong_sign_in=False,
    firewall=False,
    rate_per_second=50,
)
LOCAL = replace(
    DEV,
    name="local",
    log_days=1,
    api_logs=False,
    tracing=False,
    math_alarms=False,
    fenced=False,
    rate_per_second=None,
    custom_id="401dfa57",
    webhook_url="http://127.0.0.1:5566",
    mail_from="holdfast@example.org",
    layer_platform=None,
)
STAGES = {stage.name: stage for stage in (LOCAL, DEV, PROD)}


def stage_named(name: str | None) -> StageConfig:
    """The stage of `-c stage=`; without one it is local, which can harm nobody."""
    chosen = name or LOCAL.name
    if chosen not in STAGES:
        raise ValueError(f"Unknown stage {chosen!r}: use -c stage={'|'.join(STAGES)}.")
    return STAGES[chosen]


def reaching(stage: StageConfig, webhook_url: str | None, mail_from: str | None) -> StageConfig:
    """The stage with the addresses that the context gives, where it gives any."""
    return replace(
        stage,
        webhook_url=webhook_url or stage.webhook_url,
        mail_from=mail_from or stage.mail_from,
    )
