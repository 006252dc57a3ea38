"""What a provider's prompt cache makes of a request.

It has price columns, renders a prompt to tokens, and knows the state of a cache between two requests. It neither sends nor folds.

Sources: the providers' pricing pages as of 2026-08. OpenAI up to 5.5: automatic, the longest common prefix with a recent
request, from 1,024 tokens in steps of 128. OpenAI 5.6 and later: hits only where an earlier request ended or carried a
breakpoint. Anthropic: hits only at marks; clients mark their last message.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Literal
from zlib import crc32

from turnfold.compression import tokens
from turnfold.compression.options import CachePrices

Message = dict[str, Any]
Kind = Literal["none", "prefix", "breakpoint", "marks"]

_LEAST: Final = 1024
_STEP: Final = 128
_PICTURE: Final = 255  # tokens of one tile at gpt-4o


@dataclass(frozen=True, slots=True)
class Column:
    """One way of paying: a model's name to ask for, its cache prices, and where its cache hits.

    Attributes:
        least: tokens of the shortest prefix that is cached.
        hour: whether clients ask for a cache that holds for an hour; else it holds for five minutes.
    """

    name: str
    model: str
    prices: CachePrices
    kind: Kind
    least: int = _LEAST
    hour: bool = False

    @property
    def seconds(self) -> float:
        """For which it holds what nobody asks for."""
        return 3600.0 if self.hour else 300.0


COLUMNS: Final = {
    column.name: column
    for column in (
        Column("none", "my-local-model", CachePrices(1, 1), "none"),
        Column("gpt-4o", "gpt-4o", CachePrices(0.5, 1), "prefix"),
        Column("gpt-4.1", "gpt-4.1", CachePrices(0.25, 1), "prefix"),
        Column("gpt-5", "gpt-5", CachePrices(0.1, 1), "prefix"),
        Column("gpt-5.6", "gpt-5.6", CachePrices(0.1, 1.25), "breakpoint"),
        Column("claude", "claude-sonnet-4-5", CachePrices(0.1, 1.25), "marks"),
        Column("claude, 1 h", "claude-sonnet-4-5", CachePrices(0.1, 2.0), "marks", hour=True),
        Column("haiku", "claude-haiku-4-5", CachePrices(0.1, 1.25), "marks", least=4096),
        Column("gemini", "gemini-2.5-pro", CachePrices(0.1, 1), "prefix"),
        Column("deepseek", "deepseek-chat", CachePrices(0.02, 1), "prefix"),
        Column("unlisted", "somebody-large-2", CachePrices(0.1, 1), "prefix"),
    )
}
#: Those that bills are published for.
USUAL: Final = ("none", "gpt-4o", "gpt-4.1", "gpt-5", "gpt-5.6", "claude")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered prompt: its tokens, the positions behind parts that carry a cache mark, and those of them for an hour."""

    tokens: list[int]
    marks: tuple[int, ...] = ()
    hours: frozenset[int] = frozenset()


@lru_cache(maxsize=20_000)
def _encode(text: str) -> list[int]:
    return tokens.encoding("o200k_base").encode_ordinary(text)


def render(messages: Sequence[Message]) -> Prompt:
    """Tokens of a prompt; a message opens with two numbers that no text has."""
    out: list[int] = []
    marks: list[int] = []
    for message in messages:
        out += (-1, -2 - sum(map(ord, str(message.get("role")))))
        content = message.get("content") or ""
        for part in content if isinstance(content, list) else [{"text": content}]:
            out += (
                [-3 - crc32(repr(part).encode())] * _PICTURE
                if part.get("type") == "image_url"
                else _encode(str(part.get("text") or ""))
            )
            if "cache_control" in part or "prompt_cache_breakpoint" in part:
                marks.append(len(out))
        for call in message.get("tool_calls") or ():
            function = call.get("function") or call.get("custom") or {}
            out += _encode(f"{function.get('name', '')} {function.get('arguments', function.get('input', ''))}")
    return Prompt(out, tuple(marks))


_PICTURES: Final = frozenset({"image", "image_url", "input_image"})
_SEALED: Final = frozenset({"encrypted_content", "signature"})
_NAMES: Final = frozenset(
    {"type", "id", "call_id", "tool_use_id", "container_id", "status", "role", "cache_control", "prompt_cache_breakpoint"}
)


