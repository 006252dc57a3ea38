"""Looking at the beginning of an answer takes nothing from it and keeps nobody waiting."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import sys
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

import brotli
import pytest

from turnfold.compression.fit.overflow import detect
from turnfold.compression.fit.recover import Outcome, Resend, recover
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.summary.calls import ModelCall
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.proxy.chat import recovering
from turnfold.proxy.chat.recovering import PeekedResponse, resend

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

EVENTS = (b"content-type", b"text/event-stream; charset=utf-8")
JSON = (b"content-type", b"application/json")
ERROR = b'{"error":{"code":"context_length_exceeded","message":"maximum context length is 300 tokens"}}'
LONG = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "many words " * 4000}]}).encode()


class Broke(Exception):
    """The upstream broke off."""


class Canned:
    """An answer that gives chunks as a list says: bytes, seconds or an event to wait for, or an exception."""

    def __init__(
        self,
        *script: bytes | float | asyncio.Event | Exception,
        status: int = 200,
        headers: Sequence[tuple[bytes, bytes]] = (EVENTS,),
    ) -> None:
        self.status = status
        self.headers = headers
        self.given = 0
        self.asked = False
        self.closed = False
        self._script = script

    async def chunks(self) -> AsyncIterator[tuple[bytes, bool]]:
        self.asked = True
        for item in self._script:
            if isinstance(item, Exception):
                raise item
            if isinstance(item, float):
                await asyncio.sleep(item)
                continue
            if isinstance(item, asyncio.Event):
                await item.wait()
                continue
            self.given += 1
            yield item, False

    def close(self) -> None:
        self.closed = True


async def run(work: Callable[[], Resend | ModelCall | Outcome]) -> Resend | ModelCall | Outcome:
    return await asyncio.to_thread(work)


@dataclass(frozen=True)
class Result:
    """The answer that the client gets, how a recovery ended where one was tried, and the bodies sent after the first."""

    answer: PeekedResponse
    outcome: Outcome | None = None
    resent: tuple[bytes, ...] = ()


async def no_reply(_: object) -> None:
    """There is no model of our own."""


async def peek_and_recover(*answers: Canned, suspect: bool = True) -> Result:
    """As the stations do: look at the first answer, and where it tells of a full context, drive a recovery."""
    first, *waiting = answers
    sent: list[bytes] = []

    async def send(body: bytes) -> Canned:
        sent.append(body)
        return waiting.pop(0)

    peeked = PeekedResponse(first)
    try:
        await peeked.look(inside=suspect)
        overflow = detect(peeked.status, peeked.head, in_stream=peeked.in_stream)
        if overflow is None:
            return Result(peeked)
        memo = Memo()
        flow = recover(CHAT.read(LONG, memo), overflow, FoldOptions(model="gpt-4o"), memo)
        recovered = await resend(flow, peeked, send, run, (Broke,), no_reply)
    except asyncio.CancelledError:
        peeked.close()
        raise
    return Result(recovered.answer, recovered.outcome, tuple(sent))


async def gather(answer: PeekedResponse, into: list[bytes]) -> None:
    async for chunk, _ in answer.chunks():
        into.append(chunk)


async def everything(answer: PeekedResponse) -> bytes:
    return b"".join([chunk async for chunk, _ in answer.chunks()])


async def test_an_answer_is_given_whole_and_in_its_chunks() -> None:
    chunks = (b": hi\n\n", b"da", b'ta: {"choices"', b": []}\n", b"\ndata: 2\n\n", b"data: [DONE]\n\n")
    result = await peek_and_recover(Canned(*chunks))
    assert [chunk async for chunk, _ in result.answer.chunks()] == list(chunks)
    assert (result.outcome, result.resent) == (None, ())


async def test_no_more_is_read_than_the_first_event() -> None:
    answer = Canned(b"data: 1\n\n", b"data: 2\n\n")
    await peek_and_recover(answer)
    assert answer.given == 1


@pytest.mark.parametrize(
    ("first", "more"),
    [
        ({"choices": [{"delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}, True),
        ({"choices": [{"delta": {"role": "assistant", "content": None, "refusal": None}, "logprobs": None}]}, True),
        ({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}, True),
        ({"choices": [{"delta": {"role": "assistant", "content": "It"}}]}, False),
        ({"choices": [{"delta": {"role": "assistant", "reasoning_content": "So"}}]}, False),
        ({"choices": [{"delta": {"role": "assistant"}, "finish_reason": "stop"}]}, False),
        ({"choices": [], "usage": {"prompt_tokens": 7}}, False),
        ({"choices": [], "error": {"message": "no"}}, False),
        ({"choices": [None]}, False),
        ({"choices": {}}, True),
        ([], False),
    ],
)
async def test_a_chunk_that_tells_who_speaks_is_no_word_yet(first: object, more: bool) -> None:
    answer = Canned(b"data: %b\n\n" % json.dumps(first).encode(), b"data: 2\n\n", b"data: 3\n\n")
    await peek_and_recover(answer)
    assert answer.given == 1 + more


async def test_who_speaks_is_told_in_time_where_the_first_word_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovering, "_PATIENCE", 0.05)
    begin, said = b'event: message_start\ndata: {"type":"message_start"}\n\n', asyncio.Event()
    result = await peek_and_recover(Canned(begin, said, b"data: 1\n\n"))
    said.set()
    assert await everything(result.answer) == begin + b"data: 1\n\n"


async def test_a_request_beyond_suspicion_is_not_held_back() -> None:
    answer = Canned(3600.0)
    result = await peek_and_recover(answer, suspect=False)
    assert answer.given == 0
    result.answer.close()
    assert answer.closed


async def test_a_slow_first_word_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovering, "_PATIENCE", 0.05)
    said = asyncio.Event()
    result = await peek_and_recover(Canned(b": keep-alive\n\n", said, b"data: 1\n\n", b"data: 2\n\n"))
    said.set()
    assert await everything(result.answer) == b": keep-alive\n\ndata: 1\n\ndata: 2\n\n"


async def test_a_slow_answer_may_be_closed_while_its_first_word_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovering, "_PATIENCE", 0.01)
    answer = Canned(3600.0)
    result = await peek_and_recover(answer)
    result.answer.close()
    result.answer.close()
    assert answer.closed


@pytest.mark.parametrize("script", [(Broke(),), (b"data: ", Broke()), (b": x\n\n", Broke())])
async def test_an_answer_that_breaks_off_breaks_for_whoever_relays_it(script: tuple[bytes | Exception, ...]) -> None:
    result = await peek_and_recover(Canned(*script))
    got: list[bytes] = []
    with pytest.raises(Broke):
        await gather(result.answer, got)
    assert got == [item for item in script if isinstance(item, bytes)]
    result.answer.close()


@pytest.mark.usefixtures("old_objects_are_frozen")
async def test_a_broken_answer_may_be_closed_unread(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    result = await peek_and_recover(Canned(Broke()))
    result.answer.close()
    monkeypatch.setattr(recovering, "_PATIENCE", 0.01)
    breaks = asyncio.Event()
    result = await peek_and_recover(Canned(breaks, Broke()))
    breaks.set()
    for _ in range(5):
        await asyncio.sleep(0)
    result.answer.close()
    del result
    gc.collect()
    assert caplog.messages == [], "nobody is told that a failure was not looked at"


@pytest.mark.parametrize("status", [401, 404, 429, 502])
async def test_statuses_that_say_something_else_are_not_read(status: int) -> None:
    answer = Canned(ERROR, status=status, headers=(JSON,))
    result = await peek_and_recover(answer)
    assert (answer.given, result.resent) == (0, ())
    assert await everything(result.answer) == ERROR


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("size", [7, 10_000])
async def test_an_error_in_a_coding_that_we_undo_is_recovered(coding: str, size: int) -> None:
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstd.compress}[coding]
    packed = pack(ERROR)
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
    first = Canned(*pieces, status=400, headers=(JSON, (b"content-encoding", coding.encode())))
    result = await peek_and_recover(first, Canned(b'{"choices": []}', headers=(JSON,)))
    assert result.outcome is not None
    assert result.outcome.recovered


async def test_a_coding_that_we_do_not_undo_is_passed_on() -> None:
    answer = Canned(b"\x0b\x02", b"more", status=400, headers=(JSON, (b"content-encoding", b"compress")))
    result = await peek_and_recover(answer)
    assert answer.given == 0
    assert await everything(result.answer) == b"\x0b\x02more"


async def test_a_large_error_is_not_gathered() -> None:
    answer = Canned(*[b"x" * 4096] * 100, status=400, headers=(JSON,))
    result = await peek_and_recover(answer)
    assert answer.given <= 3
    assert len(await everything(result.answer)) == 409_600


async def test_a_whole_answer_is_not_gathered() -> None:
    answer = Canned(b'{"id": "1", ', *[b" " * 100] * 50, b"}", headers=(JSON,))
    await peek_and_recover(answer)
    assert answer.given == 1


@pytest.mark.parametrize("chunks", [(ERROR,), (ERROR[:9], ERROR[9:]), (b" ", ERROR)])
async def test_a_200_that_is_an_error_is_recovered(chunks: tuple[bytes, ...]) -> None:
    first, second = Canned(*chunks, headers=(JSON,)), Canned(b'{"choices": []}', headers=(JSON,))
    result = await peek_and_recover(first, second)
    assert result.outcome is not None
    assert result.outcome.recovered
    assert (first.closed, second.closed, len(result.resent)) == (True, False, 1)
    assert await everything(result.answer) == b'{"choices": []}'


async def test_the_beginning_of_a_coded_stream_is_read() -> None:
    coded = gzip.compress(b"data: " + ERROR + b"\n\n")
    first = Canned(coded[:20], coded[20:], headers=(EVENTS, (b"Content-Encoding", b"GZIP")))
    result = await peek_and_recover(first, Canned(b"data: {}\n\n"))
    assert result.outcome is not None
    assert result.outcome.recovered


async def test_a_client_that_leaves_while_a_slow_first_word_is_relayed_closes_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnfold.proxy.chat.recovering._PATIENCE", 0.01)
    answer = Canned(3600.0)
    result = await peek_and_recover(answer)
    relaying = asyncio.create_task(everything(result.answer))
    await asyncio.sleep(0.01)
    relaying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await relaying
    result.answer.close()
    assert answer.closed


async def test_cancelling_lets_go_of_both_connections() -> None:
    first, second = Canned(ERROR, status=400, headers=(JSON,)), Canned(3600.0)
    task = asyncio.create_task(peek_and_recover(first, second))
    async with asyncio.timeout(60):
        while not second.asked:  # noqa: ASYNC110 - it is made in a thread
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (first.closed, second.closed) == (True, True)
