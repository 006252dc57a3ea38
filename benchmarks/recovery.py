"""Fill a backend's context to 95, 150 and 300%, through the proxy, and show what comes of it.

    python -m benchmarks.recovery --list-backends
    python -m benchmarks.recovery                                     # every dialect of the test upstream
    python -m benchmarks.recovery --backend groq vllm --fill 150 --shape "long agent run" --stream
    python -m benchmarks.recovery --backend openai --key sk-...       # the real one: this costs money
    python -m benchmarks.recovery --url http://127.0.0.1:8917/v1 --model m --window 1024    # any other server

Without a key each backend is the test upstream, which counts with a tokenizer of its own, enforces a window and refuses in
the backend's words. Run from the root of the repository; the exit status is 1 when anything came out otherwise than expected.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import uvicorn
from pydantic import SecretStr

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the test upstream, when this is run as a file

from tests.support.overflow_upstream import DIALECTS, Log, application, count_request
from tests.support.overfull import CURABLE, INCURABLE, overfull
from turnfold.compression.fold import Folded, conversation_tokens, fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.config.settings import Settings, StoreSettings, UpstreamSettings
from turnfold.proxy.app import build
from turnfold.proxy.chat.receipts import Originals, Receipt

_TEST_WINDOW: Final = 32_768


@dataclass(frozen=True)
class Real:
    """Where a backend really is, a model of its, and the tokens that this takes."""

    url: str
    model: str
    window: int


#: Backends that can be tried for real; the cheapest model of each that has a window of its own.
REAL: Final[dict[str, Real]] = {
    "openai": Real("https://api.openai.com/v1", "gpt-4o-mini", 128_000),
    "anthropic": Real("https://api.anthropic.com/v1", "claude-haiku-4-5", 200_000),
    "gemini": Real("https://generativelanguage.googleapis.com/v1beta/openai", "gemini-2.5-flash-lite", 1_048_576),
    "openrouter": Real("https://openrouter.ai/api/v1", "mistralai/mistral-nemo", 131_072),
    "xai": Real("https://api.x.ai/v1", "grok-3-mini", 131_072),
    "groq": Real("https://api.groq.com/openai/v1", "llama-3.1-8b-instant", 131_072),
    "cerebras": Real("https://api.cerebras.ai/v1", "llama3.1-8b", 8192),
    "mistral": Real("https://api.mistral.ai/v1", "ministral-3b-latest", 131_072),
    "deepseek": Real("https://api.deepseek.com/v1", "deepseek-chat", 131_072),
    "together": Real("https://api.together.xyz/v1", "meta-llama/Llama-3.2-3B-Instruct-Turbo", 131_072),
    "fireworks": Real("https://api.fireworks.ai/inference/v1", "accounts/fireworks/models/llama-v3p1-8b-instruct", 131_072),
}


class Last:
    """A recorder that keeps the last receipt."""

    def __init__(self) -> None:
        self.receipt: Receipt | None = None

    def record(self, receipt: Receipt, sections: Originals) -> None:
        """Keep it."""
        del sections
        self.receipt = receipt


@contextlib.contextmanager
def serve(app: Any, lifespan: Any = "off") -> Iterator[str]:
    """An app on a free port."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan=lifespan))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


@dataclass(frozen=True)
class RecoveryResult:
    """What came of one request."""

    status: int
    verdict: str
    seconds: float
    before: int
    after: int
    reported: int | None
    calls: int | None


def ask(origin: str, body: dict[str, Any], key: str, last: Last, log: Log | None) -> RecoveryResult:
    """One request through the proxy."""
    connection = HTTPConnection(urlsplit(origin).netloc, timeout=600)
    started = time.perf_counter()
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    response = connection.getresponse()
    response.read()
    seconds = time.perf_counter() - started
    connection.close()
    while last.receipt is None:
        time.sleep(0.005)
    receipt, last.receipt = last.receipt, None
    return RecoveryResult(
        response.status,
        str(response.getheader("x-turnfold-status")),
        seconds,
        receipt.tokens_before,
        receipt.tokens_after,
        receipt.usage.prompt_tokens,
        len(log.bodies) if log else None,
    )


