"""Every alarm watches something that is emitted, says why, and leads to its runbook."""

import json
import re
from typing import Any

import pytest

from stacks.alarms import BASELINE, TOGETHER, TOGETHER_OF, WATCHES, Of
from stacks.dashboard import GRAPHS
from tests.stacks.conftest import Resources, only
from tools.paths import ROOT

ALARM = "AWS::CloudWatch::Alarm"
SOURCES = ROOT / "layers/domain/python/holdfast"
EMITTED = re.compile(
    r'"([a-z_]+(?:\.[a-z_]+)+\.(?:count|seconds))"|"(\w+\.\w+\.(?:count|seconds))"'
)
RUNBOOKS = ROOT / "docs/runbooks"
ON_PURPOSE = {"README", "deploys", "restore", "one-write-region"}
OWN = [watch for watch in (*WATCHES, BASELINE) if watch.of is Of.SERVICE]


def emitted() -> set[str]:
    """Every name of a metric that is written in the code."""
    found = set()
    for file in SOURCES.rglob("*.py"):
        found |= {one or other for one, other in EMITTED.findall(file.read_text())}
    return found


def alarms(resources: Resources, stage: str) -> dict[str, dict[str, Any]]:
    """Properties of the plain alarms that people hear, by name without the stage's prefix."""
    found = [item["Properties"] for item in resources(stage, ALARM).values()]
    named = {item["AlarmName"].removeprefix(f"holdfast-{stage}-"): item for item in found}
    return {name: item for name, item in named.items() if not name.startswith("release-")}


def test_every_metric_of_the_code_is_watched_or_shown() -> None:
    shown = {name for names in GRAPHS.values() for name in names}
    assert emitted()
    assert emitted() <= shown | {watch.metric for watch in OWN}


def test_every_alarm_and_graph_of_our_own_has_a_metric_that_the_code_emits() -> None:
    shown = {name for names in GRAPHS.values() for name in names}
    assert shown | {watch.metric for watch in OWN} <= emitted()


def test_every_alarm_has_its_runbook_and_every_runbook_its_alarm() -> None:
    books = {file.stem for file in RUNBOOKS.glob("*.md")} - ON_PURPOSE
    assert books == {watch.name for watch in (*WATCHES, BASELINE, TOGETHER)}


@pytest.mark.parametrize("watch", [*WATCHES, BASELINE, TOGETHER], ids=lambda watch: watch.name)
def test_a_runbook_says_what_to_look_at_what_to_do_and_what_comes_after(watch: Any) -> None:
    text = (ROOT / watch.runbook).read_text()
    for part in ("Symptom", "What it means", "First look", "Fix", "Aftercare"):
        assert f"**{part}.**" in text
    assert "```sh\n" in text
    for link in re.findall(r"\]\(([\w-]+\.md)\)", text):
        assert (RUNBOOKS / link).is_file()


def test_every_alarm_rings_the_topic_and_leads_to_its_runbook(
    resources: Resources, stage: str
) -> None:
    (topic,) = resources(stage, "AWS::SNS::Topic")
    for alarm in alarms(resources, stage).values():
        assert alarm["AlarmActions"] == [{"Ref": topic}]
        assert re.search(r"Runbook: docs/runbooks/[\w-]+\.md$", alarm["AlarmDescription"])
        assert alarm["TreatMissingData"] == "notBreaching"


def test_our_own_alarms_have_exactly_the_dimension_that_is_emitted(
    resources: Resources, stage: str
) -> None:
    own = [
        item for item in alarms(resources, stage).values() if item.get("Namespace") == "Holdfast"
    ]
    assert len(own) == len(WATCHES) - len(
        [watch for watch in WATCHES if watch.of is not Of.SERVICE]
    )
    for alarm in own:
        assert alarm["Dimensions"] == [{"Name": "service", "Value": "holdfast"}]


def test_every_function_has_an_alarm_on_its_errors(resources: Resources, stage: str) -> None:
    functions = {
        item["Properties"]["FunctionName"]
        for item in resources(stage, "AWS::Lambda::Function").values()
    }
    assert functions == _watched(resources, stage, "Errors")


def test_every_dead_letter_queue_has_an_alarm(resources: Resources, stage: str) -> None:
    ends = {
        item["Properties"]["QueueName"]
        for item in resources(stage, "AWS::SQS::Queue").values()
        if "RedrivePolicy" not in item["Properties"]
    }
    assert ends == _watched(resources, stage, "ApproximateNumberOfMessagesVisible")


def test_every_reader_of_a_stream_has_an_alarm_on_its_age(resources: Resources, stage: str) -> None:
    mappings = resources(stage, "AWS::Lambda::EventSourceMapping").values()
    readers = [item for item in mappings if "StartingPosition" in item["Properties"]]
    assert len(readers) == len(_watched(resources, stage, "IteratorAge"))


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_throttling_of_the_table_and_of_every_index_is_summed(
    resources: Resources, stage: str
) -> None:
    table = only(resources(stage, "AWS::DynamoDB::Table"))["Properties"]
    indexes = {index["IndexName"] for index in table["GlobalSecondaryIndexes"]}
    for name in ("table-reads-throttled", "table-writes-throttled"):
        parts = alarms(resources, stage)[name]["Metrics"]
        places = [
            part["MetricStat"]["Metric"]["Dimensions"] for part in parts if "MetricStat" in part
        ]
        summed = {place[0]["Value"] for place in places if len(place) == 2}
        assert summed == indexes
        assert len(places) == len(indexes) + 1


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_a_band_learns_the_baseline_and_one_alarm_names_the_table_as_the_cause(
    resources: Resources, stage: str
) -> None:
    band = alarms(resources, stage)[BASELINE.name]
    assert any("ANOMALY_DETECTION_BAND" in part.get("Expression", "") for part in band["Metrics"])
    composite = only(resources(stage, "AWS::CloudWatch::CompositeAlarm"))["Properties"]
    rule = json.dumps(composite["AlarmRule"])
    assert rule.count("ALARM(") == sum(map(len, TOGETHER_OF))


def test_the_dashboard_shows_alarms_first_then_every_metric(
    resources: Resources, stage: str
) -> None:
    body = json.dumps(only(resources(stage, "AWS::CloudWatch::Dashboard"))["Properties"])
    assert body.index("Alarms") < body.index("command.success.count")
    for names in GRAPHS.values():
        for name in names:
            assert name in body


def _watched(resources: Resources, stage: str, metric: str) -> set[str]:
    return {
        alarm["Dimensions"][0]["Value"]
        for alarm in alarms(resources, stage).values()
        if alarm.get("MetricName") == metric
    }
