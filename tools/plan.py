"""A command's plan in readable form: `make plan COMMAND=CreateCase`.

`python -m tools.plan --golden` writes those of all commands to `tests/golden`.
"""

from __future__ import annotations

import inspect
import json
import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from boto3.dynamodb import conditions as c

from tools.paths import ROOT

sys.path.insert(0, str(ROOT / "layers" / "domain" / "python"))

from holdfast.edge.command_routes import COMMANDS
from holdfast.writes.codec import size_bytes
from holdfast.writes.plan import Plan, Write
from tools.samples import SAMPLES, Sample

GOLDEN = ROOT / "tests" / "golden"
UNIT_BYTES = 1024


def main() -> None:
    match sys.argv[1:]:
        case ["--golden"]:
            write_golden()
        case [name] if name in SAMPLES:
            print(text_of(SAMPLES[name]), end="")
        case _:
            sys.exit(f"make plan COMMAND=<one of>: {' '.join(sorted(SAMPLES))}")


def write_golden() -> None:
    """Replace the golden files by what the samples print now."""
    GOLDEN.mkdir(exist_ok=True)
    for old in GOLDEN.glob("*.txt"):
        old.unlink()
    for name, sample in SAMPLES.items():
        (GOLDEN / f"{name}.txt").write_text(text_of(sample))


def text_of(sample: Sample) -> str:
    """The command's rule in English, what it costs, and each of its writes."""
    plan, kind = sample.plan, type(sample.command)
    planner = next(route.planner for route in COMMANDS if route.command is kind)
    rule = (inspect.getdoc(planner) or "").partition("\n\n")[0].replace("\n", " ")
    cost = f"{_commit(plan)}, {sum(map(units, plan.writes))} capacity units and indexes"
    blocks = ["\n".join(_write(place, write)) for place, write in enumerate(plan.writes, 1)]
    return "\n\n".join([f"{sample.name}: {rule}\n{cost}", *blocks]) + "\n"


def _commit(plan: Plan) -> str:
    return "1 conditional put" if plan.single else f"1 transaction of {len(plan.writes)} writes"


def units(write: Write) -> int:
    """Write units that one write of a transaction costs, where its item is no larger than
    what the plan says of it: two for each started KB.

    Source: developer guide, "DynamoDB read and write operations", capacity of transactions.
    """
    said = {**write.key.attributes, **write.item, **write.set, **write.add}
    return 2 * math.ceil(size_bytes(said) / UNIT_BYTES)


def _write(place: int, write: Write) -> Iterator[str]:
    yield f"{place}. {write.verb} {write.key.pk} / {write.key.sk}  ({units(write)} units)"
    yield f"   {write.because}"
    for rule in write.rules:
        yield f"   {rule.refusal} unless {condition(rule.condition)}"
    for word, changes in (("item", write.item), ("set", write.set), ("add", write.add)):
        for name, value in sorted(_flat(changes)):
            yield f"   {word} {name} = {value}"
    for name in sorted(write.remove):
        yield f"   remove {name}"


def _flat(changes: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in changes.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", _value(value)


def _value(value: Any) -> str:
    match value:
        case c.Attr():
            return str(value.name)
        case bytes():
            return f"{len(value)} bytes"
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)


def condition(one: c.ConditionBase, *, inner: bool = False) -> str:
    """A condition in words; an `or` inside another condition stands in brackets."""
    operands = one.get_expression()["values"]
    match one:
        case c.And():
            return " and ".join(condition(part, inner=True) for part in operands)
        case c.Or():
            text = " or ".join(condition(part, inner=True) for part in operands)
            return f"({text})" if inner else text
        case c.Not():
            return f"not ({condition(operands[0])})"
        case c.AttributeExists():
            return f"{_named(operands[0])} is there"
        case c.AttributeNotExists():
            return f"{_named(operands[0])} is absent"
    operator = one.get_expression()["operator"].lower()
    left, *others = map(_value, operands)
    return f"{left} {operator} {' and '.join(others)}"


def _named(attribute: c.Attr) -> str:
    return "the item" if attribute.name == "PK" else str(attribute.name)


if __name__ == "__main__":
    main()
