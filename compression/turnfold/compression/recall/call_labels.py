"""Which call a quoted result answers, in a few words: "get_weather Paris".

This module writes the short form of a call, and finds the results that are quoted with it. ``fence`` escapes and places it.

Lines of a result say little without the call: of several calls of one tool nobody can tell whose they are. So a result is
quoted with its tool's name and its arguments. Where those are long, arguments that all calls of the tool have alike are left
out, and of a long value the part in which it differs from the others is shown. Of the values of keys that are named like a
secret, nothing is.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol

from turnfold.compression import lazy
from turnfold.compression.text.private import redact
from turnfold.compression.text.quotes import Quotable, Source

#: Width of all arguments together, and of one value among several; an ASCII character counts one, any other two.
_MOST, _MOST_OF_VALUE = 72, 32
_MOST_NAME: Final = 64  # characters: the limit of providers
_SHORTEST: Final = 12
_MOST_ARGUMENTS: Final = 4  # arguments in a label that would be too long with all of them
_LEAD: Final = 8  # characters shown before the part that differs
_MOST_READ: Final = 2000  # characters of a value that are examined
_MOST_READ_OF: Final = 16  # arguments of a call that are examined
_CUT: Final = "…"
_BLANKS: Final = lazy.pattern(r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")
_SECRET_KEY: Final = lazy.pattern(
    r"passw(?:or)?d|passphrase|\bpwd|secret|token(?!s)|credential|authori[sz]ation|api_?-?key|private_?-?key|access_?-?key|cookie"
    r"|\bpin\b|\bcvv|session_?-?key|bearer",
    re.IGNORECASE,
)
_SECRET: Final = lazy.pattern(
    r"(?:\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abp])[-_]|AKIA|eyJ|\bBearer |://[^/\s:@]{1,80}:)[^\s\"']{4,}"
    r"|(?:passw(?:or)?d|secret|token|api_?-?key)\s{0,4}[=:]\s{0,4}[^\s\"'&;]{3,}",
    re.IGNORECASE,
)
_READ_OF_END: Final = 2000  # characters at the end of an assistant's text in which a call is looked for
_EDIT: Final = "<<<<<<<"  # start of an edit to a file
_JSON_BEGINS: Final = lazy.pattern(r"(?:^|^[^{}\[\]\n]{0,80}:[*_ ]{1,4})([{\[])", re.MULTILINE)
_FENCES: Final = ("```", "~~~")
_CLOSED: Final = lazy.pattern(r"</([A-Za-z][\w.:-]{0,60})>\s{0,200}\Z")
_TAG: Final = lazy.pattern(r"</?[A-Za-z][^<>\n]{0,200}>")
_LABEL_LINE: Final = lazy.pattern(r"^[*_ ]{0,4}[^\W\d_][^\n:：]{0,38}[:：][*_ ]{0,4}", re.MULTILINE)


class ShownCall(Protocol):
    """A tool call, as defined in ``wire.message``."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> str: ...


class Answering(Quotable, Protocol):
    """A message that may call tools or answer a call."""

    @property
    def calls(self) -> Sequence[ShownCall]: ...
    @property
    def answers(self) -> str | None: ...
    @property
    def own(self) -> str: ...
    @property
    def speaker(self) -> str: ...
    @property
    def is_result(self) -> bool: ...
    @property
    def reports(self) -> bool: ...
    @property
    def is_output(self) -> bool: ...
    @property
    def written(self) -> dict[Any, Any]: ...


class QuotableResult(NamedTuple):
    """A tool result that can be quoted with the call it answers; attributes as in `Quotable`."""

    role: str
    text: str
    key: bytes
    name: str
    text_tokens: int | None
    answered_call: str


class _ReadCall(NamedTuple):
    """A call: its tool's name, and its arguments by name. Text that is no JSON object is stored under ""."""

    name: str
    arguments: Mapping[str, str]


def source(message: Answering) -> Source:
    """A message as a source of quotes."""
    return Source(message.speaker, message.text, message.key, message.name)


def sources(messages: Sequence[Answering]) -> tuple[Source, ...]:
    """Messages as sources of quotes, each result with the call among them that it answers."""
    labels = answered_calls(messages)
    return tuple([source(message)._replace(answered_call=labels.get(i, "")) for i, message in enumerate(messages)])


def quotables(messages: Sequence[Answering]) -> tuple[Quotable, ...]:
    """Like `sources`, but only tool results are wrapped; other messages are returned as they are."""
    labels = answered_calls(messages)
    return tuple([_result(one, labels.get(i, "")) if one.is_output else one for i, one in enumerate(messages)])


def _result(message: Answering, label: str) -> Quotable:
    tokens = None if message.reports else message.text_tokens
    return QuotableResult(message.speaker, message.text, message.key, message.name, tokens, label)


def answered_calls(messages: Sequence[Answering]) -> dict[int, str]:
    """Short forms of the calls that results answer, by index of the result."""
    answered = dict(_answered(messages))
    by_tool: dict[str, list[_ReadCall]] = defaultdict(list)
    for call in answered.values():
        by_tool[call.name].append(call)
    tools = {name: _SameTool(calls) for name, calls in by_tool.items()}
    return {index: _label(call, tools[call.name]) for index, call in answered.items()}


def _answered(messages: Sequence[Answering]) -> Iterator[tuple[int, _ReadCall]]:
    """Indices of results with their calls. Skips results whose call id occurs twice in one message."""
    calls: dict[str, _ReadCall | None] = {}
    for index, message in enumerate(messages):
        if message.calls:
            calls.update(_read_calls(message))
        elif message.reports:
            before = messages[index - 1] if index else message
            if before.speaker == "assistant" and (written := _written_call(before)) is not None:
                yield index, written
        elif message.is_result and (call := calls.get(message.answers or "")) is not None:
            yield index, call


