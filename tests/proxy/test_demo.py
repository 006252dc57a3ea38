"""The demo plays its packaged conversation over HTTP and counts what arrived.

These tests cover the script's own quality, and figures against stand-ins for the proxy whose savings are known. They leave out
the engine's savings, which are the benchmarks' business.
"""

from __future__ import annotations

import dataclasses
import io
import itertools
import json
import re
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from rich.console import Console
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.proxy.harness import NO_LOGGING
from tests.support import golden
from tests.support.messages_api import refusals
from tests.support.structure import own_faults
from turnfold.config.settings import Settings
from turnfold.proxy.demo import (
    Configure,
    DemoFailed,
    PlayedTurn,
    Stage,
    cached_tokens,
    count_messages,
    load_script,
    run,
    side_by_side,
    stage,
    summarise,
)
from turnfold.proxy.demo_formats import FORMATS
from turnfold.proxy.server import configuration

FILES = Path(__file__).parent / "golden"
Messages = list[dict[str, Any]]
TLS = ssl.create_default_context()  # made once: it is most of what a client costs


def stand_in(change: Callable[[Messages], Messages], status: int = 200, books: bool = False) -> Configure:
    """A proxy that changes the messages in a known way; with `books` one whose report lags behind."""
    seen: list[str] = []

    def configure(settings: Settings) -> uvicorn.Config:
        async def forward(request: Request) -> Response:
            body = json.loads(await request.body())
            body["messages"] = change(body["messages"])
            async with httpx.AsyncClient(verify=TLS, timeout=60) as client:
                answer = await client.post(f"{settings.upstream.url}/chat/completions", json=body)
            told = {"x-turnfold-overhead-ms": "1.5", "x-turnfold-status": _said(answer.json())}
            return Response(answer.content, status, told, "application/json")

        async def report(request: Request) -> Response:
            seen.append(request.headers["x-turnfold-admin-token"])
            return Response(json.dumps({"totals": {"requests": 44 if len(seen) == 1 else 45}}))

        routes = [Route("/v1/chat/completions", forward, methods=["POST"])]
        app = Starlette(routes=[*routes, Route("/admin/report", report)] if books else routes)
        return uvicorn.Config(app, host=settings.server.host, port=settings.server.port, **NO_LOGGING, ws="none")

    return configure


def _said(answer: dict[str, Any]) -> str:
    """What an answer says beside its text."""
    (choice,) = answer["choices"]
    return f"{choice['index']} {choice['finish_reason']} {answer['created']} {answer['object']} {json.dumps(answer['usage'])}"


def last_ten(messages: Messages) -> Messages:
    return messages[:1] + messages[1:][-10:]


def test_the_script_is_a_long_varied_conversation() -> None:
    script = load_script()
    messages = [message for turn in script.turns for message in (*turn.say, turn.reply)]
    assert sum(message["role"] == "user" for message in messages) >= 30
    assert sum(message["role"] == "tool" for message in messages) >= 5
    assert count_messages(messages) >= 15_000
    contents = [message["content"] for message in messages if message["content"]]
    assert len(set(contents)) == len(contents)
    assert sum(len(turn.facts) for turn in script.turns) >= 15


def test_the_script_is_well_formed() -> None:
    script = load_script()
    messages = [{"role": "system", "content": script.system}]
    messages += [message for turn in script.turns for message in (*turn.say, turn.reply)]
    assert dict(own_faults(messages)) == {"opens with user": 1}


def test_every_fact_was_said_long_before_it_is_asked_for() -> None:
    script = load_script()
    for number, turn in enumerate(script.turns):
        old = "\n".join(str(m["content"]) for before in script.turns[: number - 4] for m in (*before.say, before.reply))
        assert all(fact in old for fact in turn.facts), turn.say


def test_what_is_passed_on_whole_saves_nothing() -> None:
    with stage(stand_in(lambda messages: messages), load_script()) as on:
        played = list(on.turns())
        assert on.report() is None
        running = threading.active_count()
    assert threading.active_count() <= running - 2  # both servers have ended
    assert len(played) == len(load_script().turns)
    assert all(turn.raw == turn.sent and turn.held == turn.facts for turn in played)
    summary = summarise(played, 1.0)
    assert (summary.saved, summary.first_folded, summary.median_overhead_ms) == (0, None, 1.5)


