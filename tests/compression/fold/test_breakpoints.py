"""Our own cache breakpoint: one, on the user's own text, where recall stands behind it, and only if the client sets none."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import Folded
from turnfold.compression.options import CachePrices, FoldOptions

OPTIONS = FoldOptions(model="gpt-5.6", prices=CachePrices(1.0, 1.0), cache_breakpoints=True)
KEY = "The key of the boat house hangs behind the blue oar."
ASK = "Where does the key of the boat house hang?"


def talk(last: Any) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"{KEY} {prose(0, 'en', 6)}"}]
    for turn in range(30):
        messages.append({"role": "assistant", "content": prose(1000 + turn, "en", 4)})
        messages.append({"role": "user", "content": prose(turn, "en", 6)})
    return [*messages, {"role": "assistant", "content": "Noted."}, {"role": "user", "content": last}]


def folded(last: Any, options: FoldOptions = OPTIONS) -> Folded:
    return fold_request(json.dumps({"model": "gpt-5.6", "messages": talk(last)}).encode(), options, WARM)


def marked(one: Folded) -> list[str]:
    """The texts of the parts that carry a breakpoint."""
    contents = [m["content"] for m in json.loads(one.body)["messages"] if isinstance(m["content"], list)]
    return [part["text"] for content in contents for part in content if "prompt_cache_breakpoint" in part]


def test_the_question_carries_the_only_breakpoint_and_recall_stands_behind_it() -> None:
    one = folded(ASK, replace(OPTIONS, budget=1500))
    assert marked(one) == [ASK]
    parts = json.loads(one.body)["messages"][-1]["content"]
    assert [part["text"] for part in parts][-2] == ASK
    assert KEY in parts[-1]["text"]


def test_where_nothing_is_recalled_there_is_no_breakpoint() -> None:
    one = folded("Zeppelin?")
    assert one.folded
    assert max(one.recalls, default=0) < len(talk("")) - 1
    assert marked(one) == []


def test_beside_the_clients_own_mark_we_set_none() -> None:
    own = {"type": "text", "text": ASK, "prompt_cache_breakpoint": {"mode": "explicit"}}
    one = folded([own], replace(OPTIONS, budget=1500))
    assert one.recalls
    assert marked(one) == [ASK]
    messages = talk(ASK)
    messages[-3]["content"] = [{"type": "text", "text": messages[-3]["content"], "cache_control": {"type": "ephemeral"}}]
    body = json.dumps({"model": "gpt-5.6", "messages": messages}).encode()
    elsewhere = fold_request(body, replace(OPTIONS, budget=1500), WARM)
    assert KEY in elsewhere.forwarded.messages[-1].text
    assert marked(elsewhere) == []


def test_a_model_that_takes_none_gets_none() -> None:
    one = folded(ASK, replace(OPTIONS, cache_breakpoints=False, budget=1500))
    assert one.recalls
    assert b"prompt_cache_breakpoint" not in one.body
