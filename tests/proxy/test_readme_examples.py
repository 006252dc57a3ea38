"""The examples of README and documentation run as they stand, but for the address."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.proxy.harness import UpstreamServer, api_server, reply
from tests.support.readme import PAGES

_EXAMPLE = re.compile(r"<!-- example: ([\w-]+) -->\n```python\n(.*?)```", re.DOTALL)
EXAMPLES = {name: code for page in PAGES for name, code in _EXAMPLE.findall(page.read_text("utf-8"))}
ADDRESS = "http://127.0.0.1:8420"
COMPLETION = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o-mini",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "A bird."}, "finish_reason": "stop"}],
}


def run(name: str, capsys: pytest.CaptureFixture[str], origin: str = ADDRESS) -> str:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(EXAMPLES[name].replace(ADDRESS, origin), f"example:{name}", "exec"), names)  # noqa: S102
    if "client" in names:  # an example that goes on for as long as its process closes nothing
        names["client"].close()
    return capsys.readouterr().out


def test_all_of_them_are_run() -> None:
    assert sorted(EXAMPLES) == ["basic", "conversation", "drop-in", "round-trip"]


def test_round_trip(capsys: pytest.CaptureFixture[str]) -> None:
    fits, tokens, *_ = run("round-trip", capsys).split()
    assert fits == "True"
    assert int(tokens) <= 900


def test_basic(capsys: pytest.CaptureFixture[str]) -> None:
    out = run("basic", capsys)
    sizes = [int(line.split()[1]) for line in out.splitlines()[:3]]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[1] <= sizes[0] / 2
    assert "9 October" in "".join(out.splitlines()[3:5])  # layer 1, above the section
    assert "Mara Lind opened the meeting" in out


def test_conversation(capsys: pytest.CaptureFixture[str]) -> None:
    with api_server("memory://") as origin:
        out = run("conversation", capsys, origin)
    said, _, _, sent, _, _ = out.splitlines()[0].split()
    assert int(sent) <= 500 < int(said)
    assert "[Prior context summary]" in out
    assert "user: Day 0: the pump on pier 0 was serviced, and pressure held at 40 bar." in out


def test_drop_in(capsys: pytest.CaptureFixture[str], upstream: UpstreamServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    upstream.handler = reply(json.dumps(COMPLETION).encode())
    with api_server("memory://", upstream.origin + "/v1") as origin:
        out = run("drop-in", capsys, origin)
    assert out.split() == ["passthrough", "passthrough"]
    assert [seen.header("authorization") for seen in upstream.seen] == ["Bearer sk-test"] * 2
    assert len(json.loads(upstream.seen[1].body)["messages"]) == 4
