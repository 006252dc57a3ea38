"""The books beside the provider's own bill, in conversations of unusual courses.

    python -m benchmarks.odd_bills [--only branches regenerated] [--clock LIBFAKETIME] [--json]

Each conversation is played over HTTP twice: through a `turnfold serve`, and directly. The upstream keeps a prompt cache for each
key (``support.billing_upstream``), so what was saved is the difference of two bills. Compared with it: the report's dollars
(paid, and without Turnfold), the tokens of the report and of the response headers, and what the dashboard's data says. Requests
of which nobody was told the usage must be reported as unknown, and are left out of both bills.

With `--clock`, Turnfold's clock goes with the provider's (libfaketime, a package of most distributions). Else the pauses of a
course are pauses at the provider only, so a cache that forgets in them looks like one that forgets at random.

It has the courses, plays them, and compares. Early ends and mean costs are in ``bills``.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlsplit

from benchmarks.support.billing_upstream import Billed, Provider, billing
from benchmarks.support.caches import COLUMNS
from benchmarks.support.proxy import turnfold
from benchmarks.support.shapes import requests as shape_requests
from tests.support.words import prose

Body = dict[str, Any]
Message = dict[str, Any]

AIM: Final = 0.01
#: The token that its `serve` takes.
ADMIN: Final = "odd-bills"
_PATHS: Final = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}


@dataclass(frozen=True, slots=True)
class Sent:
    """A request of a course.

    Attributes:
        do: what the upstream makes of it; "" for an ordinary answer.
        pause: seconds at the provider since the one before.
        beside: others that are sent at the same time.
    """

    body: Body
    wire: str = "chat"
    do: str = ""
    pause: float = 5.0
    beside: tuple[Body, ...] = ()


# ---------------------------------------------------------------- courses


class _Chat:
    """A chat that grows; everything in it comes from a seed."""

    def __init__(self, model: str, seed: str, system: str = "You are the clerk of a harbour.", sentences: int = 14) -> None:
        self.model, self._draw, self._sentences = model, Random(seed), sentences
        self.messages: list[Message] = [{"role": "system", "content": system}]

    def ask(self, **more: Any) -> Body:
        """The user says something; the request."""
        self.messages.append({"role": "user", "content": self._said(2)})
        return self.again(**more)

    def again(self, **more: Any) -> Body:
        """The same request."""
        return {"model": self.model, "messages": list(self.messages)} | more

    def answer(self) -> None:
        """The model has answered."""
        self.messages.append({"role": "assistant", "content": self._said(self._sentences)})

    def turn(self, **more: Any) -> Body:
        """The user says something, and is answered; the request."""
        body = self.ask(**more)
        self.answer()
        return body

    def step(self, number: int, lines: int) -> Body:
        """A call of a tool and its result; the request behind it."""
        rows = [{"bay": self._draw.randrange(900), "crate": self._draw.randrange(10**6), "state": "open"} for _ in range(lines)]
        function = {"name": "list_crates", "arguments": json.dumps({"page": number})}
        call = {"id": f"call_{len(self.messages)}", "type": "function", "function": function}
        self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(rows)})
        return self.again()

    def branch(self, messages: int) -> _Chat:
        """Another chat that begins with so many messages of this one."""
        other = _Chat(self.model, f"{messages}/{len(self.messages)}/{self._draw.random()}", sentences=self._sentences)
        other.messages = self.messages[:messages]
        return other

    def _said(self, sentences: int) -> str:
        return prose(self._draw.randrange(10**9), "en", sentences)


def _plain(model: str) -> Iterator[Sent]:
    chat = _Chat(model, "plain")
    yield from (Sent(chat.turn()) for _ in range(40))


def _regenerated(model: str) -> Iterator[Sent]:
    chat = _Chat(model, "regenerated")
    for turn in range(36):
        yield Sent(chat.ask())
        if turn % 3 == 2:
            yield Sent(chat.again())
        chat.answer()


def _warmer(model: str) -> Iterator[Sent]:
    chat = _Chat(model, "warmer")
    for turn in range(36):
        yield Sent(chat.ask(temperature=0.2))
        if turn % 4 == 3:
            yield Sent(chat.again(temperature=0.9))
        chat.answer()


def _edited(model: str) -> Iterator[Sent]:
    chat = _Chat(model, "edited")
    yield from (Sent(chat.turn()) for _ in range(30))
    other = chat.branch(21)
    yield from (Sent(other.turn()) for _ in range(25))


def _interleaved(model: str) -> Iterator[Sent]:
    chat = _Chat(model, "interleaved")
    yield from (Sent(chat.turn()) for _ in range(16))
    other = chat.branch(17)
    for _ in range(20):
        yield Sent(chat.turn())
        yield Sent(other.turn())


def _several(model: str) -> Iterator[Sent]:
    chat = _Chat(model, "several")
    yield from (Sent(chat.turn(n=4)) for _ in range(36))


def _left(model: str) -> Iterator[Sent]:
    chat = _Chat(model, "left")
    for turn in range(40):
        yield Sent(chat.turn(stream=True, stream_options={"include_usage": True}), do="leave" if turn % 3 == 2 else "")


def _left_messages(model: str) -> Iterator[Sent]:
    for number, request in enumerate(islice(shape_requests("long answers", COLUMNS["claude"], 3), 40)):
        body = json.loads(request.body) | {"model": model, "stream": True}
        yield Sent(body, "messages", do="leave" if number % 3 == 2 else "")


def _unasked(model: str) -> Iterator[Sent]:
    chat = _Chat(model, "unasked")
    for turn in range(40):
        yield Sent(chat.turn(stream=True) if turn % 2 else chat.turn())


def _silent(model: str) -> Iterator[Sent]:
    chat = _Chat(model, "silent")
    yield from (Sent(chat.turn(), do="silent") for _ in range(30))


def _at_times_silent(model: str) -> Iterator[Sent]:
    chat = _Chat(model, "at times silent")
    yield from (Sent(chat.turn(), do="silent" if turn % 4 in {1, 2} else "") for turn in range(40))


def _failing(status: str) -> Callable[[str], Iterator[Sent]]:
    def course(model: str) -> Iterator[Sent]:
        chat = _Chat(model, "failing")
        for turn in range(36):
            body = chat.turn()
            if turn % 3 == 1:
                yield Sent(body, do=status)
            yield Sent(body)

    return course


def _switched(model: str) -> Iterator[Sent]:
    """Ten turns with one model, ten with its smaller sister, and back."""
    chat = _Chat(model, "switched")
    for turn in range(45):
        chat.model = f"{model}-mini" if turn // 9 % 2 else model
        yield Sent(chat.turn())


def _failed_over(model: str) -> Iterator[Sent]:
    """Every sixth request fails, and its client sends it to the smaller sister."""
    chat = _Chat(model, "failed over")
    for turn in range(42):
        body = chat.turn()
        yield Sent(body, do="503" if turn % 6 == 5 else "")
        if turn % 6 == 5:
            yield Sent(body | {"model": f"{model}-mini"})


def _linked(model: str) -> Iterator[Sent]:
    """Each request names the response before; what is new alone is sent."""
    draw = Random("linked")
    for turn in range(30):
        text = prose(draw.randrange(10**9), "en", 20)
        rows = [{"bay": draw.randrange(900), "crate": draw.randrange(10**6), "state": "open"} for _ in range(60)]
        call = {"type": "function_call", "call_id": f"c{turn}", "name": "crates", "arguments": "{}"}
        result = {"type": "function_call_output", "call_id": f"c{turn}", "output": json.dumps(rows)}
        asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        new = [asked] if turn % 2 == 0 else [call, result]
        yield Sent(
            {"model": model, "input": new, "previous_response_id": "@"} if turn else {"model": model, "input": new}, "responses"
        )


def _sealed(model: str) -> Iterator[Sent]:
    column = replace(COLUMNS["gpt-5"], model=model)
    yield from (Sent(json.loads(one.body), "responses") for one in islice(shape_requests("sealed chat", column, 2), 40))


def _marked(hour: bool) -> Callable[[str], Iterator[Sent]]:
    def course(model: str) -> Iterator[Sent]:
        column = COLUMNS["claude, 1 h" if hour else "claude"]
        for seed in (5, 6):
            for number, one in enumerate(shape_requests("hosted tools", column, seed)):
                yield Sent(json.loads(one.body) | {"model": model}, "messages", pause=4000.0 if number % 4 == 3 else 20.0)

    return course


def _loop(model: str) -> Iterator[Sent]:
    """Turns with 30 calls of a tool each."""
    chat = _Chat(model, "loop")
    for _ in range(3):
        yield Sent(chat.ask())
        yield from (Sent(chat.step(number, 14)) for number in range(30))
        chat.answer()


def _other_tools(model: str) -> Iterator[Sent]:
    """The tools change in the middle: what was cached is lost."""
    chat = _Chat(model, "tools")
    for turn in range(40):
        tools = [_tool(f"look_up_{name}") for name in range(3 if turn < 20 else 4)]
        yield Sent(chat.turn(tools=tools))


def _tool(name: str) -> Body:
    said = {"type": "object", "properties": {"what": {"type": "string", "description": prose(len(name), "en", 4)}}}
    return {"type": "function", "function": {"name": name, "description": prose(len(name) + 1, "en", 6), "parameters": said}}


def _clocked(model: str) -> Iterator[Sent]:
    """The system text holds the time: nothing is ever found in the cache."""
    chat = _Chat(model, "clocked")
    for turn in range(40):
        chat.messages[0] = {"role": "system", "content": f"It is {turn:02}:00 in the harbour, and you are its clerk."}
        yield Sent(chat.turn())


def _clocked_messages(model: str) -> Iterator[Sent]:
    for number, one in enumerate(islice(shape_requests("long answers", COLUMNS["claude"], 6), 40)):
        body = json.loads(one.body) | {"model": model}
        body["system"] = [{"type": "text", "text": f"It is {number:02}:00 in the harbour."}, *body["system"]]
        yield Sent(body, "messages")


def _clocked_responses(model: str) -> Iterator[Sent]:
    column = replace(COLUMNS["gpt-5"], model=model)
    for number, one in enumerate(islice(shape_requests("hosted tools", column, 6), 36)):
        body = json.loads(one.body)
        yield Sent(body | {"instructions": f"It is {number:02}:00. {body['instructions']}"}, "responses")


def _returning(model: str) -> Iterator[Sent]:
    chat = _Chat(model, "returning")
    yield from (Sent(chat.turn(), pause=3700.0 if turn % 8 == 7 else 20.0) for turn in range(40))


def _beside(model: str) -> Iterator[Sent]:
    """Four questions about one conversation at once, from time to time; one of them is gone on from."""
    chat = _Chat(model, "beside")
    for turn in range(36):
        others = tuple(chat.branch(len(chat.messages)).ask() for _ in range(3)) if turn % 4 == 3 else ()
        yield Sent(chat.turn(), beside=others)


def _two_beside(model: str) -> Iterator[Sent]:
    """Branches that run beside each other all the time."""
    chat = _Chat(model, "two beside")
    yield from (Sent(chat.turn()) for _ in range(8))
    other = chat.branch(len(chat.messages))
    yield from (Sent(chat.turn(), beside=(other.turn(),)) for _ in range(20))


def _brief(model: str) -> Iterator[Sent]:
    """Chats that end right where they are folded."""
    chat = _Chat(model, "brief", sentences=40)
    yield from (Sent(chat.turn()) for _ in range(9))


_Course = Callable[[str], Iterator[Sent]]

#: Courses by name, each with the models that it is played with.
COURSES: Final[Mapping[str, tuple[_Course, Sequence[str]]]] = {
    "plain": (_plain, ("gpt-4o", "gpt-5")),
    "regenerated": (_regenerated, ("gpt-4o",)),
    "another temperature": (_warmer, ("gpt-4o",)),
    "edited": (_edited, ("gpt-4o",)),
    "branches in turn": (_interleaved, ("gpt-4o", "gpt-5.6")),
    "several answers": (_several, ("gpt-4o",)),
    "streams left": (_left, ("gpt-4o",)),
    "streams left, messages": (_left_messages, ("claude-sonnet-4-5",)),
    "usage not asked for": (_unasked, ("gpt-4o",)),
    "no usage": (_silent, ("gpt-4o",)),
    "usage at times": (_at_times_silent, ("gpt-4o",)),
    "errors and retries": (_failing("500"), ("gpt-4o",)),
    "rate limits": (_failing("429"), ("gpt-4o",)),
    "model switched": (_switched, ("gpt-4o",)),
    "failover": (_failed_over, ("gpt-4o",)),
    "previous response": (_linked, ("gpt-4o", "gpt-5")),
    "encrypted reasoning": (_sealed, ("gpt-5",)),
    "own marks": (_marked(hour=False), ("claude-sonnet-4-5",)),
    "own marks, an hour": (_marked(hour=True), ("claude-sonnet-4-5",)),
    "loops of 30 calls": (_loop, ("gpt-4o", "gpt-5")),
    "other tools": (_other_tools, ("gpt-4o",)),
    "a clock": (_clocked, ("gpt-4o", "gpt-5")),
    "a clock, messages": (_clocked_messages, ("claude-sonnet-4-5",)),
    "a clock, responses": (_clocked_responses, ("gpt-4o",)),
    "back after an hour": (_returning, ("gpt-4o",)),
    "four at once": (_beside, ("gpt-4o",)),
    "branches at once": (_two_beside, ("gpt-4o",)),
    "brief": (_brief, ("gpt-4o", "somebody-large-2")),
}


# ---------------------------------------------------------------- playing


@dataclass(slots=True)
class Clock:
    """The clock of the server, ahead of this machine's by what is written in a file."""

    library: str
    file: Path
    ahead: float = 0.0

    def __enter__(self) -> Clock:
        """Servers that are started from now on have it."""
        self.wait(0.0)
        os.environ |= {"LD_PRELOAD": self.library, "FAKETIME_TIMESTAMP_FILE": str(self.file), "FAKETIME_NO_CACHE": "1"}
        return self

    def __exit__(self, *_: object) -> None:
        """No others."""
        for name in ("LD_PRELOAD", "FAKETIME_TIMESTAMP_FILE", "FAKETIME_NO_CACHE"):
            del os.environ[name]

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.ahead += seconds
        self.file.write_text(f"+{self.ahead:.3f}s\n")


