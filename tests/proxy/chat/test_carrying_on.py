"""A fold that is too slow in a tool loop: the one before goes out again, with what is new behind it."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from tests.proxy.harness import Answer, StartProxy, UpstreamServer, call
from tests.support.bodies import Message
from tests.support.words import prose
from turnfold.compression.fold import Folded, fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.config.fold import fold_options
from turnfold.config.settings import FoldingSettings, Settings
from turnfold.proxy.chat import folding

SETTINGS: Any = {"folding": {"cache_hit_share": 0.7}, "limits": {"fold_timeout": 600.0, "max_fold_workers": 3}}
MESSAGES_API = "/v1/messages"
#: Of all folds here: each cold one takes seconds on a busy machine.
WARM = Memo()


class Gate:
    """The engine, which waits where a test says so."""

    def __init__(self) -> None:
        self.closed = False
        self.opened = threading.Event()

    def fold(self, conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
        if self.closed:
            self.opened.wait(60)
        del memo
        return fold(conversation, options, WARM)


@pytest.fixture(scope="module", autouse=True)
def warmed() -> Iterator[None]:
    """Whichever test comes first, its folds are not cold, and a fold that goes out again has the time that it needs."""
    for wire, request, share in ((CHAT, body(loop(40)), 0.7), (MESSAGES, marked(60), 0.0)):
        conversation = wire.read(request, WARM)
        settings = Settings(folding=FoldingSettings(cache_hit_share=share))
        assert fold(conversation, fold_options(settings, conversation.model), WARM).folded
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folding, "_CARRYING_ON", 600)
        yield


@contextlib.contextmanager
def gate() -> Iterator[Gate]:
    made = Gate()
    try:
        yield made
    finally:
        made.opened.set()


def loop(steps: int) -> list[Message]:
    messages: list[Message] = [
        {"role": "system", "content": "You look after a harbour."},
        {"role": "user", "content": "Find out which crane is late, and never touch berth 4."},
    ]
    for n in range(steps):
        function = {"name": "look", "arguments": f'{{"bay": {n}}}'}
        call = {"id": f"c{n}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": prose(n, "en", 40)})
    return messages


def body(messages: list[Message], **more: Any) -> bytes:
    return json.dumps({"model": "gpt-4o", "messages": messages, **more}, separators=(",", ":")).encode()


def marked(steps: int) -> bytes:
    """Such a loop in the Messages API, with the cache mark of a client that marks the end of each request."""
    messages: list[Message] = [{"role": "user", "content": [{"type": "text", "text": "Find out which crane is late."}]}]
    for n in range(steps):
        use = {"type": "tool_use", "id": f"c{n}", "name": "look", "input": {"bay": n}}
        result = {"type": "tool_result", "tool_use_id": f"c{n}", "content": prose(n, "en", 40)}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    messages[-1]["content"][0]["cache_control"] = {"type": "ephemeral"}
    return json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages}).encode()


def test_the_fold_before_is_sent_with_the_new_steps_behind_it(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    with gate() as slow:
        proxy = start_proxy(upstream.origin + "/v1", fold=slow.fold, **SETTINGS)
        first = proxy.chat(body(loop(40)))
        assert first.header("x-turnfold-status") == "folded"
        slow.closed = True
        with proxy.impatient():
            later = [proxy.chat(body(loop(steps))) for steps in (41, 43)]
        slow.opened.set()
    told = [(answer.header("x-turnfold-status"), answer.header("x-turnfold-reason")) for answer in later]
    assert told == [("folded", "as-before")] * 2
    sent = [json.loads(one.body)["messages"] for one in upstream.seen]
    for steps, messages in zip((41, 43), sent[1:], strict=True):
        assert messages == [*sent[0], *loop(steps)[82:]]
    assert upstream.seen[1].body.startswith(upstream.seen[0].body[:-2])
    receipts = proxy.recorder.receipts
    assert [one.reason for one in receipts[1:]] == ["as-before"] * 2
    for receipt, sections in zip(receipts, proxy.recorder.sections, strict=True):
        assert (receipt.tokens_after or 0) < (receipt.tokens_before or 0)
        assert sections == proxy.recorder.sections[0] != ()


def changed(what: str) -> tuple[bytes, list[tuple[str, str]]]:
    """The next request of the loop, with one thing changed; its body and headers."""
    messages, headers, more = loop(41), list[tuple[str, str]](), dict[str, Any]()
    if what == "a user's message":
        messages.append({"role": "user", "content": "And which was late before?"})
    elif what == "another beginning":
        messages[9]["content"] = prose(77, "en", 40)
    elif what == "other tools":
        more = {"tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]}
    elif what == "a budget":
        headers = [("x-turnfold-budget", "9000")]
    elif what == "another model":
        more = {"model": "gpt-4.1"}
    elif what == "another key":
        headers = [("authorization", "Bearer sk-somebody-else")]
    return body(messages, **more), headers


def test_anything_else_goes_out_as_it_came(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    """Each case has a proxy of its own, and they wait for their slow folds side by side."""
    cases = ["a user's message", "another beginning", "other tools", "a budget", "another model", "another key"]
    with contextlib.ExitStack() as stack:
        asks: list[Callable[[], Answer]] = []
        for what in cases:
            slow = stack.enter_context(gate())
            proxy = start_proxy(upstream.origin + "/v1", fold=slow.fold, **SETTINGS)
            assert proxy.chat(body(loop(40))).header("x-turnfold-status") == "folded", what
            slow.closed = True
            sent, headers = changed(what)
            stack.enter_context(proxy.impatient())
            asks.append(partial(proxy.chat, sent, *headers))
        before = len(upstream.seen)
        with ThreadPoolExecutor(len(asks)) as pool:
            answers = list(pool.map(lambda ask: ask(), asks))
    told = [(answer.header("x-turnfold-status"), answer.header("x-turnfold-reason")) for answer in answers]
    assert dict(zip(cases, told, strict=True)) == dict.fromkeys(cases, ("failed-open", "slow"))
    assert sorted(seen.body for seen in upstream.seen[before:]) == sorted(changed(what)[0] for what in cases)


def test_cache_marks_move_on(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    """In the Messages API, where a client marks the end of each request."""

    def ask(steps: int) -> Any:
        return call(proxy.origin, "POST", MESSAGES_API, marked(steps), [("content-type", "application/json"), ("x-api-key", "k")])

    with gate() as slow:
        proxy = start_proxy(upstream.origin + "/v1", fold=slow.fold, **SETTINGS | {"folding": {"cache_hit_share": 0.0}})
        assert ask(60).header("x-turnfold-status") == "folded"
        slow.closed = True
        with proxy.impatient():
            answer = ask(61)
        slow.opened.set()
    assert (answer.header("x-turnfold-status"), answer.header("x-turnfold-reason")) == ("folded", "as-before")
    first, second = (json.loads(one.body)["messages"] for one in upstream.seen)
    assert [json.dumps(one).count("cache_control") for one in (first, second)] == [1, 1]
    assert "cache_control" in second[-1]["content"][0]
    first[-1]["content"][0].pop("cache_control")
    assert second[: len(first)] == first
