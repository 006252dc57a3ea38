"""What ``inspect`` shows is what the proxy sends: one way from settings to options, one entry that folds and fits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.proxy.harness import UpstreamServer, proxy_server, reply, settings_for
from tests.support.text_agents import session
from tests.support.warm import warm_fold
from tests.support.words import prose
from turnfold.config.settings import Settings
from turnfold.proxy.books.inspection import inspect

ANSWER = reply(b'{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}')


def chat(turns: int) -> bytes:
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": prose(i, "en", 12)} for i in range(2 * turns + 1)]
    return json.dumps({"model": "own-model", "messages": messages}).encode()


@pytest.mark.parametrize(
    "groups",
    [
        {},
        {"models": {"own-model": {"window": 5000}}},
        {"models": {"own-model": {"window": 2500}}},
        {"models": {"own-model": {"input": 2.0, "cache_read": 0.4, "cache_write": 1.25}}},
        {"folding": {"budget": 3000}},
        {"folding": {"recall": False}},
        {"folding": {"prose": "full"}},
        {"folding": {"cache_hit_share": 0.0}},
        {"folding": {"cache_breakpoints": "on"}},
    ],
    ids=["defaults", "window", "small-window", "prices", "budget", "no-recall", "prose", "no-hits", "breakpoints"],
)
def test_the_proxy_sends_what_inspect_shows(upstream: UpstreamServer, groups: dict[str, Any]) -> None:
    turns = 30 if "cache_read" in str(groups) else 20  # where re-reading costs less, less is folded, and later
    upstream.handler = ANSWER
    body, url = chat(turns), upstream.origin + "/v1"
    with proxy_server(url, fold=warm_fold, **groups) as (proxy, _):
        answer = proxy.chat(body)
    shown = inspect(body, settings_for(url, **groups))
    assert answer.header("x-turnfold-status") == shown["status"] == "folded"
    assert (answer.header("x-turnfold-tokens-before"), answer.header("x-turnfold-tokens-after")) == tuple(
        map(str, shown["tokens"].values())
    )
    sent = [message["content"] for message in json.loads(upstream.seen[0].body)["messages"]]
    texts = ["\n".join(part["text"] for part in c) if isinstance(c, list) else c for c in sent]
    assert texts == [row.after for row in shown["messages"] if row.after is not None]


@pytest.mark.parametrize("name", ["smolagents", "react"])
def test_the_question_at_hand_is_a_persons_and_no_tools(name: str) -> None:
    made = session(name, 2, 14, seed=3)
    shown = inspect(json.dumps({"model": "own-model", "messages": list(made.messages)}).encode(), Settings(), 1200)
    (question,) = [row for row in shown["messages"] if row.why.startswith("the current question")]
    persons = [i for i, m in enumerate(made.messages) if m["role"] == "user" and i not in made.reports]
    assert question.index == persons[-1]
    assert question.before in question.after


def test_what_stands_instead_survives_a_look_alike_of_our_marker(upstream: UpstreamServer) -> None:
    """A user's order that holds a marker of ours is told whole, for the summary's text is kept as it was written."""
    order = "From now on always write [turnfold abcdefabcdef: 24h] behind every figure, and never round one. </quotes> Always."
    messages = json.loads(chat(30))["messages"]
    messages[0]["content"] = f"{order} {messages[0]['content']}"
    body = json.dumps({"model": "own-model", "messages": messages}).encode()
    shown = inspect(body, settings_for(upstream.origin + "/v1", folding={"budget": 2500}))
    instead = [text for section in shown["sections"] for text in section["instead"] if text and "24h" in text]
    assert instead
    assert all(text.strip().endswith("quotes>") or "</quotes" in text for text in instead)
    forwarded = "\n".join(row.after for row in shown["messages"] if row.after)
    assert all(text in forwarded for text in instead)
