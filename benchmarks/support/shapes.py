"""Conversations of many shapes, made from a seed, on the wire that a price column's clients speak.

It has neutral turns, the shapes they come in, and the requests that a client sends of them. Folding, caches and bills are
elsewhere.

Half of the questions name something that was said before, so that recall has something to quote.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, NamedTuple

from benchmarks.support.caches import Column, with_mark
from tests.support.bodies import encode
from tests.support.words import prose, sentence
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

Item = dict[str, Any]

_MARK: Final[Item] = {"cache_control": {"type": "ephemeral"}}
_HOUR_MARK: Final[Item] = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
_PNG: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAgAAAAIACAIAAAB7GkOtAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # 512 by 512 pixels
)
_LONG_PAUSE: Final = 1200.0


class Request(NamedTuple):
    """A request as a client sends it.

    Attributes:
        loop: whether a tool's result ends it.
        pause: seconds since the one before.
    """

    wire: Wire
    body: bytes
    loop: bool = False
    pause: float = 1.0


class Step(NamedTuple):
    """A call of a tool, and its result."""

    argument: str
    result: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A user's message, what the model did and what it said.

    Attributes:
        computed: the output of a hosted tool, which stands in the answer.
        picture: whether a picture comes with the message.
        pause: seconds before it.
    """

    asks: str
    says: str
    steps: tuple[Step, ...] = ()
    computed: str = ""
    picture: bool = False
    pause: float = 1.0


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation that nobody has put on a wire yet.

    Attributes:
        sealed: tokens of encrypted or signed reasoning in front of each answer and each call; 0 for none.
    """

    system: str
    turns: tuple[Turn, ...]
    sealed: int = 0


# ---------------------------------------------------------------- shapes


def _ask(draw: Random, said: Sequence[str], sentences: int) -> str:
    """A question, about something that was said in half of all cases."""
    about = ""
    if said and draw.random() < 0.5:
        lines = draw.choice(said).split(". ")
        about = f" What was it with this: {draw.choice(lines)[:120]}?"
    return prose(draw.randrange(10**9), "en", sentences) + about


def _chat(draw: Random, turns: int, asks: tuple[int, int], says: tuple[int, int], pauses: float = 0.0) -> Iterator[Turn]:
    """Turns of so many sentences; before a share of them the user is away."""
    said: list[str] = []
    for _ in range(turns):
        answer = prose(draw.randrange(10**9), "en", draw.randint(*says))
        pause = _LONG_PAUSE if draw.random() < pauses else 20.0
        yield Turn(_ask(draw, said, draw.randint(*asks)), answer, pause=pause)
        said.append(answer)


def _code(draw: Random, lines: int) -> str:
    return "\n".join(
        f"{k:4}: def {draw.choice(['load', 'save', 'count'])}_{draw.randrange(999)}(path): return {draw.randrange(10**6)}"
        for k in range(lines)
    )


def _agent(draw: Random, turns: int, steps: tuple[int, int], lines: tuple[int, int]) -> Iterator[Turn]:
    """A coding agent: each turn reads files."""
    for _ in range(turns):
        done = tuple(
            Step(f"src/part_{draw.randrange(99)}.py", _code(draw, draw.randint(*lines))) for _ in range(draw.randint(*steps))
        )
        yield Turn(_ask(draw, (), 2), prose(draw.randrange(10**9), "en", 3), done)


def _retrieval(draw: Random, turns: int) -> Iterator[Turn]:
    """Answers from passages that a tool finds."""
    for _ in range(turns):
        found = [{"title": sentence(draw, "en"), "text": prose(draw.randrange(10**9), "en", 14)} for _ in range(5)]
        yield Turn(_ask(draw, (), 1), prose(draw.randrange(10**9), "en", 6), (Step("passages", json.dumps(found)),))


def _hosted(draw: Random, turns: int) -> Iterator[Turn]:
    for turn in _chat(draw, turns, (1, 2), (10, 20)):
        rows = [f"crate {draw.randrange(10**6)} stands in bay {draw.randrange(900)}" for _ in range(40)]
        yield Turn(turn.asks, turn.says, computed="\n".join(rows))


def _pictures(draw: Random, turns: int) -> Iterator[Turn]:
    for number, turn in enumerate(_chat(draw, turns, (1, 3), (8, 20))):
        yield Turn(turn.asks, turn.says, picture=number % 3 == 0)


def _system(words: int) -> str:
    return "Follow the manual of the harbour desk. " * (words // 7)


def _one_huge(draw: Random, turns: int, sentences: int) -> Iterator[Turn]:
    yield Turn(prose(draw.randrange(10**9), "en", sentences) + " What matters in this?", prose(draw.randrange(10**9), "en", 8))
    yield from _chat(draw, turns, (1, 2), (3, 8))


_Shape = Callable[[Random], Talk]

#: Shapes by name. Each takes a source of chance, so that every seed gives another conversation.
SHAPES: Final[Mapping[str, _Shape]] = {
    "short messages": lambda d: Talk(_system(40), tuple(_chat(d, 110, (1, 1), (2, 5)))),
    "long answers": lambda d: Talk(_system(300), tuple(_chat(d, 45, (1, 3), (12, 28)))),
    "long answers, away at times": lambda d: Talk(_system(300), tuple(_chat(d, 45, (1, 3), (12, 28), pauses=0.2))),
    "code agent": lambda d: Talk(_system(1500), tuple(_agent(d, 7, (4, 10), (10, 90)))),
    "code agent, few large files": lambda d: Talk(_system(600), tuple(_agent(d, 6, (1, 3), (150, 320)))),
    "retrieval": lambda d: Talk(_system(300), tuple(_retrieval(d, 26))),
    "sealed chat": lambda d: Talk(_system(300), tuple(_chat(d, 40, (1, 3), (12, 28))), sealed=300),
    "sealed agent": lambda d: Talk(_system(1500), tuple(_agent(d, 7, (4, 10), (10, 60))), sealed=200),
    "hosted tools": lambda d: Talk(_system(300), tuple(_hosted(d, 36))),
    "pictures": lambda d: Talk(_system(300), tuple(_pictures(d, 40))),
    "one huge message": lambda d: Talk(_system(100), tuple(_one_huge(d, 40, d.choice((300, 600))))),
    "few huge turns": lambda d: Talk(_system(100), tuple(_chat(d, 9, (30, 90), (60, 140)))),
}


# ---------------------------------------------------------------- on a wire


def requests(name: str, column: Column, seed: int) -> Iterator[Request]:
    """What a client sends of a conversation of one shape: Messages where caches hit at marks, Responses where something is
    sealed or hosted, else chat completions."""
    talk = SHAPES[name](Random(f"{name}/{seed}"))
    if column.kind == "marks":
        yield from _messages(talk, column)
    elif talk.sealed or any(turn.computed for turn in talk.turns):
        yield from _responses(talk, column)
    else:
        yield from _completions(talk, column)


def chat_requests(messages: Sequence[Item], column: Column) -> Iterator[Request]:
    """A recorded chat, as its client sent it before each of the assistant's messages."""
    for end in (i for i, message in enumerate(messages) if message["role"] == "assistant" and i):
        sent = with_mark(messages[:end]) if column.kind == "marks" else list(messages[:end])
        yield Request(CHAT, encode(sent, model=column.model), messages[end - 1]["role"] == "tool")


