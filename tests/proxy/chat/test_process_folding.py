"""Large requests are folded in a process of their own: the same bytes, and nobody else waits."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import threading
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from starlette.types import Receive, Scope, Send

from tests.proxy.chat.abandoned import kept_records
from tests.proxy.harness import Answer, Running, UpstreamServer, api_server, call, call_on, reply, until
from tests.proxy.processes import ADMIN, chat
from tests.support.block_conversations import Kind, conversation
from tests.support.three_wires import WIRES as ENCODERS
from tests.support.words import prose
from turnfold.compression.fit.fit import fit
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.memo import Memo
from turnfold.compression.roundtrip.compress_messages import compress_at_once
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES
from turnfold.config.fold import fold_options
from turnfold.config.serving import LimitSettings
from turnfold.config.settings import AuthSettings, Settings, UpstreamSettings
from turnfold.proxy.api.roundtrips import options_of
from turnfold.proxy.chat.process_folding import LARGE, ProcessFolding, beginning_of
from turnfold.proxy.lanes.processes import ProcessFailed
from turnfold.proxy.lanes.taking_over import TakingOver

WIRES = {"/v1/chat/completions": CHAT, "/v1/responses": RESPONSES, "/v1/messages": MESSAGES}
OK = reply(b'{"model": "gpt-4o", "usage": {"prompt_tokens": 5000, "completion_tokens": 1}}')
FULL = b'{"error": {"message": "This model\'s maximum context length is 5000 tokens. However, your messages resulted in 18000'
FULL += b' tokens.", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}'


def body(path: str, turns: int = 20, about: str = "", **more: Any) -> bytes:
    """A chat; with `about` one of which nothing is known from tests that talk about something else."""
    messages = [{**one, "content": f"{about}{one['content']}"} for one in chat(turns)]
    name = "input" if path.endswith("responses") else "messages"
    return json.dumps({"model": "gpt-4o", "max_tokens": 100, name: messages, **more}).encode()


@pytest.fixture
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnfold.proxy.chat.folding.LARGE", 8_000)


@contextlib.contextmanager
def proxied(upstream: UpstreamServer, store: str = "memory://", **limits: float) -> Iterator[str]:
    auth = AuthSettings(admin_token=SecretStr("adm"))
    with api_server(store, upstream.origin + "/v1", auth=auth, limits=LimitSettings.model_validate(limits)) as origin:
        yield origin


@pytest.fixture(scope="module")
def shared_origin(shared_upstream: tuple[UpstreamServer, Running]) -> Iterator[str]:
    """One proxy for all tests that want no other settings, each a tenant of its own; what folds for it ends with it."""
    before = children()
    with proxied(shared_upstream[0], fold_timeout=120) as origin:
        yield origin
    until(lambda: not set(children()) - set(before))


@pytest.fixture
def origin(upstream: UpstreamServer, everything_is_large: None, shared_origin: str) -> str:
    """It, in front of an upstream that answers."""
    del everything_is_large
    upstream.handler = OK
    return shared_origin


def ask(origin: str, path: str, data: bytes, key: str = "k") -> Answer:
    """A request whose fold may have to wait for a process to start, on a machine that does other things."""
    connection = http.client.HTTPConnection(origin.removeprefix("http://"), timeout=120)
    with contextlib.closing(connection):
        return call_on(connection, "POST", path, data, [("content-type", "application/json"), ("authorization", f"Bearer {key}")])


def status(answer: Answer) -> tuple[str | None, str | None]:
    return answer.header("x-turnfold-status"), answer.header("x-turnfold-reason")


#: Apart from any server's. What it knows of a shorter conversation saves most of the time that a longer one takes.
_EXPECTED = Memo(64_000_000)


def expected(wire: Wire, data: bytes, url: str) -> bytes:
    options = fold_options(Settings(upstream=UpstreamSettings(url=url)), "gpt-4o")
    return fit(wire.read(data, _EXPECTED), options, _EXPECTED).forwarded.body


def _is_there(receipt: Callable[[], Answer]) -> bool:
    return receipt().status == 200


def children() -> list[int]:
    """Processes of ours that fold."""
    found = []
    for listed in Path("/proc/self/task").glob("*/children"):
        for pid in listed.read_text().split():
            with contextlib.suppress(OSError):
                if b"turnfold.proxy.fold_process" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(int(pid))
    return found


def test_they_are_folded_into_the_same_bytes(upstream: UpstreamServer, origin: str) -> None:
    for path, wire in WIRES.items():
        data = body(path)
        answer = ask(origin, path, data)
        assert status(answer) == ("folded", None), path
        assert upstream.seen[-1].body == expected(wire, data, upstream.origin + "/v1")
        request = answer.header("x-turnfold-request-id")
        receipt = partial(call, origin, "GET", f"/admin/requests/{request}", None, [ADMIN])
        until(partial(_is_there, receipt), pause=0.1)
        told = receipt().json()
        assert told["receipt"]["model"] == "gpt-4o"
        assert told["receipt"]["tokens_before"] > told["receipt"]["tokens_after"] > 0
        originals = [message for section in told["sections"] for message in section["messages"]]
        assert originals, "what was folded is kept"
        if wire is CHAT:
            assert all(json.loads(one) in chat(20) for one in originals)


def bytes_read(pid: int) -> int:
    """What a process has read, as from its standard input."""
    told = Path(f"/proc/{pid}/io").read_text("ascii")
    return int(dict(line.split(": ") for line in told.splitlines())["rchar"])


def is_folded_elsewhere(upstream: UpstreamServer, origin: str, path: str, data: bytes, key: str) -> bool:
    """Send a body, which is folded as it is here; whether a process of those that fold has read it."""
    before = sum(map(bytes_read, children()))
    assert status(ask(origin, path, data, key)) == ("folded", None)
    assert upstream.seen[-1].body == expected(WIRES[path], data, upstream.origin + "/v1")
    return sum(map(bytes_read, children())) - before >= len(data)


@pytest.fixture
def large_is_medium(monkeypatch: pytest.MonkeyPatch) -> int:
    """A size past which bodies are large, which a conversation passes after some twenty turns."""
    monkeypatch.setattr("turnfold.proxy.chat.folding.LARGE", 30_000)
    until(lambda: len(children()) <= 1)  # those of other servers end a moment behind them
    return 30_000


def test_a_conversation_that_grows_large_stays_in_the_process_that_knows_it(
    upstream: UpstreamServer, large_is_medium: int, shared_origin: str
) -> None:
    upstream.handler = reply(b'{"model": "gpt-4o"}')  # tokens that stand still would be a window
    grown = range(18, 45, 3)
    for path, wire in WIRES.items():
        assert len(body(path, grown[0], "Grown. ")) < large_is_medium < len(body(path, grown[3], "Grown. "))
        before = sum(map(bytes_read, children()))
        for turns in grown:
            data = body(path, turns, "Grown. ")
            answer = ask(shared_origin, path, data, "grows")
            assert upstream.seen[-1].body == expected(wire, data, upstream.origin + "/v1"), (path, turns)
        assert status(answer) == ("folded", None)
        assert sum(map(bytes_read, children())) - before < large_is_medium, "no other process has read it"
    # Of the same body in another's words nothing is known.
    assert is_folded_elsewhere(upstream, shared_origin, path, b" " + data, "grows")


def test_a_large_conversation_with_much_that_is_new_is_folded_elsewhere(
    upstream: UpstreamServer, large_is_medium: int, shared_origin: str
) -> None:
    upstream.handler = OK
    path = "/v1/chat/completions"
    small, data = body(path, 20, "Much. "), body(path, 36, "Much. ")
    assert len(small) < large_is_medium < len(data)
    before = sum(map(bytes_read, children()))
    ask(shared_origin, path, small, "much")
    assert sum(map(bytes_read, children())) - before < len(small)
    assert is_folded_elsewhere(upstream, shared_origin, path, data, "much")


def test_a_large_conversation_that_is_met_for_the_first_time_is_taken_over(
    upstream: UpstreamServer, large_is_medium: int, shared_origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a restart: it goes to the other process at first, then it is known here, and folded into the same bytes."""
    monkeypatch.setattr("turnfold.proxy.chat.process_folding._BEGINNING", large_is_medium // 2)
    upstream.handler = reply(b'{"model": "gpt-4o"}')  # tokens that stand still would be a window
    path = "/v1/messages"
    elsewhere: list[bool] = []
    taking_over: list[TakingOver] = []
    begin = TakingOver.begin

    def begin_and_tell(over: TakingOver, *about: Any) -> None:
        begin(over, *about)
        taking_over.append(over)

    monkeypatch.setattr(TakingOver, "begin", begin_and_tell)
    for turns in range(45, 65):
        data = body(path, turns, "Restarted. ")
        assert len(data) > large_is_medium
        elsewhere.append(is_folded_elsewhere(upstream, shared_origin, path, data, "restarted"))
        if elsewhere[-3:] == [False] * 3:
            break
        until(lambda: all(one._task is None for one in taking_over))
    assert elsewhere[:2] == [True, True]
    assert elsewhere[-3:] == [False] * 3, "it stays here"


def test_their_full_contexts_are_recovered(upstream: UpstreamServer, origin: str) -> None:
    async def small(scope: Scope, receive: Receive, send: Send) -> None:
        refuse = len(upstream.seen[-1].body) > 20_000
        await (reply(FULL, status=400) if refuse else OK)(scope, receive, send)

    upstream.handler = small
    data = body("/v1/chat/completions", 24)
    answer = ask(origin, "/v1/chat/completions", data, "full")
    assert answer.status == 200
    assert status(answer)[0] == "recovered"
    assert len(upstream.seen[-1].body) <= 20_000
    assert len(data) > 20_000


def with_files(data: bytes, *users: int) -> bytes:
    """A chat with a file in these messages."""
    value = json.loads(data)
    for number in users:
        one = value["messages"][number]
        one["content"] = [{"type": "file", "file": {"file_id": f"file-{number}"}}, {"type": "text", "text": one["content"]}]
    return json.dumps(value).encode()


def test_files_that_fill_their_context_are_weighed(upstream: UpstreamServer, origin: str) -> None:
    async def small(scope: Scope, receive: Receive, send: Send) -> None:
        refuse = b'"file_id": "file-1"' in upstream.seen[-1].body
        await (reply(FULL, status=400) if refuse else OK)(scope, receive, send)

    upstream.handler = small
    data = with_files(body("/v1/chat/completions", 24, "Files. "), 1, 9)
    assert status(ask(origin, "/v1/chat/completions", data, "weighed")) == ("recovered", "attachments-left-out")


@pytest.mark.parametrize("users", [(1,), ()])
def test_their_files_are_not_learned_as_a_ratio_of_text(upstream: UpstreamServer, origin: str, users: tuple[int, ...]) -> None:
    upstream.handler = reply(b'{"usage": {"prompt_tokens": 90000, "completion_tokens": 1}}')
    key = f"ratio {len(users)}"
    for turns in (24, 25):
        ask(origin, "/v1/chat/completions", with_files(body("/v1/chat/completions", turns, "Ratio. "), *users), key)
    told = call(origin, "GET", "/v1/windows", None, [("authorization", f"Bearer {key}")])
    assert [one["tokens_per_token"] for one in told.json()["windows"]] == ([None] if users else [5.0])


@pytest.mark.parametrize("error", [ProcessFailed("it ended"), TimeoutError()])
def test_where_the_process_fails_over_a_full_context_the_error_stands(
    upstream: UpstreamServer, origin: str, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*given: Any) -> Any:
        del given
        raise error

    monkeypatch.setattr(ProcessFolding, "plan_recovery", fail)
    upstream.handler = reply(FULL, status=400)
    answer = ask(origin, "/v1/chat/completions", body("/v1/chat/completions", 24), "full again")
    assert (answer.status, answer.body) == (400, FULL)
    assert f"recovery: {type(error).__name__}" in caplog.text


def test_what_is_too_large_goes_out_as_it_came(upstream: UpstreamServer) -> None:
    upstream.handler = OK
    text = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "x" * 9_000_000}]}).encode()
    with proxied(upstream) as origin:
        before = children()
        assert status(ask(origin, "/v1/chat/completions", text)) == ("passthrough", "too-large")
        assert upstream.seen[-1].body == text
        assert set(children()) <= set(before), "it is not even read"


