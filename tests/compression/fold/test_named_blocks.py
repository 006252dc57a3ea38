"""Of pasted data the block or the rows that a question names are there whole: a service, a table, a file of a diff, row 12.

These tests cover data pasted into a talk or written by the model, and questions long after. They leave out rows that are told by
what they hold (``test_named_rows``), sections of documents (``test_named_sections``), code.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np
import pytest

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.effort import crosswise
from tests.support.quoted_talk import forwarded
from tests.support.words import prose
from turnfold.compression.memo import Memo, digest
from turnfold.compression.recall.passage_index import build
from turnfold.compression.recall.ranked_quotes import RankedQuotes
from turnfold.compression.recall.wholes.found_work import FoundWork, with_work
from turnfold.compression.recall.wholes.named_rows import find_numbered_rows
from turnfold.compression.recall.wholes.parts.keyed_blocks import find_keyed_blocks
from turnfold.compression.recall.wholes.request import WholeRequest
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import count

_NAMES: Final = (
    "gateway", "billing", "mailer", "sessions", "exporter", "ledger",
    "scheduler", "notifier", "imports", "tracing", "webhooks", "vault",
)  # fmt: skip


def _value(n: int) -> int:
    """A figure that stands nowhere else."""
    return 40_000 + 7 * n


def _each(*lines: str, between: str = "\n") -> str:
    form = "\n".join(lines)
    return between.join(
        form.format(name=name, own=_value(n), other=_value(n + 50), note=prose(7000 + n, "en", 2).replace("\n", " "))
        for n, name in enumerate(_NAMES)
    )


def _rows(form: str) -> str:
    return "\n".join(form.format(id=300 + n, name=_NAMES[n % 12], own=_value(n)) for n in range(150))


_OBJECTS: Final = [{"name": name, "size": _value(n), "note": prose(n, "en", 3)} for n, name in enumerate(_NAMES)]
_JSON: Final = json.dumps(
    {
        "services": {
            name: {"image": f"{name}:{_value(n)}", "note": prose(7100 + n, "en", 2), "limits": {"memory": _value(n + 50)}}
            for n, name in enumerate(_NAMES)
        },
        "region": "north",
    },
    indent=2,
)
_TEXTS: Final = {
    "json": _JSON,
    "objects": json.dumps(_OBJECTS, indent=1),
    "yaml": "services:\n"
    + _each("  {name}:", "    image: {name}:{own}", "    note: {note}", "    ports:", "      - {other}"),
    "manifests": _each(
        "apiVersion: v1", "kind: Service", "metadata:", "  name: {name}", "spec:",
        "  note: {note}", "  ports:", "    - port: {own}",
        between="\n---\n",
    ),
    "ini": _each("[{name}]", "host = {name}.example", "note = {note}", "port = {own}", ""),
    "hcl": _each(
        'resource "queue" "{name}" {{', "  size = {own}", '  note = "{note}"', "  tags = {{", "    cost = {other}", "  }}", "}}"
    ),
    "sql": _each(
        "CREATE TABLE {name} (", "  id BIGINT,", "  -- {note}", "  amount_{own} NUMERIC", ");",
        "CREATE INDEX i{other} ON {name} (id);"
    ),
    "html": _each('<section id="{name}">', "  <h2>{own}</h2>", "  <p>{note}</p>", '  <a href="/{other}">More</a>', "</section>"),
    "bibtex": _each("@article{{{name}2020,", "  title = {{{note}}},", "  doi = {{10.1/{own}}}", "}}"),
    "diff": _each(
        "diff --git a/src/{name}.py b/src/{name}.py", "--- a/src/{name}.py", "+++ b/src/{name}.py",
        "@@ -1,4 +1,4 @@ def run_{name}(self):", " # {note}", "-    limit = {own}", "+    limit = {other}", "     return limit",
    ),
    "failures": "==== FAILURES ====\n"
    + _each("____ test_{name} ____", "", "    def test_{name}():",
        ">       assert total() == {own}", "E       {other} == {own}", "", "{note}"),
    "latex": _each(
        "\\begin{{theorem}}", "\\label{{thm:{name}}}", "{note} $x < {own}$.", "\\end{{theorem}}",
        "\\begin{{proof}}", "{note}", "\\end{{proof}}"
    ),
    "recipes": _each("Grandma's {name} Soup", "", "Ingredients:", "- {own} g of leek", "- {other} g of salt", "", "{note}", ""),
    "css": _each(".{name}-box {{", "  width: {own}px;", "  /* {note} */", "}}"),
    "makefile": _each("{name}: deps-{name}", "\t@echo {note}", "\tgo run {own}", ""),
    "games": _each('[Event "Round {own}"]', '[White "{name}"]', "", "1. e4 {other} {note}", ""),
    "days": "\n".join(f"--- {n} May 2026 ---\nana: {prose(n, 'en', 2)}\nbo: {_value(n)}" for n in range(1, 25)),
    "people": json.dumps([{"id": 1000 + n, "mail": f"m{_value(n)}", "note": prose(n, "en", 1)} for n in range(40)], indent=2),
    "deps": json.dumps(
        {"dependencies": {f"d{n}": _value(n) for n in range(60)}, "devDependencies": {f"e{n}": _value(n) for n in range(9)}},
        indent=2,
    ),
    "sheet": "month\tsold\tnotes\n" + "\n".join(f"m{n}\t{_value(n)}\t{prose(n, 'en', 1) if n % 3 else ''}" for n in range(90)),
    "csv": "id,place,amount\n" + _rows("{id},{name},{own}"),
    "table": "| id | place | amount |\n|---|---|---|\n" + _rows("| {id} | {name} | {own} |"),
    "mails": _each(
        "From: {name} Roe <{name}@mail.example>", "Date: Mon, 2 Mar 2026", "Subject: Re: Plan",
        "", "{note}", "", "The figure is {own}.", ""
    ),
    "rules": "\n".join(
        f"{n}. Duties of {name}\n(a) {prose(n, 'en', 1)}\n(b) As follows:\n    (i) first {_value(n)};\n"
        f"    (ii) second {_value(n + 50)}."
        for n, name in enumerate(_NAMES, 1)
    ),
}  # fmt: skip


def _talk(text: str, then: Sequence[str] = ()) -> list[Message]:
    said: list[Message] = [
        {"role": "user", "content": f"Please have a look at this:\n\n{text}"},
        {"role": "assistant", "content": "I have read it."},
    ]
    for n in range(40):
        said += [{"role": "user", "content": prose(n, "en", 3)}, {"role": "assistant", "content": prose(500 + n, "en", 8)}]
        if n == 9 and then:
            said += [{"role": role, "content": one} for role, one in zip(("user", "assistant"), then, strict=True)]
    return said


_NAMED: Final[list[tuple[str, str, Sequence[str]]]] = [
    ("json", "Set the replicas of ledger to 7 and show me its block", [f"ledger:{_value(5)}", f'"memory": {_value(55)}']),
    ("json", "What is services.tracing.limits.memory?", ['"tracing": {', f'"memory": {_value(59)}']),
    ("objects", "Which size has the vault object?", ['"vault"', f'"size": {_value(11)}']),
    ("yaml", "Zeig mir den Block von mailer", [f"image: mailer:{_value(2)}", f"- {_value(52)}"]),
    ("manifests", "Which port does the billing Service have?", ["name: billing", f"port: {_value(1)}"]),
    ("ini", "show the [imports] section", [f"port = {_value(8)}"]),
    ("hcl", "Rewrite the vault resource with more room", [f"size = {_value(11)}", f"cost = {_value(61)}"]),
    ("sql", "Write a query that joins ledger and mailer", [f"amount_{_value(5)}", f"amount_{_value(2)}"]),
    ("sql", "Which index is on the webhooks table?", [f"i{_value(60)}"]),
    ("html", "Make the #exporter section darker", [f"<h2>{_value(4)}</h2>", f"/{_value(54)}"]),
    ("bibtex", "What is the DOI of sessions2020?", [f"10.1/{_value(3)}"]),
    ("diff", "What changed in scheduler.py?", [f"-    limit = {_value(6)}", f"+    limit = {_value(56)}"]),
    ("diff", "show the hunk for run_vault()", [f"-    limit = {_value(11)}"]),
    ("diff", "Which files does the diff touch?", [f"b/src/{name}.py" for name in _NAMES]),
    ("failures", "Why did test_notifier fail?", [f"{_value(57)} == {_value(7)}"]),
    ("latex", "What does theorem 4 state?", [f"x < {_value(3)}"]),
    ("recipes", "How much leek goes into the tracing soup?", [f"{_value(9)} g of leek", f"{_value(59)} g of salt"]),
    ("css", "How wide is the notifier box?", [f"width: {_value(7)}px"]),
    ("makefile", "What does the target imports run?", [f"go run {_value(8)}"]),
    ("games", "Show me the game that exporter played", [f"e4 {_value(54)}"]),
    ("days", "What was written on 7 May?", [f"bo: {_value(7)}"]),
    ("people", "What's the mail of user 1017?", [f"m{_value(17)}"]),
    ("deps", "list the dev dependencies", [f'"e{n}": {_value(n)}' for n in range(9)]),
    ("sheet", "what's in row 40?", [f"m39\t{_value(39)}"]),
    ("csv", "What's in row 12?", ["id,place,amount", f",{_value(11)}"]),
    ("csv", "show rows 40 to 44", [f",{_value(n)}" for n in range(39, 44)]),
    ("csv", "the last two rows please", [f",{_value(148)}", f",{_value(149)}"]),
    ("csv", "which columns does it have?", ["id,place,amount"]),
    ("table", "rows 20, 30 and 40", [f"| {_value(n)} |" for n in (19, 29, 39)]),
    ("mails", "What does the last mail in the thread say?", [f"The figure is {_value(11)}"]),
    ("rules", "What does clause 5(b)(ii) say?", ["Duties of exporter", f"second {_value(55)}"]),
]  # fmt: skip


@each(("named", "share"), crosswise(product(_NAMED, [None, 0.1]), 2))
def test_what_is_named_is_there(named: tuple[str, str, Sequence[str]], share: float | None) -> None:
    text, question, needed = named
    sent = forwarded(_talk(_TEXTS[text]), question, share)
    assert [one for one in needed if one not in sent] == []


def test_lines_with_a_value_are_there_with_what_they_belong_to() -> None:
    modes = {name: {"mode": "debug" if n % 4 == 1 else "info", "size": _value(n)} for n, name in enumerate(_NAMES)}
    text = json.dumps({"services": modes, "more": {f"k{n}": prose(n, "en", 1) for n in range(30)}}, indent=2)
    sent = forwarded(_talk(text), "Which services run in debug?", 0.1)
    assert [name for n, name in enumerate(_NAMES) if n % 4 == 1 and f'"{name}": {{' not in sent] == []


def test_the_newest_form_counts_unless_another_is_asked_for() -> None:
    newer = _TEXTS["yaml"].replace(f"ledger:{_value(5)}", "ledger:newer")
    talk = _talk(_TEXTS["yaml"], (f"We changed it:\n\n{newer}", "Noted."))
    new, old = "ledger:newer", f"ledger:{_value(5)}"
    assert new in forwarded(talk, "Show me the ledger service", 0.1)
    assert old in forwarded(talk, "What did the ledger service look like in the first version?", 0.1)
    sent = forwarded(talk, "Compare the old and the new version of the ledger service", 0.1)
    assert new in sent
    assert old in sent


def test_what_the_model_wrote_in_the_place_of_a_block_goes_with_it() -> None:
    talk = _talk(_TEXTS["yaml"], ("Set the image of vault", "Here:\n\n```yaml\n  vault:\n    image: vault:changed\n```"))
    assert "vault:changed" in forwarded(talk, "Show me the vault service", 0.1)


def test_tables_of_several_pastes_are_there() -> None:
    half = _TEXTS["sql"].index("CREATE TABLE scheduler")
    talk = _talk(f"Part 1/2\n\n{_TEXTS['sql'][:half]}", (f"Part 2/2\n\n{_TEXTS['sql'][half:]}", "Thanks."))
    sent = forwarded(talk, "Write a migration for the tables billing and tracing", 0.1)
    assert f"amount_{_value(1)}" in sent
    assert f"amount_{_value(9)}" in sent


@each(
    "question",
    [
        "I want to get better at speaking in front of people. Which of these habits would a vault jumper learn first?",
        "What is the best way to cook leek?",
        "Thanks a lot!",
        "In which row of the theatre did we sit, and was the gateway to the garden open when we came home at night?",
    ],
)
def test_talk_names_no_block(question: str) -> None:
    every = [Source("user", text, digest(text)) for text in _TEXTS.values()]
    for find in (find_keyed_blocks, find_numbered_rows):
        assert not find(WholeRequest(every, (), question, 2_000, count, Memo())).quotes


@each(
    "question",
    [
        "Which of the six quotes did we take, and why not the cheapest?",
        "Which one of the quotes did we take in the end?",
        "Welche von den quotes haben wir genommen?",
        "Welke van de quotes hebben we genomen?",
    ],
)
def test_what_asks_for_one_of_a_kind_gets_no_list_of_them(question: str) -> None:
    offers = [f"=== QUOTE {n} ===\n\n{prose(60 + n, 'en', 8)}\n\nIn all: {_value(n)}." for n in range(1, 7)]
    text = "\n\n".join(["Cassette machines:", *offers])
    source = Source("tool", text, digest(text))
    assert find_keyed_blocks(WholeRequest((source,), (), "Which quotes are there?", 2_000, count, Memo())).quotes
    assert not find_keyed_blocks(WholeRequest((source,), (), question, 2_000, count, Memo())).quotes


def test_data_that_the_request_holds_is_not_quoted() -> None:
    source = Source("user", _TEXTS["yaml"], digest("yaml"))
    for question, find in (("Show me the ledger service", find_keyed_blocks), ("row 3", find_numbered_rows)):
        assert not find(WholeRequest((), (source,), question, 2_000, count, Memo())).quotes


@pytest.mark.parametrize(
    ("question", "line"),
    [("How many retries has the gateway?", '"retries": 917'), ("Which parts of the gateway are frozen?", '"state_7": "frozen"')],
)
def test_of_a_block_without_room_the_lines_are_there_that_have_what_is_asked_as_a_key_or_a_value(
    question: str, line: str
) -> None:
    settings = {f"state_{n}": "frozen" if n == 7 else f"open {_value(n)}" for n in range(60)} | {"retries": 917}
    text = json.dumps({name: settings if name == "gateway" else {"size": _value(n)} for n, name in enumerate(_NAMES)}, indent=2)
    source = Source("user", text, digest(text))
    quotes = find_keyed_blocks(WholeRequest((source,), (), question, 150, count, Memo())).quotes
    quoted = [text[one.start : one.end] for one in quotes]
    assert any(line in one for one in quoted)
    assert "open 40000" not in "".join(quoted)


_PODS: Final = "apiVersion: v1\nitems:\n" + _each(
    "- kind: Pod", "  metadata:", "    name: {name}-7f9c-{own}", "    labels:", "      app: {name}", "  spec:",
    "    containers:", "    - name: {name}", "      image: {name}:1", "  status:", "    podIP: 10.0.{own}",
)  # fmt: skip
_MANY: Final = "\n---\n".join(
    f"apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\ndata:\n  size: {kind}-{_value(n)}"
    for n, name in enumerate(_NAMES)
    for kind in ("ConfigMap", "Service", "Ingress", "Deployment", "Secret", "Role")
)
_COMMITS: Final = _each(
    "commit {own}abcdef0123", "Author: Ana Roe <ana@mail.example>", "Date:   Mon Nov 2 2026", "", "    fix({name}): {note}", ""
)


@pytest.mark.parametrize(
    ("text", "question", "needed", "other"),
    [
        (_PODS, "Which pod IP does exporter have?", f"podIP: 10.0.{_value(4)}", f"podIP: 10.0.{_value(5)}"),
        (_MANY, "Show me the ConfigMap of ledger", f"ConfigMap-{_value(5)}", f"Service-{_value(5)}"),
        (_COMMITS, "Revert the tracing commit", f"commit {_value(9)}abcdef", f"commit {_value(8)}abcdef"),
    ],
    ids=["of what stands around", "where keys meet", "commits"],
)
def test_blocks_that_several_lines_or_keys_name(text: str, question: str, needed: str, other: str) -> None:
    source = Source("tool", text, digest(text))
    quotes = find_keyed_blocks(WholeRequest((source,), (), question, 2_000, count, Memo())).quotes
    quoted = "\n".join(text[one.start : one.end] for one in quotes)
    assert needed in quoted
    assert other not in quoted


def test_folders_of_a_path_name_no_block_without_its_file() -> None:
    commits = [
        f"commit {n * 7919 + 10**6:08x}\n\n    {name.title()} again\n\n docs/{name}.md | 2 +-" for n, name in enumerate(_NAMES)
    ]
    text = "\n\n".join(
        [*commits, *(f"diff --git a/app/{name}.py b/app/{name}.py\n{prose(n, 'en', 2)}" for n, name in enumerate(_NAMES))]
    )

    def found(question: str) -> str:
        asked = WholeRequest((Source("tool", text, digest(text)),), (), question, 2_000, count, Memo())
        return "\n".join(text[one.start : one.end] for one in find_keyed_blocks(asked).quotes)

    assert not found("What is said about gateway/billing/mailer/queries.txt?")
    file = found("What changed in /home/ada/gateway/app/vault.py?")
    assert "diff --git a/app/vault.py" in file
    assert "Gateway again" not in file


def test_passages_may_hold_what_a_list_names() -> None:
    sources = [Source("tool", _TEXTS["diff"], digest("diff"))]
    listed = find_keyed_blocks(WholeRequest(sources, (), "Which files does the diff touch?", 2_000, count, Memo()))
    assert listed.listed
    index = build(sources, Memo())
    every = RankedQuotes(np.arange(len(index.quotes)), np.ones(len(index.quotes)))
    assert len(with_work(every, index, listed).numbers) == len(index.quotes) + len(listed.quotes)
    whole = FoundWork(listed.quotes)
    assert len(with_work(every, index, whole).numbers) < len(index.quotes) + len(listed.quotes)
