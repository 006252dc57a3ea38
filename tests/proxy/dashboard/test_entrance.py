"""Signing in: links, sessions, cookies, and who is kept out."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr

from tests.proxy.harness import settings_for
from tests.support.cases import each
from turnfold.config.settings import Settings
from turnfold.proxy.dashboard.entrance import Entrance, entry_link, is_same_origin
from turnfold.proxy.http.tenancy import Gate

NOWHERE = "http://127.0.0.1:9/v1"
HERE = (b"host", b"127.0.0.1:8420")
SAME = (b"sec-fetch-site", b"same-origin")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user of the test's own, with no key yet."""
    for name in ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    return tmp_path


def settings(token: str | None = None, **server: Any) -> Settings:
    auth = {"admin_token": SecretStr(token)} if token else {}
    return settings_for(NOWHERE, auth=auth, server=server or {"port": 8420})


def pass_of(link: str | None) -> str:
    assert link is not None
    return urlsplit(link).fragment.removeprefix("link=")


def session(entrance: Entrance) -> tuple[bytes, bytes]:
    value = entrance.new_session()
    assert value is not None
    return b"cookie", f"theme=dark; {entrance.cookie}={value}".encode()


def test_a_link_works_once_whichever_process_it_reaches() -> None:
    link = pass_of(entry_link(settings()))
    workers = [Entrance(settings()) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        used = list(threads.map(lambda worker: worker.redeem(link, [HERE]), workers))
    assert sum(used) == 1
    assert not workers[0].redeem(link, [HERE])


def test_what_marks_a_link_as_used_goes_once_the_link_is_too_old(home: Path) -> None:
    def use() -> None:
        assert Entrance(settings()).redeem(pass_of(entry_link(settings())), [HERE])

    use()
    (used,) = home.rglob("links/*")
    for age, left in ((1190, 2), (1210, 2)):  # each leaves one of its own
        os.utime(used, (time.time() - age,) * 2)
        use()
        assert len([*home.rglob("links/*")]) == left
    assert not used.exists()


def test_a_link_is_in_the_part_of_an_address_that_no_server_sees() -> None:
    found = urlsplit(entry_link(settings()) or "")
    assert (found.netloc, found.path, found.query) == ("127.0.0.1:8420", "/admin/", "")
    assert entry_link(settings(uds="/run/turnfold.sock")) is None, "nobody listens on that port"


def test_a_link_grows_old(monkeypatch: pytest.MonkeyPatch) -> None:
    link, now = pass_of(entry_link(settings())), time.time()
    other = pass_of(entry_link(settings()))
    monkeypatch.setattr(time, "time", lambda: now + 598)
    assert Entrance(settings()).redeem(other, [HERE])
    monkeypatch.setattr(time, "time", lambda: now + 600)
    assert not Entrance(settings()).redeem(link, [HERE])


@each("wrong", ["", "x", "0" * 8 + "." + "0" * 32 + "." + "0" * 64, "ffffffff." + "0" * 32 + "." + "0" * 64, "é" * 80, "\ud800"])
def test_what_is_no_link_is_none(wrong: str) -> None:
    assert entry_link(settings())
    assert not Entrance(settings()).redeem(wrong, [HERE])


def test_a_link_of_another_port_or_a_session_is_no_link() -> None:
    entrance = Entrance(settings())
    assert not entrance.redeem(pass_of(entry_link(settings(port=9000))), [HERE])
    value = entrance.new_session()
    assert value is not None
    assert not entrance.redeem(value, [HERE])
    assert not entrance.is_signed_in([HERE, (b"cookie", f"{entrance.cookie}={pass_of(entry_link(settings()))}".encode())])


@pytest.mark.parametrize(
    "foreign",
    [
        [(b"host", b"evil.example:8420")],
        [HERE, (b"x-forwarded-for", b"10.0.0.1")],
        [HERE, (b"origin", b"http://evil.example")],
    ],
)
def test_a_page_that_rebinds_its_name_gets_nowhere(foreign: list[tuple[bytes, bytes]]) -> None:
    link, entrance = pass_of(entry_link(settings())), Entrance(settings())
    assert not entrance.redeem(link, foreign)
    assert not entrance.is_signed_in([*foreign, session(entrance)])
    assert entrance.redeem(link, [HERE])


def test_there_are_links_on_loopback_only() -> None:
    assert entry_link(settings(host="0.0.0.0", port=8420)) is None  # noqa: S104
    assert entry_link(settings(port=0)) is None
    assert (entry_link(settings(host="::1", port=8420)) or "").startswith("http://[::1]:8420/admin/#")


def test_without_a_token_and_not_on_loopback_nobody_gets_in() -> None:
    entrance = Entrance(settings(host="0.0.0.0", port=8420))  # noqa: S104
    assert (entrance.is_open, entrance.new_session()) == (False, None)


def test_a_user_whose_key_cannot_be_written_has_no_link(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = home / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(blocked))
    monkeypatch.setenv("HOME", str(blocked))
    assert entry_link(settings()) is None
    assert Entrance(settings()).new_session() is None


@pytest.mark.parametrize("token", [None, "letmein"])
def test_a_session_holds_in_every_worker_until_it_ends(token: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    entry_link(settings(token))
    one, other = Entrance(settings(token)), Entrance(settings(token))
    cookie, now = session(one), time.time()
    assert other.is_signed_in([HERE, cookie])
    assert not Entrance(settings("another")).is_signed_in([HERE, cookie])
    assert not Entrance(settings(token, port=8421)).is_signed_in([HERE, (cookie[0], cookie[1].replace(b"8420", b"8421"))])
    monkeypatch.setattr(time, "time", lambda: now + 43_198)
    assert other.is_signed_in([HERE, cookie])
    monkeypatch.setattr(time, "time", lambda: now + 43_200)
    assert not other.is_signed_in([HERE, cookie])


def test_a_forged_session_is_none() -> None:
    entrance = Entrance(settings("letmein"))
    name, value = session(entrance)
    for forged in (
        value[:-1] + (b"0" if value[-1:] != b"0" else b"1"),
        value.replace(b"=6", b"=7"),
        b"turnfold_admin_8420=",
        b"\xff",
    ):
        assert not entrance.is_signed_in([HERE, (name, forged)])


def test_the_cookie_changes_nothing_for_another_origin() -> None:
    entrance = Entrance(settings("letmein"))
    gate = Gate(None, settings("letmein").auth, None, entrance)
    cookie = session(entrance)
    assert gate.is_admin([HERE, cookie], "GET")
    for method in ("DELETE", "POST", "PUT", ""):
        assert not gate.is_admin([HERE, cookie], method)
        assert not gate.is_admin([HERE, cookie, (b"sec-fetch-site", b"same-site")], method)  # another port of this machine
        assert not gate.is_admin([HERE, cookie, (b"origin", b"http://127.0.0.1:3000")], method)
        assert gate.is_admin([HERE, cookie, SAME], method)
        assert gate.is_admin([HERE, cookie, (b"origin", b"http://127.0.0.1:8420")], method)


def test_the_cookie_names_no_tenant() -> None:
    entrance = Entrance(settings("letmein"))
    gate = Gate(None, settings("letmein").auth, None, entrance)
    assert gate.tenant([HERE, session(entrance), SAME, (b"x-turnfold-tenant", b"anna")]) == gate.tenant([])


@each(
    ("sent", "same"),
    [
        ([], False),
        ([HERE], False),
        ([(b"origin", b"null"), HERE], False),
        ([(b"origin", b"http://[")], False),
        ([(b"origin", b"http://["), HERE], False),
        ([(b"origin", b"https://Turnfold.example"), (b"host", b"turnfold.example")], True),
        ([(b"sec-fetch-site", b"cross-site"), (b"origin", b"http://127.0.0.1:8420"), HERE], False),
        ([(b"sec-fetch-site", b"none"), HERE], False),
        ([SAME, (b"origin", b"https://public.example"), HERE], True),
    ],
)
def test_same_origin(sent: list[tuple[bytes, bytes]], same: bool) -> None:
    assert is_same_origin(sent) == same


def test_the_cookie_is_secure_where_the_browser_says_https() -> None:
    entrance = Entrance(settings("letmein"))
    plain = entrance.set_cookie("v", [(b"origin", b"http://127.0.0.1:8420")], "http")
    assert plain == "turnfold_admin_8420=v; Path=/admin; Max-Age=43200; HttpOnly; SameSite=Strict"
    assert entrance.set_cookie("v", [(b"origin", b"https://t.example")], "http").endswith("; Secure")
    assert entrance.set_cookie("v", [], "https").endswith("; Secure")
    assert "Max-Age=0" in entrance.set_cookie("", [], "http")
