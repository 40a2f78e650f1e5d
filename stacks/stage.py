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
    fenced: bool = True
    """Roles limited by partition key and to writes in transactions; the emulator knows neither."""
    rate_per_second: int | None = 500
    custom_id: str | None = None
    """A fixed id of the REST API, so that the emulator's address never changes."""
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
    fenced=False,
    rate_per_second=None,
    custom_id="401dfa57",
    layer_platform=None,
)
STAGES = {stage.name: stage for stage in (LOCAL, DEV, PROD)}


def stage_named(name: str | None) -> StageConfig:
    """The stage of `-c stage=`; without one it is local, which can harm nobody."""
    chosen = name or LOCAL.name
    if chosen not in STAGES:
        raise ValueError(f"Unknown stage {chosen!r}: use -c stage={'|'.join(STAGES)}.")
    return STAGES[chosen]
