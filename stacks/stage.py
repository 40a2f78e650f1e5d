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
    versions: bool = True
    """Published versions behind an alias, with SnapStart, and a reserve for each worker."""
    gradual: bool = True
    """A new version takes a tenth of the calls for five minutes, and goes back if alarms ring."""
    api_logs: bool = True
    tracing: bool = True
    insights: bool = True
    """Contributor insights: which keys are hot."""
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
    write_region: str | None = None
    """The one Region whose functions may write; needed with replicas."""
    replica_regions: tuple[str, ...] = ()
    """Other Regions that hold the table, answer reads and say where commands are taken."""
    replica_keys: tuple[tuple[str, str], ...] = ()
    """With a customer key: the ARN of each replica Region's own key."""
    region: str | None = None
    """Where this deployment is, if the stage has several."""
    write_url: str | None = None
    """The API of the write Region, as the other Regions name it to whoever sends a command."""
    user_pool_arn: str | None = None
    """The write Region's users, whom the other Regions' APIs know too."""
    layer_platform: str | None = "aarch64-manylinux2014"
    """Platform of compiled packages; None builds for this machine and its interpreter."""

    @property
    def prefix(self) -> str:
        return f"holdfast-{self.name}"

    @property
    def table_name(self) -> str | None:
        """A table of several Regions has one name in all of them; any other is named by AWS."""
        return f"{self.prefix}-table" if self.replica_regions else None

    @property
    def writes(self) -> bool:
        return self.region == self.write_region


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
    gradual=False,
    rate_per_second=50,
)
LOCAL = replace(
    DEV,
    name="local",
    log_days=1,
    api_logs=False,
    tracing=False,
    insights=False,
    math_alarms=False,
    versions=False,
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
