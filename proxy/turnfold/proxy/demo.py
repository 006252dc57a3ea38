"""``turnfold demo``: shows how a long conversation is folded, without a key or a network.

This module plays the packaged conversation turn by turn, over real HTTP, against the real proxy and a small upstream on loopback,
and shows what was sent and saved. The caller passes the proxy's configuration.

Tokens are counted at both ends with the same counter, not taken from the proxy's own headers.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import takewhile
from statistics import median
from typing import Any, Final

import httpx
import orjson
import uvicorn
from pydantic import SecretStr
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from turnfold.compression import tokens
from turnfold.config.serving import ServerSettings
from turnfold.config.settings import AuthSettings, Settings, StoreSettings, UpstreamSettings
from turnfold.proxy.demo_formats import FORMATS

Message = dict[str, Any]
Configure = Callable[[Settings], uvicorn.Config]

_START_PATIENCE: Final = 30.0  # seconds; a start takes one to three
_REPORT_PATIENCE: Final = 3.0  # seconds; receipts are booked behind the answers
_ADMIN_TOKEN: Final = "demo"  # noqa: S105 - opens a proxy that lives for seconds on loopback, with made-up text in it
_BAR: Final = 10


class DemoFailed(RuntimeError):
    """The demo failed; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class ScriptTurn:
    """One request of the script: the messages that the client adds, the reply, and the facts that the reply needs verbatim."""

    say: tuple[Message, ...]
    reply: Message
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """The packaged conversation."""

    model: str
    system: str
    tools: tuple[Message, ...]
    turns: tuple[ScriptTurn, ...]


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """The result of one turn.

    Attributes:
        raw: tokens of the messages as the client sent them.
        sent: tokens of the messages as they reached the upstream.
        status: the proxy's ``x-turnfold-status``; "" if absent.
        overhead_ms: the proxy's ``x-turnfold-overhead-ms``; None if absent.
        facts: number of old facts that the reply needs.
        held: number of them in the request that reached the upstream.
    """

    number: int
    said: str
    raw: int
    sent: int
    status: str
    overhead_ms: float | None
    facts: int
    held: int

    @property
    def saved(self) -> float:
        """Share of the tokens that were not sent."""
        return 1 - self.sent / self.raw


@dataclass(frozen=True, slots=True)
class Summary:
    """The whole conversation in figures; savings are shares of a turn's tokens, from the first folded turn on."""

    requests: int
    raw: int
    sent: int
    saved: float
    first_folded: int | None
    lowest_saving: float
    median_saving: float
    highest_saving: float
    facts: int
    held: int
    median_overhead_ms: float | None
    seconds: float


def load_script() -> Script:
    """The packaged conversation; written for this demo."""
    data = orjson.loads((files("turnfold.proxy") / "demo_data" / "conversation.json").read_bytes())
    turns = tuple(ScriptTurn(tuple(turn["say"]), turn["reply"], tuple(turn["facts"])) for turn in data["turns"])
    return Script(data["model"], data["system"], tuple(data["tools"]), turns)


class ScriptedUpstream:
    """Answers each request with a given reply, and records the messages."""

    def __init__(self) -> None:
        self.reply: Message = {}
        self.messages: list[Message] = []

    async def complete(self, request: Request) -> Response:
        """``POST /v1/chat/completions``."""
        body = orjson.loads(await request.body())
        cached = cached_tokens(self.messages, body["messages"])
        self.messages = body["messages"]
        prompt, completion = count_messages(self.messages), count_messages([self.reply])
        choice = {"index": 0, "message": self.reply, "finish_reason": "tool_calls" if self.reply.get("tool_calls") else "stop"}
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        answer = {"id": "demo", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
        return Response(orjson.dumps({**answer, "usage": usage}), media_type="application/json")

    async def answer(self, request: Request) -> Response:
        """A request in another format."""
        form = FORMATS[request.url.path.rpartition("/")[2]]
        messages = form.texts(await request.body())
        cached = cached_tokens(self.messages, messages)
        self.messages = messages
        return Response(orjson.dumps(form.answer(self.reply, count_messages(messages), cached)), media_type="application/json")

    def configuration(self) -> uvicorn.Config:
        """Its server's configuration: any free port."""
        others = [Route(form.path, self.answer, methods=["POST"]) for form in FORMATS.values()]
        app = Starlette(routes=[Route("/v1/chat/completions", self.complete, methods=["POST"]), *others])
        # uvicorn's own logging setup would close the log handlers of whoever runs the demo.
        return uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, log_level="warning", access_log=False, ws="none")


