"""Of a result's record of several lines that a question names, the lines are quoted that do not name it.

These tests cover an agent's old result, twenty messages, and the question. They leave out where records lie
(``text.test_stanzas``), records of JSON that are named by a number (``test_whole_records``).
"""

from __future__ import annotations

import json
from typing import Any, Final

from tests.support.cases import each
from tests.support.effort import every
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression import tokens
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo, digest
from turnfold.compression.options import FoldOptions
from turnfold.compression.recall.choosing import recall
from turnfold.compression.recall.question import Question
from turnfold.compression.text.quotes import Source
from turnfold.compression.wire.formats.chat import CHAT

_NAMES: Final = [f"{a}{b}" for a in ("quay", "crane", "pilot", "ferry") for b in ("north", "south", "east", "west", "mid", "low")]
_CODES: Final = {name: f"{n * 7919 % 9973:04d}" for n, name in enumerate(_NAMES)}
_RESULTS: Final = {
    "interfaces": "\n".join(
        f"{n + 3}: br-{name}: <BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue state UP group default\n"
        f"    link/ether 06:36:ee:93:{n:02x}:f7 brd ff:ff:ff:ff:ff:ff\n"
        f"    inet 172.16.{_CODES[name]}/16 brd 172.255.255.255 scope global\n       valid_lft forever preferred_lft forever"
        for n, name in enumerate(_NAMES)
    ),
    "csv": "ticket,customer,description,serial\n"
    + "\n".join(
        f'T{n},{name.capitalize()},"The unit does not start.\nCustomer says, ""it clicks"", then nothing\nTried: reset",'
        f"{_CODES[name]}"
        for n, name in enumerate(_NAMES)
    ),
    "page": "- list [ref=e4]:\n"
    + "\n".join(
        f'  - listitem [ref=e{5 * n}]:\n    - link "{name.capitalize()} lamp" [ref=e{5 * n + 1}] [cursor=pointer]:\n'
        f"      - /url: /p/{name}\n    - text: €{_CODES[name]}\n    - button [ref=e{5 * n + 3}]: Add to cart"
        for n, name in enumerate(_NAMES)
    ),
}


def _body(text: str, question: str) -> bytes:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Collect the state of our systems, one after the other."}]
    for number, result in enumerate([text, *(prose(n, "en", 60) for n in range(5))]):
        called = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": f'{{"at": {number}}}'}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [called]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": result},
            {"role": "assistant", "content": "That one is fine."},
            {"role": "user", "content": "The next one, please."},
        ]
    return json.dumps({"model": "gpt-4o", "messages": [*messages[:-1], {"role": "user", "content": question}]}).encode()


@each(
    ("kind", "question", "needed"),
    every(
        2,
        [
            ("interfaces", "Which address does the pilotwest bridge have?", f"inet 172.16.{_CODES['pilotwest']}"),
            ("csv", "Which serial has the unit of Ferryeast?", _CODES["ferryeast"]),
            ("page", "What does the Cranemid lamp cost?", f"€{_CODES['cranemid']}"),
        ],
        1,
    ),
)
def test_the_rest_of_a_named_record_is_quoted(kind: str, question: str, needed: str) -> None:
    for budget in (None, 2500):
        folded = fold(CHAT.read(_body(_RESULTS[kind], question), WARM), FoldOptions(model="gpt-4o", budget=budget), WARM)
        assert folded.events
        assert needed in folded.forwarded.messages[-1].text, (budget, folded.forwarded.messages[-1].text)


def test_of_named_records_the_line_that_names_the_thing_comes_first() -> None:
    path = "tests/craneeast/pilotwest/golden/part_3.txt"
    stats = [[f" tests/{name}/part_{k}.txt | {n + k} +-" for k, name in enumerate(_NAMES[n % 7 : n % 7 + 12])] for n in range(24)]
    stats[2] += [" tests/craneeast/pilotwest/part_3.txt | 14 +-"]
    stats[2] += [f" tests/pilotwest/craneeast/golden_{k}.txt | {k + 9} +-" for k in range(12)]
    stats[7] += [f" {path} | 4 +-"]
    log = "\n\n".join(f"commit {n * 7919 + 10**6:08x}\n\n    Paint\n\n" + "\n".join(lines) for n, lines in enumerate(stats))
    sources = [Source("user", "Look at the log.", b"user"), Source("tool", log, digest(log))]
    question = Question(f"What does the log say about {path}?", ())
    for budget in (60, 90):
        assert f"{path} | 4 +-" in recall(sources, question, budget, [], tokens.count, Memo()).text


def test_words_that_every_passage_has_name_no_record() -> None:
    log = "commit 3f2a\n\n    Paint the quaynorth\n\n tests/quaynorth/part_3.txt | 4 +-"
    found = recall([Source("tool", log, digest(log))], Question("quaynorth?", ()), 200, [], tokens.count, Memo())
    assert "Paint the quaynorth" in found.text
