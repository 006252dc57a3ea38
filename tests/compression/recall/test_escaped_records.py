"""Records in escaped JSON, asked about later: as strings of JSON, with letters by their numbers, as lines of text in a field.

A tool's JSON comes so from Python (``json.dumps`` writes "Müller" as ``M\\u00fcller``), from MCP, ADK, LangChain and the Vercel
AI SDK (a result in JSON is a string of JSON again).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.options import FoldOptions
from turnfold.compression.text.escapes import with_breaks, with_letters

Rows = Sequence[dict[str, Any]]


def _text(said: str) -> str:
    return json.dumps([{"type": "text", "text": said}])


def _csv(rows: Rows) -> str:
    return "\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)])


def _markdown(rows: Rows) -> str:
    return "\n".join("- " + ", ".join(f"{key} {value}" for key, value in row.items()) for row in rows)


def _xml(rows: Rows) -> str:
    return "".join("<row>" + "".join(f"<{key}>{value}</{key}>" for key, value in row.items()) + "</row>" for row in rows)


def _html(rows: Rows) -> str:
    cells = ("".join(f"<td>{value}</td>" for value in row.values()) for row in rows)
    return "<table>" + "".join(f"<tr>{row}</tr>\n" for row in cells).encode("ascii", "xmlcharrefreplace").decode() + "</table>"


FORMS: Final[dict[str, Callable[[Rows], str]]] = {
    "plain": json.dumps,
    "pretty": lambda rows: json.dumps(rows, indent=2),
    "mcp": lambda rows: _text(json.dumps({"rows": rows})),
    "mcp, pretty": lambda rows: _text(json.dumps({"rows": rows}, indent=2)),
    "mcp, UTF-8": lambda rows: _text(json.dumps(rows, ensure_ascii=False)),
    "mcp, XML": lambda rows: _text(_xml(rows)),
    "adk": lambda rows: json.dumps({"result": json.dumps({"rows": rows}, indent=1)}),
    "vercel": lambda rows: json.dumps({"type": "text", "value": json.dumps({"rows": rows})}, separators=(",", ":")),
    "string of a string": lambda rows: json.dumps(json.dumps({"rows": rows}, indent=2)),
    "twice": lambda rows: json.dumps({"output": json.dumps({"data": json.dumps(rows, indent=2)})}),
    "langchain": lambda rows: json.dumps([json.dumps(row) for row in rows]),
    "lines": lambda rows: json.dumps({"stdout": "\n".join(map(json.dumps, rows)), "code": 0}),
    "csv": lambda rows: json.dumps({"result": _csv(rows)}),
    "csv with CRLF": lambda rows: json.dumps({"result": _csv(rows).replace("\n", "\r\n")}),
    "php": lambda rows: json.dumps(rows, separators=(",", ":")).replace("/", "\\/"),
    "html": _html,
    "markdown": lambda rows: json.dumps({"result": _markdown(rows)}),
}
ASKED: Final = [
    ("Jürgen Öz", "Which desk does Jürgen Öz have?"),
    ("Ирина Козлова", "За каким столом сидит Ирина Козлова?"),
    ("山田太郎", "山田太郎の机は?"),
]
DESK: Final = "QX-88117"


def _forwarded(form: Callable[[Rows], str], name: str, question: str) -> str:
    """What is forwarded at a tenth of a conversation with two results of 100 records each, one of them that of the name."""
    rows = [
        {"key": f"K-{i}", "person": f"{prose(i, 'en', 1).split()[0].title()} Abel", "desk": f"D-{7000 + i}"} for i in range(200)
    ]
    rows[137] |= {"person": name, "desk": DESK}
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Load the list of desks."}]
    for at in (0, 100):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "desks", "arguments": json.dumps({"page": at})}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": form(rows[at : at + 100])})
    messages += [
        {"role": "assistant", "content": "Loaded."},
        {"role": "user", "content": "How does a kettle work?"},
        {"role": "assistant", "content": prose(3, "en", 15)},
        {"role": "user", "content": question},
    ]
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    before = fold_request(body, FoldOptions(model="gpt-4o"), WARM).tokens_before
    folded = fold_request(body, FoldOptions(model="gpt-4o", budget=before // 10), WARM)
    assert folded.tokens_after <= before // 10
    return "\n".join(message["content"] or "" for message in json.loads(folded.body)["messages"])


@each(("form", "name", "question"), every(2, crosswise([(form, *row) for form in FORMS.values() for row in ASKED], 3), 1))
def test_a_record_is_found_by_a_name_in_it(name: str, question: str, form: Callable[[Rows], str]) -> None:
    assert DESK in _forwarded(form, name, question)


@each(
    ("text", "shown"),
    [
        (r'{"a": "one\ntwo"}', '{"a": "one \ntwo"}'),
        (r'["one\r\ntwo"]', '["one   \ntwo"]'),
        (r'"{\n  \"a\": \"one\\ntwo\"\n}"', '"{ \n  \\"a\\": \\"one\\\\ntwo\\" \n}"'),
        (r'{"a": "{\"b\": \"{\\\"c\\\":\\n1}\"}"}', '{"a": "{\\"b\\": \\"{\\\\\\"c\\\\\\":  \n1}\\"}"}'),
        (r'{"path": "C:\\new\\table"}', r'{"path": "C:\\new\\table"}'),
        (r"print('one\ntwo')", r"print('one\ntwo')"),
    ],
)
def test_line_breaks_in_strings_of_json(text: str, shown: str) -> None:
    assert with_breaks(text) == shown
    assert len(shown) == len(text)


@each(
    ("text", "shown"),
    [
        (r"M\u00fcller", "Müller"),
        (r"\\u5C71\\u7530", "山田"),
        (r"\ud83d\ude00!", "😀!"),
        (r"\\ud83d\\ude00!", "😀!"),
        (r"https:\/\/x.example\/a", "https://x.example/a"),
        ("M&uuml;ller &#38; S&#xF6;hne&nbsp;KG", "Müller & Söhne KG"),
        ("a=1&copy=2&lang;x", "a=1&copy=2⟨x"),
        ("&unknown; &#0; &#1114112;", "&unknown; &#0; �"),
        (r"lone \ud83d stays", r"lone \ud83d stays"),
        (r"C:\users\ute", r"C:\users\ute"),
    ],
)
def test_letters_by_their_numbers(text: str, shown: str) -> None:
    assert with_letters(text) == shown
