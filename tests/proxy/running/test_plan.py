"""Where the requests of a command go: what settings, variables and running Turnfolds come to.

These tests cover plans for environments, with real servers at the addresses that they name. They leave out running a command.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.support.ports import free_port
from tests.proxy.harness import UpstreamServer, call
from turnfold.config.paths import state_directory
from turnfold.config.serving import ServerSettings
from turnfold.config.settings import Settings, StoreSettings, UpstreamSettings
from turnfold.config.sources import SettingsError
from turnfold.proxy.identity import new_challenge, proof, read_key
from turnfold.proxy.running.plan import PlanRefused, at_address, make_plan
from turnfold.proxy.running.proxy_thread import listen, logging_to_file, serve_beside
from turnfold.proxy.running.tally import Tally

UPSTREAM, MODE = ("upstream", "url"), ("folding", "mode")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with nothing set, whose default address nobody listens at."""
    for name in [name for name in os.environ if name.startswith("TURNFOLD_")]:
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNFOLD_PORT", str(free_port()))
    return tmp_path


@dataclass
class Serving:
    """A Turnfold at the address of these settings."""

    origin: str


@pytest.fixture
def turnfold(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    with listen() as listener, logging_to_file() as log:
        port = listener.getsockname()[1]
        monkeypatch.setenv("TURNFOLD_PORT", str(port))
        monkeypatch.setenv("TURNFOLD_STORE_URL", "memory://")
        settings = Settings(
            store=StoreSettings(url="memory://"),
            upstream=UpstreamSettings(url="http://gateway.example/v1"),
            server=ServerSettings(port=port),
        )
        with serve_beside(settings, listener, Tally(), log):
            assert [one.daemon for one in threading.enumerate() if one.name == "turnfold-proxy"] == [True]  # it keeps no process
            yield Serving(f"http://127.0.0.1:{port}")


def test_the_log_of_a_run_is_kept_where_it_says_anything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with logging_to_file() as log:
        assert not log.written
    assert not log.path.exists()
    with logging_to_file() as log:
        logging.getLogger("turnfold.any").warning("careful")
        assert log.problem == ""
        logging.getLogger("turnfold.any").error("first\nof two lines")
        logging.getLogger("turnfold.any").error("second")
        ended = threading.Thread(target=os.environ.__getitem__, args=("NO_SUCH_VARIABLE",))
        ended.start()
        ended.join()
        assert (log.written, log.problem) == (True, "of two lines")
    text = log.path.read_text("utf-8")
    assert [line for line in text.splitlines() if line.endswith(("careful", "second", "a thread ended"))]
    assert "KeyError: 'NO_SUCH_VARIABLE'" in text
    assert (log.path.parent, log.path.suffix) == (tmp_path / "turnfold", ".log")
    assert log.path.parent.stat().st_mode & 0o777 == 0o700


def test_without_anything_set_each_provider_is_its_own() -> None:
    plan = make_plan({}, {})
    assert (plan.settings, plan.running) == (Settings(server=plan.settings.server), "")


def test_variables_that_are_set_become_the_upstreams() -> None:
    plan = make_plan({}, {"OPENAI_BASE_URL": "http://10.0.0.7:1/v1", "ANTHROPIC_BASE_URL": "http://10.0.0.8:1"})
    assert plan.settings.upstream.url == "http://10.0.0.7:1/v1"
    assert plan.settings.anthropic.url == "http://10.0.0.8:1"
    assert not plan.running


def test_anthropics_requests_do_not_go_where_only_openais_were_sent() -> None:
    plan = make_plan({}, {"OPENAI_API_BASE": "http://10.0.0.7:1/v1"})
    assert plan.settings.anthropic.url == "https://api.anthropic.com"
    only_anthropic = make_plan({}, {"ANTHROPIC_BASE_URL": "http://10.0.0.8:1"})
    assert only_anthropic.settings.upstream.url == "https://api.openai.com/v1"


def test_settings_of_our_own_win(monkeypatch: pytest.MonkeyPatch) -> None:
    named = {"OPENAI_BASE_URL": "http://10.0.0.7:1/v1"}
    assert make_plan({"--upstream": (UPSTREAM, "http://flag/v1")}, named).settings.upstream.url == "http://flag/v1"
    monkeypatch.setenv("TURNFOLD_UPSTREAM_URL", "http://own/v1")
    settings = make_plan({}, named).settings
    assert (settings.upstream.url, settings.anthropic.url) == ("http://own/v1", None)


def test_a_base_url_that_is_none_is_named() -> None:
    with pytest.raises(SettingsError, match=r"^OPENAI_BASE_URL \(from the environment\): .*http"):
        make_plan({}, {"OPENAI_BASE_URL": "gateway/v1"})


def test_our_own_address_where_nobody_listens_is_no_upstream() -> None:
    port = os.environ["TURNFOLD_PORT"]
    own = {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "ANTHROPIC_BASE_URL": f"http://localhost:{port}"}
    plan = make_plan({}, own)
    assert (plan.settings.upstream.url, plan.settings.anthropic.url) == ("https://api.openai.com/v1", None)


def test_another_server_at_our_address_is_an_upstream(upstream: UpstreamServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_PORT", upstream.origin.rpartition(":")[2])
    plan = make_plan({}, {"OPENAI_BASE_URL": f"{upstream.origin}/v1"})
    assert (plan.settings.upstream.url, plan.running) == (f"{upstream.origin}/v1", "")


def test_one_that_runs_with_the_same_settings_is_used(turnfold: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_UPSTREAM_URL", "http://gateway.example/v1")
    assert make_plan({}, {}).running == turnfold.origin
    assert not make_plan({"--mode": (MODE, "observe")}, {}).running
    monkeypatch.setenv("TURNFOLD_UPSTREAM_URL", "http://another.example/v1")
    assert not make_plan({}, {}).running


def test_another_users_is_not(turnfold: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_UPSTREAM_URL", "http://gateway.example/v1")
    assert make_plan({}, {}).running
    settings = make_plan({}, {}).settings
    (state_directory() / "key").write_bytes(b"k" * 32)  # what the server reads from now on: one user with two homes, so to speak
    challenge = new_challenge()
    answer = call(turnfold.origin, "GET", f"/healthz?challenge={challenge}").header("x-turnfold-proof")
    assert answer == proof(settings, b"k" * 32, challenge)
    assert answer != proof(settings, b"j" * 32, challenge)


def test_a_turnfold_that_the_environment_names_is_used_as_it_is(turnfold: Serving) -> None:
    assert make_plan({}, {"OPENAI_BASE_URL": f"{turnfold.origin}/v1"}).running == turnfold.origin
    with pytest.raises(PlanRefused, match="ANTHROPIC_BASE_URL something else"):
        make_plan({}, {"OPENAI_BASE_URL": f"{turnfold.origin}/v1", "ANTHROPIC_BASE_URL": "http://10.0.0.8:1"})
    with pytest.raises(PlanRefused, match="--mode has no effect"):
        make_plan({"--mode": (MODE, "off")}, {"OPENAI_BASE_URL": f"{turnfold.origin}/v1"})


def test_the_key_is_the_users_alone_and_made_once(home: Path) -> None:
    assert read_key() is None
    key = read_key(create=True)
    assert key == read_key() == read_key(create=True)
    assert [path.stat().st_mode & 0o777 for path in (state_directory(), state_directory() / "key")] == [0o700, 0o600]
    assert len(list(state_directory().iterdir())) == 1


def test_what_is_no_challenge_gets_no_proof(turnfold: Serving) -> None:
    read_key(create=True)
    for challenge in ("", "x", "A" * 32, "0" * 31, "0" * 33, "0" * 32 + "%0a"):
        answer = call(turnfold.origin, "GET", f"/healthz?challenge={challenge}")
        assert answer.json() == {"status": "alive"}
        assert answer.header("x-turnfold-proof") is None


def test_a_proof_depends_on_the_port_and_on_secrets_but_not_on_the_number_of_processes() -> None:
    key, challenge = b"k" * 32, new_challenge()
    settings = Settings()
    assert proof(at_address(settings, "127.0.0.1", 1), key, challenge) != proof(
        at_address(settings, "127.0.0.1", 2), key, challenge
    )
    many = settings.model_copy(update={"server": settings.server.model_copy(update={"workers": 4})})
    assert proof(many, key, challenge) == proof(settings, key, challenge)
    assert proof(settings, key, challenge) != proof(settings, key, new_challenge())
    with_key = [Settings(upstream=UpstreamSettings(api_key=value)) for value in ("sk-one", "sk-two")]  # type: ignore[arg-type]
    assert proof(with_key[0], key, challenge) != proof(with_key[1], key, challenge)
