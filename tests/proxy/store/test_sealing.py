"""Encryption at rest: nothing readable in a real file or server, keys that rotate, keys that are wrong or missing."""

from __future__ import annotations

import base64
import json
import logging
import sqlite3
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import SecretStr, ValidationError

from tests.proxy.harness import UpstreamServer, api_server, call, reply, unhurried, until
from tests.proxy.processes import ADMIN, COMPLETION
from tests.proxy.redis_keys import dump
from tests.support.cases import each
from tests.support.warm import warm_fold
from tests.support.words import prose
from turnfold.config.settings import AuthSettings, FoldingSettings, StoreSettings
from turnfold.config.sources import load
from turnfold.proxy.checkup import examine
from turnfold.proxy.sealing.cipher import Cipher
from turnfold.proxy.sealing.marks import MARK
from turnfold.proxy.store import Item, Key, OpenStore, StoreFailed, open_store

PLANTED = "zanzibarwombat"
FIRST, SECOND = (base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2))
KEY = Key("anna", "note", "1")


def _store(url: str, *keys: str) -> OpenStore:
    return open_store(unhurried(StoreSettings(url=url, encryption_keys=tuple(map(SecretStr, keys)))))


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/t.db" if request.param == "sqlite" else str(request.getfixturevalue("redis_url"))


async def _held(url: str, *keys: str) -> bytes | None:
    store = _store(url, *keys)
    try:
        return (await store.patient.get([KEY]))[0]
    finally:
        await store.close()


async def _write(url: str, value: bytes, *keys: str) -> None:
    store = _store(url, *keys)
    try:
        await store.patient.put([Item(KEY, value, 60)])
    finally:
        await store.close()


def test_a_value_sealed_by_another_release_opens() -> None:
    key, nonce = bytes([1]) * 32, bytes(range(12))
    name = sha256(b"turnfold key name" + key).digest()[:4]
    sealed = MARK + name + nonce + AESGCM(key).encrypt(nonce, b"said", b"here")
    assert Cipher([bytes([2]) * 32, key]).open(b"here", sealed) == b"said"
    assert Cipher([key]).open(b"elsewhere", sealed) is None
    assert Cipher([key]).seal(b"here", b"said")[: len(MARK) + 4] == MARK + name


async def test_keys_rotate(url: str) -> None:
    await _write(url, b"old", FIRST)
    assert await _held(url, SECOND, FIRST) == b"old"
    await _write(url, b"new", SECOND, FIRST)
    assert await _held(url, SECOND) == b"new"
    assert await _held(url, FIRST, SECOND) == b"new"


async def test_a_wrong_or_missing_key_is_said_and_changes_nothing(url: str) -> None:
    await _write(url, b"kept", FIRST)
    setting = "TURNFOLD_STORE_ENCRYPTION_KEYS"
    for keys, said in (((SECOND,), f"no key in {setting} decrypts"), ((), f"{setting} is not set")):
        store = _store(url, *keys)
        for work in (store.patient.ping(), store.patient.get([KEY]), store.patient.swap(b"kept", Item(KEY, b"x", 60))):
            with pytest.raises(StoreFailed, match=said):
                await work
        with pytest.raises(StoreFailed, match=said):
            await store.put([Item(KEY, b"plain", 60)])
        await store.close()
    assert await _held(url, FIRST) == b"kept"


async def test_what_was_stored_in_plain_is_read_and_sealed_when_it_is_written_again(url: str) -> None:
    await _write(url, b"plain")
    assert await _held(url, FIRST) == b"plain"
    store = _store(url, FIRST)
    assert not await store.patient.swap(b"other", Item(KEY, b"sealed", 60))
    assert await store.patient.swap(b"plain", Item(KEY, b"sealed", 60))
    assert await store.patient.swap(b"sealed", Item(KEY, b"again", 60))
    assert not await store.patient.swap(None, Item(KEY, b"lost", 60))
    await store.close()
    assert await _held(url, FIRST) == b"again"


