"""Messages of small talk, for whatever makes conversations shorter.

The same arguments give the same messages. Random conversations are in ``conversations``.
"""

from __future__ import annotations

import itertools
from typing import Any

Message = dict[str, Any]

FENCE = "```python\ndef f(x):\n    return x * 3.14159\n```"

CHAT = [
    "Hello there, nice to talk to you again today.",
    "The weather has been lovely, has it not?",
    "I had soup for lunch and it was quite all right.",
    "Sure, that sounds good to me, thanks a lot.",
    "Let me think about it for a little while.",
    "Well, there is not that much to say about it.",
    "You know how it goes on a quiet morning like this.",
]
ORDERS = list(itertools.permutations(CHAT, 5))


def talk(turns: int, said: str = "", at: int = 0) -> list[Message]:
    """Small talk of user and assistant in turn, with something of weight in one message."""
    messages = []
    for i in range(turns):
        text = " ".join(ORDERS[37 * i % len(ORDERS)])
        messages.append({"role": ("user", "assistant")[i % 2], "content": f"{text} {said} {text}" if i == at and said else text})
    return messages


def text_of(messages: list[Any]) -> str:
    return "\n".join(str(message.get("content")) for message in messages)


def chat(count: int) -> list[Message]:
    """Distinct messages."""
    return [
        {
            "role": ("user", "assistant")[n % 2],
            "content": f"Pump {n} held {n % 90} bar at pier {n % 13}. {CHAT[n % 6]} {CHAT[n % 5]}",
        }
        for n in range(count)
    ]