def _read_calls(message: Answering) -> dict[str, _ReadCall | None]:
    found: dict[str, _ReadCall | None] | None = message.written.get("calls")
    if found is None:
        found = {}
        for call in message.calls:
            found[call.id] = None if call.id in found else _ReadCall(_one_line(call.name[:_MOST_NAME]), _read(call.arguments))
        message.written["calls"] = found
    return found


def _written_call(message: Answering) -> _ReadCall | None:
    """The call at the end of an assistant's text, written by an agent that does not use the provider's tool calls."""
    if "written call" not in message.written:
        message.written["written call"] = _read_end(message.own[-_READ_OF_END:].rstrip())
    found: _ReadCall | None = message.written["written call"]
    return found


def _read_end(text: str) -> _ReadCall | None:
    """A call written as a code block, an element, JSON, or the text after the last two labels."""
    if text.endswith(_FENCES):
        inside = text[: -len(_FENCES[0])]
        start = max(map(inside.rfind, _FENCES))
        block = inside[start:].partition("\n")[2].strip()
        return _ReadCall("", _read(block)) if start >= 0 and block and not block.startswith(_EDIT) else None
    if closed := _CLOSED.search(text):
        start = text.rfind(f"<{closed[1]}", 0, closed.start())
        opening, _, inside = text[start + 1 : closed.start()].partition(">")
        return _ReadCall(_one_line(opening[:_MOST_NAME]), _read(_TAG.sub(" ", inside))) if start >= 0 else None
    labels = list(_LABEL_LINE.finditer(text))[-2:]
    if len(labels) > 1:
        first, last = labels
        return _ReadCall(_one_line(text[first.end() : last.start()][:_MOST_NAME]), _read(text[last.end() :]))
    if begun := _JSON_BEGINS.search(text) if text.endswith(("}", "]")) else None:
        given = _read(text[begun.start(1) :])
        # If the agent writes its thoughts into the same object, the action is the value that is a list.
        return _ReadCall("", {key: value for key, value in given.items() if value.startswith("[")} or given)
    return None


def _read(arguments: str) -> dict[str, str]:
    """Arguments by name. Of a secret, only its presence is recorded."""
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        given = arguments
    if not isinstance(given, dict):
        given = {"": given}
    first = islice(given.items(), _MOST_READ_OF)
    return {_one_line(key[:_MOST_OF_VALUE]): _CUT if _SECRET_KEY.search(key) else _shown(value) for key, value in first}


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(_without_secrets(value), ensure_ascii=False)
    return _SECRET.sub(_CUT, _one_line(redact(text)[:_MOST_READ]))


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _CUT if _SECRET_KEY.search(key) else _without_secrets(inner) for key, inner in value.items()}
    return [_without_secrets(inner) for inner in value] if isinstance(value, list) else value


def _one_line(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


def _label(call: _ReadCall, tool: _SameTool) -> str:
    """The label of a call, given the other calls of its tool."""
    written = _write(call.arguments)
    if _width(written) > _MOST:
        written = _write(_shortened(call, tool))
    return f"{call.name} {written}".strip()


def _write(arguments: Mapping[str, str]) -> str:
    if len(arguments) == 1:
        return next(iter(arguments.values()))
    return ", ".join(f"{key}={value}" for key, value in arguments.items())


class _SameTool:
    """The calls of one tool."""

    def __init__(self, calls: Sequence[_ReadCall]) -> None:
        self._calls = calls
        self._values: dict[str, list[str]] = {}

    def differs(self, key: str) -> bool:
        """Whether the calls differ in the value of a key, or some lack it."""
        return len(self._of(key)) > 1

    def shared(self, key: str, value: str) -> int:
        """The length of the longest prefix that a value shares with another call's value, in characters."""
        values = self._of(key)
        at = bisect_left(values, value)
        return max((_begin_alike(value, other) for other in (*values[max(0, at - 1) : at], *values[at + 1 : at + 2])), default=0)

    def _of(self, key: str) -> list[str]:
        """The distinct values of a key, sorted, so that values with the longest common prefixes are neighbours."""
        if key not in self._values:
            self._values[key] = sorted({call.arguments.get(key, "") for call in self._calls})
        return self._values[key]


def _begin_alike(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _shortened(call: _ReadCall, tool: _SameTool) -> dict[str, str]:
    """The arguments that distinguish a call from others of its tool, each cut to the part that does."""
    telling = list(filter(tool.differs, call.arguments)) or list(call.arguments)
    by_width = sorted(telling, key=lambda key: _width(call.arguments[key]) > _MOST_OF_VALUE)
    chosen = set(by_width[:_MOST_ARGUMENTS])
    room = max(_SHORTEST, _MOST // len(chosen))
    return {key: _cut(call, key, tool, max(room - len(key) - 1, _SHORTEST)) for key in telling if key in chosen}


def _cut(call: _ReadCall, key: str, tool: _SameTool, room: int) -> str:
    """A value. If it is long, it starts where it begins to differ from all others."""
    value = call.arguments[key]
    if _width(value) <= room:
        return value
    same = tool.shared(key, value)
    start = same - _LEAD if same > room - _LEAD else 0
    end = min(start + room, len(value))
    if not value[start:end].isascii():
        end = start
        while end < len(value) and room > 0:
            room -= 1 if value[end].isascii() else 2
            end += 1
    return (_CUT if start else "") + value[start:end] + (_CUT if end < len(value) else "")


def _width(text: str) -> int:
    return len(text) if text.isascii() else 2 * len(text)