def test_what_cannot_be_read_goes_out_as_it_came(upstream: UpstreamServer, origin: str) -> None:
    for data in (b"[" * 9_000, b'{"messages": 5}'.ljust(9_000), b"\xff" * 9_000):
        assert status(ask(origin, "/v1/chat/completions", data, "unread")) == ("passthrough", "unparsable")
        assert upstream.seen[-1].body == data


@contextlib.contextmanager
def folds_that_never_end(before: Collection[int]) -> Iterator[None]:
    """While it lasts, each new process of ours that folds is stopped as soon as it is there, long before it can fold."""
    stopped, done = {*before}, threading.Event()

    def look() -> None:
        while not done.wait(0.01):
            for pid in {*children()} - stopped:
                os.kill(pid, signal.SIGSTOP)
                stopped.add(pid)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@pytest.mark.usefixtures("everything_is_large")
def test_a_fold_that_takes_too_long_is_tried_on_no_server_of_its_store(upstream: UpstreamServer, tmp_path: Path) -> None:
    """How long a fold takes is not left to the machine: none comes to an end. Servers end in good order all the same."""
    upstream.handler = OK
    path, before = "/v1/chat/completions", {*children()}
    data, file = body(path, 20), tmp_path / "t.db"
    with folds_that_never_end(before), contextlib.ExitStack() as stack:
        one, other = (stack.enter_context(proxied(upstream, f"sqlite:///{file}", fold_timeout=wait)) for wait in (1.0, 10.0))
        assert status(ask(one, path, data)) == ("failed-open", "slow")

        def is_kept() -> bool:
            """A fold that only waited for its process, on a busy machine, took no time; it is asked for again, once it has left
            the place that it holds for a while."""
            found = status(ask(one, path, data))
            if found == ("passthrough", "busy"):
                return False
            assert found in {("failed-open", "slow"), ("passthrough", "slow-before")}
            return file.exists() and bool(kept_records(file))

        until(is_kept, pause=0.1)
        assert {status(ask(to, path, data)) for to in (other, one, other)} == {("passthrough", "slow-before")}
        assert {seen.body for seen in upstream.seen} == {data}
        assert len({*children()} - before) == 2, "a process of each"
    until(lambda: not {*children()} - before)


