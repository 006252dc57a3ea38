"""The process that reads and folds large requests for another one.

A loop that reads work from standard input and writes answers to standard output. The messages are defined in
``chat.process_folding``; ``lanes.processes`` starts and kills the process.

It ends when its input ends, so it never outlives the process that it works for. It runs with a low priority, and is the first to
be killed if memory runs short.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import signal
import sys
from collections.abc import Generator
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

from yarl import URL

from turnfold.compression import tokens
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.recover import Resend, recover
from turnfold.compression.fit.unpriced import has_unpriced
from turnfold.compression.fold import Section, conversation_name
from turnfold.compression.text.dialogue.overall import asks_for_overall
from turnfold.compression.wire.beginnings import borders
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES
from turnfold.config.fold import fold_options
from turnfold.config.settings import Settings
from turnfold.proxy.api.workshop import ApiResult, ApiWork
from turnfold.proxy.books.section_records import packed
from turnfold.proxy.chat.exchange import ChatRequest, Exchange
from turnfold.proxy.chat.folding import Folding, Lanes, ends_in_loop, is_compacted
from turnfold.proxy.chat.process_folding import (
    BareWork,
    FoldConditions,
    FoldedBody,
    FoldWork,
    RecoverWork,
    RecoveryPlan,
    RequestRead,
    Work,
    WorkFailed,
)
from turnfold.proxy.chat.receipts import Originals, PackedSection
from turnfold.proxy.incidents import attempt
from turnfold.proxy.lanes.frames import read_frame, write_frame
from turnfold.proxy.lanes.taking_over import BIT, LARGEST_BIT
from turnfold.proxy.learning.deciding import Decisions
from turnfold.proxy.learning.warming import WarmthMemory
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.outbound.destination import Destination
from turnfold.proxy.outbound.relay import RelayableAnswer
from turnfold.proxy.trails.trail import trails_of

_WIRES: Final = {wire.name: wire for wire in (CHAT, RESPONSES, MESSAGES)}
_PATIENCE: Final = 5  # how much its priority is lowered
_MOST_MEMORY: Final = 3 * 2**30  # bytes of data: a fold of the largest body takes less than a third of it
_FIRST_TO_GO: Final = "500"

#: A piece of work: a generator that yields answers with bodies, and is sent the other process's replies.
Answers = Generator[tuple[Any, bytes], Any, None]


class _Nowhere:
    """The upstream in a process that only folds: nothing is sent. Saves loading an HTTP client, a tenth of startup time."""

    origin = "http://localhost"

    async def send(self, *given: Any) -> RelayableAnswer:
        raise AssertionError("the process that folds sends nothing")


class Worker:
    """What folds."""

    def __init__(self, settings: Settings) -> None:
        self._forgetful = settings.store.is_off
        options_for = partial(fold_options, settings)
        decisions = Decisions(None, 0.0, WarmthMemory())  # the caller decides
        self._folding = Folding.of(settings, options_for, Windows(), decisions, Lanes(1))
        self._nowhere = Destination(_Nowhere(), URL(_Nowhere.origin), "openai")

    def answers(self, work: Work | ApiWork, body: bytes, sent: bytes) -> Answers:
        """The answers to a piece of work, in order."""
        if isinstance(work, ApiWork):
            job, arguments = pickle.loads(body)  # noqa: S301 - of the process that we work for
            yield ApiResult(), pickle.dumps(job(*arguments))
            return
        exchange = self._folding.read(self._exchange(work, body))
        if isinstance(work, FoldWork):
            yield from self._fold(exchange, asks_borders=work.asks_borders)
        elif isinstance(work, RecoverWork):
            yield from self._recover(exchange, work, sent)
        elif isinstance(work, BareWork):
            yield from self._take_thinking_out(exchange, sent, work.refused)

    def end(self) -> None:
        """End a piece of work; if nothing may be kept, forget it."""
        if self._forgetful:
            self._folding.memo.clear()

    def _exchange(self, work: Work, body: bytes) -> Exchange:
        wire = _WIRES[work.wire]
        request = ChatRequest(
            work.id, 0.0, 0.0, 0.0, wire, self._nowhere, (), "", body, work.mode, work.budget, work.label, tenant=""
        )
        return Exchange(request.but(keep=work.keep))

    def _fold(self, exchange: Exchange, *, asks_borders: bool) -> Answers:
        conversation = exchange.conversation
        if conversation is None:
            yield RequestRead(exchange.reason), b""
            return
        ends = borders(conversation, BIT, LARGEST_BIT) if asks_borders else ()
        loop, compacted = ends_in_loop(conversation), is_compacted(conversation)
        name, unpriced = conversation_name(conversation), has_unpriced(conversation)
        read = RequestRead("", conversation.model, name, loop, compacted, unpriced, ends)
        under: FoldConditions | None = yield read, b""
        while under is not None:
            known = exchange.but(known=under.known)
            options = self._folding.options_at_first(known, conversation.model)
            options = replace(options, belief=under.belief, precedents=under.precedents, borrowed=under.borrowed)
            options = replace(options, heard=under.heard)
            done = self._folding.fold_read(known, conversation, options)
            under = yield _folded_body(done), done.body or b""

    def _recover(self, exchange: Exchange, work: RecoverWork, sent: bytes) -> Answers:
        conversation = exchange.conversation
        if conversation is None:
            raise FoldRejected(exchange.reason)
        exchange = exchange.but(known=work.known)
        memo = self._folding.memo
        other = conversation.wire.read(sent, memo) if sent else None
        options = self._folding.options_of(exchange, conversation.model)
        flow = recover(conversation, work.overflow, options, memo, work.known, other, self._folding.engine)
        try:
            step = next(flow)
        except StopIteration as done:
            yield RecoveryPlan(False, replace(done.value, forwarded=None, sections=())), b""
            return
        assert isinstance(step, Resend)  # noqa: S101 - a flow yields nothing else
        outcome = replace(step.attempt, forwarded=None, sections=())
        trails = trails_of(conversation, step.forwarded)
        yield RecoveryPlan(True, outcome, trails, _packed(step.attempt.sections)), step.forwarded.body

    def _take_thinking_out(self, exchange: Exchange, sent: bytes, refused: frozenset[bytes] | None) -> Answers:
        received = exchange.conversation
        if received is None:
            raise FoldRejected(exchange.reason)
        bare = self._folding.bare_body(received, received.wire.read(sent, self._folding.memo), refused)
        yield replace(bare, body=None), bare.body or b""


def _folded_body(done: Exchange) -> FoldedBody:
    kept = {field.name: getattr(done, field.name) for field in fields(FoldedBody)}
    return FoldedBody(**kept | {"sections": _packed(done.sections), "large_thoughts": done.thoughts})


def _packed(sections: Originals) -> tuple[PackedSection, ...]:
    return tuple(packed(section) if isinstance(section, Section) else section for section in sections)


def _serve(worker: Worker, stdin: BinaryIO, stdout: BinaryIO, work: Work | ApiWork, body: bytes, sent: bytes) -> None:
    """Run one piece of work to its end, whatever happens in it."""
    answers = worker.answers(work, body, sent)
    said: Any = None
    first = True
    while True:
        step = attempt(partial(next, answers) if first else partial(answers.send, said))
        first = False
        if isinstance(step, StopIteration):
            return
        if isinstance(step, Exception):
            write_frame(stdout, WorkFailed(step.reason if isinstance(step, FoldRejected) else type(step).__name__))
            return
        write_frame(stdout, step[0], step[1])
        if isinstance(step[0], FoldedBody) or (isinstance(step[0], RequestRead) and not step[0].reason):
            frame = read_frame(stdin)
            said = None if frame is None else frame[0]


def _give_way() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # sent to the terminal's whole group; the end of input stops this process
    with contextlib.suppress(OSError, ValueError):
        os.nice(_PATIENCE)
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO, "ascii")


def work_until_the_end(stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Read the settings, then work until the input ends."""
    frame = read_frame(stdin)
    if frame is None:
        return
    worker = Worker(frame[0])
    tokens.encoding(tokens.BORDER_ENCODING)
    asks_for_overall("")
    while (frame := read_frame(stdin)) is not None:
        _serve(worker, stdin, stdout, *frame)
        worker.end()


def main() -> None:
    """Entry point: work for the process at the other ends of standard input and output."""
    _give_way()
    stdout = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # other writes to standard output must not break a frame
    work_until_the_end(sys.stdin.buffer, stdout)


if __name__ == "__main__":
    main()
