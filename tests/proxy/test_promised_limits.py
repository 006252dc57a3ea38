"""Limits that the documentation names: paragraphs on a matter give the figures of the code."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.cases import each
from turnfold.proxy import file_check, stopping, workers
from turnfold.proxy.asking import asker, blocks
from turnfold.proxy.books import section_records
from turnfold.proxy.chat import abandoning, process_folding
from turnfold.proxy.dashboard import entrance, newest
from turnfold.proxy.deletion import deletions
from turnfold.proxy.http import http11, inbound
from turnfold.proxy.learning import places, windows
from turnfold.proxy.outbound import upstream
from turnfold.proxy.semantic import embeddings_wire, likenesses, upstream_encoder
from turnfold.proxy.store import guard
from turnfold.proxy.store.redis_store import store as redis_store
from turnfold.proxy.telemetry import metrics

DOCS = Path(__file__).resolve().parents[2] / "docs"
_WORDS = {1: "one", 2: "two|twice", 3: "three", 4: "four", 5: "five", 10: "ten"}
_UNITS = {
    "s": (1, "s|seconds"),
    "min": (60, "minutes"),
    "h": (3600, "hours"),
    "kB": (2**10, "kB"),
    "MB": (2**20, "MB"),
    "GB": (2**30, "GB"),
}

#: A file, what its paragraph is on, the figure of the code, its unit (or the words behind it).
PROMISES = {
    "a silent worker": ("scale.md", "checks each worker twice a second", workers._PATIENCE, "s"),
    "a silent worker, again": ("operations.md", "A worker that dies", workers._PATIENCE, "s"),
    "a worker that starts": ("scale.md", "checks each worker twice a second", workers._START_PATIENCE, "s"),
    "workers that die while they start": ("scale.md", "at growing intervals, up to", workers._LONGEST_WAIT, "s"),
    "a worker that does not stop": ("scale.md", "On SIGTERM, a worker", stopping.STOP_PATIENCE, "s"),
    "a process that does not stop": ("operations.md", "Whatever still runs", stopping.STOP_PATIENCE, "s"),
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
    "bodies without summaries": ("models.md", "always keep their quotes", process_folding.LARGE, "kB"),
    "a session of the dashboard": ("dashboard.md", "session lasts", entrance.SESSION_LIFE, "h"),
    "a link to it": ("dashboard.md", "A link works once", entrance.LINK_LIFE, "min"),
    "a link to it, again": ("security.md", "a link that works once", entrance.LINK_LIFE, "min"),
    "what is deleted elsewhere": ("security.md", "Other processes forget", deletions.NOTICED_WITHIN, "s"),
    "a window that is to be forgotten": ("operations.md", "This takes effect in every process", windows.FORGOTTEN_WITHIN, "s"),
    "a tag that nobody uses": ("dashboard.md", "A tag that has not been used", places._UNUSED, "days"),
    "a tombstone": ("scale.md", "| tombstones |", section_records._TOMBSTONE_LIVES, "times"),
    "what Redis may lose at a failover": ("operations.md", "writes them again", redis_store._AGE, "s"),
    "and how much of it is kept": ("operations.md", "writes them again", redis_store._MOST_BYTES, "MB"),
    "and on the page about outages": ("scale.md", "at most 16 MB per process", redis_store._AGE, "s"),
    "a store is looked for again": ("scale.md", "**After a freeze**", guard._LAST_PROBE, "s"),
    "conversations with vectors": ("models.md", "**When vectors are computed.**", likenesses._LEAST, "tokens"),
    "texts of a call for vectors": ("models.md", "OpenAI's limits", embeddings_wire.MOST_INPUTS, "texts"),
    "tokens of such a text": ("models.md", "OpenAI's limits", embeddings_wire.MOST_INPUT_TOKENS, "tokens"),
    "a server of vectors that refuses": ("models.md", "A 401, 403, 404 or 429", upstream_encoder._FIRST_PAUSE, "s"),
    "and one that fails": ("models.md", "A 401, 403, 404 or 429", upstream_encoder._FAILURES, "other failures"),
    "models in the metrics": ("dashboard.md", "names that an upstream has served", metrics._MOST_MODELS, "names"),
    "models in the metrics, again": ("deploy/README.md", "The label `model`", metrics._MOST_MODELS, "values"),
    "tags in the metrics": ("dashboard.md", "lists the first", metrics._MOST_TAGS, "tags"),
    "latency on the dashboard": ("dashboard.md", "Median", newest.MOST, "requests"),
}


@each("name", PROMISES)
def test_limits(name: str) -> None:
    file, words, value, unit = PROMISES[name]
    by, spelled = _UNITS.get(unit, (1, unit))
    figure = f"{value / by:,g}"
    shown = f"{figure}|{_WORDS[int(figure)]}" if figure.isdigit() and int(figure) in _WORDS else figure
    paragraphs = [
        " ".join(one.split()) for one in re.split(r"\n\s*\n|\n(?=- )", (DOCS / file).read_text("utf-8")) if words in one
    ]
    assert paragraphs, words
    assert any(re.search(rf"\b({shown})\s({spelled})\b", one, re.IGNORECASE) for one in paragraphs), (figure, unit)
