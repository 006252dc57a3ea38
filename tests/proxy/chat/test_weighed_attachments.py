"""What an attachment weighs is learned once: later turns of its conversation are not refused again.

Against the upstream of ``test_unpriced_attachments``, which weighs files, audio and images in its own way; over restarts, two
replicas, tenants, and files that are replaced.
"""

from __future__ import annotations

import json
import random
import re
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from tests.proxy.chat.test_unpriced_attachments import PATHS, aloud, by_data, by_id, film
from tests.proxy.harness import ProxyServer, StartProxy, UpstreamServer, call, reply, until
from tests.support.effort import every
from tests.support.overflow_upstream import DIALECTS, count_text
from tests.support.warm import warm_fold
from turnfold.config.settings import ModelSettings

WINDOW = 8_000
TURNS = 8
DIALECT_OF = {"chat": "openai", "responses": "cerebras", "messages": "anthropic"}
_UNREAD = frozenset({"type", "role", "format", "filename", "title", "media_type"})
_WORDS = ["pump", "valve", "report", "meter", "pressure", "winter", "order", "garden", "station", "morning", "figure", "supplier"]


def picture(wire: str, number: int, weight: int) -> dict[str, Any]:
    url = f"https://pictures.example/file-{number}-weighs-{weight}.mp4"
    parts: dict[str, dict[str, Any]] = {
        "chat": {"type": "image_url", "image_url": {"url": url}},
        "responses": {"type": "input_image", "image_url": url},
        "messages": {"type": "image", "source": {"type": "url", "url": url}},
    }
    return parts[wire]


def weigh(value: Any, weights: dict[str, int]) -> int:
    """Tokens of this upstream, by the weight in a name or a content's length."""
    if isinstance(value, dict):
        return sum(weigh(one, weights) for key, one in value.items() if key not in _UNREAD)
    if isinstance(value, list):
        return sum(weigh(one, weights) for one in value)
    if not isinstance(value, str):
        return 0
    if named := re.fullmatch(r"(?:https://\S+/)?(file-\d+-weighs-(\d+))(?:\.mp4)?", value):
        return weights.get(named[1], int(named[2]))
    plain = value.removeprefix("data:application/pdf;base64,")
    return int(len(plain) * 3 / 4 * 0.25) if len(plain) > 1000 and " " not in plain else count_text(value)


class Weigher:
    """An upstream with a window. Counts what it refuses.

    Attributes:
        weights: of names whose content is no longer what the name says.
    """

    def __init__(self, upstream: UpstreamServer, wire: str, *, usage: bool = True) -> None:
        self.refused: list[int] = []
        self.weights: dict[str, int] = {}
        self._upstream, self._speaks, self._usage = upstream, DIALECTS[DIALECT_OF[wire]], usage
        upstream.handler = self.answer

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = json.loads(self._upstream.seen[-1].body)
        count = weigh(body.get("messages") or body["input"], self.weights)
        if count + 300 > WINDOW:
            self.refused.append(len(self._upstream.seen))
            error = self._speaks.render(WINDOW, count, 300)
            await reply(json.dumps(error).encode(), status=400)(scope, receive, send)
            return
        said = {"prompt_tokens": count, "input_tokens": count, "completion_tokens": 1, "output_tokens": 1}
        usage = {"usage": said} if self._usage else {}
        await reply(json.dumps({"choices": [{"message": {"content": "ok"}}], **usage}).encode())(scope, receive, send)


class Talk:
    """A conversation that grows by a question and an answer with each request."""

    def __init__(self, wire: str, parts: list[dict[str, Any]], seed: int = 1) -> None:
        self.wire = wire
        self._parts = parts
        self._random = random.Random(seed)
        self.said: list[dict[str, Any]] = []

    def text(self, words: int) -> str:
        return " ".join(self._random.choices(_WORDS, k=words)).capitalize() + "."

    def ask(self, words: int = 120) -> dict[str, Any]:
        kind = "input_text" if self.wire == "responses" else "text"
        if self.said:
            self.said.append({"role": "assistant", "content": self.text(words)})
        parts = [self._parts.pop(0)] if self._parts else []
        content: Any = [*parts, {"type": kind, "text": self.text(words)}] if parts else self.text(words)
        self.said.append({"role": "user", "content": content})
        return {"model": "gpt-4o", "input" if self.wire == "responses" else "messages": self.said, "max_tokens": 300}


def post(proxy: ProxyServer, wire: str, body: dict[str, Any], key: str = "k") -> int:
    headers = [("content-type", "application/json"), ("authorization", f"Bearer {key}"), ("x-api-key", key)]
    return call(proxy.origin, "POST", PATHS[wire], json.dumps(body).encode(), headers).status


def until_full(proxy: ProxyServer, upstream: Weigher, talk: Talk) -> None:
    """Go on until a request is refused and recovered, or was made to fit because the answers before have taught enough."""
    for _ in range(16):
        assert post(proxy, talk.wire, talk.ask()) == 200
        time.sleep(0.05)  # what an answer teaches is learned behind it
        if upstream.refused:
            return


