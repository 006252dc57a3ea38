"""docs/clients.md keeps what it promises: its recipes run as they stand, but for the address.

These tests cover recipes of curl and of the official SDKs, through a real proxy to an upstream that answers every format. They
leave out agents and frameworks, which are no dependencies of ours.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from tests.proxy.harness import NO_LOGGING, api_server, running
from tests.support.answering_upstream import SAID, AnsweringUpstream
from tests.support.clients_doc import ADDRESS, CLIENTS, recipes
from turnfold.proxy.cli import COMMANDS
from turnfold.proxy.running.environment import ANTHROPIC, OPENAI

SHELL, PYTHON = recipes("sh"), recipes("python")
TEXT = CLIENTS.read_text("utf-8")


@dataclass
class Through:
    """A proxy, and the log of the upstream behind it."""

    origin: str
    log: Path

    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]


@pytest.fixture
def through(tmp_path: Path) -> Iterator[Through]:
    log = tmp_path / "upstream.log"
    with (
        running(uvicorn.Config(AnsweringUpstream(log=log), **NO_LOGGING, ws="none")) as upstream,
        api_server("memory://", upstream.origin + "/v1") as origin,
    ):
        yield Through(origin, log)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-anthropic")


def test_every_recipe_is_run() -> None:
    assert list(SHELL) == ["curl-chat", "curl-responses", "curl-messages"]
    assert list(PYTHON) == ["openai-chat", "openai-responses", "anthropic"]
    assert all(ADDRESS in code for code in (*SHELL.values(), *PYTHON.values()))


def credential(request: dict[str, Any]) -> str:
    """The key, in whichever header: Anthropic's SDK has changed its mind about that."""
    headers = request["headers"]
    return str(headers.get("x-api-key") or headers.get("authorization")).removeprefix("Bearer ")


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("name", SHELL)
def test_recipes_for_the_shell(through: Through, name: str) -> None:
    script = SHELL[name].replace(ADDRESS, through.origin)
    ended = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, timeout=120, check=True)  # noqa: S603
    assert SAID in ended.stdout
    (request,) = through.requests()
    assert request["wire"] == name.removeprefix("curl-")
    assert credential(request) == ("sk-anthropic" if name == "curl-messages" else "sk-openai")


@pytest.mark.parametrize("name", PYTHON)
def test_recipes_in_python(through: Through, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(PYTHON[name].replace(ADDRESS, through.origin), f"{CLIENTS.name}:{name}", "exec"), names)  # noqa: S102
    names["client"].close()
    assert capsys.readouterr().out == f"{SAID}\n"
    (request,) = through.requests()
    assert request["wire"] == {"openai-chat": "chat", "openai-responses": "responses", "anthropic": "messages"}[name]
    assert credential(request) == ("sk-anthropic" if name == "anthropic" else "sk-openai")


def test_the_variables_and_commands_that_it_names_are_there() -> None:
    table = re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)
    assert table == [*OPENAI, *ANTHROPIC]
    assert set(re.findall(r"^(?:eval \"\$\()?turnfold (\w+)", TEXT, re.MULTILINE)) <= set(COMMANDS)


def test_its_links_lead_somewhere() -> None:
    headings = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([\w-]+)\)", TEXT)) == anchors
    files = [target for target in re.findall(r"\]\(([^)#:]+)\)", TEXT) if not os.path.exists(CLIENTS.parent / target)]
    assert not files
