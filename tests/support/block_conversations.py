"""Random conversations of Anthropic's messages API, as agents and SDKs write them.

A conversation is made from a seed and a few switches, which Hypothesis strategies draw. What comes out of it is judged in
``messages_api.py``.

Everything is made from a seed, so that a conversation of 50,000 tokens is drawn in no time.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from hypothesis import strategies as st

from tests.support import words

Block = dict[str, Any]
Message = dict[str, Any]

MARK: Final[Block] = {"cache_control": {"type": "ephemeral"}}
TOOLS: Final[list[Block]] = [
    {"name": name, "description": f"{name} for the harbour desk.", "input_schema": {"type": "object", "properties": {}}}
    for name in ("Read", "Grep", "count")
]
_ASKED: Final = ("continue", "Which crate was it?", "From now on answer in French.", "And the reference of the copper valves?")
_REMINDER: Final = "<system-reminder>The todo list is empty.</system-reminder>"


@dataclass(frozen=True, slots=True)
class Kind:
    """What a conversation is like.

    Attributes:
        turns: user turns.
        loops: tool calls of a turn at most.
        sentences: length of a text at most.
        thinks: share of assistant messages that think, 0 to 1.
        odd: whether it has images, hosted tools, citations, unknown blocks and odd orders in it.
        marks: whether the client marks its system text and its last two messages for the cache.
    """

    turns: int = 6
    loops: int = 3
    sentences: int = 30
    thinks: float = 0.0
    odd: bool = False
    marks: bool = False


class _Maker:
    """Makes one conversation; lives for one call of `conversation`."""

    def __init__(self, seed: int, kind: Kind) -> None:
        self.random, self.kind, self.count = Random(seed), kind, 0

    def number(self) -> int:
        self.count += 1
        return self.count

    def odd(self, share: float = 0.15) -> bool:
        return self.kind.odd and self.random.random() < share

    def prose(self, most: int | None = None) -> str:
        return words.prose(self.random.randrange(2**16), "en", self.random.randint(1, most or self.kind.sentences))

    def text(self, most: int | None = None) -> Block:
        return {"type": "text", "text": self.prose(most)}

    def image(self) -> Block:
        size = (64 + self.random.randrange(2000)).to_bytes(4, "big") * 2
        data = base64.b64encode(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + size + bytes(80)).decode()
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}

    def user(self) -> Message:
        text = self.random.choice([self.prose(), self.prose(), self.random.choice(_ASKED)])
        if self.odd():
            return {"role": "user", "content": [self.image(), {"type": "text", "text": text}]}
        if self.odd(0.05):
            return {
                "role": "user",
                "content": [{"type": "container_upload", "file_id": "file_1"}, {"type": "text", "text": text}],
            }
        # A client that marks its messages writes them as blocks from the start: a string that becomes one unbinds the thinking.
        as_string = not self.kind.marks and self.random.random() < 0.5
        content: str | list[Block] = text if as_string else [{"type": "text", "text": text}]
        return {"role": "user", "content": content}

    def thinking(self) -> list[Block]:
        if self.random.random() >= self.kind.thinks:
            return []
        signature = f"sig-{self.number()}"
        if self.odd():
            return [{"type": "redacted_thinking", "data": signature}]
        return [{"type": "thinking", "thinking": self.prose(6), "signature": signature}]

    def assistant(self, calls: int) -> Message:
        content = self.thinking()
        if self.odd(0.1):
            use = f"srvtoolu_{self.number()}"
            content += [
                {"type": "server_tool_use", "id": use, "name": "web_search", "input": {"query": "tides"}},
                {"type": "web_search_tool_result", "tool_use_id": use, "content": [{"type": "web_search_result", "url": "x"}]},
            ]
        if not calls or self.random.random() < 0.6:
            content.append(self.text(8 if calls else None))
            if self.odd(0.1):
                content[-1]["citations"] = [{"type": "char_location", "cited_text": "tide"}]
        if calls and self.kind.thinks and self.odd():
            content += self.thinking()
        content += [self.call() for _ in range(calls)]
        if self.kind.thinks and self.odd(0.05) and not calls:
            content = self.thinking() or content
        if len(content) == 1 and content[0]["type"] == "text" and self.random.random() < 0.3:
            return {"role": "assistant", "content": content[0]["text"]}
        return {"role": "assistant", "content": content}

    def call(self) -> Block:
        name = self.random.choice(TOOLS)["name"]
        inputs: Block = {"path": f"notes/{self.count}.md", "n": 1.50}
        if self.random.random() < 0.3:
            inputs["text"] = self.prose()
        return {"type": "tool_use", "id": f"toolu_{self.number()}", "name": name, "input": inputs}

    def result(self, call: Block) -> Block:
        text = words.text_of_kind(self.random.choice(sorted(words.KINDS)), self.random.randrange(2**16))
        if self.random.random() < 0.4:
            text = self.prose()
        found: Block = {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": text}]}
        form = self.random.random()
        if form < 0.3:
            found["content"] = text
        elif self.odd(0.5):
            found["content"] = self.random.choice(
                [
                    [{"type": "text", "text": text}, self.image()],
                    [{"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": text}]}],
                    [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}],
                    [{"type": "tool_reference", "tool_name": "count"}],
                    [],
                ]
            )
        if self.odd():
            found["is_error"] = True
        return found

    def results(self, assistant: Message) -> Message:
        content = [self.result(block) for block in assistant["content"] if block["type"] == "tool_use"]
        if self.odd(0.2):
            content.append({"type": "text", "text": self.random.choice([_REMINDER, self.prose(2)])})
        return {"role": "user", "content": content}

    def messages(self) -> list[Message]:
        found: list[Message] = []
        for _ in range(self.kind.turns):
            found.append(self.user())
            for _ in range(self.random.randint(0, self.kind.loops)):
                found.append(self.assistant(self.random.choice([1, 1, 1, 2])))
                found.append(self.results(found[-1]))
            found.append(self.assistant(0))
        return [*found, self.user()]


def conversation(seed: int, kind: Kind) -> list[Message]:
    """The messages of one conversation, up to a message of the user's."""
    return _Maker(seed, kind).messages()


