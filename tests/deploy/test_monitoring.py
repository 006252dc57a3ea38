"""What watches Turnfold in docs/deploy/: rules, their test, the scrape, the dashboard.

These tests show that they are valid, and speak of metrics and labels that there are. They leave out the metrics' figures.

Prometheus' own promtool is asked where it is installed (Debian: package prometheus); TURNFOLD_TEST_PROMTOOL names another place.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.proxy.receipts import receipt
from turnfold.proxy.books.rollups import RequestCost
from turnfold.proxy.telemetry.metrics import Health, Metrics

DEPLOY = Path(__file__).resolve().parents[2] / "docs" / "deploy"
PROMTOOL = os.environ.get("TURNFOLD_TEST_PROMTOOL") or shutil.which("promtool") or ""
needs_promtool = pytest.mark.skipif(not PROMTOOL, reason="promtool is not installed")
_SELECTED = re.compile(r"((?:turnfold|process)_\w+)(?:\{([^}]*)\})?")
_BY_PROMETHEUS = {"job", "instance"}


def exposition() -> str:
    """All metrics, each with a value."""
    health = Health(store_up=True, store_failures=0, queued=0, dropped=0, incidents={"warmth": 1}, left_out={"receipt": 1})
    metrics = Metrics(lambda: health)
    for status in ("folded", "failed-open", "recovered"):
        metrics.observe(receipt(status=status, wire="chat"), RequestCost(0.5, 1.0))
    metrics.observe(receipt(upstream_status=503, usage=()), RequestCost(None, None))
    with metrics.in_flight("model"):
        return metrics.render()[0].decode()


def series() -> dict[str, set[str]]:
    """Every series, and its labels."""
    found: dict[str, set[str]] = {}
    for line in exposition().splitlines():
        if match := re.match(r"(\w+)(?:\{(.*)\})? ", line):
            found.setdefault(match[1], set()).update(re.findall(r'(\w+)="', match[2] or ""))
    return found


def expressions() -> list[str]:
    """Every query in the rules and on the dashboard."""
    rules = yaml.safe_load((DEPLOY / "alerts.yml").read_text("utf-8"))["groups"]
    dashboard = json.loads((DEPLOY / "grafana" / "turnfold.json").read_text("utf-8"))
    return [rule["expr"] for group in rules for rule in group["rules"]] + [
        target["expr"] for panel in dashboard["panels"] for target in panel["targets"]
    ]


def test_queries_name_series_and_labels_that_there_are() -> None:
    known = series()
    for expression in expressions():
        names = [name for name, _ in _SELECTED.findall(expression)] or ["up"]
        selected = [label for _, braces in _SELECTED.findall(expression) for label in re.findall(r"(\w+)(?:=|!)", braces)]
        grouped = [label.strip() for labels in re.findall(r"by \(([^)]*)\)", expression) for label in labels.split(",")]
        assert set(names) <= known.keys() | {"up"}, expression
        assert {*selected, *grouped} <= set.union(*(known.get(name, set()) for name in names)) | _BY_PROMETHEUS, expression


def test_panels_do_not_overlap() -> None:
    panels = json.loads((DEPLOY / "grafana" / "turnfold.json").read_text("utf-8"))["panels"]
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken
        assert all(x < 24 for x, _ in cells)
        taken |= cells
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_no_series_of_the_library_and_names_with_units() -> None:
    names = series()
    assert not [name for name in names if name.endswith("_created")]
    assert {"turnfold_build_info", "turnfold_requests_in_flight", "process_cpu_seconds_total"} <= set(names)


def test_a_hundred_models_at_most_and_none_that_no_upstream_served() -> None:
    metrics = Metrics()
    for number in range(150):
        metrics.observe(receipt(model=f"m{number}"), RequestCost(1, 1))
        metrics.observe(receipt(model=f"junk{number}", upstream_status=404, usage=()), RequestCost(1, 1))
    labels = set(re.findall(r'turnfold_requests_total{model="(\w+)"', metrics.render()[0].decode()))
    assert labels == {f"m{number}" for number in range(100)} | {"other"}


def run(*arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROMTOOL, *arguments], input=given, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603


@needs_promtool
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "rules", "alerts.yml"),
        ("test", "rules", "alerts_test.yml"),
        ("check", "config", "--syntax-only", "prometheus.yml"),
    ],
)
def test_promtool_agrees(arguments: tuple[str, ...]) -> None:
    done = run(*arguments[:-1], str(DEPLOY / arguments[-1]))
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_promtool_finds_no_fault_with_the_metrics() -> None:
    done = run("check", "metrics", given=exposition())
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def every_alert() -> list[Any]:
    return [rule for group in yaml.safe_load((DEPLOY / "alerts.yml").read_text("utf-8"))["groups"] for rule in group["rules"]]


def test_what_an_alert_is_tried_to_say_is_what_it_says() -> None:
    said = {rule["alert"]: rule["annotations"] for rule in every_alert()}
    tests = yaml.safe_load((DEPLOY / "alerts_test.yml").read_text("utf-8"))["tests"]
    rules = [rule for test in tests for rule in test.get("alert_rule_test", [])]
    tried = [(rule["alertname"], alert) for rule in rules for alert in rule.get("exp_alerts", [])]
    assert tried
    for name, alert in tried:
        instance = alert["exp_labels"]["instance"]
        assert alert["exp_annotations"] == {
            key: text.replace("{{ $labels.instance }}", instance) for key, text in said[name].items()
        }


def test_every_alert_is_tried() -> None:
    tried = (DEPLOY / "alerts_test.yml").read_text("utf-8")
    assert all(f'alertname="{rule["alert"]}"' in tried for rule in every_alert())
    assert all(rule["annotations"].keys() == {"summary", "description"} for rule in every_alert())
