"""The description of what is announced: `python -m tools.events` writes `docs/events.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import msgspec

from tools.paths import ROOT

sys.path.insert(0, str(ROOT / "layers" / "domain" / "python"))

from holdfast.domain.effects import effects_of
from holdfast.domain.events import KINDS, Kind
from holdfast.edge.providers.signature import AGE_SECONDS_MAX
from holdfast.patterns import outbox, side_effects
from holdfast.patterns.envelope import ENVELOPE_VERSION, Envelope

PAGE = ROOT / "docs" / "events.md"

ABOUT = """# Events

Generated from the code by `python -m tools.events`; do not edit.

What was committed is announced, and nothing else: an event is written in the transaction of its
change, sent by the relay to a FIFO queue, and delivered from there. Each event is sent at least
once and, within five minutes, at most once; `eventId` tells a repetition from a new event for
ever. Within an aggregate events come in the order of `version`, without a gap; between
aggregates there is no order. A stage with an event bus keeps no order beyond the bus.

An entry is tried {attempts} times, with growing pauses; then it is dead, which operators see at
`GET /ops/outbox`, and the later events of its aggregate wait for it. A published entry is kept
for {kept} days; the event itself stays in the trail of its aggregate for as long as that lives.
"""
COSTS = """
## What announcing costs

Up to fifty entries are claimed in one transaction and marked in another, and sent ten at a time:
0.14 requests per event for fifty of different aggregates, 0.30 for ten alone. An aggregate with
several waiting versions has one of them in a send, so that a partial failure cannot overtake.

An entry of up to 1 KB costs 2 write units when its command makes it, 2 when it is claimed and 2
when it is marked, because a transaction charges twice; each of the three also costs the pending
index 1. A single put would cost half per write, and a request per entry instead of per fifty.
"""
WEBHOOK = """
## Webhook

Every event but `SideEffectRedriven` is POSTed as its envelope, in JSON, with these headers:

| Header | Says |
|---|---|
| `Idempotency-Key` | the operation: the same for each attempt at one effect; it is the event id |
| `Holdfast-Attempt` | which attempt this is, from 1 |
| `Holdfast-Signature` | `t=<epoch seconds>,v1=<hex>`: HMAC-SHA256 of `<t>.<body>` by the secret |

A receiver checks the signature in constant time, refuses a time stamp older than {age} seconds,
and does an operation once however often it comes. Any 2xx is success. 408, 409, 425, 429 and 5xx
are tried again up to {attempts} times, later and later, and later events of the aggregate wait
meanwhile; any other answer, a redirect included, is final, and the aggregate goes on without it.

When an answer is lost, the receiver is asked before it is called again: `GET <address>/<operation
id>`, signed over an empty body, is 200 if the operation was done and 404 if it never came. A
receiver without that answers anything else and gets the call again under the same key.

E-mail through SES has no such key and cannot be asked: a mail whose answer was lost is not sent
again, and ends as `FAILED_FINAL` with the reason `OUTCOME_UNKNOWN`, for a person to decide.

What became of each call is kept for {kept} days after it was confirmed, under
`GET /ops/side-effects/<provider>/<operation id>`, without the event's data.
"""


def page() -> str:
    """The whole page."""
    about = ABOUT.format(attempts=outbox.ATTEMPTS_MAX, kept=outbox.KEPT_DAYS)
    hook = WEBHOOK.format(
        age=AGE_SECONDS_MAX, attempts=side_effects.ATTEMPTS_MAX, kept=side_effects.KEPT_DAYS
    )
    return "\n".join([about, *_envelope(), *_kinds()]) + "\n" + COSTS + hook


def _envelope() -> Iterator[str]:
    schema = msgspec.json.schema(Envelope)["$defs"]["Envelope"]
    yield f"## Envelope, version {ENVELOPE_VERSION}\n"
    yield "Fields may be added within a version; ignore those that you do not know.\n"
    yield "| Field | Type | Meaning |\n|---|---|---|"
    for name, field in schema["properties"].items():
        yield f"| `{name}` | {field['type']} | {field['description']} |"


def _kinds() -> Iterator[str]:
    yield "\n## Kinds\n"
    yield "In italics: data that is there when it applies, and personal text until redaction.\n"
    yield "| Type | Of | Says | `data` | Goes to |\n|---|---|---|---|---|"
    for name, kind in KINDS.items():
        goes = "" if name == side_effects.REDRIVEN else ", ".join(effects_of(name))
        yield f"| `{name}` | {kind.owner} | {kind.says} | {_data(kind)} | {goes} |"


def _data(kind: Kind) -> str:
    always = [f"`{name}`" for name in kind.data]
    return ", ".join([*always, *(f"*`{name}`*" for name in kind.optional)])


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE.relative_to(ROOT)}")