def test_what_is_dropped_is_saved_and_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(Stage, "turns_in", lambda *_: iter([PlayedTurn(1, "", 100, 40, "", None, 2, 1)]))
    summary = run(stand_in(last_ten), as_json=True, console=Console(file=out), formats=("messages",))
    printed = json.loads(out.getvalue())
    assert 0 <= printed["formats"].pop("messages")["seconds"] < 10
    assert summary.saved > 0.5
    assert summary.held < summary.facts
    assert printed["summary"]["sent"] == sum(turn["sent"] for turn in printed["turns"]) == summary.sent
    assert 0 < summary.lowest_saving <= summary.median_saving <= summary.highest_saving < 1
    assert 0 <= printed["summary"].pop("seconds") < 600
    golden.agrees(FILES / "demo_json.txt", [*(json.dumps(turn) for turn in printed.pop("turns")), json.dumps(printed)])


def test_the_print_has_a_line_per_turn_and_the_report() -> None:
    out = io.StringIO()
    reports: list[dict[str, Any]] = []
    summary = run(stand_in(last_ten, books=True), show_report=reports.append, console=Console(file=out, width=120))
    shown = re.sub(r"\d+\.\d s +│", "# s │", out.getvalue())
    golden.agrees(FILES / "demo.txt", map(str.rstrip, shown.splitlines()))
    assert max(map(len, out.getvalue().splitlines())) <= 120
    assert f"{summary.sent:,}" in shown
    assert reports == [{"totals": {"requests": len(load_script().turns)}}]


def test_on_a_narrow_terminal_a_turn_still_takes_one_line() -> None:
    out = io.StringIO()
    run(stand_in(last_ten, books=True), console=Console(file=out, width=40))
    turns = [line for line in out.getvalue().splitlines() if re.match(r" *\d+ ", line)]
    assert len(turns) == len(load_script().turns)
    assert {len(line) for line in turns} == {40}
    assert all(line.endswith("…") for line in turns)


def test_two_demos_run_beside_each_other() -> None:
    configure, script = stand_in(last_ten), load_script()
    with stage(configure, script) as first, stage(configure, script) as second:
        assert next(first.turns()).sent == next(second.turns()).sent > 0


def test_a_failing_proxy_is_reported_in_one_line() -> None:
    failing = stand_in(lambda messages: messages, status=502)
    with stage(failing, load_script()) as on, pytest.raises(DemoFailed, match="turn 1 failed with status 502"):
        next(on.turns())


def test_the_upstream_reports_what_a_prompt_cache_finds() -> None:
    messages = [message for turn in load_script().turns for message in (*turn.say, turn.reply)]
    assert cached_tokens([], messages) == cached_tokens(messages[:2], messages) == 0
    half = cached_tokens(messages[:40], messages)
    assert half % 128 == 0
    assert 1024 <= half <= count_messages(messages[:40]) < half + 128
    assert cached_tokens([{"role": "system", "content": "x"}, *messages], messages) == 0


def test_savings_are_taken_from_the_first_folded_turn_on() -> None:
    def turn(number: int, sent: int) -> PlayedTurn:
        return PlayedTurn(number, "", 100, sent, "", None, 0, 0)

    summary = summarise([turn(1, 100), turn(2, 40), turn(3, 90), turn(4, 20)], 2.0)
    assert summary.first_folded == 2
    assert [round(share, 2) for share in (summary.lowest_saving, summary.median_saving, summary.highest_saving)] == [
        0.1,
        0.6,
        0.8,
    ]
    assert summary.median_overhead_ms is None


def test_where_nothing_is_folded_nothing_is_saved() -> None:
    summary = summarise([PlayedTurn(number, "", 100, 100, "", None, 0, 0) for number in (1, 2)], 2.0)
    assert summary.first_folded is None
    assert (summary.lowest_saving, summary.median_saving, summary.highest_saving) == (0.0, 0.0, 0.0)


