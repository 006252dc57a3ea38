"""A request for a summary of everything, where thinking is bound to what was sent: it gets the whole conversation too.

These tests show what is sent of such a request and of those behind it, held against the API's rule. They leave out what such a
request holds under a budget (``test_summary_requests.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any, Final

from tests.support import words
from tests.support.cases import each
from tests.support.effort import crosswise
from tests.support.messages_api import Bindings, blocks_of
from turnfold.compression.fold import Folded, fold, unfold
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.formats.messages import MESSAGES

Part = dict[str, Any]

_MODEL: Final = "claude-opus-5-5"
_ASKS: Final = {
    "compact": (
        "Your task is to write a detailed summary of the conversation so far. Pay close attention to what the user asked for and "
        "to your own previous actions. Keep technical details, code patterns, names of files, function signatures, errors and "
        "how they were repaired, decisions, all messages of the user, pending tasks, the current work and the next step, so "
        "that the work goes on without loss of context. Use no tools, and answer with the summary only, in nine sections."
    ),
    "handover": "Write a handoff summary for the next model: progress, decisions, constraints, what remains to be done.",
}


def _text(role: str, text: str) -> Part:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def _thought(name: str) -> Part:
    return {"type": "thinking", "thinking": words.prose(sum(map(ord, name)), "en", 3), "signature": f"c2ln{name}"}


def _turns(first: int, last: int, said: str = "") -> Iterator[Part]:
    """Turns of a question, two calls and an answer, all of them thought about; the first of them says `said`."""
    for n in range(first, last):
        yield _text("user", said or f"Question {n}: {words.prose(700 + n, 'en', 2)}")
        said = ""
        for step in range(2):
            name = f"toolu_{n}_{step}"
            use = {"type": "tool_use", "id": name, "name": "Read", "input": {"path": f"src/part_{n}_{step}.py"}}
            yield {"role": "assistant", "content": [_thought(name), use]}
            result = words.prose(100 * n + step, "en", 25)
            yield {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": result}]}
        yield {"role": "assistant", "content": [_thought(f"a{n}"), {"type": "text", "text": words.prose(9000 + n, "en", 4)}]}


def played(messages: list[Part], options: FoldOptions) -> Iterator[tuple[int, Folded]]:
    """Each request of a conversation as it is sent, the API's answers bound to them."""
    api, memo = Bindings(), Memo()
    for end, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        body = json.dumps({"model": _MODEL, "max_tokens": 9, "messages": messages[:end]}).encode()
        folded = fold(MESSAGES.read(body, memo), options, memo)
        assert api.violations(folded.body) == []
        assert unfold(folded) == body
        api.answered(folded.body, message)
        yield end, folded


def _sent_texts(folded: Folded) -> set[str]:
    """What is sent beside thinking."""
    blocks = [b for m in json.loads(folded.body)["messages"] for b in blocks_of(m)]
    return {json.dumps(b, sort_keys=True) for b in blocks if b["type"] != "thinking"}


_OPTIONS: Final = {
    "no cache": FoldOptions(prices=CachePrices(1.0, 1.0)),
    "cached": FoldOptions(prices=CachePrices(0.5, 1.0), cache_hit_share=0.3),
    "asks to drop": FoldOptions(prices=CachePrices(1.0, 1.0), drops_thinking=True),
}


@each(("name", "setting"), crosswise(product(_ASKS, _OPTIONS), 3))
def test_a_compaction_gets_all_of_it_and_nothing_bound_elsewhere(name: str, setting: str) -> None:
    before = list(_turns(0, 9))
    messages = [*before, *_turns(9, 10, _ASKS[name]), *_turns(10, 11)]
    sent = dict(played(messages, _OPTIONS[setting]))
    asked = len(before) + 1
    assert sent[asked - 2].sections, "nothing was folded before"
    for end in (asked, asked + 2, asked + 4):  # with the calls that it leads to
        given = {json.dumps(b, sort_keys=True) for m in messages[:end] for b in blocks_of(m) if b["type"] != "thinking"}
        assert _sent_texts(sent[end]) == given, end
    assert sent[asked + 6].sections, "not folded again behind it"


def test_behind_a_compaction_requests_only_append() -> None:
    before = list(_turns(0, 9))
    messages = [*before, *_turns(9, 10, _ASKS["compact"]), *_turns(10, 12)]
    sent = dict(played(messages, _OPTIONS["no cache"]))
    ends = [end for end in sent if end > len(before) + 1]
    bodies = [json.loads(sent[end].body)["messages"] for end in ends]
    kept = [new[: len(old)] == old for old, new in pairwise(bodies)]
    assert kept.count(False) <= 2, kept  # the folds are back, and one more event