@dataclass(slots=True)
class Line:
    """One way to the upstream: through Turnfold, or not."""

    base: str
    key: str
    tag: str = ""
    clock: float = 0.0
    linked: str = ""
    counted: list[int] = field(default_factory=lambda: [0, 0])
    shifted: Clock | None = None

    def play(self, sent: Sent) -> None:
        """A request, and those beside it."""
        self.clock += sent.pause
        if self.shifted:
            self.shifted.wait(sent.pause)
        threads = [threading.Thread(target=self._send, args=(body, sent)) for body in sent.beside]
        for thread in threads:
            thread.start()
        self._send(sent.body, sent)
        for thread in threads:
            thread.join()

    def _send(self, body: Body, sent: Sent) -> None:
        if body.get("previous_response_id") == "@":
            body = body | {"previous_response_id": self.linked}
        where = urlsplit(self.base)
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=120)
        headers = {"content-type": "application/json", "x-clock": str(self.clock), "x-do": sent.do, "x-turnfold-tag": self.tag}
        headers |= {"x-api-key": self.key} if sent.wire == "messages" else {"authorization": f"Bearer {self.key}"}
        connection.request("POST", _PATHS[sent.wire], json.dumps(body).encode(), headers)
        answer = connection.getresponse()
        if answer.status == 200:
            for place, name in enumerate(("x-turnfold-tokens-before", "x-turnfold-tokens-after")):
                self.counted[place] += int(answer.headers.get(name) or 0)
        if sent.do == "leave":
            answer.read1(40)
            answer.close()
        else:
            data = answer.read()
            if sent.wire == "responses" and answer.status == 200:
                self.linked = json.loads(data)["id"]
        connection.close()


