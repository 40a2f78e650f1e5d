"""A stage over several Regions: which of them writes, and what the others need to know of it."""

from collections.abc import Callable
from dataclasses import replace

from stacks.stage import StageConfig


def across_regions(stage: StageConfig, setting: Callable[[str], str | None]) -> StageConfig:
    """The stage as `-c region= -c writeRegion= -c replicaRegions=…` spread it, if they do.

    `replicaRegions` is a list of Regions, each with the ARN of its own key if the stage has one:
    `eu-west-1=arn:…,eu-north-1=arn:…`.
    """
    listed = setting("replicaRegions")
    if not listed:
        return stage
    replicas = [part.partition("=") for part in listed.split(",")]
    keys = tuple((region, key) for region, _, key in replicas if key)
    write = setting("writeRegion")
    spread = replace(
        stage,
        write_region=write,
        replica_regions=tuple(region for region, _, _ in replicas),
        replica_keys=keys,
        region=setting("region") or write,
        write_url=setting("writeUrl"),
        user_pool_arn=setting("userPoolArn"),
    )
    _check(spread)
    return spread


def _check(stage: StageConfig) -> None:
    """What a stage of several Regions needs, said before anything is built."""
    needed = {"-c writeRegion=": stage.write_region}
    if not stage.writes:
        needed |= {"-c writeUrl=": stage.write_url, "-c userPoolArn=": stage.user_pool_arn}
    missing = [name for name, value in needed.items() if not value]
    if stage.customer_key and len(stage.replica_keys) < len(stage.replica_regions):
        missing.append("the key of each Region in -c replicaRegions=")
    if missing:
        raise ValueError(f"A stage of several Regions needs {', '.join(missing)}.")
    if stage.region not in (stage.write_region, *stage.replica_regions):
        raise ValueError(f"{stage.region} is neither the write Region nor a replica's.")