def later(proxies: list[ProxyServer], upstream: Weigher, talk: Talk, turns: int = TURNS) -> int:
    """The requests that are refused in later turns, each on the next of some proxies."""
    before = len(upstream.refused)
    for number in range(turns):
        assert post(proxies[number % len(proxies)], talk.wire, talk.ask()) == 200
        time.sleep(0.05)  # what an answer teaches is learned behind it
    return len(upstream.refused) - before


OWN = {"models": {"gpt-4o": ModelSettings(window=WINDOW)}}
KINDS = {"by id": by_id, "by content": by_data, "audio": aloud, "video": film, "picture": picture}
CASES = [(wire, kind) for wire in PATHS for kind in ("by id", "by content", "picture")] + [("chat", "audio"), ("chat", "video")]


@pytest.mark.parametrize(("wire", "kind", "usage"), every(5, [(*case, usage) for case in CASES for usage in (True, False)], 1))
def test_one_refusal_is_enough(wire: str, kind: str, usage: bool, upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    weigher = Weigher(upstream, wire, usage=usage)
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold, **OWN)
    weight = 2400 if kind == "picture" else 1500  # more than any price that is documented
    talk = Talk(wire, [KINDS[kind](wire, number, weight) for number in range(3)])
    until_full(proxy, weigher, talk)
    assert later([proxy], weigher, talk) == 0


@pytest.mark.parametrize("scheme", ["sqlite", "redis"])
def test_a_restart_and_another_replica_know_it(
    scheme: str, upstream: UpstreamServer, start_proxy: StartProxy, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/t.db" if scheme == "sqlite" else request.getfixturevalue("redis_url")
    settings = {**OWN, "store": {"url": url}}
    weigher = Weigher(upstream, "chat", usage=False)
    talk = Talk("chat", [by_id("chat", number, 1500) for number in range(3)])
    until_full(start_proxy(upstream.origin + "/v1", fold=warm_fold, **settings), weigher, talk)
    assert weigher.refused
    replicas = [start_proxy(upstream.origin + "/v1", fold=warm_fold, **settings) for _ in range(2)]
    assert later(replicas, weigher, talk) == 0


@pytest.mark.parametrize("wire", sorted(PATHS))
def test_an_attachment_that_weighed_nothing_may_weigh_something(
    wire: str, upstream: UpstreamServer, start_proxy: StartProxy
) -> None:
    """Beside a large one a small one takes less than half a token; alone, all that the text does not explain."""
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold, **OWN)
    small, large = by_data(wire, 0, 1), by_data(wire, 1, 40_000)
    usage = {"usage": {"prompt_tokens": 4000, "input_tokens": 4000, "completion_tokens": 1, "output_tokens": 1}}
    upstream.handler = reply(json.dumps({"choices": [], **usage}).encode())
    both = Talk(wire, [small])
    first = both.ask()
    both.said[0]["content"].insert(0, large)
    assert post(proxy, wire, first) == 200
    until(lambda: len(proxy.recorder.receipts) == 1)
    time.sleep(0.05)  # what an answer teaches is learned behind it
    talk = Talk(wire, [small], seed=2)
    for _ in range(30):
        asked = talk.ask(250)
    answers = [reply(json.dumps(DIALECTS[DIALECT_OF[wire]].render(WINDOW, 90_000, 300)).encode(), status=400)]
    answers += [reply(json.dumps({"choices": [], **usage}).encode())]

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await answers.pop(0)(scope, receive, send)

    upstream.handler = answer
    assert post(proxy, wire, asked) == 200
    assert answers == []


def test_another_tenant_learns_it_for_itself(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    weigher = Weigher(upstream, "chat", usage=False)
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold, **OWN)
    talk = Talk("chat", [by_id("chat", number, 1500) for number in range(3)])
    until_full(proxy, weigher, talk)
    before = len(weigher.refused)
    assert post(proxy, "chat", talk.ask(), key="other") == 200
    assert len(weigher.refused) == before + 1


def test_a_file_that_is_replaced_by_a_small_one_does_no_harm(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    """Under another id it weighs nothing until something is learned; a smaller one at the same address is weighed anew."""
    weigher = Weigher(upstream, "chat")
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold, **OWN)
    talk = Talk("chat", [film("chat", 0, 5500)])
    until_full(proxy, weigher, talk)
    other = Talk("chat", [film("chat", 1, 100)], seed=2)
    for _ in range(6):
        assert post(proxy, "chat", other.ask()) == 200
        assert json.loads(upstream.seen[-1].body)["messages"] == other.said
    weigher.weights["file-0-weighs-5500"] = 100
    again = Talk("chat", [film("chat", 0, 5500)], seed=3)
    for _ in range(6):
        assert post(proxy, "chat", again.ask()) == 200
        time.sleep(0.05)
        assert json.loads(upstream.seen[-1].body)["messages"] == again.said