@contextlib.contextmanager
def upstream(name: str, real: Real | None, window: int, log: Log) -> Iterator[str]:
    """The base URL of a backend."""
    if real:
        yield real.url
        return
    with serve(application(DIALECTS[name], window, log)) as origin:
        yield f"{origin}/v1"


def real_of(name: str, asked: argparse.Namespace) -> Real | None:
    """The real backend that is asked for; None: the test upstream."""
    if asked.url:
        return Real(asked.url, asked.model, asked.window)
    return REAL[name] if asked.key else None


def request_of_size(shape: str, target: int, model: str, **more: Any) -> dict[str, Any]:
    """A request that the test upstream counts as about `target` tokens."""
    body, size = overfull(shape, target, model=model, **more), target
    for _ in range(4):
        size = max(1, int(size * target / count_request(body)))
        body = overfull(shape, size, model=model, **more)
    return body


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list-backends", action="store_true", help="name them, and where each would really be")
    parser.add_argument("--backend", nargs="+", choices=sorted(DIALECTS), default=sorted(DIALECTS), metavar="NAME")
    parser.add_argument("--fill", nargs="+", type=int, default=[95, 150, 300], metavar="PERCENT")
    parser.add_argument("--shape", choices=[*CURABLE, *INCURABLE], default="long chat")
    parser.add_argument("--window", type=int, default=_TEST_WINDOW, help="tokens that the test upstream takes")
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--no-fold", action="store_true", help="fold nothing that would fit: shows the recovery alone")
    parser.add_argument("--key", help="key of the one backend named: asks the real one")
    parser.add_argument("--url", help="base URL of a real server that is in no list; --model and --window say the rest")
    parser.add_argument("--model", default="test-model")
    asked = parser.parse_args(arguments)
    if asked.list_backends:
        for name in sorted(DIALECTS):
            real = REAL.get(name)
            print(f"{name:18} {f'{real.url}  {real.model}  {real.window:,}' if real else 'test upstream only'}")
        return 0
    if asked.key and (len(asked.backend) != 1 or asked.backend[0] not in REAL):
        parser.error("--key needs one --backend, and one that has a real endpoint (see --list-backends)")
    print(f"{'backend':18} {'fill':>5} {'status':>6} {'turnfold':12} {'ours':>16} {'upstream counted':>17} {'calls':>5} {'s':>6}")
    names = [urlsplit(asked.url).netloc] if asked.url else asked.backend
    return int(sum(run(name, asked) for name in names) > 0)


def run(name: str, asked: argparse.Namespace) -> bool:
    """Every fill of one backend, a fresh proxy each; whether anything was not as expected."""
    odd = False
    real = real_of(name, asked)
    window, model = (real.window, real.model) if real else (asked.window, asked.model)
    for fill in asked.fill:
        log, last = Log(), Last()
        with upstream(name, real, window, log) as url:
            base = Settings.model_construct()
            own_key = SecretStr(asked.key) if asked.key else None
            settings = base.model_copy(
                update={"upstream": UpstreamSettings(url=url, api_key=own_key), "store": StoreSettings(url="memory://")}
            )
            app = build(settings, recorder=last, engine=_only_recovery if asked.no_fold else fold)
            body = request_of_size(asked.shape, window * fill // 100, model, stream=asked.stream, max_tokens=16)
            with serve(app, "on") as origin:
                result = ask(origin, body, asked.key or "none", last, None if real else log)
        answered = asked.shape in CURABLE or fill < 100
        if real is None:  # an error inside a stream has status 200, and so has a prompt that was cut off in silence
            answered |= DIALECTS[name].truncates or (asked.stream and DIALECTS[name].in_stream)
        odd |= (result.status == 200) != answered
        odd |= bool(log.faults) or len(log.bodies) > 2
        print(
            f"{name:18} {fill:4}% {result.status:6} {result.verdict:12} {result.before:7,} > {result.after:6,}"
            f" {result.reported or 0:17,} {result.calls or '-':>5} {result.seconds:6.2f}"
            + ("".join(f"\n    {fault}" for fault in log.faults[:3]))
        )
    return odd


def _only_recovery(conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
    """A fold that leaves everything that has no budget as it is."""
    if options.budget is not None:
        return fold(conversation, options, memo)
    count = conversation_tokens(conversation, options.model, memo)
    return Folded(conversation, conversation, Changes(), False, "short", count, count)


if __name__ == "__main__":
    sys.exit(main())
