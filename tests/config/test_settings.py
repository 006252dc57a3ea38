"""Settings: names, precedence, origins, refusals. Each test has its own environment and directory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pydantic import SecretStr

from turnfold.config.explain import explain
from turnfold.config.settings import Settings, is_loopback
from turnfold.config.sources import VARIABLES, SettingsError, load


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.upper().startswith("TURNFOLD_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal() -> str:
    with pytest.raises(SettingsError) as caught:
        load()
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_every_setting_has_its_own_variable_and_a_description() -> None:
    assert len(set(VARIABLES.values())) == len(VARIABLES)
    assert all(row.description for row in explain(load()))


def test_names_are_flat() -> None:
    wanted = {
        "TURNFOLD_UPSTREAM_URL", "TURNFOLD_UPSTREAM_API_KEY", "TURNFOLD_PORT", "TURNFOLD_HOST", "TURNFOLD_WORKERS",
        "TURNFOLD_STORE_URL", "TURNFOLD_MODE", "TURNFOLD_ADMIN_TOKEN", "TURNFOLD_CLIENT_TOKENS", "TURNFOLD_SECRET",
        "TURNFOLD_CACHE_HIT_SHARE", "TURNFOLD_BUDGET",
    }  # fmt: skip
    assert wanted <= set(VARIABLES.values())


def test_precedence_and_origins(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "turnfold.toml").write_text('[server]\nport = 1\nhost = "::1"\nworkers = 2\n[folding]\nmode = "off"\n')
    (place / ".env").write_text("TURNFOLD_PORT=2\nTURNFOLD_WORKERS=3\nTURNFOLD_MODE=observe\nOTHER=1\n")
    monkeypatch.setenv("TURNFOLD_PORT", "3")
    monkeypatch.setenv("TURNFOLD_MODE", "on")
    loaded = load({"--port": (("server", "port"), 4), "--host": (("server", "host"), None)})
    server = loaded.settings.server
    assert (server.port, server.workers, server.host, loaded.settings.folding.mode) == (4, 3, "::1", "on")
    origins = {row.variable: row.origin for row in explain(loaded)}
    assert origins["TURNFOLD_PORT"] == "--port (the command line)"
    assert origins["TURNFOLD_MODE"] == "TURNFOLD_MODE (the environment)"
    assert origins["TURNFOLD_WORKERS"] == "TURNFOLD_WORKERS (.env)"
    assert origins["TURNFOLD_HOST"] == "server.host (turnfold.toml)"
    assert origins["TURNFOLD_STORE_TTL"] == "default"


def test_empty_variables_and_service_links_count_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_ADMIN_TOKEN", "")
    monkeypatch.setenv("TURNFOLD_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("TURNFOLD_PORT_8420_TCP_ADDR", "10.0.0.1")
    assert load().settings.auth.admin_token is None


@pytest.mark.parametrize(
    ("name", "value", "parts"),
    [
        ("TURNFOLD_WORKERS", "10000000", ["TURNFOLD_WORKERS", "1024"]),
        ("TURNFOLD_MAX_FOLD_WORKERS", "10000000", ["TURNFOLD_MAX_FOLD_WORKERS", "1024"]),
        ("TURNFOLD_PORT", "abc", ["TURNFOLD_PORT (from the environment)", "must be a whole number", "'abc'"]),
        ("TURNFOLD_PORT", "tcp://10.0.0.1:8420", ["enableServiceLinks"]),
        ("TURNFOLD_PORT", "70000", ["TURNFOLD_PORT", "65535"]),
        ("TURNFOLD_MODE", "onn", ["TURNFOLD_MODE", "'observe'"]),
        ("TURNFOLD_UPSTREAM_URL", "ftp://x", ["TURNFOLD_UPSTREAM_URL", "http://"]),
        ("TURNFOLD_UPSTREAM_URL", "https://x/v1?a=1", ["query"]),
        ("TURNFOLD_UPSTREAM_URL", "https://x/v1/chat/completions/", ["without /chat/completions"]),
        ("TURNFOLD_ANTHROPIC_URL", "https://x/v1/messages", ["TURNFOLD_ANTHROPIC_URL", "without /v1/messages"]),
        ("TURNFOLD_UPSTREAM_URL", "http://u:hunter2@h/v1", ["TURNFOLD_UPSTREAM_URL (from the environment)", "credentials"]),
        ("TURNFOLD_ANTHROPIC_URL", "http://u@h", ["TURNFOLD_ANTHROPIC_URL (from the environment)", "credentials"]),
        ("TURNFOLD_STORE_URL", "postgres://u:hunter2@h", ["TURNFOLD_STORE_URL", "sqlite:///"]),
        ("TURNFOLD_STORE_URL", "sqlite://db", ["must name a file"]),
        ("TURNFOLD_STORE_TIMEOUT", "3", ["TURNFOLD_STORE_TIMEOUT", "0.1"]),
        ("TURNFOLD_MAX_HEADER_BYTES", "1", ["TURNFOLD_MAX_HEADER_BYTES (from the environment)", "1000"]),
        ("TURNFOLD_PROT", "1", ["TURNFOLD_PROT (from the environment)", "did you mean TURNFOLD_PORT?"]),
        ("TURNFOLD_READ_TIMEOUT", "5", ["did you mean TURNFOLD_UPSTREAM_READ_TIMEOUT?"]),
        ("TURNFOLD_URL", "http://h/v1", ["did you mean TURNFOLD_UPSTREAM_URL?"]),
        ("TURNFOLD_MODELS", "{", ["TURNFOLD_MODELS", "JSON"]),
        ("TURNFOLD_UPSTREAM_CONNECT_TIMEOUT", "inf", ["TURNFOLD_UPSTREAM_CONNECT_TIMEOUT (from the environment)", "finite"]),
        ("TURNFOLD_FOLD_TIMEOUT", "1e400", ["TURNFOLD_FOLD_TIMEOUT", "finite"]),
        ("TURNFOLD_SUMMARY_DOLLARS_PER_DAY", "Infinity", ["TURNFOLD_SUMMARY_DOLLARS_PER_DAY", "finite"]),
        ("TURNFOLD_MODELS", '{"x": {"input": Infinity}}', ["TURNFOLD_MODELS.x.input", "finite"]),
        ("TURNFOLD_STORE_URL", "redis://h:6379/abc", ["TURNFOLD_STORE_URL", "number of a database"]),
        ("TURNFOLD_STORE_URL", "redis://h:port", ["TURNFOLD_STORE_URL", "65535"]),
        ("TURNFOLD_STORE_URL", "redis://h:99999/0", ["TURNFOLD_STORE_URL", "65535"]),
        ("TURNFOLD_STORE_URL", "redis://:hunter2/x@h:6379/0", ["TURNFOLD_STORE_URL", "percent-encode"]),
        ("TURNFOLD_STORE_URL", "redis://:hunter2#x@h:6379/0", ["TURNFOLD_STORE_URL", "percent-encode"]),
        ("TURNFOLD_STORE_URL", "redis://:p@hunter2/x@h:6379/0", ["TURNFOLD_STORE_URL", "percent-encode"]),
        ("TURNFOLD_STORE_URL", "redis:/:hunter2@h:6379/0", ["TURNFOLD_STORE_URL", "redis://"]),
        ("TURNFOLD_STORE_URL", "postgres://h/0?password=hunter2@x", ["TURNFOLD_STORE_URL", "redis://"]),
        ("TURNFOLD_BUDGET", "9" * 20, ["TURNFOLD_BUDGET", "less than"]),
        ("TURNFOLD_MODELS", f'{{"x": {{"window": {"9" * 20}}}}}', ["TURNFOLD_MODELS.x.window", "less than"]),
        ("TURNFOLD_STORE_TTL", "9" * 20, ["TURNFOLD_STORE_TTL", "less than"]),
        ("TURNFOLD_UPSTREAM_URL", "https://u:hunter2/x@h/v1", ["TURNFOLD_UPSTREAM_URL", "percent-encode"]),
        ("TURNFOLD_UPSTREAM_URL", "https://h:99999/v1", ["TURNFOLD_UPSTREAM_URL", "65535"]),
        ("TURNFOLD_UPSTREAM_URL", "https://h/v1\r\nx: y", ["TURNFOLD_UPSTREAM_URL", "control characters"]),
        ("TURNFOLD_UPSTREAM_URL", "https://h/v1?key=hunter2", ["query"]),
        ("TURNFOLD_UPSTREAM_URL", "https://a.xn--/v1", ["TURNFOLD_UPSTREAM_URL", "cannot be decoded"]),
        ("TURNFOLD_UPSTREAM_URL", "sk-hunter2", ["TURNFOLD_UPSTREAM_URL", "https://"]),
        ("TURNFOLD_UPSTREAM_PROXY", "u:hunter2@proxy:3128", ["TURNFOLD_UPSTREAM_PROXY", "http://"]),
        ("TURNFOLD_UPSTREAM_PROXY", "http://u:hunter2@proxy:abc", ["TURNFOLD_UPSTREAM_PROXY", "port"]),
        ("TURNFOLD_UPSTREAM_API_KEY", "hunter2\r\nx: y", ["TURNFOLD_UPSTREAM_API_KEY", "printable ASCII"]),
        ("TURNFOLD_CLIENT_TOKENS", "a,hünter2", ["TURNFOLD_CLIENT_TOKENS", "printable ASCII"]),
        ("TURNFOLD_ADMIN_TOKEN", " \n", ["TURNFOLD_ADMIN_TOKEN", "printable ASCII"]),
        ("TURNFOLD_MODELS", '{"x": {"windo": 3}}', ["TURNFOLD_MODELS.x.windo", "no such setting"]),
        ("TURNFOLD_UPSTREAM_API_KEY", '"hunter2"', ["TURNFOLD_UPSTREAM_API_KEY (from the environment)", "quotes"]),
        ("TURNFOLD_MODELS", "'{}'", ["TURNFOLD_MODELS", "quotes"]),
        ("TURNFOLD_ADMIN_TOKEN_FILE", "/no/such", ["TURNFOLD_ADMIN_TOKEN_FILE (from the environment)", "/no/such"]),
        ("TURNFOLD_ADMIN_TOKEN_FILE", "/dev/null", ["TURNFOLD_ADMIN_TOKEN_FILE", "is empty"]),
        ("TURNFOLD_PROT_FILE", "x", ["did you mean TURNFOLD_"]),
    ],
)
def test_a_wrong_variable_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, name: str, value: str, parts: list[str]) -> None:
    monkeypatch.setenv(name, value)
    text = refusal()
    assert all(part in text for part in parts), text
    assert "hunter2" not in text


@pytest.mark.parametrize(
    ("toml", "parts"),
    [
        ("[servr]\nport = 1", ["servr (from turnfold.toml)", "did you mean server?"]),
        ("[server]\nprt = 1", ["server.prt (from turnfold.toml)", "did you mean port?"]),
        ("[server]\nport = 'x'", ["server.port (from turnfold.toml): must be a whole number, not 'x'"]),
        ("[server]\nport = false", ["server.port (from turnfold.toml)", "must be a number, not 'False'"]),
        ('[folding]\nmode = "of"', ["folding.mode (from turnfold.toml): must be 'on', 'observe' or 'off', not 'of'"]),
        ("[folding]\nbudget = true", ["folding.budget (from turnfold.toml)", "must be a number"]),
        ("[models.x]\nwindow = true", ["models.x.window (from turnfold.toml)", "must be a number"]),
        ("[folding]\nmode = true", ["folding.mode (from turnfold.toml)", "'on', 'observe' or 'off'"]),
        ("server = 3", ["must be a table"]),
        ('mode = "on"', ["mode (from turnfold.toml)", "write mode under [folding]"]),
        ("port = 8420", ["write port under [server]"]),
        ('upstream_url = "http://x"', ["write url under [upstream]"]),
        ('TURNFOLD_STORE_URL = "memory://"', ["write url under [store]"]),
        ('[server]\nadmin_token = "s3cret"', ["server.admin_token", "write admin_token under [auth]"]),
        ("[folding]\nTURNFOLD_BUDGET = 5", ["write budget under [folding]"]),
        ('url = "http://x"', ["url (from turnfold.toml): no such table"]),  # of many groups
        ("[server", ["not valid TOML"]),
        ('[auth]\nadmin_token = ["s3cret"]', ["auth.admin_token", "string"]),
    ],
)
def test_a_wrong_file_is_one_clear_line(place: Path, toml: str, parts: list[str]) -> None:
    (place / "turnfold.toml").write_text(toml)
    text = refusal()
    assert all(part in text for part in parts), text
    assert "s3cret" not in text


def test_unreadable_files_are_named(place: Path) -> None:
    (place / ".env").write_bytes(b"TURNFOLD_HOST=\xff\xfe\n")
    assert ".env: cannot be read" in refusal()
    (place / ".env").write_bytes(b"others say\nTURNFOLD_MODE=off\nTURNFOLD_HOST='::1\n")
    assert ".env: line 3 is not NAME=VALUE" in refusal()


def test_a_directory_is_not_taken_for_a_missing_file(place: Path) -> None:
    (place / ".env").mkdir()
    assert ".env: is a directory" in refusal()


def test_a_variable_may_name_a_file_that_holds_the_value(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "key").write_text("sk-1\n")
    (place / "models").write_text('{"m": {"input": 2}}')
    monkeypatch.setenv("TURNFOLD_UPSTREAM_API_KEY_FILE", str(place / "key"))
    monkeypatch.setenv("TURNFOLD_MODELS_FILE", str(place / "models"))
    monkeypatch.setenv("TURNFOLD_DRAIN_FILE", "/no/such")
    found = load()
    assert found.settings.upstream.api_key == SecretStr("sk-1")
    assert (found.settings.models["m"].input, str(found.settings.server.drain_file)) == (2, "/no/such")
    assert found.origins["upstream", "api_key"].name == "TURNFOLD_UPSTREAM_API_KEY_FILE"
    monkeypatch.setenv("TURNFOLD_UPSTREAM_API_KEY", "sk-2")
    assert "TURNFOLD_UPSTREAM_API_KEY is set too" in refusal()


def test_white_space_around_a_value_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MODE", "off\r"), ("RECALL", " false "), ("UPSTREAM_URL", "https://x/v1 "), ("BUDGET", " ")):
        monkeypatch.setenv(f"TURNFOLD_{name}", value)
    settings = load().settings
    assert (settings.folding.mode, settings.folding.recall, settings.folding.budget) == ("off", False, None)
    assert settings.upstream.url == "https://x/v1"


def test_files_may_be_written_on_windows(place: Path) -> None:
    (place / "turnfold.toml").write_bytes(b"\xef\xbb\xbf[server]\r\nport = 9000\r\n")
    (place / ".env").write_bytes(b"\xef\xbb\xbfTURNFOLD_MODE=off\r\n")
    settings = load().settings
    assert (settings.server.port, settings.folding.mode) == (9000, "off")


def test_secrets_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_SECRET", "hunter2")
    monkeypatch.setenv("TURNFOLD_CLIENT_TOKENS", "hunter2, hunter2b,")
    monkeypatch.setenv("TURNFOLD_STORE_URL", "redis://user:hunter2@cache:6379/0")
    loaded = load()
    assert [token.get_secret_value() for token in loaded.settings.auth.client_tokens] == ["hunter2", "hunter2b"]
    shown = json.dumps([row.value for row in explain(loaded)]) + repr(loaded)
    assert "hunter2" not in shown
    assert "redis://********@cache:6379/0" in shown


def test_a_password_in_a_query_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_STORE_URL", "redis://cache:6379/0?username=me&password=hunter2@x")
    assert "hunter2" not in json.dumps([row.value for row in explain(load())])
    monkeypatch.setenv("TURNFOLD_STORE_URL", "redis+sentinel://:hunter2@s:26379/mine?sentinel_password=hunter2&db=1")
    shown = json.dumps([row.value for row in explain(load())])
    assert "redis+sentinel://********@s:26379/mine?sentinel_password=********&db=********" in shown
    assert "hunter2" not in shown


def test_the_path_of_a_file_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_STORE_URL", "sqlite:////home/me@work/turnfold.db")
    assert "sqlite:////home/me@work/turnfold.db" in [row.value for row in explain(load())]


def test_white_space_around_a_key_is_the_files_and_not_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("UPSTREAM_API_KEY", "ANTHROPIC_API_KEY", "ADMIN_TOKEN"):
        monkeypatch.setenv(f"TURNFOLD_{name}", " s3cret\n")
    monkeypatch.setenv("TURNFOLD_CLIENT_TOKENS", " t0ken\n")
    settings = load().settings
    given = (settings.upstream.api_key, settings.anthropic.api_key, settings.auth.admin_token, *settings.auth.client_tokens)
    assert [one and one.get_secret_value() for one in given] == [*["s3cret"] * 3, "t0ken"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "turnfold.internal", "10.1.2.3"])  # noqa: S104 - the refusal is the point
def test_no_open_relay_on_the_operators_key(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("TURNFOLD_UPSTREAM_API_KEY", "sk-1")
    monkeypatch.setenv("TURNFOLD_HOST", host)
    text = refusal()
    assert "TURNFOLD_CLIENT_TOKENS" in text
    assert "sk-1" not in text
    monkeypatch.setenv("TURNFOLD_CLIENT_TOKENS", "t")
    assert load().settings.server.host == host


@pytest.mark.parametrize("tokens", ["adm-1", "anna,adm-1", " adm-1 , bert"])
def test_a_clients_token_is_not_the_administrators(monkeypatch: pytest.MonkeyPatch, tokens: str) -> None:
    monkeypatch.setenv("TURNFOLD_ADMIN_TOKEN", "adm-1")
    monkeypatch.setenv("TURNFOLD_CLIENT_TOKENS", tokens)
    text = refusal()
    assert "TURNFOLD_CLIENT_TOKENS" in text
    assert "TURNFOLD_ADMIN_TOKEN" in text
    assert "adm-1" not in text
    monkeypatch.setenv("TURNFOLD_CLIENT_TOKENS", "anna,adm-11")
    assert len(load().settings.auth.client_tokens) == 2


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "[::1]", "localhost", "127.9.9.9"])
def test_loopback_needs_no_client_tokens(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("TURNFOLD_UPSTREAM_API_KEY", "sk-1")
    monkeypatch.setenv("TURNFOLD_HOST", host)
    assert is_loopback(load().settings.server.host)


@pytest.mark.parametrize("key", ["UPSTREAM_API_KEY", "ANTHROPIC_API_KEY", "SUMMARY_API_KEY", "SEMANTIC_API_KEY"])
def test_behind_a_socket_the_host_does_not_matter(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("TURNFOLD_HOST", "turnfold.internal")
    monkeypatch.setenv("TURNFOLD_UDS", "/run/turnfold.sock")
    monkeypatch.setenv(f"TURNFOLD_{key}", "sk-1")
    assert load().settings.server.uds == Path("/run/turnfold.sock")


def test_constructing_settings_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_PORT", "9")
    monkeypatch.setenv("TURNFOLD_SERVER", '{"port": 9}')
    assert Settings().server.port == 8420


def test_models_from_the_file(place: Path) -> None:
    (place / "turnfold.toml").write_text('[models."my-model"]\ninput = 1.5\nwindow = 9000\n')
    assert load().settings.models["my-model"].window == 9000


def test_a_cached_token_priced_in_dollars_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A price above that of a fresh token once failed every fold."""
    monkeypatch.setenv("TURNFOLD_MODELS", '{"gpt-4o": {"input": 2.5, "cache_read": 1.25}}')
    assert "cache_read" in refusal()