def test_other_formats_of_the_same_messages() -> None:
    script = load_script()
    with_calls = next(turn for turn in script.turns if turn.reply.get("tool_calls"))
    without = next(turn for turn in script.turns if not turn.reply.get("tool_calls"))
    lines = []
    for name, form in FORMATS.items():
        messages = [*without.say, without.reply, *with_calls.say, with_calls.reply]
        body = form.body("m", "Be brief.", messages, [*script.tools, {"function": {"name": "bare", "parameters": {}}}])
        lines += [f"{name} {form.path} {json.dumps(body)}", json.dumps(form.texts(json.dumps(body).encode()))]
        lines += [json.dumps(form.answer(reply, 900, 512)) for reply in (without.reply, with_calls.reply)]
    golden.agrees(FILES / "demo_formats.txt", lines)


@pytest.mark.parametrize("name", FORMATS)
def test_other_formats_say_the_same_and_no_api_refuses_them(name: str) -> None:
    bodies: list[bytes] = []

    def configure(settings: Settings) -> uvicorn.Config:
        async def pass_on(request: Request) -> Response:
            bodies.append(await request.body())
            async with httpx.AsyncClient(verify=TLS, timeout=60) as client:
                url = f"{settings.upstream.url}{request.url.path.removeprefix('/v1')}"
                answer = await client.post(url, content=bodies[-1])
            return Response(answer.content, answer.status_code, media_type="application/json")

        app = Starlette(routes=[Route("/v1/{rest:path}", pass_on, methods=["POST"])])
        return uvicorn.Config(app, host=settings.server.host, port=settings.server.port, **NO_LOGGING, ws="none")

    script = load_script()
    with stage(configure, script) as on:
        played = list(on.turns_in(name))
    assert [turn.facts for turn in played] == [len(turn.facts) for turn in script.turns]
    assert all(turn.raw == turn.sent and turn.held == turn.facts for turn in played)
    said = [message for turn in script.turns for message in (*turn.say, turn.reply)]
    assert played[-1].raw == pytest.approx(count_messages(said), rel=0.05)
    assert [turn.number for turn in played] == [n + 1 for n in range(len(script.turns))]
    first = json.loads(bodies[0])
    assert (first["model"], first.get("system") or first["instructions"]) == (script.model, script.system)
    if name == "messages":
        assert not refusals(bodies[-1])
    else:
        items = json.loads(bodies[-1])["input"]
        ids = [[item["call_id"] for item in items if item["type"] == kind] for kind in ("function_call", "function_call_output")]
        assert ids[0]
        assert sorted(ids[0]) == sorted(ids[1])


def test_formats_are_compared_in_one_table() -> None:
    figures = summarise([PlayedTurn(1, "", 100, 40, "", None, 2, 1)], 1.0)
    out = io.StringIO()
    Console(file=out, width=100).print(side_by_side({"chat": figures, "messages": figures}))
    text = out.getvalue()
    assert text.count("60%") == text.count("1/2") == 2
    assert all(heading in text for heading in ("format", "tokens in", "sent", "saved", "facts", "ms per request"))


def test_a_demo_in_which_nothing_is_folded_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    short = dataclasses.replace(load_script(), turns=load_script().turns[:2])
    monkeypatch.setattr("turnfold.proxy.demo.load_script", lambda: short)
    out = io.StringIO()
    run(stand_in(lambda messages: messages), console=Console(file=out, width=80))
    assert re.search(r"│ Saved per turn +nothing was folded +│", out.getvalue())


def test_it_plays_through_the_real_proxy() -> None:
    """Its first turns in the first format: the others are the stand-ins' business, and the benchmarks'."""

    def configure(settings: Settings) -> uvicorn.Config:
        return configuration(settings, **NO_LOGGING)

    with stage(configure, load_script()) as played:
        turns = list(itertools.islice(played.turns(), 3))
    assert [turn.number for turn in turns] == [1, 2, 3]