def test_a_process_that_dies_costs_one_fold(origin: str) -> None:
    path = "/v1/chat/completions"
    assert status(ask(origin, path, body(path), "dies")) == ("folded", None)
    until(lambda: len(children()) == 1)  # those of other servers end a moment behind them
    (pid,) = children()
    os.kill(pid, signal.SIGKILL)
    until(lambda: pid not in children())
    first = ask(origin, path, body(path), "dies")
    assert first.status == 200
    assert status(ask(origin, path, body(path), "dies")) == ("folded", None)
    assert call(origin, "GET", "/healthz").status == 200


def test_a_deletion_ends_the_processes_that_remember(upstream: UpstreamServer, origin: str) -> None:
    path = next(iter(WIRES))
    data = body(path)
    assert status(ask(origin, path, data, "gone")) == ("folded", None)
    before = children()
    assert before
    assert call(origin, "DELETE", "/v1/data", None, [("authorization", "Bearer gone")]).status == 200
    until(lambda: not set(before) & set(children()), pause=0.05)
    assert status(ask(origin, path, data, "gone")) == ("folded", None)
    assert upstream.seen[-1].body == expected(WIRES[path], data, upstream.origin + "/v1")


def test_large_work_of_the_api_is_done_elsewhere_and_comes_out_the_same(
    shared_origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnfold.proxy.api.workshop.LARGE", 20_000)
    text = "\n".join(prose(number, "en", 8) for number in range(80))
    small = text[:5000]

    def layers(origin: str, what: str) -> dict[str, Any]:
        answer = call(origin, "POST", "/v1/compress", json.dumps({"text": what}).encode(), [("content-type", "application/json")])
        assert answer.status == 200, answer.body
        return dict(answer.json()["layers"])

    def add(origin: str, what: str) -> str:
        body = {"conversation_id": "c", "message": {"role": "user", "content": what}}
        answer = call(origin, "POST", "/v1/conversation", json.dumps(body).encode(), [("content-type", "application/json")])
        assert answer.status == 200, answer.body
        return str(answer.json()["action"])

    until(lambda: len(children()) <= 1)  # those of other servers end a moment behind them
    layers(shared_origin, small)
    before = sum(map(bytes_read, children()))
    found = layers(shared_origin, text)
    (pid,) = children()
    then = bytes_read(pid)
    assert then - before >= len(text)
    assert add(shared_origin, text) in {"appended", "compressed"}
    assert bytes_read(pid) - then >= len(text)
    assert add(shared_origin, text) == "duplicate"
    own = Compressor().compress(CompressRequest(text))
    assert [found[str(i)]["text"] for i in range(3)] == [layer.text for layer in own.layers]


def test_large_messages_are_compressed_elsewhere_and_come_out_the_same(
    shared_origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnfold.proxy.api.workshop.LARGE", 20_000)
    messages = [{"role": ("user", "assistant")[n % 2], "content": prose(n, "en", 8)} for n in range(80)]
    options = {"token_budget": 3_000, "token_counter": "o200k_base", "trace": True}

    def compressed(given: list[dict[str, str]]) -> dict[str, Any]:
        body = json.dumps({"messages": given, **options}).encode()
        answer = call(shared_origin, "POST", "/v1/messages/compress", body, [("content-type", "application/json")])
        assert answer.status == 200, answer.body
        return dict(answer.json())

    until(lambda: len(children()) <= 1)  # those of other servers end a moment behind them
    compressed(messages[:20])
    before = sum(map(bytes_read, children()))
    found = compressed(messages)
    assert sum(map(bytes_read, children())) - before >= sum(len(message["content"]) for message in messages)
    own = compress_at_once(messages, options_of(options))
    assert (found["messages"], found["verbatim"], found["fits"]) == (own.messages, own.verbatim, own.fits)


REFUSED = b'{"type": "error", "error": {"type": "invalid_request_error", "message": "'
REFUSED += b'messages.1.content.0: Invalid `signature` in `thinking` block"}}'


@pytest.mark.usefixtures("everything_is_large")
def test_thinking_that_is_refused_is_taken_out_of_what_was_sent(upstream: UpstreamServer, shared_origin: str) -> None:
    sent = ENCODERS["messages"].encode(conversation(90, Kind(turns=8, loops=1, sentences=8, thinks=1.0)))
    assert len(sent) > 8_000
    waiting = iter([reply(REFUSED, status=400), OK])

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await next(waiting)(scope, receive, send)

    upstream.handler = handler
    answer = call(shared_origin, "POST", "/v1/messages", sent, [("content-type", "application/json"), ("x-api-key", "thinks")])
    assert answer.status == 200
    first, second = (one.body for one in upstream.seen)
    assert first == sent
    without = [[part for part in one["content"] if part.get("type") != "thinking"] for one in lists(first)]
    assert without != [one["content"] for one in lists(first)]
    assert [one["content"] for one in lists(second)] == without


@pytest.mark.usefixtures("everything_is_large")
def test_thinking_that_is_refused_is_left_out_of_the_next_large_requests(upstream: UpstreamServer, shared_origin: str) -> None:
    """As after a client's own compaction: the kept thinking no longer fits; that of later answers does."""
    body = json.loads(ENCODERS["messages"].encode(conversation(91, Kind(turns=8, loops=1, sentences=8, thinks=1.0))))
    old = set(thoughts(json.dumps(body).encode()))

    async def api(scope: Scope, receive: Receive, send: Send) -> None:
        refuses = not old.isdisjoint(thoughts(upstream.seen[-1].body))
        await (reply(REFUSED, status=400) if refuses else OK)(scope, receive, send)

    upstream.handler = api
    headers = [("content-type", "application/json"), ("x-api-key", "thinks on")]
    for turn in range(3):
        assert call(shared_origin, "POST", "/v1/messages", json.dumps(body).encode(), headers).status == 200
        thinking = {"type": "thinking", "thinking": "Hm.", "signature": f"new {turn}"}
        body["messages"].append({"role": "assistant", "content": [thinking, {"type": "text", "text": "Yes."}]})
        body["messages"].append({"role": "user", "content": f"And crane {turn}?"})
    sent = [thoughts(one.body) for one in upstream.seen]
    assert (set(sent[0]), sent[1:]) == (old, [[], ["new 0"], ["new 0", "new 1"]])


def thoughts(body: bytes) -> list[str]:
    """Signatures of the thinking in a request."""
    return [part["signature"] for one in lists(body) for part in one["content"] if part.get("type") == "thinking"]


def lists(body: bytes) -> list[Any]:
    """The messages whose content is a list."""
    return [one for one in json.loads(body)["messages"] if isinstance(one["content"], list)]


def test_the_beginning_of_a_large_body_names_its_conversation() -> None:
    grown = bytes(range(256)) * (LARGE // 256)
    assert beginning_of(grown) == beginning_of(grown + b"one turn more")
    assert beginning_of(grown) != beginning_of(b"x" + grown)
