"""Chats that grow turn by turn, as requests that a provider would get, made from a seed.

It has a request of a use, and a chat. The ways in which chats are used are in ``uses``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.support.words import prose

Body = dict[str, Any]
Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sent:
    """A request of a use.

    Attributes:
        body: without its model, unless the client chooses another one.
        wire: "chat", "messages" or "responses".
        pause: seconds since the one before.
        beside: others that are sent at the same time.
        does: what becomes of it: "fails"; "left": nobody is told the usage; "" for an ordinary answer.
    """

    body: Body
    wire: str = "chat"
    pause: float = 20.0
    beside: tuple[Body, ...] = ()
    does: str = ""


@dataclass(slots=True)
class Chat:
    """A chat that grows, on any wire."""

    seed: str
    says: tuple[int, int] = (12, 30)
    asks: tuple[int, int] = (1, 3)
    system: str = "You are the clerk of a harbour. Follow the manual of the harbour desk."
    messages: list[Item] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    draw: Random = field(init=False)

    def __post_init__(self) -> None:
        self.draw = Random(self.seed)

    def text(self, sentences: int) -> str:
        """So many new sentences."""
        return prose(self.draw.randrange(10**9), "en", sentences)

    def ask(self, text: str = "", front: str = "") -> None:
        """The user says something; in half of all cases about something that was said."""
        about = ""
        if self.said and self.draw.random() < 0.5:
            about = f" What was it with this: {self.draw.choice(self.draw.choice(self.said).split('. '))[:120]}?"
        self.messages.append({"role": "user", "content": front + (text or self.text(self.draw.randint(*self.asks)) + about)})

    def answer(self, text: str = "") -> None:
        """The model answers."""
        answer = text or self.text(self.draw.randint(*self.says))
        self.messages.append({"role": "assistant", "content": answer})
        self.said.append(answer)

    def turn(self) -> Body:
        """The user asks and is answered; the request."""
        self.ask()
        body = self.body()
        self.answer()
        return body

    def step(self, lines: int) -> Body:
        """A tool is called and answers; the request behind it."""
        draw, name = self.draw, f"call_{len(self.messages)}"
        rows = (f"{n:4}: def load_{draw.randrange(999)}(path): return {draw.randrange(10**6)}" for n in range(lines))
        result = {"role": "tool", "tool_call_id": name, "content": "\n".join(rows)}
        function = {"name": "read", "arguments": json.dumps({"path": f"src/part_{draw.randrange(99)}.py"})}
        call = {"id": name, "type": "function", "function": function}
        self.messages += [{"role": "assistant", "content": None, "tool_calls": [call]}, result]
        return self.body()

    def body(self, messages: Sequence[Item] | None = None, system: str | None = None, **more: Any) -> Body:
        """The request now."""
        front = [{"role": "system", "content": self.system if system is None else system}]
        return {"messages": [*front, *(self.messages if messages is None else messages)], **more}

    def branch(self, messages: int) -> Chat:
        """Another chat that begins with so many of its messages."""
        other = Chat(f"{self.seed}/{messages}/{self.draw.random()}", self.says, self.asks, self.system)
        other.messages, other.said = self.messages[:messages], list(self.said[: messages // 2])
        return other
