"""What the dependencies layer leaves out of the SDK: data that no function ever reads.

A client parses its service's whole model, the endpoints of four hundred services and, at its
first TLS connection, 126 root certificates. The functions need a few operations of five
services, and AWS's own certificate authorities.
"""

import gzip
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OPERATIONS: dict[str, frozenset[str]] = {
    "dynamodb": frozenset(
        {
            "BatchGetItem",
            "DeleteItem",
            "DescribeTable",
            "GetItem",
            "PutItem",
            "Query",
            "Scan",
            "TransactGetItems",
            "TransactWriteItems",
            "UpdateItem",
        }
    ),
    "events": frozenset({"PutEvents"}),
    "secretsmanager": frozenset({"GetSecretValue"}),
    "sesv2": frozenset({"SendEmail"}),
    "sqs": frozenset(
        {
            "ChangeMessageVisibility",
            "ChangeMessageVisibilityBatch",
            "DeleteMessage",
            "GetQueueAttributes",
            "ReceiveMessage",
            "SendMessage",
            "SendMessageBatch",
        }
    ),
}
"""The services that functions call, and the operations that their clients have."""

ENDPOINT_PREFIXES = frozenset({"dynamodb", "email", "events", "secretsmanager", "sqs"})
AUTHORITIES = re.compile(
    r"# Issuer: [^\n]*(?:O=Amazon|Starfield Services Root)[^\n]*\n.*?-----END CERTIFICATE-----\n",
    re.DOTALL,
)
"""Source: aws.amazon.com/trust/repository: every AWS endpoint's chain ends in one of the five."""


def trim_sdk(packages: Path) -> None:
    """Trim the SDK that is installed in the folder `packages`."""
    data = packages / "botocore" / "data"
    for folder in [path for path in data.iterdir() if path.is_dir()]:
        if folder.name in OPERATIONS:
            _trim_service(folder, OPERATIONS[folder.name])
        else:
            shutil.rmtree(folder)
    _trim_endpoints(data / "endpoints.json")
    _trim_authorities(packages / "botocore" / "cacert.pem")


def _trim_service(folder: Path, operations: frozenset[str]) -> None:
    """Keep the newest version of a service's interface, and of that what `operations` need."""
    *older, newest = sorted(folder.iterdir())
    for version in older:
        shutil.rmtree(version)
    packed = newest / "service-2.json.gz"
    model = without_documentation(json.loads(gzip.decompress(packed.read_bytes())))
    _write(newest / "service-2.json", narrowed(model, operations))
    packed.unlink()
    (newest / "examples-1.json").unlink(missing_ok=True)


def narrowed(model: dict[str, Any], operations: frozenset[str]) -> dict[str, Any]:
    """A service model of these operations alone, and of the shapes that they reach."""
    kept = {name: model["operations"][name] for name in sorted(operations)}
    for operation in kept.values():
        # Parameters of endpoints by account, which the clients have switched off.
        operation.pop("operationContextParams", None)
    shapes: dict[str, Any] = {}
    waiting = list(_shapes_in(kept))
    while waiting:
        name = waiting.pop()
        if name not in shapes:
            shapes[name] = model["shapes"][name]
            waiting += _shapes_in(shapes[name])
    return {**model, "operations": kept, "shapes": shapes}


def _shapes_in(value: Any) -> Iterator[str]:
    """The names of the shapes that a part of a model refers to."""
    if isinstance(value, dict):
        if isinstance(value.get("shape"), str):
            yield value["shape"]
        value = list(value.values())
    if isinstance(value, list):
        for member in value:
            yield from _shapes_in(member)


def without_documentation(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: without_documentation(member)
            for name, member in value.items()
            if not (name == "documentation" and isinstance(member, str))
        }
    return [without_documentation(m) for m in value] if isinstance(value, list) else value


def _trim_endpoints(file: Path) -> None:
    endpoints = json.loads(file.read_text())
    for partition in endpoints["partitions"]:
        services = partition["services"]
        partition["services"] = {n: services[n] for n in services if n in ENDPOINT_PREFIXES}
    _write(file, endpoints)


def _trim_authorities(file: Path) -> None:
    kept = AUTHORITIES.findall(file.read_text())
    if len(kept) != len(set(kept)) or len(kept) < 5:
        raise ValueError(f"{file.name} has {len(kept)} of the certificate authorities of AWS")
    file.write_text("\n".join(kept))


def _write(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content, separators=(",", ":")))
