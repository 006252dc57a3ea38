"""Limits that the documentation names: paragraphs on a matter give the figures of the code."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.cases import each
from turnfold.proxy import file_check, workers
from turnfold.proxy.asking import asker, blocks
from turnfold.proxy.chat import abandoning, elsewhere
from turnfold.proxy.dashboard import entrance, newest
from turnfold.proxy.http import http11, inbound
from turnfold.proxy.outbound import upstream

DOCS = Path(__file__).resolve().parents[2] / "docs"
_WORDS = {1: "one", 2: "two|twice", 4: "four", 5: "five", 10: "ten"}
_UNITS = {
    "s": (1, "s|seconds"),
    "min": (60, "minutes"),
    "h": (3600, "hours"),
    "kB": (2**10, "kB"),
    "GB": (2**30, "GB"),
}

#: A file, what its paragraph is on, the figure of the code, its unit (or the words behind it).
PROMISES = {
    "a silent worker": ("scale.md", "checks each worker twice a second", workers._PATIENCE, "s"),
    "a silent worker, again": ("operations.md", "A worker that dies", workers._PATIENCE, "s"),
    "a worker that starts": ("scale.md", "checks each worker twice a second", workers._START_PATIENCE, "s"),
    "workers that die while they start": ("scale.md", "at growing intervals, up to", workers._LONGEST_WAIT, "s"),
    "a worker that does not stop": ("scale.md", "On SIGTERM, a worker", workers._STOP_PATIENCE, "s"),
    "a head that never ends": ("operations.md", "request's head", http11._HEAD_SECONDS, "s"),
    "an answer that nobody reads": ("operations.md", "reads nothing of its response", http11._UNREAD_SECONDS, "s"),
    "no free connection": ("operations.md", "connections to the upstream are in use", upstream._POOL_WAIT, "s"),
    "a body that stalls": ("operations.md", "body_stalled", inbound.STALL, "s"),
    "a body that stalls, again": ("security.md", "a client that stalls", inbound.STALL, "s"),
    "a slow fold goes on": ("operations.md", "the background", abandoning._GRACE, "as long"),
    "a store's file is checked later": ("operations.md", "checks the whole file", file_check._AFTER, "s"),
    "and for so long": ("operations.md", "checks the whole file", file_check._SECONDS, "s"),
    "and not often": ("operations.md", "checks the whole file", file_check._ONCE_IN, "min"),
    "and up to this size": ("operations.md", "checks the whole file", file_check._LARGEST, "GB"),
    "a model that fails": ("models.md", "stop all calls", asker._FAILURES, "failures in a row"),
    "summaries that are refused": ("models.md", "stop block", blocks._REFUSALS, "refused block summaries"),
    "bodies without summaries": ("models.md", "always keep their quotes", elsewhere.LARGE, "kB"),
    "a session of the dashboard": ("dashboard.md", "session lasts", entrance.SESSION_LIFE, "h"),
    "latency on the dashboard": ("dashboard.md", "Median", newest.MOST, "requests"),
}


@each("name", PROMISES)
def test_limits(name: str) -> None:
    file, words, value, unit = PROMISES[name]
    by, spelled = _UNITS.get(unit, (1, unit))
    figure = f"{value / by:g}"
    shown = f"{figure}|{_WORDS[int(figure)]}" if figure.isdigit() and int(figure) in _WORDS else figure
    paragraphs = [
        " ".join(one.split()) for one in re.split(r"\n\s*\n|\n(?=- )", (DOCS / file).read_text("utf-8")) if words in one
    ]
    assert paragraphs, words
    assert any(re.search(rf"\b({shown})\s({spelled})\b", one, re.IGNORECASE) for one in paragraphs), (figure, unit)