def _text_of(message: Message) -> str:
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "\n".join(part.get("text", "") for part in content)
    calls = (call["function"] for call in message.get("tool_calls") or ())
    return "\n".join([content, *(f"{call['name']} {call['arguments']}" for call in calls)])


def count_messages(messages: Iterable[Message]) -> int:
    """Tokens of a prompt as OpenAI counts them: its texts, 3 a message, 3 for the reply."""
    return 3 + sum(3 + _tokens_of(_text_of(message)) for message in messages)


_tokens_of = lru_cache(2048)(tokens.count)  # each turn sends all texts of the turns before it again


def cached_tokens(before: Sequence[Message], after: Sequence[Message]) -> int:
    """Tokens of the second prompt that a prompt cache would find after the first: whole messages, in steps of 128, at least
    1,024.

    Without it the dollars in the report would ignore the provider's own discount.
    """
    same = [new for _, new in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))]
    found = count_messages(same) if same else 0
    return found - found % 128 if found >= 1024 else 0


def _facts_present(facts: Sequence[str], messages: Sequence[Message]) -> int:
    there = re.sub(r"\s+", " ", "\n".join(map(_text_of, messages)))
    return sum(re.sub(r"\s+", " ", fact) in there for fact in facts)


@contextlib.contextmanager
def run_server(config: uvicorn.Config) -> Iterator[str]:
    """A server in a thread; yields its base URL and stops the server at the end.

    Raises:
        DemoFailed: it did not start.
    """
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + _START_PATIENCE
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise DemoFailed("a server on loopback did not start")
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(_START_PATIENCE)


def demo_settings(upstream: str) -> Settings:
    """Default settings with the store in memory, all on loopback."""
    return Settings(
        upstream=UpstreamSettings(url=f"{upstream}/v1"),
        store=StoreSettings(url="memory://"),
        auth=AuthSettings(admin_token=SecretStr(_ADMIN_TOKEN)),
        server=ServerSettings(host="127.0.0.1", port=0),
    )


@dataclass(frozen=True, slots=True)
class Stage:
    """The proxy and the upstream, both running, and a client."""

    client: httpx.Client
    upstream: ScriptedUpstream
    script: Script

    def turns(self) -> Iterator[PlayedTurn]:
        """Play the script turn by turn over HTTP.

        Raises:
            DemoFailed: a request failed.
        """
        messages: list[Message] = [{"role": "system", "content": self.script.system}]
        for number, turn in enumerate(self.script.turns, 1):
            messages += turn.say
            self.upstream.reply = turn.reply
            yield _exchange(self.client, self.upstream, self.script, messages, number)
            messages.append(turn.reply)

    def turns_in(self, name: str) -> Iterator[PlayedTurn]:
        """The same in another format, as a separate conversation.

        Raises:
            DemoFailed: a request failed.
        """
        form, script, messages = FORMATS[name], self.script, list[Message]()
        self.upstream.messages = []
        for number, turn in enumerate(script.turns, 1):
            messages += turn.say
            self.upstream.reply = turn.reply
            body = orjson.dumps(form.body(script.model, script.system, messages, script.tools))
            headers = {"content-type": "application/json", "x-turnfold-conversation": f"demo-{name}"}
            answer = self.client.post(form.path, content=body, headers=headers)
            if answer.status_code != 200:
                raise DemoFailed(f"turn {number} on {name} failed with status {answer.status_code}: {answer.text[:200]}")
            yield _played(number, turn, form.texts(body), self.upstream.messages, answer)
            messages.append(turn.reply)

    def report(self) -> dict[str, Any] | None:
        """The proxy's own report (``GET /admin/report``) once it covers every turn; None if it has none."""
        deadline = time.monotonic() + _REPORT_PATIENCE
        while time.monotonic() < deadline:
            answer = self.client.get("/admin/report", headers={"x-turnfold-admin-token": _ADMIN_TOKEN})
            if answer.status_code != 200:
                return None
            found: dict[str, Any] = answer.json()
            if found["totals"]["requests"] >= len(self.script.turns):
                return found
            time.sleep(0.05)
        return None


