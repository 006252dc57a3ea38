"""Requests that fill a context in different ways.

It makes them from a seed; tests send them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, Final

Body = dict[str, Any]

_VOCABULARY: Final = (
    "the quick system reports latency of a service database migration window index customer order invoice retry cache shard "
    "token deploy rollback Monday error because number region queue worker backup schema replica traffic budget meeting"
)
_WORDS: Final = _VOCABULARY.split()
_SYSTEM: Final = {"role": "system", "content": "You are a careful assistant. Always answer in English."}
_TOOL: Final[Body] = {
    "type": "function",
    "function": {
        "name": "read",
        "description": "Reads a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
}


class Writer:
    """Sentences from a seed; about one and a third of a token a word."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def prose(self, tokens: int) -> str:
        """A text of about so many tokens (o200k)."""
        out: list[str] = []
        left = tokens
        while left > 0:
            words = self._random.choices(_WORDS, k=self._random.randint(6, 16))
            out.append(" ".join(words).capitalize() + f" {self._random.randint(1, 9999)}.")
            left -= len(words) + 3
        return " ".join(out)

    def user(self, tokens: int) -> Body:
        """A user message."""
        return {"role": "user", "content": self.prose(tokens)}

    def assistant(self, tokens: int) -> Body:
        """An assistant message."""
        return {"role": "assistant", "content": self.prose(tokens)}

    def step(self, number: int, tokens: int) -> list[Body]:
        """A tool call and its result."""
        arguments = json.dumps({"path": f"/src/module_{number}.py"})
        call = {"id": f"call_{number}", "type": "function", "function": {"name": "read", "arguments": arguments}}
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": self.prose(tokens)},
        ]


def _giant(w: Writer, n: int) -> Body:
    return {"messages": [_SYSTEM, w.user(n)]}


def _two_giants(w: Writer, n: int) -> Body:
    return {"messages": [_SYSTEM, w.user(n // 2), w.assistant(30), w.user(n // 2)]}


def _giant_result(w: Writer, n: int) -> Body:
    return {"tools": [_TOOL], "messages": [_SYSTEM, w.user(40), *w.step(1, n)]}


def _long_chat(w: Writer, n: int) -> Body:
    turns = [m for _ in range(n // 130) for m in (w.user(30), w.assistant(100))]
    return {"messages": [_SYSTEM, *turns, w.user(30)]}


def _agent_run(w: Writer, n: int) -> Body:
    steps = [m for i in range(n // 270) for m in w.step(i, 250)]
    return {"tools": [_TOOL], "messages": [_SYSTEM, w.user(60), *steps]}


def _giant_system(w: Writer, n: int) -> Body:
    return {"messages": [{"role": "system", "content": w.prose(n)}, w.user(30)]}


def _huge_schema(w: Writer, n: int) -> Body:
    functions = [{**_TOOL["function"], "name": f"f{i}", "description": w.prose(80)} for i in range(n // 100)]
    return {"tools": [{"type": "function", "function": f} for f in functions], "messages": [_SYSTEM, w.user(30)]}


#: Ways to fill a context that can be recovered from.
CURABLE: Final[dict[str, Callable[[Writer, int], Body]]] = {
    "giant user message": _giant,
    "two giant messages": _two_giants,
    "giant tool result": _giant_result,
    "long chat": _long_chat,
    "long agent run": _agent_run,
}
#: Ways that cannot: what fills the context may not be touched.
INCURABLE: Final[dict[str, Callable[[Writer, int], Body]]] = {
    "giant system prompt": _giant_system,
    "huge tool schema": _huge_schema,
}


def overfull(shape: str, tokens: int, seed: int = 1, **more: Any) -> Body:
    """A request of a shape, of at least about so many tokens (o200k)."""
    make = (CURABLE | INCURABLE)[shape]
    return {"model": more.pop("model", "m"), **make(Writer(seed), tokens), **more}
