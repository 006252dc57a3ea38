"""What a server says: the greeting, one line per request, causes of failures; in text and as JSON, and never text or keys."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import logging.config
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from benchmarks.support.ports import free_port
from tests.proxy.harness import ProxyServer, StartProxy, call, proxy_server, until
from tests.proxy.receipts import receipt
from tests.support import golden
from tests.support.cases import each
from turnfold.config.serving import LogSettings
from turnfold.config.settings import AuthSettings, Settings, StoreSettings
from turnfold.proxy.console.greeting import Greeting, greet
from turnfold.proxy.console.log_lines import JsonLines, TextLines, WithoutEchoes, log_configuration
from turnfold.proxy.console.request_log import RequestLog

FILES = Path(__file__).parent / "golden"
SECRET = "sk-secret-key"
PRIVATE = "my private words"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """Lines of the log from now on, as a terminal shows them."""
    caplog.set_level(logging.INFO, "turnfold")
    found: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(TextLines().format(record))
            json.loads(JsonLines().format(record))

    handler = Collect()
    logging.getLogger("turnfold").addHandler(handler)
    yield found
    logging.getLogger("turnfold").removeHandler(handler)


@pytest.fixture(scope="module")
def proxy(upstream_url: str) -> Iterator[ProxyServer]:
    with proxy_server(upstream_url) as (made, _):
        yield made


@pytest.fixture(scope="module")
def upstream_url() -> str:
    return f"http://127.0.0.1:{free_port()}/v1"  # nothing listens there


def _chat(proxy: ProxyServer, model: str = "gpt-4o") -> str:
    body = {"model": model, "messages": [{"role": "user", "content": PRIVATE}]}
    answer = proxy.chat(body, ("authorization", f"Bearer {SECRET}"))
    return answer.header("x-turnfold-request-id") or ""


def test_a_failure_names_its_cause_and_the_request(proxy: ProxyServer, upstream_url: str, lines: list[str]) -> None:
    request_id = _chat(proxy, "evil\x1b[2J")
    until(lambda: len(lines) == 2)
    warning, line = lines
    assert f"{request_id}: {upstream_url.removesuffix('/v1')}: connection refused" in warning
    assert f"{request_id} chat evil\ufffd[2J: passthrough (short), 10 -> 10 tokens, no answer" in line
    assert not {SECRET, PRIVATE, "\x1b"} & set("".join(lines).split())
    assert PRIVATE not in "".join(lines)


def test_other_calls_have_an_id_too(proxy: ProxyServer, lines: list[str]) -> None:
    answer = call(proxy.origin, "GET", "/v1/files/x?token=secret")
    until(lambda: len(lines) == 2)
    request_id = answer.header("x-turnfold-request-id")
    assert request_id
    assert "connection refused" in answer.json()["error"]["message"]
    assert all(request_id in line for line in lines)
    assert f"{request_id} GET /v1/files/x: passed through, no answer" in lines[1]
    assert "secret" not in "".join(lines)


def test_what_is_refused_before_it_is_read_is_logged(proxy: ProxyServer, lines: list[str]) -> None:
    answer = proxy.chat({}, ("x-turnfold-budget", "many"))
    until(lambda: lines)
    assert f"{answer.header('x-turnfold-request-id')} chat: refused with 400 (invalid_header)" in lines[0]


def test_what_is_refused_for_its_head_is_logged(proxy: ProxyServer, lines: list[str]) -> None:
    proxy.chat({}, ("x-turnfold-bugdet", "many"))
    call(proxy.origin, "GET", "/v1/files/%2e%2e/x")
    until(lambda: len(lines) == 2)
    assert "/v1/chat/completions: refused with 400 (invalid_header, x-turnfold-bugdet)" in lines[0]
    assert "refused with 400 (invalid_path)" in lines[1]


def test_a_refusal_says_how_long_it_took(start_proxy: StartProxy, upstream_url: str, lines: list[str]) -> None:
    host, _, port = start_proxy(upstream_url, limits={"max_body_bytes": 1024}).origin.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\n")
        client.sendall(b"transfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 100")  # it has begun to count
        time.sleep(0.05)
        client.sendall(b"1\r\n{\r\n")
        client.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 413")
    until(lambda: lines)
    told = re.fullmatch(r".* chat: refused with 413 \(body_too_large\), ([\d,]+) ms", lines[0])
    assert told is not None
    assert 40 <= int(told[1].replace(",", "")) < 60_000


def test_a_line_says_what_was_saved(lines: list[str]) -> None:
    class Nowhere:
        def record(self, *_: Any) -> None: ...

    RequestLog(Nowhere()).record(receipt(tokens_before=24000, tokens_after=6000, upstream_status=200, total_ms=1234.5), ())
    assert "24,000 -> 6,000 tokens (-75%), upstream 200" in lines[0]
    assert "1,234 ms" in lines[0] or "1,235 ms" in lines[0]


def test_the_fields_of_a_line_have_tenths_of_milliseconds(caplog: pytest.LogCaptureFixture) -> None:
    class Nowhere:
        def record(self, *_: Any) -> None: ...

    with caplog.at_level(logging.INFO, "turnfold.requests"):
        RequestLog(Nowhere()).record(receipt(total_ms=1234.567, overhead_ms=2.349), ())
    (fields,) = (vars(record)["fields"] for record in caplog.records)
    assert (fields["ms"], fields["overhead_ms"]) == (1234.6, 2.3)


@each(
    ("settings", "shown"),
    [
        (LogSettings(), ["request", "warning", "error"]),
        (LogSettings(requests=False), ["warning", "error"]),
        (LogSettings(level="warning"), ["warning", "error"]),
        (LogSettings(level="error"), ["error"]),
        (LogSettings(level="off"), []),
    ],
)
def test_a_level_decides_which_lines_are_shown(settings: LogSettings, shown: list[str]) -> None:
    configured = log_configuration(settings)
    own = configured["loggers"]["turnfold"]["level"]
    level = logging.getLevelName(own) if isinstance(own, str) else own
    requests = configured["loggers"]["turnfold.requests"].get("level", level)
    found = ["request"] if requests <= logging.INFO else []
    found += [name for name, of in (("warning", logging.WARNING), ("error", logging.ERROR)) if level <= of]
    assert found == shown
    assert level <= logging.CRITICAL or not found
    others = configured["root"]["level"]
    others = logging.getLevelName(others) if isinstance(others, str) else others
    assert others > logging.CRITICAL if settings.level == "off" else others == logging.WARNING


CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
NO_HTTP = "bytes that are not HTTP, or more bytes than its content-length says"


@pytest.mark.parametrize(
    ("answered", "said"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", NO_HTTP),
        (CHUNKED + b"zz\r\nhello\r\n0\r\n\r\n", "chunks that are not HTTP"),
        (CHUNKED + b"5\r\nhello and more\r\n0\r\n\r\n", "chunks that are not HTTP"),
        (CHUNKED + b"F" * 20 + b"\r\nhello\r\n", "chunks that are not HTTP"),
        (b"HTTP/1.1 200 OK\r\nthe chunk: \x00\r\n\r\n", "a head that is not HTTP"),
    ],
)
def test_what_is_no_http_is_said_in_a_sentence(answered: bytes, said: str, start_proxy: StartProxy, lines: list[str]) -> None:
    def speak(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(answered)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=speak, args=(listener,), daemon=True).start()
        origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
        answer = start_proxy(origin + "/v1").chat({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]})
        until(lambda: lines)
    assert (answer.status, answer.json()["error"]["code"]) == (502, "upstream_invalid")
    assert lines[0].endswith(f"{origin}: it answered with {said}")


def test_json_has_fields_and_a_traceback() -> None:
    try:
        raise ValueError("broken")
    except ValueError:
        record = logging.LogRecord("turnfold.x", logging.ERROR, "f", 1, "it %s", ("failed",), sys.exc_info())
    record.fields = {"request_id": "tf-1"}
    line = json.loads(JsonLines().format(record))
    assert (line["level"], line["message"], line["request_id"]) == ("error", "it failed", "tf-1")
    assert "ValueError: broken" in line["exception"]
    assert "error it failed\nTraceback" in TextLines().format(record)


def test_what_was_done_on_purpose_is_not_said_again() -> None:
    def record(message: str, error: BaseException | None = None) -> logging.LogRecord:
        about = None if error is None else (type(error), error, None)
        return logging.LogRecord("uvicorn.error", logging.ERROR, "f", 1, message, (), about)

    shown = WithoutEchoes().filter
    assert not shown(record("ASGI callable returned without completing response."))
    assert not shown(record("Exception in ASGI application", asyncio.CancelledError()))
    assert shown(record("Exception in ASGI application", ValueError()))
    assert shown(record("Exception in ASGI application"))


def test_the_panel_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "60")
    settings = Settings(store=StoreSettings(url="redis://:pass@host/0"))
    greet(
        Greeting.of(
            settings, "http://127.0.0.1:1", store_answers=False, dashboard="http://127.0.0.1:1/admin/?" + "x" * 90 + " [closed]"
        )
    )
    said = terminal.getvalue()
    assert "\nexport OPENAI_BASE_URL=http://127.0.0.1:1/v1\nexport ANTHROPIC_BASE_URL=http://127.0.0.1:1\n" in said
    assert "http://127.0.0.1:1/admin/?" + "x" * 90 + " [closed]" in said
    assert "https://api.openai.com/v1" in said
    assert "DOES NOT ANSWER" in said
    shown = [line.strip("│ ") for line in re.sub(r"\x1b\[[\d;]*m", "", said).splitlines()]
    assert {"listens on   http://127.0.0.1:1", "mode         on"} <= set(shown)
    assert "pass" not in said.replace("pass-", "")
    greet(Greeting.of(settings, "unix:/run/t.sock", store_answers=True, dashboard="unix:/run/t.sock/admin/"))
    said = terminal.getvalue().removeprefix(said)
    assert "\nproxy_pass http://unix:/run/t.sock;\n" in said
    assert "export" not in said, "no client takes a socket from these variables"


def test_the_panel_in_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    for name, value in {"COLUMNS": "72", "TERM": "xterm-256color", "COLORTERM": ""}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    settings = Settings(store=StoreSettings(url="memory://"))
    greet(Greeting.of(settings, "http://127.0.0.1:80", store_answers=True, dashboard="http://127.0.0.1:80/admin/?t=1"))
    shown = terminal.getvalue().replace("\x1b", "\N{SYMBOL FOR ESCAPE}").replace(version("turnfold"), "#")
    golden.agrees(FILES / "panel.txt", [re.sub("─{9,}", "─", line) for line in shown.splitlines()])


def test_elsewhere_it_is_one_line(lines: list[str]) -> None:
    settings = Settings(auth=AuthSettings(admin_token="adm"), store=StoreSettings(url="memory://"))  # type: ignore[arg-type]
    greet(Greeting.of(settings, "http://h:1", store_answers=True, dashboard="http://h:1/admin/"))
    (line,) = lines
    assert "listens on http://h:1; forwards to https://api.openai.com/v1; https://api.anthropic.com/v1" in line
    assert "closed" not in line