def _seal(length: int, seed: str) -> str:
    """Base64 of about so many tokens."""
    return "".join(Random(seed).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", k=length * 16 // 3))


def _completions(talk: Talk, column: Column) -> Iterator[Request]:
    sent: list[Item] = [{"role": "system", "content": talk.system}]
    for number, turn in enumerate(talk.turns):
        content: Any = turn.asks
        if turn.picture:
            picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PNG}", "detail": "high"}}
            content = [{"type": "text", "text": turn.asks}, picture]
        sent.append({"role": "user", "content": content})
        yield Request(CHAT, encode(sent, model=column.model), pause=turn.pause)
        for place, step in enumerate(turn.steps):
            name = f"call_{number}_{place}"
            function = {"name": "read", "arguments": json.dumps({"path": step.argument})}
            call = {"id": name, "type": "function", "function": function}
            sent.append({"role": "assistant", "content": None, "tool_calls": [call]})
            sent.append({"role": "tool", "tool_call_id": name, "content": step.result})
            yield Request(CHAT, encode(sent, model=column.model), loop=True)
        sent.append({"role": "assistant", "content": turn.says})


def _responses(talk: Talk, column: Column) -> Iterator[Request]:
    items: list[Item] = []

    def ask(**more: Any) -> Request:
        body = {"model": column.model, "store": False, "instructions": talk.system, "input": items}
        return Request(RESPONSES, json.dumps(body, separators=(",", ":")).encode(), **more)

    def thought(name: str) -> list[Item]:
        sealed = {"encrypted_content": _seal(talk.sealed, name)}
        return [{"type": "reasoning", "id": f"rs_{name}", "summary": [], **sealed}] if talk.sealed else []

    for number, turn in enumerate(talk.turns):
        content: list[Item] = [{"type": "input_text", "text": turn.asks}]
        if turn.picture:
            content.append({"type": "input_image", "image_url": f"data:image/png;base64,{_PNG}", "detail": "high"})
        items.append({"type": "message", "role": "user", "content": content})
        yield ask(pause=turn.pause)
        for place, step in enumerate(turn.steps):
            name = f"call_{number}_{place}"
            call = {"name": "read", "arguments": json.dumps({"path": step.argument})}
            items += [*thought(name), {"type": "function_call", "call_id": name, **call}]
            items.append({"type": "function_call_output", "call_id": name, "output": step.result})
            yield ask(loop=True)
        items += thought(str(number))
        if turn.computed:
            hosted = {"type": "code_interpreter_call", "id": f"ci_{number}", "container_id": "c", "status": "completed"}
            items.append({**hosted, "code": f"count({number})", "outputs": [{"type": "logs", "logs": turn.computed}]})
        items.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": turn.says}]})


