"""Looking at the beginning of an answer takes nothing from it and keeps nobody waiting."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from turnfold.compression.calibration import Learned
from turnfold.compression.fit.recover import Call, Outcome
from turnfold.compression.fold import fold_request
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.proxy.chat import recovering
from turnfold.proxy.chat.recovering import Peeked, Request, Served, serve

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
        self.closed = False
        self._script = script

    async def chunks(self) -> AsyncIterator[tuple[bytes, bool]]:
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


async def run(work: Callable[[], Call | Outcome]) -> Call | Outcome:
    return await asyncio.to_thread(work)


async def served(*answers: Canned, suspect: bool = True, body: bytes = LONG) -> tuple[Served, list[bytes]]:
    waiting, sent = list(answers), []

    async def send(body: bytes) -> Canned:
        sent.append(body)
        return waiting.pop(0)

    request = Request(body, body, False, FoldOptions(model="gpt-4o"), Learned(), suspect)
    return await serve(request, send, fold_request, Memo(), run, (Broke,)), sent


async def gather(answer: Peeked, into: list[bytes]) -> None:
    async for chunk, _ in answer.chunks():
        into.append(chunk)


async def everything(answer: Peeked) -> bytes:
    return b"".join([chunk async for chunk, _ in answer.chunks()])


async def test_an_answer_is_given_whole_and_in_its_chunks() -> None:
    chunks = (b": hi\n\n", b"da", b'ta: {"choices"', b": []}\n", b"\ndata: 2\n\n", b"data: [DONE]\n\n")
    result, sent = await served(Canned(*chunks))
    assert [chunk async for chunk, _ in result.answer.chunks()] == list(chunks)
    assert (result.overflow, result.outcome, len(sent)) == (None, None, 1)


async def test_no_more_is_read_than_the_first_event() -> None:
    answer = Canned(b"data: 1\n\n", b"data: 2\n\n")
    await served(answer)
    assert answer.given == 1


async def test_a_request_beyond_suspicion_is_not_held_back() -> None:
    answer = Canned(3600.0)
    result, _ = await served(answer, suspect=False)
    assert answer.given == 0
    result.answer.close()
    assert answer.closed


async def test_a_slow_first_word_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovering, "_PATIENCE", 0.05)
    said = asyncio.Event()
    result, _ = await served(Canned(b": keep-alive\n\n", said, b"data: 1\n\n", b"data: 2\n\n"))
    said.set()
    assert await everything(result.answer) == b": keep-alive\n\ndata: 1\n\ndata: 2\n\n"


async def test_a_slow_answer_may_be_closed_while_its_first_word_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovering, "_PATIENCE", 0.01)
    answer = Canned(3600.0)
    result, _ = await served(answer)
    result.answer.close()
    result.answer.close()
    assert answer.closed


@pytest.mark.parametrize("script", [(Broke(),), (b"data: ", Broke()), (b": x\n\n", Broke())])
async def test_an_answer_that_breaks_off_breaks_for_whoever_relays_it(script: tuple[bytes | Exception, ...]) -> None:
    result, _ = await served(Canned(*script))
    got: list[bytes] = []
    with pytest.raises(Broke):
        await gather(result.answer, got)
    assert got == [item for item in script if isinstance(item, bytes)]
    result.answer.close()


async def test_a_broken_answer_may_be_closed_unread() -> None:
    result, _ = await served(Canned(Broke()))
    result.answer.close()


@pytest.mark.parametrize("status", [401, 404, 429, 502])
async def test_statuses_that_say_something_else_are_not_read(status: int) -> None:
    answer = Canned(ERROR, status=status, headers=(JSON,))
    result, sent = await served(answer)
    assert (answer.given, len(sent)) == (0, 1)
    assert await everything(result.answer) == ERROR


async def test_a_coding_that_we_do_not_undo_is_passed_on() -> None:
    answer = Canned(b"\x0b\x02", b"more", status=400, headers=(JSON, (b"content-encoding", b"br")))
    result, _ = await served(answer)
    assert answer.given == 0
    assert await everything(result.answer) == b"\x0b\x02more"


async def test_a_large_error_is_not_gathered() -> None:
    answer = Canned(*[b"x" * 4096] * 100, status=400, headers=(JSON,))
    result, _ = await served(answer)
    assert answer.given <= 3
    assert len(await everything(result.answer)) == 409_600


async def test_a_whole_answer_is_not_gathered() -> None:
    answer = Canned(b'{"id": "1", ', *[b" " * 100] * 50, b"}", headers=(JSON,))
    await served(answer)
    assert answer.given == 1


@pytest.mark.parametrize("chunks", [(ERROR,), (ERROR[:9], ERROR[9:]), (b" ", ERROR)])
async def test_a_200_that_is_an_error_is_recovered(chunks: tuple[bytes, ...]) -> None:
    first, second = Canned(*chunks, headers=(JSON,)), Canned(b'{"choices": []}', headers=(JSON,))
    result, sent = await served(first, second)
    assert result.outcome is not None
    assert result.outcome.recovered
    assert (first.closed, second.closed, len(sent)) == (True, False, 2)
    assert await everything(result.answer) == b'{"choices": []}'


async def test_the_beginning_of_a_coded_stream_is_read() -> None:
    coded = gzip.compress(b"data: " + ERROR + b"\n\n")
    first = Canned(coded[:20], coded[20:], headers=(EVENTS, (b"Content-Encoding", b"GZIP")))
    result, _ = await served(first, Canned(b"data: {}\n\n"))
    assert result.outcome is not None
    assert result.outcome.recovered


async def test_cancelling_lets_go_of_both_connections() -> None:
    first, second = Canned(ERROR, status=400, headers=(JSON,)), Canned(3600.0)
    task = asyncio.create_task(served(first, second))
    await asyncio.sleep(0.5)  # the second answer is being waited for
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (first.closed, second.closed) == (True, True)
