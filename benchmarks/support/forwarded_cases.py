"""Requests that cover everything that decides which bytes are forwarded.

They are combinations of conversations, models, settings and headers. Nothing is sent or compared here.

Everything is chosen by rule, so two runs on the same data have the same cases. Cases of `QUICK` and `FULL` that share a key are
the same.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.support.caches import with_mark
from benchmarks.support.data import Message, conversations_by_id, questions_by_id, set_names
from benchmarks.support.upstream import TAKES

CHAT: Final = "/v1/chat/completions"

#: One per price profile: cached tokens at half the price, at a tenth, at a tenth with breakpoints or with marks; unknown prices.
MODELS: Final = ("gpt-4o", "gpt-5", "gpt-5.6", "claude-sonnet-4-5", "my-local-model")
_MODEL: Final = MODELS[0]
_WINDOWS: Final = {"window-3000": 3000, "window-9000": 9000}
_BUDGETS: Final = (500, 2000, 6000)

#: Conversations to send once per message: the set, and the quantile of the conversation in it by number of messages, 0 to 1.
CUT: Final = (
    ("agent_tau", 0.5),
    ("agent_tau", 1.0),
    ("code_agent", 0.5),
    ("code_agent", 0.8),
    ("NC_locomo", 0.0),
    ("agent_repeated_ids_raw", 1.0),
    ("chat_code_aider", 1.0),
    ("chat_memorybank_cn", 0.5),
    ("longmemeval", 0.0),
    ("qmsum_turns", 0.0),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One request; the key names its result."""

    key: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "POST"
    path: str = CHAT


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation of the evaluation data; `asked` are the questions about it, where the set keeps them apart."""

    name: str
    messages: Sequence[Message]
    asked: Sequence[str] = ()

    def ending(self) -> list[Message]:
        """Its messages, and the first question if there is one."""
        return [*self.messages, *({"role": "user", "content": question} for question in self.asked[:1])]


#: Cases to send one after another. Chains are independent: they may be sent at the same time.
Chain = Iterator[Case]


@dataclass(frozen=True, slots=True)
class Part:
    """Cases for one proxy process, and its settings without their prefix."""

    settings: Mapping[str, str]
    chains: Sequence[Chain]


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of the matrix to send.

    Attributes:
        every: whether to send every conversation of each set, or only the sample.
        sampled: size of the sample of each set: 1 is the first conversation, 2 adds the longest.
        models: models for every conversation.
        cut: conversations to send once per message.
        questions: number of questions per conversation.
        sets: names of the sets; None: all.
    """

    every: bool
    sampled: int
    models: Sequence[str]
    cut: Sequence[tuple[str, float]]
    questions: int
    sets: Sequence[str] | None = None


FULL: Final = Scale(True, 2, MODELS, CUT, 5)
QUICK: Final = Scale(
    False, 1, MODELS[::2], CUT[:1], 1, ("agent_tau", "chat_memorybank_cn", "code_agent", "rag_nq", "tool_output")
)


@dataclass(frozen=True, slots=True)
class Data:
    """The conversations by set."""

    scale: Scale
    sets: Mapping[str, Sequence[Talk]]

    def talks(self) -> Iterator[Talk]:
        """The conversations to send in default mode."""
        for talks in self.sets.values():
            yield from talks if self.scale.every else self._of(talks, self.scale.sampled)

    def sample(self, most: int = 2) -> Iterator[Talk]:
        """One or two conversations of each set."""
        for talks in self.sets.values():
            yield from self._of(talks, min(most, self.scale.sampled))

    @staticmethod
    def _of(talks: Sequence[Talk], number: int) -> Sequence[Talk]:
        longest = max(talks, key=lambda talk: sum(len(str(message)) for message in talk.messages))
        return list({talk.name: talk for talk in (talks[0], longest)[:number]}.values())


def read(scale: Scale) -> Data:
    """The data of a scale.

    Raises:
        FileNotFoundError: the data is not here.
    """
    names = [name for name in set_names() if scale.sets is None or name in scale.sets]
    if not names:
        raise FileNotFoundError("no evaluation data; set EVALUATION_SHARED")
    return Data(scale, {name: list(_talks(name)) for name in names})


def _talks(name: str) -> Iterator[Talk]:
    asked = questions_by_id(name)
    for number, (known, messages) in enumerate(conversations_by_id(name).items()):
        yield Talk(f"{name}/{number}", messages, asked.get(known, ()))


def encode(messages: Sequence[Message], model: str = _MODEL, **more: Any) -> bytes:
    """A request as SDKs write it."""
    return json.dumps({"model": model, "messages": messages, **more}, ensure_ascii=False).encode("utf-8", "surrogatepass")


def parts(data: Data) -> list[Part]:
    """The whole matrix."""
    windows = json.dumps({name: {"window": window} for name, window in _WINDOWS.items()})
    groups = (_whole, _questions, _budgets, _windows, _learned, _modes, _states, _cuts, _spellings, _odd)
    first = Part({"models": windows}, [chain for group in groups for chain in group(data)])
    return [first, *_settings(data)]


