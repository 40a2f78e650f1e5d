"""What is announced is what the catalogue says, and the page that is generated from it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec
import pytest

from holdfast.domain.effects import MAILS, mail_of
from holdfast.domain.events import KINDS
from holdfast.patterns import envelope, keys
from holdfast.patterns.envelope import ENVELOPE_VERSION, Envelope
from holdfast.patterns.outbox import entry_of
from holdfast.writes.plan import Key, Write
from tools.events import PAGE, page
from tools.paths import ROOT
from tools.samples import SAMPLES

NO_FACT = "CommandAdvanced"
"""What brings a many-step command to its worker; nobody else hears of it."""
SOURCES = ROOT / "layers/domain/python/holdfast"


def announced() -> Iterator[Write]:
    """The outbox entries of facts that the samples of all commands make."""
    for sample in SAMPLES.values():
        for write in sample.plan.writes:
            if write.key.pk.startswith("OUTBOX#") and write.item and "channel" not in write.item:
                yield write


def named_in_code() -> Iterator[str]:
    """The types in `Event(…)`, `event=…` and `_changed(…)` of domain and patterns."""
    for file in (*(SOURCES / "domain").glob("*.py"), *(SOURCES / "patterns").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call):
                continue
            told = [word.value for word in node.keywords if word.arg == "event"]
            if isinstance(node.func, ast.Name) and node.func.id == "Event":
                told += node.args[:1]
            if isinstance(node.func, ast.Name) and node.func.id == "_changed":
                told += node.args
            yield from (inner for value in told for inner in _heads(value))


def _heads(value: ast.expr) -> Iterator[str]:
    """String constants where a type stands: alone, first of a pair, or in a choice."""
    match value:
        case ast.Constant(str(text)) if text[:1].isupper() and " " not in text:
            yield text
        case ast.Tuple([first, *_]):
            yield from _heads(first)
        case ast.IfExp(body=one, orelse=other):
            yield from _heads(one)
            yield from _heads(other)


def test_the_catalogue_and_the_code_name_the_same_events() -> None:
    made = set(named_in_code()) | {write.item["type"] for write in announced()}
    assert made - {NO_FACT} == set(KINDS)


@pytest.mark.parametrize("entry", list(announced()), ids=lambda write: write.item["type"])
def test_the_data_of_each_event_is_what_the_catalogue_says(entry: Write) -> None:
    kind, data = KINDS[entry.item["type"]], set(entry.item["data"])
    assert set(kind.data) <= data <= {*kind.data, *kind.optional}


@pytest.mark.parametrize("entry", list(announced()), ids=lambda write: write.item["type"])
def test_the_envelope_of_each_event_fits_its_schema_and_is_read_back(entry: Write) -> None:
    sent = envelope.envelope_of(entry_of({**entry.key.attributes, **entry.item}))
    assert envelope.decode(envelope.encode(sent)) == sent
    assert sent.envelope_version == ENVELOPE_VERSION


@pytest.mark.parametrize("entry", list(announced()), ids=lambda write: write.item["type"])
def test_the_owner_of_each_event_is_found_from_its_aggregate(entry: Write) -> None:
    name = entry.item["aggregate"]
    assert keys.aggregate(keys.owner_of(name)) == name


def test_an_owner_that_could_not_be_found_again_is_refused() -> None:
    with pytest.raises(ValueError, match="three parts"):
        keys.aggregate(Key("COUNTER#acme#intake#EU", "SHARD#00"))


def test_the_schema_of_the_envelope_changes_only_with_its_version() -> None:
    properties = msgspec.json.schema(Envelope)["$defs"]["Envelope"]["properties"]
    assert {name: field["type"] for name, field in properties.items()} == {
        "envelopeVersion": "integer",
        "eventId": "string",
        "type": "string",
        "aggregate": "string",
        "version": "integer",
        "at": "string",
        "actor": "string",
        "tenant": "string",
        "data": "object",
    }


def test_an_envelope_of_another_version_is_not_read() -> None:
    entry = next(announced())
    sent = envelope.envelope_of(entry_of({**entry.key.attributes, **entry.item}))
    later = msgspec.structs.replace(sent, envelope_version=ENVELOPE_VERSION + 1)
    with pytest.raises(ValueError, match="another version"):
        envelope.decode(envelope.encode(later))


@pytest.mark.parametrize("kind", MAILS)
def test_each_mail_is_made_of_what_its_event_carries(kind: str) -> None:
    data = {name: f"any {name}" for name in KINDS[kind].data}
    assert mail_of(kind, data).to == "any email"


def test_the_page_is_the_one_that_the_code_generates() -> None:
    assert PAGE.read_text() == page(), "run `python -m tools.events`"
