"""What a program reports keeps its kind inside JSON and behind a label, as agents' frameworks hand it on.

These tests cover FACTS of such texts beside those of the bare ones. They leave out how each kind is shortened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import product
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.words import prose
from turnfold.compression import tokens
from turnfold.compression.shorten.facts import facts
from turnfold.compression.shorten.kinds.wrapped_text import wrapped_text
from turnfold.compression.text.kinds import parts

_SENTENCES: Final = re.findall(r"\S[^.]*\.(?=\s|$)", prose(11, "en", 60))
_LOG: Final = [
    *(f"2026-03-{1 + i % 28:02d}T08:{i:02d}:00Z INFO pump[{i % 4}] flow {20 + i} l/min" for i in range(50)),
    "2026-03-29T09:00:00Z ERROR pump[3] valve 77 does not shut",
]
_TABLE: Final = ["| step | state |", "|---|---|", *(f"| step {i} | late {100 + i} |" for i in range(60))]
_TEXTS: Final = {"prose": " ".join(_SENTENCES), "log": "\n".join(_LOG), "table": "\n".join(_TABLE)}
_WRAPPERS: Final[dict[str, Callable[[str], Any]]] = {
    "result": lambda text: {"result": text},
    "output and exit code": lambda text: {"output": text, "metadata": {"exit_code": 3, "duration_seconds": 0.5}},
    "parts": lambda text: [{"type": "text", "text": text}],
    "server's answer": lambda text: {"content": [{"type": "text", "text": text}], "isError": False},
    "deep": lambda text: {"data": {"page": {"body": {"markdown": text}}, "url": "https://example.com/a"}},
}


def _facts(text: str) -> str:
    return facts(text, role="tool", words=frozenset({"valve"}), known=(), count=tokens.count)


@each(("kind", "wrapper"), product(sorted(_TEXTS), sorted(_WRAPPERS)))
def test_a_text_inside_json_is_shortened_by_its_kind(wrapper: str, kind: str) -> None:
    text = json.dumps(_WRAPPERS[wrapper](_TEXTS[kind]))
    short, bare = _facts(text), _facts(_TEXTS[kind])
    assert tokens.count(short) <= 1.2 * tokens.count(bare) + 40
    assert "…[" not in short
    kept = [line for line in bare.split("\n")[:-1] if line in short]
    assert len(kept) >= 0.7 * len(bare.split("\n")[:-1])
    for around in ("exit_code: 3", "duration_seconds: 0.5", "isError: false", "url: https://example.com/a"):
        assert (around in short) == (around.split(":")[0] in text)


def test_a_text_inside_json_is_not_cut_in_a_sentence() -> None:
    short = _facts(json.dumps({"result": _TEXTS["prose"]}))
    said = short.removeprefix("{result: ").split("\n[")[0].replace("\n", " ")
    sentences = [f"{one}." for one in said.split(". ") if not one.endswith(".")] + [said.split(". ")[-1]]
    assert len(sentences) > 3
    assert set(sentences) <= set(_SENTENCES)


@each(
    "value",
    [
        {"a": "short"},
        {"one": prose(1, "en", 12), "two": prose(2, "en", 12)},
        {"result": json.dumps({"rows": [{"n": i, "at": "Tartu"} for i in range(60)]})},
        {"result": _TEXTS["log"], "more": [f"page {i}" for i in range(90)]},
        {"result": _TEXTS["log"] + "\0"},
        "no JSON of that kind",
    ],
)
def test_json_of_another_kind_is_read_as_json(value: object) -> None:
    assert wrapped_text(json.dumps(value)) is None


@given(st.text(min_size=320, max_size=500), st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3))
def test_what_stands_around_is_parted_from_the_text(text: str, more: dict[str, str]) -> None:
    found = wrapped_text(json.dumps(more | {"the text": text}))
    assert found is None or found.text == text
    assert found is None or "the text: " in found.before


_DATA: Final = json.dumps({"part": "p-4", "rows": [{"t": i, "state": "open"} for i in range(60)], "note": "valve 77"})


@each("label", ["Observation: ", "Result: ", "**Tool output:** ", "Beobachtung: ", "Résultat de l outil: "])
def test_json_behind_a_label_is_json(label: str) -> None:
    assert [(span.start, span.kind) for span in parts(label + _DATA)] == [(0, "plain"), (len(label), "json")]
    short = _facts(label + _DATA)
    assert short.startswith(label.strip())
    assert "part: p-4" in short
    assert "valve 77" in short


@each("label", ["Observation: ", "Observation:\n", "Result: ", "**Tool output:** ", "Резултат: "])
def test_language_behind_a_label_is_not_cut_in_a_sentence(label: str) -> None:
    short = _facts(label + _TEXTS["prose"])
    said = short.removeprefix(label.strip()).split("\n[")[0]
    whole = [f"{one.strip()}." for one in said.replace("\n", " ").strip().removesuffix(".").split(". ")]
    assert len(whole) > 3
    assert set(whole) <= set(_SENTENCES)


@pytest.mark.parametrize(
    "text", ["name: web\nimage: nginx\nports:\n  - 80\n  - 443\nrestart: always\n", "title: a\nbody: b\n" * 9]
)
def test_keys_with_values_stay_a_document(text: str) -> None:
    assert {span.kind for span in parts(text)} == {"yaml"}
