"""Anthropic's prompt cache as it looks for what it knows, and sessions of agents that use it.

The cache hits only where an earlier request had a mark, at most so many blocks in front of a mark of this one; a coding agent's
requests have marks where Claude Code sets them. Prices are in ``caches``.

Source: Anthropic, "Prompt caching" (2026-08): an entry is written at each breakpoint; for a breakpoint the API looks for an entry
at its place, then block by block in front of it, about 20 blocks far.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from random import Random
from typing import Any, Final

from turnfold.compression import tokens

Block = dict[str, Any]
Message = dict[str, Any]

LOOK_BACK: Final = 20  # blocks
_MARK: Final = "cache_control"
_EPHEMERAL: Final[Block] = {_MARK: {"type": "ephemeral"}}


@dataclass(frozen=True, slots=True)
class RenderedBlock:
    """A content block in its place: the digest of all through it, tokens through it, whether it carries a mark."""

    prefix: bytes
    tokens: int
    marked: bool


def render(body: bytes) -> list[RenderedBlock]:
    """Tools, system and messages as one row of blocks."""
    running, total = blake2b(digest_size=16), 0
    out = []
    for role, block in _blocks(json.loads(body)):
        bare = json.dumps([role, _without_marks(block)])
        running.update(bare.encode())
        total += _tokens(bare)
        out.append(RenderedBlock(running.digest(), total, _MARK in block))
    return out


@lru_cache(maxsize=100_000)
def _tokens(text: str) -> int:
    return tokens.count(text)


def _blocks(body: Any) -> Iterator[tuple[str, Block]]:
    yield from (("tool", tool) for tool in body.get("tools") or ())
    yield from (("system", block) for block in _listed(body.get("system") or []))
    for number, message in enumerate(body["messages"]):
        yield from ((f"{message['role']}{number}", block) for block in _listed(message["content"]))


def _listed(content: Any) -> list[Block]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_marks(inner) for key, inner in value.items() if key != _MARK}
    return [_without_marks(inner) for inner in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Look:
    """What one request found.

    Attributes:
        read: tokens that came from the cache.
        sent: tokens of the request.
        missed: whether it found less than all that the request before it had marked.
    """

    read: int
    sent: int
    missed: bool


@dataclass(slots=True)
class LookbackCache:
    """The cache of one conversation; it never forgets."""

    entries: set[bytes] = field(default_factory=set)
    marked: int = 0  # tokens through the last mark of the request before

    def ask(self, body: bytes) -> Look:
        """A request, and what the cache knows after it."""
        row = render(body)
        marks = [i for i, block in enumerate(row) if block.marked]
        hit = next((row[at].tokens for mark in reversed(marks) if (at := self._find(row, mark)) is not None), 0)
        look = Look(hit, row[-1].tokens, hit < self.marked)
        self.entries |= {row[mark].prefix for mark in marks}
        self.marked = row[marks[-1]].tokens if marks else 0
        return look

    def _find(self, row: Sequence[RenderedBlock], mark: int) -> int | None:
        places = range(mark, max(-1, mark - LOOK_BACK - 1), -1)
        return next((at for at in places if row[at].prefix in self.entries), None)


# ---------------------------------------------------------------- sessions


@dataclass(frozen=True, slots=True)
class Session:
    """What a coding agent's session is like.

    Attributes:
        turns: questions of the user's.
        loop: requests of a turn at most.
        parallel: calls that one answer makes at most.
        result: words of a tool's result at most.
        thinks: whether every answer begins with thinking.
        strings: whether a message that carries no mark is written as a string where it can be.
    """

    turns: int = 24
    loop: int = 16
    parallel: int = 4
    result: int = 250
    thinks: bool = False
    strings: bool = False


_SENTENCE: Final = (
    "the valve of crane seven opens the record parser reads config values tide berth harbour index build cache fails when a queue"
    " drains before its writer closes and the retry budget of the client is spent on a socket that nobody owns any more"
)
_WORDS: Final = tuple(_SENTENCE.split())


def _prose(random: Random, words: int) -> str:
    said = [random.choice(_WORDS) for _ in range(words)]
    said[:: max(1, words // 9)] = [f"ref-{random.randrange(10**6)}" for _ in said[:: max(1, words // 9)]]
    return " ".join(f"{word}." if i % 13 == 12 else word for i, word in enumerate(said))


def session(seed: int, kind: Session) -> list[Message]:
    """The messages of a session, up to one of the user's."""
    random, found, count = Random(seed), [], 0
    for turn in range(kind.turns):
        found.append(
            {"role": "user", "content": [{"type": "text", "text": f"Task {turn}: {_prose(random, random.randint(5, 120))}"}]}
        )
        for _ in range(random.randint(1, kind.loop)):
            calls = []
            for _ in range(random.randint(1, kind.parallel)):
                count += 1
                path = {"command": f"look src/part_{random.randrange(60)}.rs --line {random.randrange(900)}"}
                calls.append({"type": "tool_use", "id": f"toolu_{count}", "name": "Run", "input": path})
            found.append({"role": "assistant", "content": [*_opening(random, kind, count), *calls]})
            results = [
                {"type": "tool_result", "tool_use_id": c["id"], "content": [{"type": "text", "text": _result(random, kind)}]}
                for c in calls
            ]
            found.append({"role": "user", "content": results})
        said = {"type": "text", "text": f"Done with {turn}. {_prose(random, random.randint(10, 150))}"}
        found.append({"role": "assistant", "content": [*_opening(random, kind, -count)[: int(kind.thinks)], said]})
    return [*found, {"role": "user", "content": [{"type": "text", "text": "And what was the reference of task 3?"}]}]


def _result(random: Random, kind: Session) -> str:
    lines = random.randint(1, max(1, kind.result // 12))
    return "\n".join(f"{i}: {_prose(random, 11)}" for i in range(lines))


def _opening(random: Random, kind: Session, number: int) -> list[Block]:
    thought = [{"type": "thinking", "thinking": _prose(random, 30), "signature": f"sig{number}"}] if kind.thinks else []
    return [*thought, {"type": "text", "text": _prose(random, random.randint(3, 30))}]


def requests(messages: Sequence[Message], kind: Session, model: str) -> Iterator[bytes]:
    """What the agent sends: a request before each answer, and one at the end."""
    ends = [i for i, m in enumerate(messages) if m["role"] == "assistant"]
    for end in (*ends, len(messages)):
        yield _encode(messages[:end], kind, model)


def _encode(messages: Sequence[Message], kind: Session, model: str) -> bytes:
    """Marks on the tools, the system text and the last two messages, as Claude Code has them."""
    tools = [{"name": name, "description": f"{name} it.", "input_schema": {"type": "object"}} for name in ("Run", "Read", "Edit")]
    tools[-1] |= _EPHEMERAL
    system = [{"type": "text", "text": "You are a coding agent."}, {"type": "text", "text": "Be brief. " * 200} | _EPHEMERAL]
    last = len(messages) - 2
    sent = [_marked(m) if i >= last else _plain(m, kind) for i, m in enumerate(messages)]
    body = {"model": model, "max_tokens": 1024, "system": system, "tools": tools, "messages": sent}
    return json.dumps(body, separators=(",", ":")).encode()


def _marked(message: Message) -> Message:
    content = list(message["content"])
    at = max(i for i, block in enumerate(content) if block["type"] != "thinking")
    content[at] = content[at] | _EPHEMERAL
    return {**message, "content": content}


def _plain(message: Message, kind: Session) -> Message:
    content = message["content"]
    if kind.strings and len(content) == 1 and content[0]["type"] == "text":
        return {**message, "content": content[0]["text"]}
    return message
