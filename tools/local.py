"""The local stack: `up` starts the emulator and deploys into it, `down` stops it.

The emulator starts and is bootstrapped beside the synthesis, so that the first answer comes as
early as it can. Whatever the emulator drops silently is set after the deployment, and printed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from stacks.stage import API_STAGE
from stacks.stage import LOCAL as STAGE
from tools import emulator, webhook
from tools.paths import CDK, LOCAL, STACK_FILE
from tools.stack import CREDENTIALS, client
from tools.steps import say, step
from tools.synth import QUIET, SynthFailed, synth

DEFAULT_PORT = 4566
ACCOUNT = "000000000000"
RUNNING_FILE = LOCAL / "emulator.json"
RECEIVER_FILE = LOCAL / "receiver.json"
RECEIVER_OFFSET = 1000
STATE = LOCAL / "state"


class UpFailed(RuntimeError):
    """The stack could not be brought up; the message says what to do."""


def up(port: int | None) -> None:
    """Bring the stack up, or deploy again into the one that runs."""
    webhook_url = _ensure_receiver(port)
    stack = deploy(lambda: emulator.endpoint(_ensure_emulator(port)), LOCAL, webhook_url)
    _write(STACK_FILE, stack)
    say(f"ready: {stack['apiUrl']}")


def deploy(started: Callable[[], str], folder: Path, webhook_url: str) -> dict[str, Any]:
    """Deploy into the emulator whose URL `started` returns; what is made on the way is in `folder`.

    Events are delivered to `webhook_url`. Returns the content of `.local/stack.json`.
    """
    with ThreadPoolExecutor() as pool:
        assembly = pool.submit(_synthesize, folder / "cdk.out", webhook_url)
        endpoint = started()
        bootstrap(endpoint, folder)
        assembly.result()
    outputs = _deploy(endpoint, folder)
    stack = _describe(endpoint, outputs) | {"webhookUrl": webhook_url}
    _fix_up(stack)
    return stack


def down(*, clean: bool) -> None:
    """Stop the emulator; its state is kept for the next `up` unless `clean`."""
    running = _running()
    if running:
        with step(f"stopped the emulator on port {running['port']}"):
            emulator.stop(running["pid"])
    else:
        say("nothing was running")
    if receiver := _running(RECEIVER_FILE, webhook.is_receiver):
        emulator.stop(receiver["pid"])
    for file in (RUNNING_FILE, RECEIVER_FILE, STACK_FILE):
        file.unlink(missing_ok=True)
    if clean:
        with step("removed its state"):
            shutil.rmtree(STATE, ignore_errors=True)


def _ensure_emulator(port: int | None) -> int:
    running = _running()
    if running and port in (None, running["port"]):
        emulator.wait_until_healthy(running["port"], running["pid"], STATE)
        say(f"the emulator is running on port {running['port']}")
        return int(running["port"])
    if running:
        raise UpFailed(f"The stack of this checkout is on port {running['port']}: `make down`.")
    port = port or DEFAULT_PORT
    with step(f"started the emulator on port {port}"):
        pid = emulator.start(port, STATE, persist=True)
        _write(RUNNING_FILE, {"pid": pid, "port": port})
        emulator.wait_until_healthy(port, pid, STATE)
    return port


def _ensure_receiver(port: int | None) -> str:
    """The URL of the web server that takes in webhooks and shows them; it forgets when stopped."""
    running = _running(RECEIVER_FILE, webhook.is_receiver)
    if running is None:
        wanted = (port or DEFAULT_PORT) + RECEIVER_OFFSET
        chosen = wanted if emulator.is_free(wanted) else emulator.free_port()
        running = {"pid": webhook.start(chosen), "port": chosen}
        _write(RECEIVER_FILE, running)
    return emulator.endpoint(running["port"])


def _running(
    file: Path = RUNNING_FILE, is_ours: Callable[[int], bool] = emulator.is_emulator
) -> dict[str, Any] | None:
    """The process that this checkout started, if it is still what it was then."""
    if not file.exists():
        return None
    running: dict[str, Any] = json.loads(file.read_text())
    return running if is_ours(running["pid"]) else None


def _synthesize(assembly: Path, webhook_url: str) -> None:
    with step("synthesized the stacks"):
        synth(STAGE.name, assembly, assets=True, webhook_url=webhook_url)


def bootstrap(endpoint: str, folder: Path) -> None:
    if _has_stack(endpoint, "CDKToolkit"):
        return
    with step("bootstrapped the account"):
        _cdk(endpoint, folder, "bootstrap", f"aws://{ACCOUNT}/{emulator.REGION}")


def _has_stack(endpoint: str, name: str) -> bool:
    try:
        client("cloudformation", endpoint).describe_stacks(StackName=name)
    except ClientError:
        return False
    return True


def _deploy(endpoint: str, folder: Path) -> dict[str, dict[str, str]]:
    outputs = folder / "outputs.json"
    with step("deployed the stacks"):
        options = ["--app", str(folder / "cdk.out"), "--all", "--outputs-file", str(outputs)]
        # With change sets, the emulator loses changes of outputs alone.
        options += ["--method", "direct", "--require-approval", "never"]
        _cdk(endpoint, folder, "deploy", *options)
    deployed: dict[str, dict[str, str]] = json.loads(outputs.read_text())
    return deployed


def _cdk(endpoint: str, folder: Path, *arguments: str) -> None:
    command = [str(CDK), *arguments, "--no-notices", "--ci"]
    log = folder / f"cdk-{arguments[0]}.log"
    with log.open("w") as output:
        result = subprocess.run(
            command,
            cwd=folder,
            env=_aws_environment(endpoint),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if result.returncode:
        end = "".join(log.read_text().splitlines(keepends=True)[-20:])
        raise UpFailed(
            f"cdk {arguments[0]} failed; the end of {log}:\n{end}\n"
            "After a killed emulator its state may be torn: `make down CLEAN=1`, then `make up`."
        )


def _aws_environment(endpoint: str) -> dict[str, str]:
    """The caller's environment without its AWS account: nothing here may ever reach a real one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    emulated = {name.upper(): value for name, value in CREDENTIALS.items()} | {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ENDPOINT_URL_S3": endpoint,
        "AWS_REGION": emulator.REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "CDK_DISABLE_CLI_TELEMETRY": "true",
    }
    return kept | QUIET | emulated