@contextlib.contextmanager
def stage(configure: Configure, script: Script) -> Iterator[Stage]:
    """Start everything; stop it at the end.

    Args:
        configure: the proxy's server configuration for given settings, as ``turnfold serve`` has it.

    Raises:
        DemoFailed: a server did not start.
    """
    upstream = ScriptedUpstream()
    headers = {"authorization": "Bearer sk-demo", "x-turnfold-conversation": "demo"}
    with (
        run_server(upstream.configuration()) as behind,
        run_server(configure(demo_settings(behind))) as base,
        httpx.Client(base_url=base, headers=headers, timeout=60) as client,
    ):
        yield Stage(client, upstream, script)


def _exchange(
    client: httpx.Client, upstream: ScriptedUpstream, script: Script, messages: list[Message], number: int
) -> PlayedTurn:
    turn = script.turns[number - 1]
    answer = client.post("/v1/chat/completions", json={"model": script.model, "messages": messages, "tools": script.tools})
    if answer.status_code != 200 or answer.json()["choices"][0]["message"] != turn.reply:
        raise DemoFailed(f"turn {number} failed with status {answer.status_code}: {answer.text[:200]}")
    return _played(number, turn, messages, upstream.messages, answer)


def _played(
    number: int, turn: ScriptTurn, said: Sequence[Message], sent: Sequence[Message], answer: httpx.Response
) -> PlayedTurn:
    overhead = answer.headers.get("x-turnfold-overhead-ms")
    return PlayedTurn(
        number=number,
        said=_title(turn.say[0]),
        raw=count_messages(said),
        sent=count_messages(sent),
        status=answer.headers.get("x-turnfold-status", ""),
        overhead_ms=float(overhead) if overhead else None,
        facts=len(turn.facts),
        held=_facts_present(turn.facts, sent),
    )


def _title(message: Message) -> str:
    first = " ".join(str(message["content"]).split())
    return f"[tool result] {first}" if message["role"] == "tool" else first


def summarise(played: Sequence[PlayedTurn], seconds: float) -> Summary:
    """The figures of the whole conversation."""
    first = next((turn.number for turn in played if turn.sent < turn.raw), None)
    savings = [turn.saved for turn in played if first is not None and turn.number >= first] or [0.0]
    overheads = [turn.overhead_ms for turn in played if turn.overhead_ms is not None]
    raw, sent = sum(turn.raw for turn in played), sum(turn.sent for turn in played)
    return Summary(
        requests=len(played),
        raw=raw,
        sent=sent,
        saved=1 - sent / raw,
        first_folded=first,
        lowest_saving=min(savings),
        median_saving=median(savings),
        highest_saving=max(savings),
        facts=sum(turn.facts for turn in played),
        held=sum(turn.held for turn in played),
        median_overhead_ms=median(overheads) if overheads else None,
        seconds=seconds,
    )


