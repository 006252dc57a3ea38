"""Variables of clients: which are read, which are written, and how a shell reads them back.

These tests cover pure functions over environments. They leave out what is decided from them (``test_plan``).
"""

from __future__ import annotations

import subprocess

from pydantic import SecretStr

from tests.support.cases import each
from turnfold.config.settings import AnthropicSettings, AuthSettings, Settings, UpstreamSettings
from turnfold.proxy.running.environment import (
    ANTHROPIC,
    OPENAI,
    base_url,
    client_variables,
    export_lines,
    key_variables,
    upstream_variables,
)
from turnfold.proxy.running.tools import with_tool_arguments

ORIGIN = "http://127.0.0.1:4711"


def test_the_usual_variable_comes_first_and_an_empty_one_is_none() -> None:
    found = base_url({"OPENAI_API_BASE": "http://b/v1", "OPENAI_BASE_URL": "http://a/v1"}, OPENAI)
    assert found is not None
    assert (found.variable, found.url, found.origin) == ("OPENAI_BASE_URL", "http://a/v1", "http://a")
    second = base_url({"OPENAI_API_BASE": "http://b/v1", "OPENAI_BASE_URL": ""}, OPENAI)
    assert second is not None
    assert second.url == "http://b/v1"
    assert base_url({"OPENAI_BASE_URL": "http://a/v1"}, ANTHROPIC) is None


def test_clients_of_both_providers_are_led_here() -> None:
    found = client_variables(ORIGIN, {})
    assert found == {
        "OPENAI_BASE_URL": f"{ORIGIN}/v1",
        "OPENAI_API_BASE": f"{ORIGIN}/v1",
        "ANTHROPIC_BASE_URL": ORIGIN,
        "ANTHROPIC_API_BASE": ORIGIN,
    }
    assert client_variables(ORIGIN, {"AIDER_OPENAI_API_BASE": "x"})["AIDER_OPENAI_API_BASE"] == f"{ORIGIN}/v1"


@each("name", ["HTTP_PROXY", "https_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_network_is_not_asked_for_our_address(name: str) -> None:
    found = client_variables(ORIGIN, {name: "http://proxy:3128", "no_proxy": "corp.example"})
    assert found["no_proxy"] == "corp.example,127.0.0.1,localhost"
    assert found["NO_PROXY"] == "127.0.0.1,localhost"
    assert "NO_PROXY" not in client_variables(ORIGIN, {name: ""})


def test_an_operators_key_stands_in_for_the_clients_and_shows_nowhere() -> None:
    secret = SecretStr("sk-operator")
    plain = Settings(upstream=UpstreamSettings(api_key=secret))
    assert key_variables(plain, {}) == {"OPENAI_API_KEY": "turnfold"}
    assert key_variables(plain, {"OPENAI_API_KEY": "sk-own"}) == {}
    assert key_variables(Settings(), {}) == {}
    guarded = Settings(anthropic=AnthropicSettings(api_key=secret), auth=AuthSettings(client_tokens=(SecretStr("tok"),)))
    assert key_variables(guarded, {}) == {"ANTHROPIC_API_KEY": "tok"}
    assert "sk-operator" not in str([key_variables(plain, {}), upstream_variables(plain), client_variables(ORIGIN, {})])


def test_a_turnfold_inside_the_command_finds_the_upstreams() -> None:
    assert upstream_variables(Settings()) == {
        "TURNFOLD_UPSTREAM_URL": "https://api.openai.com/v1",
        "TURNFOLD_ANTHROPIC_URL": "https://api.anthropic.com/v1",
    }
    gateway = Settings(upstream=UpstreamSettings(url="http://gateway/v1"))
    assert upstream_variables(gateway) == {"TURNFOLD_UPSTREAM_URL": "http://gateway/v1"}


def test_export_lines_are_read_back_by_a_shell() -> None:
    hostile = "a b'c\"$(echo no)`echo no`\\ $HOME ; echo no\nnext & *"
    script = export_lines({"ONE": hostile, "TWO": ""}) + 'printf "%s|%s" "$ONE" "$TWO"'
    said = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True, text=True)  # noqa: S603
    assert said.stdout == f"{hostile}|"


def test_codex_gets_its_address_on_its_command_line_and_others_nothing() -> None:
    command = ["/usr/local/bin/codex", "exec", "-c", "model=x"]
    ours = ["-c", f'openai_base_url="{ORIGIN}/v1"']
    assert with_tool_arguments(command, ORIGIN) == [command[0], *ours, *command[1:]]
    assert with_tool_arguments(["claude", "-p", "codex"], ORIGIN) == ["claude", "-p", "codex"]
