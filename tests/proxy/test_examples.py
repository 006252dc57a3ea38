"""Every file in ``examples/`` runs as it stands, through a proxy, against an upstream on this machine."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from tests.proxy.harness import NO_LOGGING, ProxyServer, proxy_server, running
from tests.support.answering_upstream import SAID, AnsweringUpstream, Answers

FOLDER = Path(__file__).resolve().parent.parent.parent / "examples"
LISTED = set(re.findall(r"\]\(([\w.]+)\)", (FOLDER / "README.md").read_text("utf-8")))


@pytest.fixture(scope="module")
def proxy() -> Iterator[ProxyServer]:
    app = AnsweringUpstream(Answers(call=("read_meter", {"day": "Monday"})))
    with running(uvicorn.Config(app, **NO_LOGGING)) as upstream, proxy_server(f"{upstream.origin}/v1") as (made, _):
        yield made


@pytest.fixture(autouse=True)
def environment(proxy: ProxyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{proxy.origin}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", proxy.origin)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-example")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-example")
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)


def run(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    return capsys.readouterr().out


def test_each_is_listed_and_tried() -> None:
    assert {file.name for file in FOLDER.iterdir() if file.is_file()} - {"README.md"} == LISTED
    source = Path(__file__).read_text("utf-8")
    assert all(f'"{name}"' in source for name in LISTED)


@pytest.mark.parametrize("name", ["python_openai.py", "python_anthropic.py"])
def test_chats_stream(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(name, capsys).splitlines()
    assert lines[::2] == [SAID, SAID]
    assert lines[3] == "[turnfold: folded]"


def test_the_agent_calls_its_tool(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run("agent.py", capsys).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("[turnfold: passthrough, 10 tokens in")
    assert lines[2] == SAID


def test_the_curl_example_works() -> None:
    if shutil.which("curl") is None:
        pytest.skip("there is no curl here")
    done = subprocess.run([str(FOLDER / "curl.sh")], capture_output=True, text=True, check=True, timeout=120)  # noqa: S603 - ours
    assert "x-turnfold-status: passthrough" in done.stdout
    assert SAID in done.stdout


def test_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    said = run("compress_messages.py", capsys)
    assert "within the budget: True" in said
    assert "restored byte for byte: True" in said