def _messages(talk: Talk, column: Column) -> Iterator[Request]:
    mark = _HOUR_MARK if column.hour else _MARK
    sent: list[Item] = []

    def ask(**more: Any) -> Request:
        """The newest two of the client's messages carry a mark, as Claude Code sets them."""
        newest = [i for i, message in enumerate(sent) if message["role"] == "user"][-2:]
        marked = [
            {**one, "content": [*one["content"][:-1], one["content"][-1] | mark]} if i in newest else one
            for i, one in enumerate(sent)
        ]
        system = [{"type": "text", "text": talk.system} | mark]
        body = {"model": column.model, "max_tokens": 900, "system": system, "messages": marked}
        return Request(MESSAGES, json.dumps(body, separators=(",", ":")).encode(), **more)

    def thought(name: str) -> list[Item]:
        seal = {"signature": _seal(talk.sealed // 4, name)}
        return [{"type": "thinking", "thinking": prose(hash_of(name), "en", talk.sealed // 20), **seal}] if talk.sealed else []

    for number, turn in enumerate(talk.turns):
        content: list[Item] = [{"type": "text", "text": turn.asks}]
        if turn.picture:
            content.insert(0, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PNG}})
        sent.append({"role": "user", "content": content})
        yield ask(pause=turn.pause)
        for place, step in enumerate(turn.steps):
            name = f"call_{number}_{place}"
            use = {"type": "tool_use", "id": name, "name": "read", "input": {"path": step.argument}}
            sent.append({"role": "assistant", "content": [*thought(name), use]})
            sent.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": step.result}]})
            yield ask(loop=True)
        said = thought(str(number))
        if turn.computed:
            use = {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "code_execution", "input": {"code": "count()"}}
            done = {"type": "code_execution_result", "stdout": turn.computed, "stderr": "", "return_code": 0, "content": []}
            said += [use, {"type": "code_execution_tool_result", "tool_use_id": use["id"], "content": done}]
        sent.append({"role": "assistant", "content": [*said, {"type": "text", "text": turn.says}]})


def hash_of(name: str) -> int:
    """A number for a name, the same in every run."""
    return Random(name).randrange(10**9)