def _chain(*cases: Case) -> Chain:
    yield from cases


def _whole(data: Data) -> Iterator[Chain]:
    for talk in data.talks():
        for model in data.scale.models:
            yield _chain(Case(f"whole/{model}/{talk.name}", encode(talk.ending(), model)))


def _questions(data: Data) -> Iterator[Chain]:
    for talk in data.talks():
        yield _asked(talk, data.scale.questions)


def _asked(talk: Talk, most: int) -> Chain:
    step = max(1, len(talk.asked) // 5)
    for n in range(0, len(talk.asked), step)[:most]:
        yield Case(f"question/{talk.name}/{n}", encode([*talk.messages, {"role": "user", "content": talk.asked[n]}]))


def _budgets(data: Data) -> Iterator[Chain]:
    for talk in data.sample():
        for model in (MODELS[0], MODELS[-1]):
            for budget in _BUDGETS:
                key = f"budget/{budget}/{model}/{talk.name}"
                yield _chain(Case(key, encode(talk.ending(), model), {"x-turnfold-budget": str(budget)}))


def _windows(data: Data) -> Iterator[Chain]:
    for talk in data.sample():
        for model in _WINDOWS:
            for room in ({}, {"max_tokens": 500}):
                key = f"window/{model}{'-output' if room else ''}/{talk.name}"
                yield _chain(Case(key, encode(talk.ending(), model, **room)))


def _learned(data: Data) -> Iterator[Chain]:
    """A request that the upstream refuses, then the same again, now that its window is known. Windows are learned per tenant."""
    for talk in data.sample(1):
        for dialect in ("openai", "groq"):
            body = encode(talk.ending())
            stem = f"learned/{dialect}/{talk.name}"
            headers = {"authorization": f"Bearer {stem}", TAKES: f"{dialect} {len(body) // 3}"}
            yield _chain(*(Case(f"{stem}/{n}", body, headers) for n in range(3)))


def _modes(data: Data) -> Iterator[Chain]:
    for talk in data.sample(1):
        for mode in ("off", "observe"):
            yield _chain(Case(f"mode/{mode}/{talk.name}", encode(talk.ending()), {"x-turnfold-mode": mode}))


_DIRECTIVES: Final = (
    "set premise the harbour keeps its log in UTC",
    "prohibit global variables",
    "use docker",
    "use podman instead of docker",
)
_LAST_WORDS: Final = {"ordinary": None, "directive": "remove policy podman", "contradiction": "use global variables"}


def with_directives(messages: Sequence[Message]) -> list[Message]:
    """A conversation in which the user sets rules along the way; the last rule replaces an earlier one."""
    borders = [i for i, message in enumerate(messages) if message["role"] == "user"]
    said = [(borders[n * (len(borders) - 1) // len(_DIRECTIVES)], text) for n, text in enumerate(_DIRECTIVES)]
    found: list[Message] = []
    for i, message in enumerate(messages):
        for _, text in (pair for pair in said if pair[0] == i):
            found += [{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}]
        found.append(message)
    return found


def _states(data: Data) -> Iterator[Chain]:
    asked = {"plain": {}, "budget": {"x-turnfold-budget": "2000"}, "off": {"x-turnfold-mode": "off"}}
    for talk in data.sample(1):
        stated = with_directives(talk.ending())
        for state in ("enforce", "observe"):
            for words, text in _LAST_WORDS.items():
                body = encode([*stated, *([{"role": "user", "content": text}] if text else [])])
                for name, headers in asked.items():
                    yield _chain(Case(f"state/{state}/{words}-{name}/{talk.name}", body, {"x-turnfold-state": state, **headers}))
        yield _kept_state(talk)


def _kept_state(talk: Talk) -> Chain:
    """A state that is set over the API, and requests of its conversation."""
    stem = f"state/kept/{talk.name}"
    who = {"authorization": f"Bearer {stem}"}
    state = {"premise": "the harbour keeps its log in UTC", "policies": {"docker": "use"}, "version": 2}
    named = {**who, "x-turnfold-conversation": "harbour", "x-turnfold-state": "enforce"}
    yield Case(f"{stem}/first", encode(talk.messages[: len(talk.messages) // 2]), named)
    yield Case(f"{stem}/put", json.dumps(state).encode(), who, "PUT", "/v1/state/harbour")
    yield Case(f"{stem}/then", encode(talk.ending()), named)
    yield Case(f"{stem}/next", encode(talk.ending()), {**named, "x-turnfold-budget": "2000"})
    yield Case(f"{stem}/get", b"", who, "GET", "/v1/state/harbour")


def cut_talks(data: Data) -> Iterator[Talk]:
    """The conversations to send once per message."""
    for name, place in data.scale.cut:
        talks = sorted(data.sets.get(name, ()), key=lambda talk: len(talk.messages))
        if talks:
            yield talks[round(place * (len(talks) - 1))]


def _cuts(data: Data) -> Iterator[Chain]:
    for number, talk in enumerate(cut_talks(data)):
        yield _cut("cuts", talk.messages, talk.name, MODELS[number % len(MODELS)])
        if len(talk.messages) <= 120:
            yield _cut("cuts-budget", talk.messages, talk.name, _MODEL, {"x-turnfold-budget": "3000"})
            yield _cut("cuts-state", with_directives(talk.messages), talk.name, _MODEL, {"x-turnfold-state": "enforce"})


def _cut(group: str, messages: Sequence[Message], name: str, model: str, headers: Mapping[str, str] | None = None) -> Chain:
    for n in range(1, len(messages) + 1):
        yield Case(f"{group}/{model}/{name}/{n}", encode(messages[:n], model), headers or {})


def _parts(messages: Sequence[Message]) -> list[Message]:
    def split(content: object) -> object:
        if not isinstance(content, str) or not content:
            return content
        half = content.find(" ", len(content) // 2) + 1
        return [{"type": "text", "text": text} for text in (content[:half], content[half:]) if text]

    return [{**message, "content": split(message.get("content"))} for message in messages]


def _with_image(messages: Sequence[Message]) -> list[Message]:
    image = {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlhAQABAAAAACw="}}
    first = next(i for i, message in enumerate(messages) if message["role"] == "user")
    shown = {**messages[first], "content": [{"type": "text", "text": messages[first]["content"]}, image]}
    return [*messages[:first], shown, *messages[first + 1 :]]


_TOOL: Final = {
    "type": "function",
    "function": {"name": "look_up", "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}},
}
#: Different spellings of the same request.
_SPELLINGS: Final[Mapping[str, Callable[[list[Message]], tuple[bytes, Mapping[str, str]]]]] = {
    "escaped": lambda messages: (json.dumps({"messages": messages, "model": _MODEL}).encode(), {}),
    "indented": lambda messages: (json.dumps({"model": _MODEL, "messages": messages, "n": 1}, indent=2).encode(), {}),
    "parts": lambda messages: (encode(_parts(messages)), {}),
    "image": lambda messages: (encode(_with_image(messages)), {}),
    "marked": lambda messages: (encode(with_mark(messages), "claude-sonnet-4-5"), {}),
    "streamed": lambda messages: (encode(messages, stream=True, tools=[_TOOL], max_tokens=900), {}),
    "gzip": lambda messages: (gzip.compress(encode(messages), mtime=0), {"content-encoding": "gzip"}),
    "no-model": lambda messages: (json.dumps({"messages": messages}).encode(), {}),
}  # fmt: skip


def _spellings(data: Data) -> Iterator[Chain]:
    for talk in data.sample(1):
        for name, write in _SPELLINGS.items():
            yield _chain(Case(f"spelling/{name}/{talk.name}", *write(talk.ending())))


_ODD_SET: Final = "tool_output"
_ODD: Final[Mapping[str, bytes]] = {
    "no-json": b'{"model": "gpt-4o", "messages": [',
    "no-object": b"[]",
    "no-messages": b'{"model": "gpt-4o"}',
    "empty": b"",
    "empty-list": b'{"model": "gpt-4o", "messages": []}',
    "strings": b'{"model": "gpt-4o", "messages": ["hello", "there"]}',
    "twice": b'{"messages": [], "model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}',
}


def _odd(data: Data) -> Iterator[Chain]:
    """Bodies that are malformed, or unusual."""
    talk = data.sets[_ODD_SET][0]
    lone = {"role": "user", "content": "a\ud800b"}
    orphan = {"role": "tool", "tool_call_id": "nowhere", "content": "result"}
    bodies = {
        **_ODD,
        "cut-off": encode(talk.messages)[:-20],
        "orphan": encode([orphan, *talk.messages]),
        "open-call": encode(
            [*talk.messages, {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function"}]}]
        ),
        "surrogate": json.dumps({"model": _MODEL, "messages": [lone, *talk.messages]}).encode(),
    }
    for name, body in bodies.items():
        yield _chain(Case(f"odd/{name}", body))


#: Settings that have no header; each needs a process of its own.
_SETTINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "prose-full": {"prose": "full"},
    "no-recall": {"recall": "false"},
    "no-tool-text": {"recall_tool_text": "false"},
    "no-shapes": {"shape_results": "false"},
    "breakpoints": {"cache_breakpoints": "on"},
    "cold-cache": {"cache_hit_share": "0"},
    "budget": {"budget": "3000"},
    "held-out": {"holdout_share": "0.4"},
    "state-forward": {"state": "enforce", "state_acknowledge": "forward"},
    "observe": {"mode": "observe"},
}
_QUICK_SETTINGS: Final = ("prose-full", "budget")


def _settings(data: Data) -> Iterator[Part]:
    for name in _SETTINGS if data.scale.every else _QUICK_SETTINGS:
        talks = data.sample(1)
        if name == "state-forward":
            bodies = {
                talk.name: encode([*with_directives(talk.ending()), {"role": "user", "content": "use uv"}]) for talk in talks
            }
        else:
            bodies = {talk.name: encode(talk.ending()) for talk in talks}
        yield Part(_SETTINGS[name], [_chain(Case(f"settings/{name}/{key}", body)) for key, body in bodies.items()])