async def test_a_value_belongs_to_its_key_and_tenant(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    await _write(url, b"anna's", FIRST)
    with sqlite3.connect(tmp_path / "t.db") as file:
        (sealed,) = file.execute("SELECT value FROM items WHERE kind = ?", (b"note",)).fetchone()
        for tenant, name in ((b"ben", b"1"), (b"anna", b"2")):
            file.execute("INSERT INTO items VALUES (?, ?, ?, ?, 9e9)", (tenant, b"note", name, sealed))
        file.execute("UPDATE items SET value = ? WHERE kind = ?", (sealed[:-1] + bytes([sealed[-1] ^ 1]), b"note"))
    file.close()
    store = _store(url, FIRST)
    assert await store.patient.get([KEY, Key("ben", "note", "1"), Key("anna", "note", "2")]) == [None] * 3
    with pytest.raises(StoreFailed, match="not replaced"):
        await store.patient.swap(None, Item(KEY, b"x", 60))
    await store.close()


def _use(origin: str) -> tuple[list[int], str]:
    """A fold, a conversation, layers, a state; the statuses, and the id of the fold's request."""
    headers = [("content-type", "application/json"), ("authorization", "Bearer sk-anna")]
    said = f"{PLANTED} {prose(1, 'en', 60)}"
    talk = [{"role": ("user", "assistant")[i % 2], "content": f"{PLANTED} {prose(i, 'en', 8)}"} for i in range(81)]
    talk[0]["content"] = f"set premise {PLANTED} is written for pilots"
    labelled = [*headers, ("x-turnfold-conversation", "talk"), ("x-turnfold-state", "enforce")]
    fold = call(origin, "POST", "/v1/chat/completions", json.dumps({"model": "gpt-4o", "messages": talk}).encode(), labelled)
    bodies: list[tuple[str, Any]] = [
        ("/v1/compress", {"text": said}),
        ("/v1/conversation", {"conversation_id": "c", "message": {"role": "user", "content": said}}),
        ("/v1/messages/compress", {"messages": talk}),
    ]
    answers = [call(origin, "POST", path, json.dumps(body).encode(), headers) for path, body in bodies]
    return [fold.status, *(answer.status for answer in answers)], fold.header("x-turnfold-request-id") or ""


def _kept(origin: str, request: str) -> list[bool]:
    answer = call(origin, "GET", f"/admin/requests/{request}", None, [ADMIN])
    return [section["kept"] for section in answer.json()["sections"]] if answer.status == 200 else []


def _files(url: str, valkey: Any) -> bytes:
    """All that is stored, keys and values, as it lies there."""
    if url.startswith("redis"):
        return b"\n".join(key + b"\n" + value for key, value in dump(valkey, url).items())
    path = Path(url.removeprefix("sqlite:///"))
    found = b"".join(part.read_bytes() for part in path.parent.iterdir() if part.name.startswith(path.name))
    with sqlite3.connect(path) as file:
        values = [value for (value,) in file.execute("SELECT value FROM items")]
    file.close()
    assert len(values) > 5
    assert all(value.startswith(MARK) for value in values)
    return found


def test_no_text_of_a_user_is_in_the_files(
    url: str, upstream: UpstreamServer, valkey: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnfold.proxy.books.ledger._STOP_PATIENCE", 0.2)
    caplog.set_level(logging.ERROR)
    upstream.handler = reply(COMPLETION)
    groups: dict[str, Any] = {"auth": AuthSettings(admin_token=SecretStr("adm")), "folding": FoldingSettings(cache_hit_share=0.7)}
    groups["engine"] = warm_fold
    with api_server(url, upstream.origin + "/v1", store_settings={"encryption_keys": (FIRST,)}, **groups) as origin:
        statuses, request = _use(origin)
        assert statuses[0] == 200, statuses
        assert max(statuses) < 300, statuses
        until(lambda: _kept(origin, request))
        assert all(_kept(origin, request))
        assert PLANTED.encode() not in _files(url, valkey)
    assert PLANTED.encode() not in _files(url, valkey)
    assert not caplog.records
    for keys, said in (((SECOND,), "no key in"), ((), "is not set")):
        with api_server(url, upstream.origin + "/v1", store_settings={"encryption_keys": keys}, **groups) as origin:
            assert said in caplog.text
            statuses, _ = _use(origin)
            assert statuses[0] == 200
            assert 500 not in statuses
            caplog.clear()


async def test_doctor_says_which_setting_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    await _write(url, b"v", FIRST)
    monkeypatch.setenv("TURNFOLD_STORE_URL", url)
    monkeypatch.setenv("TURNFOLD_UPSTREAM_URL", "http://127.0.0.1:9/v1")
    for keys, said in (("", "is not set"), (SECOND, "decrypts the stored data")):
        monkeypatch.setenv("TURNFOLD_STORE_ENCRYPTION_KEYS", keys)
        found = [finding for finding in await examine(load(directory=tmp_path)) if finding.part == "store"]
        assert [finding.verdict for finding in found] == ["fault"]
        assert said in str(found[0])


@each("key", ["short", "@" * 44, base64.b64encode(b"x" * 16).decode()])
def test_a_key_of_another_form_is_named_and_not_shown(key: str) -> None:
    with pytest.raises(ValidationError, match="key 1 must be 32 bytes in base64") as caught:
        StoreSettings(encryption_keys=(SecretStr(key),))
    assert key not in str(caught.value)