@dataclass(frozen=True, slots=True)
class Compared:
    """A course: the report's figures, and the truth.

    Attributes:
        off: the larger of the differences in dollars paid, and in dollars saved as a share of the bill without Turnfold.
        tokens_off: of the tokens saved, as a share of the tokens without Turnfold.
        wrong: what does not agree at all.
    """

    course: str
    model: str
    requests: int
    unknown: int
    paid: float | None
    paid_truth: float
    without: float | None
    without_truth: float
    saved: float
    saved_truth: float
    off: float
    tokens_off: float
    wrong: tuple[str, ...]


def play(name: str, model: str, provider: Provider, origin: str, base: str, clock: Clock | None = None) -> Compared:
    """One course both ways."""
    tag = f"{name} {model}".replace(" ", "-").replace(",", "")
    course, _ = COURSES[name]
    ways = (Line(base, f"through {tag}", tag, shifted=clock), Line(origin, f"direct {tag}"))
    for line in ways:
        for sent in course(model):
            line.play(sent)
    through, direct = (next(bills for key, bills in provider.bills.items() if key.endswith(line.key)) for line in ways)
    return _compared(name, model, ways[0], through, direct, base)


def _read(base: str, path: str) -> Any:
    request = urllib.request.Request(base + path, headers={"x-turnfold-admin-token": ADMIN})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def _compared(name: str, model: str, line: Line, through: list[Billed], direct: list[Billed], base: str) -> Compared:
    report = _read(base, f"/admin/report?from=365d&group_by=model&tag={line.tag}")["totals"]
    told = [(one, other) for one, other in zip(through, direct, strict=True) if one.told]
    paid, without = sum(one.dollars for one, _ in told), sum(other.dollars for _, other in told)
    money = report["dollars"]
    truth = 1 - paid / without if without else 0.0
    said = 1 - money["paid"] / money["without_turnfold"] if money["without_turnfold"] else 0.0
    unknown = not paid  # nobody told the usage, or the price
    off = float(money["paid"] is not None) if unknown else max(abs(money["paid"] / paid - 1), abs(said - truth))
    before = sum(one.use.prompt for one in direct)
    fewer = before - sum(one.use.prompt for one in through)
    counts = [report["tokens"]["before"], report["tokens"]["after"]]
    shown = _read(base, f"/admin/overview?from=365d&tag={line.tag}")
    wrong = [
        f"{what}: {one} and {other}"
        for what, one, other in (
            ("served", report["served"], len(through)),
            ("unknown", money["unknown_requests"], len(through) if unknown else len(through) - len(told)),
            ("headers", line.counted, counts),
            ("prompt tokens", report["usage"]["prompt_tokens"], sum(one.use.prompt for one, _ in told)),
            ("dashboard", shown["totals"]["dollars"], money),
        )
        if one != other
    ]
    return Compared(
        name,
        model,
        len(through),
        len(through) - len(told),
        money["paid"],
        round(paid, 6),
        money["without_turnfold"],
        round(without, 6),
        round(said, 4),
        round(truth, 4),
        round(off, 4),
        round(abs(report["tokens"]["saved"] - fewer) / before, 4),
        tuple(wrong),
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(COURSES), default=list(COURSES))
    parser.add_argument("--clock", metavar="LIBFAKETIME", help="path of libfaketime.so.1")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    provider, worst = Provider(), 0.0
    with ExitStack() as stack:
        origin = stack.enter_context(billing(provider))
        file = Path(stack.enter_context(TemporaryDirectory()), "time")
        clock = stack.enter_context(Clock(chosen.clock, file)) if chosen.clock else None
        served = stack.enter_context(turnfold(f"{origin}/v1", admin_token=ADMIN, log_level="warning"))
        base = served.removesuffix("/v1")
        for name in chosen.only:
            for model in COURSES[name][1]:
                row = play(name, model, provider, origin, base, clock)
                worst = max(worst, row.off)
                if chosen.json:
                    print(json.dumps(asdict(row)), flush=True)
                else:
                    money = f"{row.paid} ({row.paid_truth}) of {row.without} ({row.without_truth})"
                    flag = " <--" if row.off > AIM or row.wrong else ""
                    shares = f"saved {row.saved:.2%} ({row.saved_truth:.2%}), tokens off {row.tokens_off:.2%}"
                    print(f"{name}, {model}: {money}; {shares}; {row.unknown} unknown{flag} {'; '.join(row.wrong)}", flush=True)
    print(f"worst {worst:.2%}, aim {AIM:.0%}", file=sys.stderr)


if __name__ == "__main__":
    main()