def render_body(body: bytes) -> Prompt:
    """Tokens of a request of any wire: tools, instructions, then the history."""
    value = json.loads(body)
    out: list[int] = []
    marks: list[int] = []
    hours: list[int] = []
    history = value.get("messages") or value.get("input") or []
    for item in (*(value.get("tools") or ()), value.get("system"), value.get("instructions"), *history):
        if item is None:
            continue
        kind = f"{item.get('role')}/{item.get('type')}" if isinstance(item, dict) else "instructions"
        out += (-1, -2 - sum(map(ord, kind)))
        for piece in _pieces(item):
            if isinstance(piece, bool):
                marks.append(len(out))
                hours += [len(out)] * piece
            else:
                out += piece
    if value.get("cache_control"):  # the provider sets the mark itself, at the end
        marks.append(len(out))
        hours += [len(out)] * _asks_for_an_hour(value)
    return Prompt(out, tuple(marks), frozenset(hours))


def _asks_for_an_hour(part: dict[str, Any]) -> bool:
    mark = part.get("cache_control")
    return isinstance(mark, dict) and mark.get("ttl") == "1h"


def _pieces(value: Any) -> Iterator[Sequence[int] | bool]:
    """Tokens of a value's texts, in order; where a cache mark stands, whether it asks for an hour."""
    if isinstance(value, str):
        yield _encode(value)
    elif isinstance(value, list):
        for inner in value:
            yield from _pieces(inner)
    elif isinstance(value, dict):
        if value.get("type") in _PICTURES:
            yield [-3 - crc32(json.dumps({k: v for k, v in value.items() if k not in _NAMES}).encode())] * _PICTURE
        else:
            for key, inner in value.items():
                if key in _SEALED:
                    yield [-3 - crc32(str(inner).encode())] * (len(inner) * 3 // 16)
                elif key not in _NAMES:
                    yield from _pieces(inner)
        if "cache_control" in value or "prompt_cache_breakpoint" in value:
            yield _asks_for_an_hour(value)


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the prefix that both share."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


@dataclass(frozen=True, slots=True)
class Cache:
    """What a cache knows after a request: that request, and the positions in it at which a later one may hit."""

    column: Column
    last: Prompt = field(default_factory=lambda: Prompt([]))
    ends: tuple[int, ...] = ()

    def ask(self, prompt: Prompt, cold: bool = False) -> tuple[float, Cache]:
        """The input cost of a request, in uncached input tokens of the model, and the cache after it.

        Where caches hit at marks only, what stands behind the last mark is not written, nor what is too short to be kept.
        """
        hit, after = self.look(prompt, cold)
        prices, size = self.column.prices, len(prompt.tokens)
        end = max(hit, *prompt.marks, 0) if self.column.kind == "marks" else size
        end = end if end >= self.column.least or self.column.kind != "marks" else 0
        return prices.read * hit + prices.write * (end - hit) + (size - end), after

    def look(self, prompt: Prompt, cold: bool = False) -> tuple[int, Cache]:
        """How many tokens of a request come from the cache, and the cache after it.

        Args:
            cold: the provider has forgotten everything (an idle user, another machine).
        """
        shared = common(self.last.tokens, prompt.tokens)
        kind = self.column.kind
        if cold or kind == "none":
            hit = 0
        elif kind == "prefix":
            hit = shared - shared % _STEP if shared >= self.column.least else 0
        else:
            hit = max((end for end in self.ends if self.column.least <= end <= shared), default=0)
        kept = () if cold else tuple(end for end in self.ends if end <= shared)
        new = (*prompt.marks, len(prompt.tokens)) if kind == "breakpoint" else prompt.marks
        return hit, replace(self, last=prompt, ends=(*kept, *new))


def with_mark(messages: Sequence[Message]) -> list[Message]:
    """The messages as Anthropic's clients send them: a cache mark on the last one."""
    last = messages[-1]
    if not isinstance(last.get("content"), str):
        return list(messages)
    part = {"type": "text", "text": last["content"], "cache_control": {"type": "ephemeral"}}
    return [*messages[:-1], {**last, "content": [part]}]
