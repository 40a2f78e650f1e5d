"""Synthesize a stage offline: `python -m tools.synth STAGE OUT`.

The app runs by itself, without the CDK command line; the context that the command line would take
from `cdk.json` is handed over in the environment.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.paths import ROOT

# Node 20 is among the versions that this project supports, so its banner says nothing new.
QUIET = {"JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "18,20,21,22,23"}


class SynthFailed(RuntimeError):
    """The app raised an error; the message holds what it printed."""


def synth(
    stage: str,
    out: Path,
    *,
    assets: bool = False,
    nag: bool = False,
    validation: bool = False,
    webhook_url: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Write the cloud assembly of `stage` into `out`.

    Without `assets` nothing is bundled: templates are the same, in half the time. With `nag` the
    AwsSolutions rules, and with `validation` the CDK's own, write `validation-report.json` beside
    the templates. `settings` are more of what `-c` gives.
    """
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    context |= {
        "stage": stage,
        "nag": nag,
        "webhookUrl": webhook_url,
        "aws:cdk:bundling-stacks": ["**"] if assets else [],
        "aws:cdk:enable-path-metadata": True,
        "aws:cdk:enable-asset-metadata": True,
        "@aws-cdk/core:failSynthOnValidationErrors": False,
        **(settings or {}),
    }
    env = {
        "CDK_CONTEXT_JSON": json.dumps(context),
        "CDK_OUTDIR": str(out.resolve()),
        "CDK_VALIDATION": str(validation).lower(),
    }
    result = subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env=os.environ | QUIET | env,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise SynthFailed(f"Stage {stage} does not synthesize:\n{result.stderr}")


def main() -> None:
    arguments = argparse.ArgumentParser(prog="make synth", description=__doc__)
    arguments.add_argument("stage")
    arguments.add_argument("out", type=Path)
    chosen = arguments.parse_args()
    try:
        synth(chosen.stage, chosen.out)
    except SynthFailed as error:
        sys.exit(str(error))
    for template in sorted(chosen.out.glob("*.template.json")):
        print(template)


if __name__ == "__main__":
    main()
