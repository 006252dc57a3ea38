"""Passages that a search tool returned as records on one line, asked about later under a tight budget.

The records beside a needed one share nothing with the question. What is quoted must be the needed ones, both of a question in two
steps, and not a run of neighbours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final

from tests.support.cases import each
from tests.support.effort import crosswise
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.options import FoldOptions
from turnfold.compression.text.passages import passages
from turnfold.compression.text.records import record_starts

Form = Callable[[Sequence[tuple[str, str]]], str]


def _xml(found: Sequence[tuple[str, str]]) -> str:
    return "".join(f'<document index="{i}"><source>{title}</source>{text}</document>' for i, (title, text) in enumerate(found))


def _objects(found: Sequence[tuple[str, str]]) -> str:
    return json.dumps([{"id": i, "text": f"{title}: {text}"} for i, (title, text) in enumerate(found)])


def _wrapped(found: Sequence[tuple[str, str]]) -> str:
    hits = [{"title": title, "content": text, "url": f"https://x.example/{i}"} for i, (title, text) in enumerate(found)]
    return json.dumps({"query": "q", "results": hits}, ensure_ascii=False, separators=(",", ":"))


def _strings(found: Sequence[tuple[str, str]]) -> str:
    return json.dumps({"documents": [f"{title}: {text}" for title, text in found]})


def _announced(found: Sequence[tuple[str, str]]) -> str:
    return f"Found {len(found)} results: {_objects(found)}"


FORMS: Final[dict[str, Form]] = {
    "objects": _objects,
    "wrapped": _wrapped,
    "strings": _strings,
    "announced": _announced,
    "xml": _xml,
}
QUESTIONS: Final = [
    (
        "What instrument did the teacher of Clara Osei play?",
        ("Clara Osei", "Clara Osei took lessons from Johan Lindqvist as a child."),
        ("Lindqvist", "Johan Lindqvist played the nyckelharpa and recorded eleven albums."),
    ),
    (
        "Who succeeded the mayor that opened the Marram Bridge?",
        ("Marram Bridge", "The Marram Bridge was opened by mayor Gwilym Pryce in 1931."),
        ("List of mayors", "Gwilym Pryce was followed in office by Dorothea Finch, who served until 1940."),
    ),
    (
        "¿Dónde nació la autora de La sal vieja?",
        ("La sal vieja", "La sal vieja es una novela de Inés Quiroga sobre marineros."),
        ("Quiroga", "Inés Quiroga nació en Cudillero y estudió derecho."),
    ),
]


def _asked(question: str, needed: Sequence[tuple[str, str]], form: Form) -> str:
    """What is forwarded of a conversation with forty records, at a twentieth of its tokens."""
    found = [(f"Report {i}", prose(i, "en", 5)) for i in range(40)]
    for place, one in zip((7, 26, 33), needed, strict=False):
        found.insert(place, one)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Please look up what you need."}]
    for at in range(0, len(found), 14):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "search", "arguments": json.dumps({"page": at})}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": form(found[at : at + 14])})
    messages += [{"role": "assistant", "content": "I have read it."}, {"role": "user", "content": question}]
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    before = fold_request(body, FoldOptions(model="gpt-4o"), WARM).tokens_before
    folded = fold_request(body, FoldOptions(model="gpt-4o", budget=before // 20), WARM)
    assert folded.tokens_after <= before // 20
    return "\n".join(message["content"] or "" for message in json.loads(folded.body)["messages"])


@each(("form", "question", "first", "second"), crosswise([(form, *row) for form in FORMS.values() for row in QUESTIONS], 3))
def test_both_records_of_a_question_in_two_steps_are_quoted(
    question: str, first: tuple[str, str], second: tuple[str, str], form: Form
) -> None:
    text = _asked(question, (first, second), form)
    for _, said in (first, second):
        assert said in text or json.dumps(said)[1:-1] in text


@each(
    ("text", "records"),
    [
        ('[{"a": 1}, {"b": 2},{"c": 3}]', ['{"a": 1}, ', '{"b": 2},', '{"c": 3}]']),
        ('{"hits": [["x", 1], ["y", 2]]}', ['["x", 1], ', '["y", 2]']),
        ('{"texts": ["One, two.", "Three \\", four", "Five"]}', ['"One, two.", ', '"Three \\", four", ', '"Five"']),
        ('{"title": "One", "text": "Two"}', ['{"title": "One", "text": "Two"}']),
        ("<p>One.</p> <p>Two.</p><p>Three.</p>", ["<p>One.</p> ", "<p>Two.</p>", "<p>Three.</p>"]),
        ("<tr><td>Name</td><td>Ada</td></tr>", ["<tr><td>Name</td><td>Ada</td></tr>"]),
        ("It was {sic}, {sic} again, said the report.", ["It was {sic}, {sic} again, said the report."]),
        ("A <b>bold</b><b>er</b> claim.", ["A <b>bold</b><b>er</b> claim."]),
    ],
)
def test_where_records_begin(text: str, records: list[str]) -> None:
    cuts = [0, *record_starts(text), len(text)]
    found = [text[a:b] for a, b in pairwise(cuts)]
    assert len(found) == len(records)
    assert all(record in part for record, part in zip(records, found, strict=True))


def test_a_passage_lies_in_one_record_unless_several_are_small() -> None:
    large = _objects([(f"Report {i}", prose(i, "en", 5)) for i in range(9)])
    begins = record_starts(large)
    assert not [1 for start, end in passages(large) for border in begins if start < border < end]
    small = json.dumps([{"n": i} for i in range(300)])
    assert len(passages(small)) < 150