def _describe(endpoint: str, outputs: dict[str, dict[str, str]]) -> dict[str, Any]:
    """The contract of `.local/stack.json`, from the outputs of the stacks."""
    data, service = (outputs[f"{STAGE.prefix}-{name}"] for name in ("data", "service"))
    arns = [value for name, value in service.items() if name.startswith("Function")]
    queues = [value for name, value in service.items() if name.startswith("Queue")]
    return {
        "apiUrl": f"{endpoint}/restapis/{service['ApiId']}/{API_STAGE}/_user_request_",
        "endpointUrl": endpoint,
        "region": emulator.REGION,
        "tableName": data["TableName"],
        "userPoolId": service["UserPoolId"],
        "clientId": service["ClientId"],
        "queues": {_queue_name(url): url for url in sorted(queues)},
        "functions": {arn.rpartition("-")[2]: arn for arn in sorted(arns)},
    }


def _queue_name(url: str) -> str:
    """`events` for the queue `holdfast-local-events.fifo`."""
    return url.rpartition("/")[2].removeprefix(f"{STAGE.prefix}-").removesuffix(".fifo")


def _fix_up(stack: dict[str, Any]) -> None:
    """Set what the emulator drops and the service depends on; and a sender, as a person would."""
    mail = client("sesv2", stack["endpointUrl"])
    with suppress(mail.exceptions.AlreadyExistsException):
        mail.create_email_identity(EmailIdentity=STAGE.mail_from)
    dynamodb = client("dynamodb", stack["endpointUrl"])
    name = stack["tableName"]
    state = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    if state["TimeToLiveStatus"] == "ENABLED":
        return
    expiry = {"Enabled": True, "AttributeName": "expiresAt"}
    dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=expiry)
    say("fixed up: expiry of items by expiresAt, which the emulator drops from templates")


def _write(file: Path, content: dict[str, Any]) -> None:
    temporary = file.with_suffix(".new")
    temporary.write_text(json.dumps(content, indent=2) + "\n")
    temporary.replace(file)


def _port(text: str) -> int | None:
    """None stands for the port that runs already, or else the default one."""
    return int(text) if text else None


def main() -> None:
    arguments = argparse.ArgumentParser(prog="make", description=__doc__)
    verbs = arguments.add_subparsers(dest="verb", required=True)
    verbs.add_parser("up").add_argument("--port", type=_port, default="")
    verbs.add_parser("down").add_argument("--clean", default="")
    chosen = arguments.parse_args()
    try:
        if chosen.verb == "up":
            up(chosen.port)
        else:
            down(clean=chosen.clean not in ("", "0"))
    except (UpFailed, SynthFailed, emulator.EmulatorFailed) as error:
        sys.exit(str(error))
    except (BotoCoreError, ClientError) as error:
        sys.exit(f"The emulator refused: {error}\nTry `make down CLEAN=1`, then `make up`.")


if __name__ == "__main__":
    main()