def requests_of(messages: list[Message], kind: Kind = Kind()) -> list[bytes]:
    """The bodies that a client sends as the conversation grows: one before each message of the assistant's, and the last."""
    ends = [i for i, m in enumerate(messages) if m["role"] == "assistant"]
    return [encode(messages[:end], kind) for end in (*ends, len(messages))]


def encode(messages: list[Message], kind: Kind = Kind(), **keys: Any) -> bytes:
    """A body as an agent sends it: with tools and a system text, and marks where its kind has them."""
    system: list[Block] = [{"type": "text", "text": "You run the harbour desk. Never book bay 7."}]
    if kind.marks:
        system[0] |= MARK
        messages = [_marked(m) if m["role"] == "user" and i >= len(messages) - 3 else m for i, m in enumerate(messages)]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 1024, "system": system, "tools": TOOLS, "messages": messages, **keys}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _marked(message: Message) -> Message:
    """A message with a mark on its last block; a string becomes a block, as clients write it."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {"role": message["role"], "content": [*blocks[:-1], blocks[-1] | MARK]}


def kinds(**fixed: Any) -> st.SearchStrategy[Kind]:
    """Any kind of conversation."""
    return st.builds(
        Kind,
        **{
            "turns": st.integers(1, 7),
            "loops": st.integers(0, 4),
            "sentences": st.integers(2, 36),
            "thinks": st.sampled_from([0.0, 0.5, 1.0]),
            "odd": st.booleans(),
            "marks": st.booleans(),
        }
        | {key: st.just(value) for key, value in fixed.items()},
    )


SEEDS: Final = st.integers(0, 2**24)
