"""What is fuzzed, and what must hold of it.

There is one function for each target, which raises when a promise is broken, with inputs to start from. Mutations and time are in
``benchmarks.fuzz``.

A target raises nothing for any bytes but when something of ours is wrong: the refusals that are promised are caught here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from benchmarks.support.shell_fuzz_targets import addresses, records, shell_corpus, worker
from tests.support.answering_upstream import Answers, chat_events, encode, messages_events, responses_events
from tests.support.words import prose
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fold import fold, unfold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.shorten.birth import shape
from turnfold.compression.shorten.registry import facts
from turnfold.compression.shorten.terse_prose.compress import compress, expand
from turnfold.compression.state import preprocess_heuristic, validate_preprocessor_output, why_ordinary
from turnfold.compression.state.grammar import parse
from turnfold.compression.text.dialogue.standing.orders import standing_orders
from turnfold.compression.text.kinds import kind_of, parts
from turnfold.compression.text.names.entities import entities
from turnfold.compression.text.private import Redactor, redact_json
from turnfold.compression.text.protect import protected_spans
from turnfold.compression.text.sentences import sentences
from turnfold.compression.text.spans import Span
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES
from turnfold.proxy.chat.usage import UsageReader

Target = Callable[[bytes], None]

_CASES: Final = Path(__file__).resolve().parents[2] / "tests" / "compression"
_WORDS: Final = frozenset({"error", "valves", "lemons"})
_KEEP: Final = 100
#: So that even short conversations are folded.
_OPTIONS: Final = FoldOptions(budget=120, model="gpt-4o")


def _text(data: bytes) -> str:
    """Text as it is read from JSON: lone surrogates are possible."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _count(text: str) -> int:
    return len(text) // 4


def _body(wire: Wire, data: bytes) -> None:
    memo = Memo()
    try:
        conversation = wire.read(data, memo)
    except FoldRejected:
        return
    assert conversation.body == data, "a body that was read is another one"
    folded = fold(conversation, _OPTIONS, memo)
    assert unfold(folded) == data, "what was folded is not had back"
    json.loads(folded.body)


def _tiles(text: str, spans: list[Span]) -> None:
    at = 0
    for span in spans:
        assert span.start == at, "a gap, or an overlap"
        at = span.end
    assert at == len(text), "not all of it"


def _kinds(data: bytes) -> None:
    text = _text(data)
    _tiles(text, parts(text))
    kind_of(text)
    facts(text, _KEEP, _WORDS, _count)


def _birth(data: bytes) -> None:
    text = _text(data)
    assert len(shape(text, _count)) <= len(text) + 200, "a form that is longer"


def _spans(data: bytes) -> None:
    text = _text(data)
    at = 0
    for span in protected_spans(text):
        assert at <= span.start < span.end <= len(text), "spans overlap, or are none"
        at = span.end


def _prose(data: bytes) -> None:
    text = _text(data)
    end = 0
    for span in sentences(text):
        assert end <= span.start <= span.end <= len(text), "sentences overlap"
        end = span.end
    standing_orders(text)
    for found in entities(text):
        assert found.text, "a name without a letter"


def _terse(data: bytes) -> None:
    text = _text(data)
    for intensity in ("lite", "full", "ultra"):
        short = compress(text, intensity)
        expand(short.text, short.receipt)


def _state(data: bytes) -> None:
    text = _text(data)
    parse(text)
    why_ordinary(text)
    preprocess_heuristic(text)
    validate_preprocessor_output(text, source_input=text)


def _private(data: bytes) -> None:
    text = _text(data)
    Redactor()(text)
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return
    json.loads(redact_json(text))


def _events(data: bytes) -> None:
    """However a stream is cut, the same is read from it."""
    whole = UsageReader()
    whole.feed(data)
    if len(data) < 20_000:
        for size in (1, 7, 64, 1000):
            pieces = UsageReader()
            for start in range(0, len(data), size):
                pieces.feed(data[start : start + size])
            assert pieces.usage == whole.usage, f"in pieces of {size}: {pieces.usage} and not {whole.usage}"
            assert pieces.model == whole.model, f"in pieces of {size}: {pieces.model!r} and not {whole.model!r}"
    for coding in ("gzip", "deflate", "zstd", "br"):
        UsageReader(coding).feed(data)


TARGETS: Final[Mapping[str, Target]] = MappingProxyType(
    {
        "chat": partial(_body, CHAT),
        "responses": partial(_body, RESPONSES),
        "messages": partial(_body, MESSAGES),
        "kinds": _kinds,
        "birth": _birth,
        "spans": _spans,
        "prose": _prose,
        "terse": _terse,
        "state": _state,
        "private": _private,
        "events": _events,
        "records": records,
        "addresses": addresses,
        "worker": worker,
    }
)

_DIRECTIVES: Final = (
    "set premise we write for children",
    "change premise to we write for pilots",
    "use metric units",
    "prohibit passive voice",
    "use celsius instead of kelvin",
    "remove policy metric units",
    '{"classification": "directive", "output": "use metric units"}',
    "From now on, never call me before nine.",
)


def _talk(key: str, tools: list[dict[str, object]]) -> bytes:
    turns: list[dict[str, object]] = [
        {"role": ("user", "assistant")[i % 2], "content": prose(i, "en", 3) + f"\n```py\nx = {i}\n```"} for i in range(8)
    ]
    body = {"model": "gpt-4o", "max_tokens": 9, key: [*turns[:2], *tools, *turns[2:], {"role": "user", "content": "And?"}]}
    return json.dumps(body).encode()


def _bodies(name: str) -> list[bytes]:
    if name == "chat":
        call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": [1, 2]}'}}
        tools: list[dict[str, object]] = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": json.dumps([{"id": i, "v": prose(i, "en", 1)} for i in range(9)])},
        ]
        return [_talk("messages", []), _talk("messages", tools)]
    if name == "responses":
        tools = [
            {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "abc"},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": prose(3, "en", 20)},
        ]
        return [_talk("input", []), _talk("input", tools), b'{"model": "m", "input": "hi"}']
    use = {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": prose(3, "en", 20)}]}
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    tools = [
        {"role": "assistant", "content": [thought, use]},
        {"role": "user", "content": [result, {"type": "text", "text": "go on", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": "ok"},
    ]
    return [_talk("messages", []), _talk("messages", [{"role": "user", "content": "x"}, *tools])]


def _streams() -> list[bytes]:
    answers = Answers()
    asked = {"model": "gpt-4o", "messages": [], "input": []}
    made = [
        encode(chat_events(answers.chat(asked, 4000)), "chat"),
        encode(responses_events(answers.responses(asked, 4000)), "responses"),
        encode(messages_events(answers.messages(asked, 4000)), "messages"),
    ]
    return [*made, json.dumps(answers.chat(asked, 400)).encode()]


def corpus(name: str) -> list[bytes]:
    """Inputs to start from."""
    if name in {"chat", "responses", "messages"}:
        return [*_bodies(name), b"{}"]
    if name == "events":
        return _streams()
    if name in {"records", "addresses", "worker"}:
        return shell_corpus(name)
    if name == "state":
        return [line.encode() for line in _DIRECTIVES]
    texts = [path.read_bytes()[:6000] for path in sorted((_CASES / "shorten" / "corpus").glob("*.txt"))]
    texts += [path.read_bytes()[:6000] for path in sorted((_CASES / "shorten" / "cases").glob("*/*.txt"))]
    return [*texts, prose(1, "en", 30).encode(), prose(2, "ja", 20).encode(), b"<private>a</private> b"]
