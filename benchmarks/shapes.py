"""Processor time of the engine over texts and conversations of hostile shapes, at a size, twice and four times that size.

    python -m benchmarks.shapes [--size 125000] [--only brackets,csv] [--ways layers,terse] [--slow 1]

A row is reported if the largest takes more than a second; it fails if its time also grows faster than n to the power of
`_STEEPEST`. Each cell runs in a process of its own with a limit, so that a stall is a figure and not the end of the run.

It has the shapes, what is called with them, and the table. Random input is in ``fuzz``.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any, Final

from turnfold.compression.budgeted import History, HistoryMessage, HistorySettings, add, context
from turnfold.compression.flows.roundtrip import compress
from turnfold.compression.fold import fold_request
from turnfold.compression.layers import Compressor, CompressRequest, truncate_to_tokens
from turnfold.compression.memo import Memo
from turnfold.compression.negotiate import Demand, negotiate, to_a2a_part
from turnfold.compression.options import FoldOptions
from turnfold.compression.shorten.terse_prose import compress as terse
from turnfold.compression.state import preprocess_heuristic
from turnfold.compression.text.private import Redactor
from turnfold.compression.tokens import count, count_for_model

Message = dict[str, Any]

_SLOW: Final = 1.0
_STEEPEST: Final = 1.3
_SIZES: Final = (1, 2, 4)


# --- texts of about so many characters ---------------------------------------------------------------------------------


def _words(seed: int = 3, count: int = 20_000) -> tuple[Random, list[str]]:
    random = Random(seed)
    return random, ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(2, 7))) for _ in range(count)]


def _repeated(unit: str) -> Callable[[int], str]:
    return lambda size: unit * (size // len(unit))


def _lines(make: Callable[[int], str], join: str = "\n") -> Callable[[int], str]:
    def text(size: int) -> str:
        out: list[str] = []
        n = 0
        while size > 0:
            out.append(make(n))
            size -= len(out[-1]) + len(join)
            n += 1
        return join.join(out)

    return text


def _salad(of: int, join: str = "\n") -> Callable[[int], str]:
    def text(size: int) -> str:
        random, words = _words()
        return _lines(lambda _: " ".join(random.choices(words, k=of)), join)(size)

    return text


def _facts(size: int) -> str:
    """Sentences that share a few of many names each."""
    random, words = _words()
    names = [word.capitalize() for word in words[:300]]
    return _lines(lambda n: f"So {' and '.join(random.choices(names, k=6))} met {n} times in {random.choice(names)}.", " ")(size)


def _leaning(size: int) -> str:
    """Sentences that all need the one in front of them."""
    it, he = ("it", "this", "that"), ("he", "she")
    return _lines(lambda n: f"But {it[n % 3]} was {n} and not {n + 1}, as {he[n % 2]} said.", " ")(size)


def _figures_in_sentences(size: int) -> str:
    """At most 118 sentences, however long, each of many figures."""
    random = Random(1)
    of = max(1, size // 118 // 16)
    told = (
        " ".join(f"{random.choice(['holds', 'takes', 'had'])} {random.randint(1, 99999)} bar" for _ in range(of))
        for _ in range(118)
    )
    return " ".join(f"Pump {one}." for one in told)


def _deep(size: int) -> str:
    depth = 1000
    return "[" * depth + ",".join(['{"a": [1, 2]}'] * (size // 14)) + "]" * depth


def _objects(size: int) -> str:
    return json.dumps([{"id": n, "name": f"item {n}", "price": n / 7, "tags": ["a", "b"]} for n in range(size // 62)])


def _keys(size: int) -> str:
    return json.dumps({f"key_{n}": {"value": n, "say": f"word {n}"} for n in range(size // 42)})


def _wide_table(size: int) -> str:
    columns = size // 12
    return f"|{'|'.join(map(str, range(columns)))}|\n|{'---|' * columns}\n|{'x|' * columns}"


def _base64(size: int) -> str:
    return base64.b64encode(Random(1).randbytes(size * 3 // 4)).decode()


def _base64_lines(size: int) -> str:
    return base64.encodebytes(Random(1).randbytes(size * 3 // 4)).decode()


TEXTS: Final[Mapping[str, Callable[[int], str]]] = MappingProxyType(
    {
        "salad-lines": _salad(17),
        "salad-sentences": _salad(12, ". "),
        "salad-one-line": _salad(17, " "),
        "prose-names": _facts,
        "leaning": _leaning,
        "short-lines": _lines(lambda n: f"a{n % 97} b"),
        "equal-lines": _repeated("the same line again\n"),
        "equal-sentence": _repeated("The pump was repaired by Anna on 3 May. "),
        "question-marks": _repeated("? "),
        "one-word-sentences": _repeated("No. Yes. "),
        "open-brackets": _repeated("["),
        "bracket-pairs": _repeated("[]"),
        "nested-brackets": lambda size: "(" * (size // 2) + ")" * (size // 2),
        "open-braces": _repeated('{"a":'),
        "quotes": _repeated('"'),
        "quoted-words": _repeated('"a" "b '),
        "nested-quotes": lambda size: "“«" * (size // 4) + "»”" * (size // 4),
        "apostrophes": _repeated("it's 'a "),
        "backticks": _repeated("`a` ``b "),
        "dollars": _repeated("$a$ $$b "),
        "stars": _repeated("**a* *b** "),
        "underscores": _repeated("_a__b_ "),
        "list-items": _lines(lambda n: f"- item {n}"),
        "numbered-items": _lines(lambda n: f"{n}. Do step {n} now."),
        "nested-list": _lines(lambda n: f"{'  ' * (n % 40)}- item {n}"),
        "blockquotes": _lines(lambda n: f"{'>' * (n % 30 + 1)} quoted {n}"),
        "table": _lines(lambda n: f"| {n} | name {n} | {n * 7} | x |" if n != 1 else "|---|---|---|---|"),
        "wide-table": _wide_table,
        "csv": _lines(lambda n: f"{n},name {n},{n * 7 % 1000},2026-01-{n % 28 + 1:02}"),
        "tsv": _lines(lambda n: f"{n}\tname {n}\t{n * 7 % 1000}\tx"),
        "base64": _base64,
        "base64-lines": _base64_lines,
        "hex": lambda size: Random(1).randbytes(size // 2).hex(),
        "one-letter": _repeated("a"),
        "blanks": _repeated(" "),
        "blanks-and-word": lambda size: f"Begin.{' ' * size}End."[:size],
        "newlines": _repeated("\n"),
        "blank-lines": _repeated("a\n\n\n"),
        "tabs": _repeated("\t"),
        "digits": _repeated("1234567890"),
        "decimals": _repeated("1.2."),
        "dots": _repeated("."),
        "dashes": _repeated("-"),
        "combining": lambda size: "e" + "\u0301" * size,
        "combined": _repeated("e\u0301\u0302 "),
        "emoji": _repeated("😀👩\u200d🚀"),
        "cjk": lambda size: "".join(chr(0x4E00 + n * 7919 % 20000) for n in range(size // 3)),
        "cjk-stops": _lines(lambda n: f"第{n}次检查泵的压力是{n % 9}巴。", ""),
        "japanese": _lines(lambda n: f"それは{n}回目の確認でした。", ""),
        "thai": _repeated("ปั๊มน้ำได้รับการซ่อมแล้ว"),
        "arabic": _lines(lambda n: f"قال المدير إن الضغط بلغ {n} بار.", " "),
        "surrogates": _repeated("\ud800a "),
        "null-bytes": _repeated("\x00"),
        "fences": _lines(lambda n: f"```py\nx = {n}\n```"),
        "open-fences": _lines(lambda n: "```py"),
        "tilde-fences": _lines(lambda n: f"{'~' * (3 + n % 9)}\nx"),
        "headings": _lines(lambda n: f"# Heading {n}\nSaid {n}."),
        "headings-only": _lines(lambda n: f"## Heading {n}"),
        "labels": _lines(lambda n: f"{('Anna', 'Ben')[n % 2]}: so it is {n}"),
        "colons": _repeated("a: "),
        "urls": _lines(lambda n: f"https://example.org/a/{n}?b={n}&c=d", " "),
        "one-url": lambda size: "https://example.org/" + "a/" * (size // 2),
        "mails": _lines(lambda n: f"user{n}@example.org", " "),
        "at-signs": _repeated("a@b."),
        "paths": _lines(lambda n: f"/usr/lib/x{n}/y.so"),
        "one-path": _repeated("/a"),
        "identifiers": _lines(lambda n: f"self.value_{n} = compute_{n % 7}(arg{n})"),
        "code": _lines(lambda n: f"{'    ' * (n % 5)}if x{n} == {n}: return y{n}"),
        "html": _lines(lambda n: f"<tr><td class='a'>{n}</td><td>x</td></tr>"),
        "open-tags": _repeated("<div>"),
        "angle-brackets": _repeated("<"),
        "private-tags": _repeated("<private>"),
        "xml": lambda size: "<a>" * (size // 7) + "</a>" * (size // 7),
        "json-objects": _objects,
        "json-keys": _keys,
        "json-deep": _deep,
        "json-lines": _lines(lambda n: json.dumps({"t": n, "level": "INFO", "say": f"served {n}"})),
        "json-in-prose": _lines(lambda n: f'The answer was {{"a": {n}}} and so on.', " "),
        "escaped-json": lambda size: json.dumps(json.dumps(json.dumps(_objects(size // 2)))),
        "yaml": _lines(lambda n: f"{'  ' * (n % 7)}key_{n}: value {n}"),
        "logs": _lines(lambda n: f"2026-01-01 10:{n % 60:02}:{n % 59:02} INFO worker-{n % 9} request {n} took {n * 7 % 900} ms"),
        "errors": _lines(lambda n: f"2026-01-01 ERROR worker-{n} failed: code {n}"),
        "trace": _lines(lambda n: f'  File "a{n}.py", line {n}, in f{n}\n    g({n})'),
        "traces": _lines(lambda n: f'Traceback (most recent call last):\n  File "a.py", line {n}\nValueError: {n}'),
        "diff": _lines(lambda n: f"diff --git a/x{n} b/x{n}\n@@ -{n},2 +{n},2 @@\n-old {n}\n+new {n}"),
        "search-hits": _lines(lambda n: f"src/m{n % 7}/f{n}.py:{n * 3}: def handler_{n}(request):"),
        "tests": _lines(lambda n: f"tests/test_{n}.py::test_{n} PASSED"),
        "sql": _lines(lambda n: f"SELECT a, b FROM t{n} WHERE id = {n} AND x IN (SELECT y FROM z);"),  # noqa: S608 - runs nowhere
        "keys": _lines(lambda n: f"password: hunter{n}"),
        "begin-keys": _repeated("-----BEGIN RSA PRIVATE KEY-----\n"),
        "math": _repeated("\\begin{a} x^2 \\[ "),
        "links": _lines(lambda n: f"[link {n}](https://example.org/{n})", " "),
        "images": _repeated("![a](b"),
        "initials": _repeated("A. B. "),
        "abbreviations": _repeated("e.g. Dr. vs. "),
        "capitals": _lines(lambda n: f"Anna Berg{n} And The", " "),
        "all-capitals": _repeated("NEVER DO THIS "),
        "orders": _lines(lambda n: f"Never deploy service {n} on Friday.", " "),
        "orders-one-line": _repeated("never do this and always "),
        "articles": _repeated("the the of the "),
        "fillers": _repeated("please just really very "),
        "commas": _repeated("a, "),
        "semicolons": _repeated("so; "),
        "pronouns": _repeated("It did it. He told her that. "),
        "figures": _lines(lambda n: f"{n}.{n % 10} kg", " "),
        "amounts": _lines(lambda n: f"€{n}.50 and USD {n}m on", " "),
        "dates": _lines(lambda n: f"on {n % 28 + 1} May 20{n % 100:02} at {n % 24}:00", " "),
        "ansi": _repeated("\x1b[31ma"),
        "carriage-returns": _repeated("50% \r"),
        "line-separators": _repeated("a\u2028"),
        "directives": _lines(lambda n: f"use tool {n} instead of tool {n + 1}"),
        "own-marks": _lines(lambda n: f"[turnfold {n:012}: {n} messages, shortened]"),
        "own-fences": _repeated('<quoted from="user">'),
        "many-figures": _figures_in_sentences,
        "zero-width": _lines(lambda n: f"wo\u200brd {n}\u200d\ufeff", " "),
        "crlf": _lines(lambda n: f"Line {n} of it is done.", "\r\n"),
        "crlf-paragraphs": _lines(lambda n: f"Pump {n} was repaired. It holds {n % 90} bar.", "\r\n\r\n"),
        "paragraphs": _lines(lambda n: f"Pump {n} was repaired. It holds {n % 90} bar.", "\n\n"),
        "mixed-scripts": _lines(lambda n: f"Pump {n} насос 泵 مضخة पंप ポンプ {n}.", " "),
        "mixed-sentences": _lines(
            lambda n: ("It is done.", "Это не так.", "这不行。", "هذا صحيح.", "यह सही है।", "違います。")[n % 6] + str(n), " "
        ),
        "russian": _lines(lambda n: f"Но это было {n}, и он сказал, что не {n + 1}.", " "),
        "german": _lines(lambda n: f"Aber das war nicht {n}, sondern {n + 1}, sagte er.", " "),
        "hebrew": _lines(lambda n: f"אבל זה היה {n} ולא {n + 1}.", " "),
        "korean": _lines(lambda n: f"하지만 그것은 {n}이 아니라고 했다.", " "),
        "hindi": _lines(lambda n: f"लेकिन यह {n} नहीं था।", " "),
        "turkish": _lines(lambda n: f"Ama bunu {n} kez yapmadı.", " "),
        "polish": _lines(lambda n: f"Kazał ją sprawdzić {n} razy.", " "),
        "deep-blockquotes": lambda size: "\n".join(f"{'>' * 400} quoted {n}" for n in range(size // 412)),
        "mail-thread": _lines(lambda n: f"On 3 May, Ben {n} wrote:\n> Please don't do {n}.\n> So it is.\nNo, I did not."),
        "mail-headers": _lines(lambda n: f"From: Anna {n} <a{n}@example.org>\nTo: Ben\nSubject: Re: pump {n}\n\nIt is fine."),
        "entities": _repeated("&amp;&lt;b&gt; &#x41; &nbsp; "),
        "entities-in-html": _lines(lambda n: f"<p>a&nbsp;&amp;{n} <b>x</b>"),
        "open-paragraphs": _repeated("<p><b><i>x"),
        "attributes": _lines(lambda n: f'<a href="#{n}" class="b" id={n}'),
        "comments": _repeated("<!-- a "),
        "latex": _lines(
            lambda n: f"\\section{{Pump {n}}}\n\\begin{{equation}} x_{n} = \\frac{{{n}}}{{2}} \\end{{equation}}\nSee $x_{n}$."
        ),
        "java-traces": _lines(
            lambda n: f"\tat org.example.a{n}.B.run(B.java:{n})" if n % 20 else f"Exception in thread main: E{n}"
        ),
        "whatsapp": _lines(lambda n: f"[28.11.26, 10:{n % 60:02}:11] {('Anna', 'Ben')[n % 2]}: No, it is {n}"),
        "slack": _lines(lambda n: f"{('anna', 'ben')[n % 2]}  10:{n % 60:02} AM\nso it is {n}, not {n + 1}\n:+1: {n % 3}"),
        "one-speaker": _lines(lambda n: f"Anna: No, it is {n}. So be it. He said that."),
        "irc": _lines(lambda n: f"10:{n % 60:02} <{('anna', 'ben')[n % 2]}> that is wrong, it is {n}"),
        "transcript": _lines(lambda n: f"{('Q', 'A')[n % 2]}: Did it hold {n}? No. It did not, as I said."),
        "minified": _lines(lambda n: f"function a{n}(b,c){{return b?c[{n}]:a{n - 1}(b,{{d:'{n}'}})}}", ";"),
        "minified-css": _lines(lambda n: f".a{n}{{color:#{n:06x};margin:0 {n}px}}", ""),
        "subtitles": _lines(lambda n: f"{n}\n00:{n % 60:02}:01,000 --> 00:{n % 60:02}:03,500\nSo that was {n}.\n"),
        "legal": _lines(
            lambda n: f"{n // 20}.{n % 20}.{n % 7} The tenant shall not sublet, except as set out in clause {n // 21}.{n % 9}."
        ),
        "legal-items": _lines(
            lambda n: f"({'abcdefgh'[n % 8]}) unless clause {n} applies;" if n % 9 else f"{n}. The buyer must not:"
        ),
        "definitions": _lines(lambda n: f"Term {n}: what it is and not what it was"),
        "footnotes": _lines(lambda n: f"It was said [{n}] that pump {n} failed.[^{n}]\n[^{n}]: Not by Ben."),
        "chunks": _lines(lambda n: f"[Chunk {n}] Source: a{n}.md\nPump {n} holds {n % 90} bar.\n"),
        "checkboxes": _lines(lambda n: f"- [{'x '[n % 2]}] never do {n} again"),
        "list-heads": _lines(lambda n: f"- do {n}" if n % 5 else f"Never do these {n}:"),
        "list-of-one-head": lambda size: "Never do:\n" + "\n".join(f"- step {n}, not {n + 1}" for n in range(size // 24)),
        "list-of-sentences": _lines(lambda n: f"- Pump {n} failed. It was not mended. So Ben left."),
        "nested-headings": _lines(lambda n: f"{'#' * (n % 6 + 1)} Part {n}\nIt is not {n}."),
        "underlined": _lines(lambda n: f"Part {n}\n-------\nIt is {n}."),
        "conditions": _lines(lambda n: f"If it rains {n} times, stop. Otherwise go on.", " "),
        "corrections": _lines(lambda n: f"It is {n}. Correction: that is wrong, it was {n + 1}.", " "),
        "corrections-in-lines": _lines(lambda n: f"Update {n}: no longer valid, see below."),
        "exceptions": _lines(lambda n: f"All pumps hold {n} bar. Except the {n}th, which does not.", " "),
        "questions": _lines(lambda n: f"Did pump {n} fail? No. Did it hold? Yes, but only for {n} days.", " "),
        "reports": _lines(lambda n: f"Anna says {n}. Ben says {n + 1}. She denied that.", " "),
        "quotations": _lines(lambda n: f'"It is {n}," he said. "But not {n + 1}. Never."', " "),
        "open-quotations": _lines(lambda n: f'He said: "it is {n}.', " "),
        "open-parentheses": _lines(lambda n: f"(it is {n}.", " "),
        "ordered-dates": _lines(lambda n: f"2026-{n % 12 + 1:02}-{n % 28 + 1:02}: moved to {n}, instead of {n - 1}"),
        "uuids": _lines(lambda n: f"{n * 7919:08x}-1234-4abc-9def-{n * 104729:012x}", " "),
        "addresses": _lines(lambda n: f"10.{n % 250}.{n // 250}.1:80{n % 90}"),
        "settings": _lines(lambda n: f"KEY_{n}=value {n}" if n % 10 else f"[part{n}]"),
        "git-log": _lines(lambda n: f"commit {n * 104729:040x}\nAuthor: Ben <b@example.org>\n\n    Mend pump {n}\n"),
        "listing": _lines(lambda n: f"-rw-r--r-- 1 ben users {n * 7} Nov 28 10:{n % 60:02} file{n}.txt"),
        "one-json-string": lambda size: json.dumps({"a": "It is so. " * (size // 10)}),
        "json-arrays": lambda size: json.dumps([[n, n + 1] for n in range(size // 14)]),
        "json-cut": lambda size: _objects(size)[:-3],
        "nested-json": lambda size: '{"a":' * (size // 6) + "1" + "}" * (size // 6),
        "flat-yaml-list": _lines(lambda n: f"- name: a{n}\n  value: {n}"),
        "long-words": _lines(lambda n: f"{'ab' * 200}{n}", " "),
        "camel-case": _lines(lambda n: f"getValueOfItem{n}FromList", " "),
        "ellipses": _repeated("So... and then... "),
        "shouting": _repeated("No!!! Why??? "),
        "roman": _lines(lambda n: f"{('i', 'ii', 'iii', 'iv', 'v')[n % 5]}) it is {n}"),
        "box-drawing": _repeated("│ a │ b │\n├───┼───┤\n"),
        "rules": _repeated("a\n\n---\n\n"),
        "fenced-prose": _lines(lambda n: f"So it is {n}.\n\n```\nx = {n}\n```\n\nBut it was not."),
        "tables-in-prose": _lines(lambda n: f"It is {n}:\n\n| a | b |\n|---|---|\n| {n} | x |\n"),
        "log-blocks": _lines(lambda n: f"2026-01-01 10:00:{n % 60:02} ERROR a failed {n}" if n % 8 else f"\nThen it was {n}.\n"),
        "names": _lines(lambda n: f"Dr. Anna-Lena van der Berg{n} of Acme{n} GmbH", ", "),
    }
)


# --- conversations of about so many characters ------------------------------------------------------------------------


def _talk(text: Callable[[int], str], size: int, each: int) -> list[Message]:
    return [{"role": ("user", "assistant")[n % 2], "content": text(n)} for n in range(size // each)]


def _call(n: int) -> Message:
    return {"id": f"c{n}", "type": "function", "function": {"name": "run", "arguments": f'{{"a": {n}}}'}}


def _calls(size: int) -> list[Message]:
    count = size // 150
    calls = [_call(n) for n in range(count)]
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": f"Result {n} is fine."} for n in range(count)]
    return [{"role": "user", "content": "Do it all."}, {"role": "assistant", "content": None, "tool_calls": calls}, *results]


def _steps(size: int) -> list[Message]:
    out: list[Message] = [{"role": "user", "content": "Do it all."}]
    for n in range(size // 250):
        out += [
            {"role": "assistant", "content": None, "tool_calls": [_call(n)]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"INFO {n} served in {n} ms\n" * 3},
        ]
    return out


def _systems(size: int) -> list[Message]:
    return [{"role": "system", "content": f"Never deploy service {n}."} for n in range(size // 60)]


def _parts(size: int) -> list[Message]:
    parts = [{"type": "text", "text": f"Part {n} of it."} for n in range(size // 45)]
    return [{"role": "user", "content": parts}, {"role": "assistant", "content": "ok"}]


CHATS: Final[Mapping[str, Callable[[int], list[Message]]]] = MappingProxyType(
    {
        "tiny-messages": lambda size: _talk(lambda n: f"ok {n}", size, 25),
        "equal-messages": lambda size: _talk(lambda n: "The pump was repaired by Anna on 3 May, as agreed with Ben.", size, 80),
        "equal-long-messages": lambda size: _talk(lambda n: f"The pump was repaired by Anna on {n % 3} May. " * 20, size, 850),
        "short-messages": lambda size: _talk(
            lambda n: f"Pump {n} held {n % 90} bar at pier {n % 13}. The weather was fine. So it was left on, as Anna said.",
            size,
            120,
        ),
        "one-role": lambda size: [{"role": "user", "content": f"Line {n} of what I say to you."} for n in range(size // 55)],
        "many-calls": _calls,
        "many-steps": _steps,
        "systems": _systems,
        "parts": _parts,
        "empty-messages": lambda size: _talk(lambda n: "", size, 30),
    }
)


# --- what is called ---------------------------------------------------------------------------------------------------

_OLD: Final[list[Message]] = [
    {
        "role": ("user", "assistant")[n % 2],
        "content": f"Pump {n} held {n % 90} bar at pier {n % 13}, Anna wrote to Ben. So be it.",
    }
    for n in range(200)
]


def _fold(messages: list[Message], budget: int | None) -> object:
    body = json.dumps({"model": "gpt-4o", "messages": messages}, ensure_ascii=True).encode()
    return fold_request(body, FoldOptions(budget=budget, model="gpt-4o"), Memo()).body


def _as_messages(given: str | list[Message]) -> list[Message]:
    if isinstance(given, list):
        return given
    return [{"role": "user", "content": given}, {"role": "assistant", "content": "I see."}]


def _with_question(given: str | list[Message], question: str) -> list[Message]:
    return [*_OLD[:20], *_as_messages(given), *_OLD[:40], {"role": "user", "content": question}]


def _as_result(text: str) -> list[Message]:
    return [
        {"role": "user", "content": "Run it."},
        {"role": "assistant", "content": None, "tool_calls": [_call(0)]},
        {"role": "tool", "tool_call_id": "c0", "content": text},
        *_OLD[:41],
    ]


def _say(given: str | list[Message], *, share: float | None = None, fuzzy: bool = False) -> object:
    messages = [*_as_messages(given), *_OLD[:6]]
    size = sum(len(str(message.get("content"))) for message in messages)
    budget = None if share is None else int(share * size / 4)
    return compress(messages, {"token_budget": budget, "force_converge": budget is not None, "fuzzy_dedup": fuzzy})


def _exchange(text: str) -> object:
    """The sections of a text that a receiver asks for, all of them, beside its layers."""
    if not text.strip():
        return None
    compressor = Compressor()
    result = compressor.compress(CompressRequest(text, l1_ratio=0.9, l2_max_sentences=1000))
    wanted = [compressor.drill_down(result, section.id, 1) for section in result.sections]
    return to_a2a_part(negotiate(result, Demand(budget=result.layers[0].tokens), wanted))


def _kept(given: str | list[Message]) -> object:
    """A conversation within a budget of its own, read again."""
    history = History()
    settings = HistorySettings(compress_threshold=2000)
    for message in [*_OLD[:6], *_as_messages(given), *_OLD[:6]]:
        history = add(history, HistoryMessage(message["role"], str(message.get("content") or "-")), settings)[0]
    return context(history, settings)


def _counts(text: str) -> object:
    return count(text), count_for_model(text, "unknown")


def _redact(text: str) -> object:
    return Redactor()(text)


_Given = Any
WAYS: Final[Mapping[str, Callable[[_Given], object]]] = MappingProxyType(
    {
        "layers": lambda text: Compressor().compress(CompressRequest(text)) if text.strip() else None,
        "exchange": _exchange,
        "query": lambda text: (
            Compressor().compress(CompressRequest(text, query="What did Anna say of item 7?")) if text.strip() else None
        ),
        "lite": lambda text: terse.compress(text, "lite"),
        "full": lambda text: terse.compress(text, "full"),
        "ultra": lambda text: terse.compress(text, "ultra"),
        "state": preprocess_heuristic,
        "private": _redact,
        "count": _counts,
        "truncate": lambda text: truncate_to_tokens(text, len(text) // 9),
        "result": lambda text: _fold(_as_result(text), 4000),
        "asked": lambda text: _fold([*_OLD, {"role": "user", "content": text}], 4000),
        "fold": lambda given: _fold(_with_question(given, "And what did Anna say of item 7?"), None),
        "budget": lambda given: _fold(_with_question(given, "And what did Anna say of item 7?"), 4000),
        "roundtrip": _say,
        "halved": lambda given: _say(given, share=0.5),
        "tightest": lambda given: _say(given, share=0.02),
        "fuzzy": lambda given: _say(given, fuzzy=True),
        "kept": _kept,
    }
)
_OF_CHATS: Final = ("fold", "budget", "roundtrip", "halved", "tightest", "fuzzy", "kept")


# --- the table --------------------------------------------------------------------------------------------------------


def _seconds(run: Callable[[], object], limit: float) -> float | str:
    """Processor time in a process of its own; "> limit" if it was stopped, or what was raised."""
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(source)
        said = ""
        signal.setitimer(signal.ITIMER_PROF, limit)  # of processor time; ends the process
        started = time.process_time()
        try:
            run()
            said = repr(time.process_time() - started)
        except BaseException as exc:  # reported by the parent
            said = f"!{type(exc).__name__}: {exc}"[:80]
        os.write(sink, said.encode("utf-8", "replace"))
        os._exit(0)
    os.close(sink)
    with os.fdopen(source) as answers:
        said = answers.read()
    os.waitpid(child, 0)
    if not said:
        return f"> {limit:.0f}"
    return said if said.startswith("!") else float(said)


def _row(way: str, make: Callable[[int], _Given], size: int, limit: float, slow: float) -> list[float | str]:
    """Seconds from the largest size to the smallest; the largest alone where that is quick."""
    found: list[float | str] = []
    for times in reversed(_SIZES):
        given = make(size * times)
        found.append(_seconds(lambda given=given: WAYS[way](given), limit))  # type: ignore[misc]
        if not isinstance(found[0], str) and found[0] <= slow:
            break
    return found


def _power(found: list[float | str]) -> float:
    """How time grows: the power of the size, between the smallest and the largest."""
    if isinstance(found[0], str):
        return math.inf
    last = found[-1] if isinstance(found[-1], float) else found[0]
    return math.log(found[0] / max(1e-3, last), _SIZES[-1])


def _report(shape: str, way: str, found: list[float | str]) -> bool:
    """Print a row if it says something; whether it fails."""
    if len(found) < len(_SIZES):
        return False
    power = _power(found)
    steep = power > _STEEPEST
    cells = " | ".join(one if isinstance(one, str) else f"{one:.2f}" for one in reversed(found))
    print(f"| {shape} | {way} | {cells} | {power:.2f} |{' <--' * steep}", flush=True)
    return steep


def main() -> None:
    """Parse the arguments, run, report; exit 1 if something grows too fast."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=125_000, help="characters of the smallest")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of processor time for one cell")
    parser.add_argument("--only", help="comma-separated shapes")
    parser.add_argument("--ways", default=",".join(WAYS), help="comma-separated ways: " + ", ".join(WAYS))
    parser.add_argument("--slow", type=float, default=_SLOW, help="seconds from which on the growth of a row is measured")
    given = parser.parse_args()
    shapes: dict[str, tuple[Callable[[int], _Given], Sequence[str]]] = {name: (make, tuple(WAYS)) for name, make in TEXTS.items()}
    shapes |= {name: (make, _OF_CHATS) for name, make in CHATS.items()}
    wanted = given.only.split(",") if given.only else list(shapes)
    ways = given.ways.split(",")
    if unknown := [name for name in (*wanted, *ways) if name not in shapes and name not in WAYS]:
        parser.error(f"unknown: {', '.join(unknown)}")
    for way in WAYS:  # so that no child loads what all need
        if way in _OF_CHATS:
            WAYS[way](CHATS["short-messages"](20_000))
        else:
            WAYS[way](TEXTS["leaning"](5_000))
    print("| shape | way | n | 2 n | 4 n | power |\n|---|---|---|---|---|---|", flush=True)
    failed = 0
    for name in wanted:
        make, of = shapes[name]
        for way in [way for way in of if way in ways]:
            failed += _report(name, way, _row(way, make, given.size, given.seconds, given.slow))
    print(f"\n{failed} grow faster than n^{_STEEPEST} and take more than {given.slow} s", flush=True)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
