"""What a call for vectors that fails means for the next ones (``tests.support.golden`` says when to write the files anew).

These tests cover the encoder, with answers that are made up and a clock that a test moves. They leave out the wire, HTTP
(``test_upstream_vectors``).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from yarl import URL

from tests.proxy.harness import settings_for
from tests.support import golden
from tests.support.cases import each
from tests.support.no_time import in_no_time, now
from turnfold.proxy.asking.breaker import Breaker
from turnfold.proxy.asking.own_upstream import Caller, Headers, PostedAnswer
from turnfold.proxy.asking.spending import Payer
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.semantic import upstream_encoder as module
from turnfold.proxy.semantic.encoder import EncoderFailed, VectorRequest
from turnfold.proxy.semantic.upstream_encoder import UpstreamEncoder

FILES = Path(__file__).parent / "golden"
MODEL = "text-embedding-3-small"
URL_OF_OURS = "https://api.openai.com/v1"


def vectors(inputs: int, dimension: int = 8) -> PostedAnswer:
    rows = [{"index": i, "embedding": [float(i + 1)] * dimension} for i in range(inputs)]
    return PostedAnswer(200, (), json.dumps({"data": rows, "usage": {"prompt_tokens": 7 * inputs}}).encode())


class Scripted(UpstreamEncoder):
    """An encoder whose calls are answered by a function of their texts, or in turn."""

    def __init__(self, answers: Callable[[list[str]], PostedAnswer] | Iterable[PostedAnswer], **groups: Any) -> None:
        semantic = {"embedding_model": MODEL, "api_key": "sk-own"} | groups.pop("semantic", {})
        self.receipts: list[Receipt] = []
        self.takes = 0.0
        super().__init__(settings_for(groups.pop("url", URL_OF_OURS), semantic=semantic, **groups), None, self)
        self.sent: list[tuple[str, Headers, dict[str, Any], int]] = []
        turns = iter(()) if callable(answers) else iter(answers)
        self._answer = answers if callable(answers) else lambda _: next(turns)
        self._upstream.post = self._post_scripted  # type: ignore[method-assign]

    def record(self, receipt: Receipt, sections: object) -> None:
        del sections
        self.receipts.append(receipt)

    async def _post_scripted(self, url: URL, headers: Headers, body: bytes, most: int) -> PostedAnswer:
        await asyncio.sleep(self.takes)
        value = json.loads(body)
        self.sent.append((str(url), headers, value, most))
        return self._answer(value["input"])

    @property
    def sizes(self) -> list[int]:
        """How many texts each call had."""
        return [len(body["input"]) for _, _, body, _ in self.sent]


def errand(encoder: UpstreamEncoder, tenant: str = "anna") -> VectorRequest:
    return VectorRequest(Payer(tenant, "c"), "gpt-4o", encoder.trial().caller, URL(f"{URL_OF_OURS}/chat/completions"))


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "Breaker", partial(Breaker, clock=made))
    return made


def rest(encoder: UpstreamEncoder, clock: Clock, tenant: str = "anna") -> float:
    """Seconds until it may be asked again."""
    began = clock.now
    while not encoder.is_ready(errand(encoder, tenant)):
        clock.now += 0.5
    return clock.now - began


async def failure(encoder: UpstreamEncoder, texts: list[str] | None = None) -> str:
    try:
        await encoder.encode(texts or ["a"], errand(encoder))
    except EncoderFailed as exc:
        return str(exc)
    return "made"


def test_two_thousand_tenants_are_let_alone_each_by_itself(clock: Clock) -> None:
    async def work() -> None:
        encoder = Scripted(repeat(PostedAnswer(400)))
        while await failure(encoder) and encoder.is_ready(errand(encoder)):
            pass

        def look(*numbers: int) -> bool:
            return all(encoder.is_ready(errand(encoder, f"t{number}")) for number in numbers)

        assert look(*range(1999))
        assert not encoder.is_ready(errand(encoder))
        assert look(*range(2000))
        assert encoder.is_ready(errand(encoder)), "it was forgotten"

    in_no_time(work())
    assert clock.now == 1000.0


LONG_AGO = b"Sat, 01 Jan 2000 00:00:00 GMT"
CASES: list[tuple[str, PostedAnswer, dict[str, Any]]] = [
    *((str(status), PostedAnswer(status), {}) for status in (401, 403, 404, 429, 400, 413, 422, 418, 500, 503, None, 0)),
    *((f"{status}, after 7 s", PostedAnswer(status, ((b"retry-after", b"7"),)), {}) for status in (429, 503, 500, 401, 400)),
    *(
        (f"429, after {text!r}", PostedAnswer(429, ((b"retry-after", text),)), {})
        for text in (b"0", b" 1801 ", b"1e3", b"", LONG_AGO)
    ),
    ("unreadable", PostedAnswer(200, (), b"{}"), {}),
    ("too few", vectors(2), {}),
    ("other dimension", vectors(1, 9), {"semantic": {"dimensions": 8}}),
    ("budget", vectors(1), {"semantic": {"dollars_per_day": 0.0}}),
    ("of clients' keys", PostedAnswer(500), {"semantic": {"api_key": None, "use_client_key": True, "url": None}}),
    ("refused, of clients' keys", PostedAnswer(401), {"semantic": {"api_key": None, "use_client_key": True, "url": None}}),
]


def test_what_each_failure_means(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """Its reason and text, how often it is met until nothing is asked any more, and how long, for others and for that tenant."""
    lines = []
    for name, answer, groups in CASES:
        encoder = Scripted(repeat(answer), **groups)
        caller = Caller(encoder.trial().caller.host, ((b"authorization", b"Bearer sk-client"),))
        anna, bert = (VectorRequest(Payer(tenant, "c"), "gpt-4o", caller, URL(URL_OF_OURS)) for tenant in ("anna", "bert"))
        caplog.clear()
        caplog.set_level(logging.INFO)
        said, tries, waits = set[str](), 0, list[list[float]]()
        for _ in range(3):
            while encoder.is_ready(anna) and tries < 30:
                tries += 1
                try:
                    in_no_time(encoder.encode(["a"], anna))
                except EncoderFailed as exc:
                    said.add(str(exc))
            began, found = clock.now, list[float]()
            for one in (bert, anna):
                while not encoder.is_ready(one):
                    clock.now += 0.5
                found.append(clock.now - began)
            waits.append(found)
        told = [f"{one.levelname} {one.getMessage()}" for one in caplog.records if one.name == module.__name__]
        lines += [f"{name}: {dict(encoder.failures)} {sorted(said)} after {tries}, rests {waits}", *(f"  {one}" for one in told)]
    golden.agrees(FILES / "failing_calls.txt", lines)


def test_pauses_grow_and_a_success_ends_them(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        encoder = Scripted([*[PostedAnswer(500)] * 12, vectors(1), *[PostedAnswer(500)] * 3])
        waits = []
        for _ in range(12):
            assert "answered with an error (500)" in await failure(encoder)
            waits.append(rest(encoder, clock))
        assert waits == [0.0, 0.0, 15.0, 30.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1800.0, 1800.0, 1800.0]
        assert await failure(encoder) == "made"
        assert [await failure(encoder) != "made" and rest(encoder, clock) for _ in range(3)] == [0.0, 0.0, 15.0]
        said = [one.getMessage() for one in caplog.records if one.name == module.__name__]
        assert [text.partition(":")[0] for text in said] == [
            "recall uses only words for now",
            f"{MODEL} at api.openai.com returns vectors again",
            "recall uses only words for now",
        ]
        assert encoder.failures == Counter(failed=15)

    caplog.set_level(logging.INFO)
    in_no_time(work())


def test_no_call_takes_longer_than_half_a_minute() -> None:
    async def work() -> None:
        encoder = Scripted([vectors(1)])

        encoder.takes = 1000.0
        assert await failure(encoder) == f"{MODEL} at api.openai.com: it does not answer in time"
        assert (now(), encoder.failures) == (30.0, Counter(slow=1))

    in_no_time(work())


@each(
    ("number", "takes", "sizes", "most", "made"),
    [
        (16, 4, [16, 8, 8], 256, 0),
        (33, 20, [33, 16, 17], 17, 33),
        (9, 4, [9, 4, 5], 256, 4),
        (8, 4, [8], 256, 0),
    ],
)
def test_a_refused_call_is_tried_in_halves(number: int, takes: int, sizes: list[int], most: int, made: int) -> None:
    """Down to eight texts; where the halves are taken, calls are no larger from then on."""

    async def work() -> None:
        encoder = Scripted(lambda texts: vectors(len(texts)) if len(texts) <= takes else PostedAnswer(413))
        try:
            found = await encoder.encode([f"text {i}" for i in range(number)], errand(encoder))
            assert sum(any(one) for one in found.vectors) == made
            assert len(found.vectors) == number
        except EncoderFailed:
            assert made == 0
        assert (encoder.sizes, encoder.most_texts) == (sizes, most)

    in_no_time(work())


def test_halves_are_tried_so_often_and_no_more() -> None:
    async def work() -> None:
        encoder = Scripted(lambda texts: PostedAnswer(413), semantic={"batch": 2048})
        assert "(413)" in await failure(encoder, [f"text {i}" for i in range(2048)])
        assert encoder.sizes.count(2048) == 1
        assert len(encoder.sizes) == 23
        assert min(encoder.sizes) == 8

    in_no_time(work())


def test_what_a_call_sends_costs_and_tells() -> None:
    async def work() -> None:
        encoder = Scripted([vectors(2), PostedAnswer(400), vectors(1)], semantic={"dimensions": 8})
        found = await encoder.encode(["one", "two"], errand(encoder))
        assert [len(one) for one in found.vectors] == [8, 8]
        await asyncio.gather(*encoder._settling)
        (url, headers, body, most) = encoder.sent[0]
        assert (url, headers) == (f"{URL_OF_OURS}/embeddings", ((b"authorization", b"Bearer sk-own"),))
        assert body == {"model": MODEL, "input": ["one", "two"], "encoding_format": "base64", "dimensions": 8}
        assert most == 2**20 + 2 * 8 * 24
        (told,) = encoder.receipts
        assert (told.tenant, told.conversation, told.model, told.status) == ("anna", "c", "gpt-4o", "own")
        assert [(call.kind, call.model, call.usage.prompt_tokens) for call in told.calls] == [("embedding", MODEL, 14)]
        assert encoder.most_calls == 8
        for sizes in ([2, 1], [2, 1, 1]):  # base64 is known to be taken, so what is refused is the text
            assert (await failure(encoder) == "made") == (len(sizes) == 3)
            encoder._breakers.clear()
            assert encoder.sizes == sizes

    in_no_time(work())


@each(
    ("url", "sent_to", "place", "header"),
    [
        ("https://h/v1", "https://h/v1/chat/completions", "https://h/v1/embeddings", b"authorization"),
        (
            "https://r.openai.azure.com",
            "https://r.openai.azure.com/openai/deployments/chat/chat/completions?api-version=1%2D2",
            f"https://r.openai.azure.com/openai/deployments/{MODEL}/embeddings?api-version=1%2D2",
            b"api-key",
        ),
        (
            "https://r.openai.azure.com",
            "https://r.openai.azure.com/openai/deployments/chat/chat/completions",
            f"https://r.openai.azure.com/openai/deployments/{MODEL}/embeddings",
            b"api-key",
        ),
        ("https://r.openai.azure.com", "https://r.openai.azure.com/v1/x", "https://r.openai.azure.com/v1/embeddings", b"api-key"),
        ("https://r.azure.com", "https://r.azure.com/v1/x", "https://r.azure.com/v1/embeddings", b"authorization"),
    ],
)
def test_where_a_call_goes(url: str, sent_to: str, place: str, header: bytes) -> None:
    async def work() -> None:
        encoder = Scripted([vectors(1)], url=url, semantic={"api_key": None}, upstream={"api_key": "sk-own"})
        caller = Caller(URL(url).authority, ())
        await encoder.encode(["a"], VectorRequest(Payer("anna"), "m", caller, URL(sent_to, encoded=True)))
        ((found, headers, _, _),) = encoder.sent
        assert (found, [name for name, _ in headers]) == (place, [header])
        assert not encoder.is_ready(VectorRequest(Payer("anna"), "m", Caller("elsewhere", ()), URL("https://elsewhere")))

    in_no_time(work())


def test_what_was_spent_is_booked_before_the_end() -> None:
    async def work() -> None:
        encoder, booked = Scripted([vectors(1)]), list[float]()

        async def settle(payer: Payer, reserved: float, dollars: float) -> None:
            del payer, reserved
            await asyncio.sleep(1.0)
            booked.append(dollars)

        encoder._caps.settle = settle  # type: ignore[method-assign]
        async with encoder.running():
            assert await failure(encoder) == "made"
        assert booked == [pytest.approx(7 * 0.02 / 1e6)]

    in_no_time(work())


def test_a_url_of_its_own_is_taken_as_it_stands() -> None:
    """Also where it is at the host of the conversation, whose path names a deployment."""

    async def work() -> None:
        url, host = "https://r.openai.azure.com/v1", "r.openai.azure.com:443"
        encoder = Scripted([vectors(1)], semantic={"url": url, "api_key": "sk-own"})
        sent_to = URL("https://r.openai.azure.com/openai/deployments/chat/chat/completions?api-version=1")
        await encoder.encode(["a"], VectorRequest(Payer("anna"), "m", Caller(host, ()), sent_to))
        assert [(one[0], one[1][0][0]) for one in encoder.sent] == [(f"{url}/embeddings", b"api-key")]
        assert encoder.is_ready(VectorRequest(Payer("anna"), "m", Caller("elsewhere", ()), URL("https://elsewhere")))

    in_no_time(work())
