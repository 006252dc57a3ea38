"""What the tests' own servers promise."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from tests.proxy.harness import Running, StartProxy, UpstreamServer, halve, until
from turnfold.compression.fold import Folded
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.conversation import Conversation


def test_a_server_at_rest_has_seen_all_that_was_sent(
    upstream: UpstreamServer, shared_upstream: tuple[UpstreamServer, Running]
) -> None:
    """Or the next test would see it."""
    _, server = shared_upstream
    host, port = server.origin.removeprefix("http://").split(":")
    with ExitStack() as stack:
        for number in range(1, 21):
            client = stack.enter_context(socket.create_connection((host, int(port))))
            client.sendall(b"GET /v1/models HTTP/1.1\r\nhost: h\r\n\r\n")
            server.rest()
            assert len(upstream.seen) == number


def test_a_receipt_that_comes_behind_its_answer_is_forgotten_with_the_test_that_asked(
    upstream: UpstreamServer, start_proxy: StartProxy
) -> None:
    """Or the next test would find one too many. What is only observed is folded behind its answer."""
    go_on = threading.Event()

    def slow(conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
        assert go_on.wait(60)
        return halve(conversation, options, memo)

    proxy = start_proxy(upstream.origin + "/v1", fold=slow, folding={"mode": "observe"})
    proxy.chat({"model": "gpt-4o", "messages": [{"role": "user", "content": text} for text in ("one", "two")]})
    rested = threading.Event()

    def rest() -> None:
        settle()
        rested.set()

    settle, proxy.recorder.settle = proxy.recorder.settle, rest
    with ThreadPoolExecutor(1) as pool:
        forgotten = pool.submit(proxy.recorder.reset)
        until(lambda: upstream.seen)
        assert not rested.wait(0.1), "the receipt is still to come"
        go_on.set()
        forgotten.result(60)
    assert proxy.recorder.so_far == []