def run(
    configure: Configure,
    *,
    as_json: bool = False,
    show_report: Callable[[dict[str, Any]], None] | None = None,
    console: Console | None = None,
    formats: Sequence[str] = (),
) -> Summary:
    """Play the demo and print it: one line per turn, the figures, the proxy's own report; with `as_json`, one JSON document.

    Args:
        show_report: prints the answer of ``GET /admin/report``, as ``turnfold report`` does.
        formats: of FORMATS; the conversation is played in each of them too, for one line of figures.

    Raises:
        DemoFailed: a server did not start, or a request failed.
    """
    out = console or Console()
    script = load_script()
    started = time.monotonic()
    played = []
    if not as_json:
        out.print(_opening(script))
    with stage(configure, script) as on:
        for turn in on.turns():
            played.append(turn)
            if not as_json:
                out.print(_line(turn), no_wrap=True, overflow="ellipsis", crop=True)
        summary = summarise(played, time.monotonic() - started)
        report = on.report()
        others = {name: _summary_in(on, name) for name in formats}
    if as_json:
        turns = [{**asdict(turn), "saved": round(turn.saved, 4)} for turn in played]
        document = {"turns": turns, "summary": asdict(summary), "report": report}
        document["formats"] = {name: asdict(found) for name, found in others.items()}
        out.file.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        return summary
    out.print(_closing(summary))
    if others:
        out.print(side_by_side({"chat": summary, **others}))
    if report is not None and show_report is not None:
        out.print(
            "\nThe same chat in Turnfold's report, with tool definitions, priced as if the model had been asked:", style="dim"
        )
        show_report(report)
    return summary


def _summary_in(on: Stage, name: str) -> Summary:
    started = time.monotonic()
    played = list(on.turns_in(name))
    return summarise(played, time.monotonic() - started)


def side_by_side(summaries: Mapping[str, Summary]) -> Table:
    table = Table("format", title="The same conversation in each format", header_style="bold")
    for heading in ("tokens in", "sent", "saved", "facts", "ms per request"):
        table.add_column(heading, justify="right")
    for name, found in summaries.items():
        own = "" if found.median_overhead_ms is None else f"{found.median_overhead_ms:.1f}"
        table.add_row(name, f"{found.raw:,}", f"{found.sent:,}", f"{found.saved:.0%}", f"{found.held}/{found.facts}", own)
    return table


def _opening(script: Script) -> Text:
    head = Text.assemble(
        ("Turnfold demo", "bold"), f": a project chat of {len(script.turns)} requests, played over HTTP on this machine.\n"
    )
    return head.append(f"\n{'turn':>4}  {'came in':>7}  {'went out':>8}  {'saved':>5}  {'':{_BAR}}  {'facts':5}  said", "dim")


def _line(turn: PlayedTurn) -> Text:
    bar = "█" * round(turn.saved * _BAR)
    facts = f"{turn.held}/{turn.facts}" if turn.facts else ""
    style = "green" if turn.held == turn.facts else "red"
    return Text.assemble(
        f"{turn.number:>4}  {turn.raw:>7,}  {turn.sent:>8,}  ",
        (f"{turn.saved:>5.0%}  {bar:{_BAR}}", "cyan" if bar else "dim"),
        (f"  {facts:5}  ", style),
        (turn.said, "dim"),
    )


def _closing(summary: Summary) -> Panel:
    table = Table.grid(padding=(0, 2))
    table.add_row("Tokens in, over all requests", f"[bold]{summary.raw:,}")
    table.add_row("Tokens sent upstream", f"[bold]{summary.sent:,}[/] ({summary.saved:.0%} saved)")
    if summary.first_folded:
        spread = f"lowest {summary.lowest_saving:.0%}, median {summary.median_saving:.0%}, highest {summary.highest_saving:.0%}"
        table.add_row(f"Saved per turn, from turn {summary.first_folded} on", spread)
    else:
        table.add_row("Saved per turn", "nothing was folded")
    table.add_row("Old facts asked for again", f"{summary.held} of {summary.facts} were in what was sent")
    if summary.median_overhead_ms is not None:
        table.add_row("Turnfold overhead per request", f"median {summary.median_overhead_ms:.1f} ms")
    table.add_row("The whole chat", f"{summary.seconds:.1f} s")
    return Panel.fit(table, title="report", border_style="cyan")
