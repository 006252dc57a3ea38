"""Distinguishing a full context from every other upstream error.

This module reads an error body and compares it with ``overflow_table``, which has the wordings. What is done about an overflow is
up to ``recover``.

An error is read by its structure first: only fields that carry a message or a code count, so that a user's own words, echoed
elsewhere in an error, are not mistaken for one. Vetoes are read before anything else.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from turnfold.compression import lazy
from turnfold.compression.fit.overflow_table import FIGURE, TABLE, OverflowRule, Says

#: Bytes of an error body that are examined; the longest real one known is under 2 KB.
SCANNED: Final = 8192
# For a text with just two figures; smaller ones count other things.
_SMALLEST_WINDOW: Final = 256
_STATUSES: Final = frozenset({*range(400, 432), *range(500, 512), 529})

Kind = Literal["prompt", "sum", "output"]


@dataclass(frozen=True, slots=True)
class Overflow:
    """An upstream's report that a request does not fit its context.

    Attributes:
        kind: "prompt": the prompt alone is too long (or the parts are unknown); "sum": prompt and output room fit individually,
            but not together; "output": the requested output room fills the window by itself, so that no fold can help.
        limit: most tokens that the upstream accepts, if it says so.
        requested: total tokens by its count, including output room if it counts that.
        prompt: tokens of the prompt alone, if the body states them.
        output: tokens of output room included in its count.
        lower_bound: whether `requested` and `prompt` are minimums.
        prompt_only: whether `limit` applies to the prompt alone, without output room.
    """

    kind: Kind
    limit: int | None = None
    requested: int | None = None
    prompt: int | None = None
    output: int | None = None
    lower_bound: bool = False
    prompt_only: bool = False


# The only fields that are read: those with messages, those with codes, and those that contain either.
_WORDS: Final = frozenset(
    {
        "message",
        "error",
        "detail",
        "msg",
        "raw",
        "error_message",
        "error_msg",
        "description",
        "reason",
        "title",
        "faultstring",
        "originalmessage",
        "status_msg",
        "err",
        "errmsg",
        "err_msg",
        "errormessage",
        "exception",
    }
)
_CODES: Final = frozenset({"code", "type", "error_type", "error_code", "status", "__type"})
_HOLDERS: Final = frozenset(
    {
        "error",
        "errors",
        "detail",
        "details",
        "innererror",
        "fault",
        "metadata",
        "cause",
        "response",
        "data",
        "message",
        "messages",
        "msg",
        "base_resp",
        "issues",
        "exception",
        "originalmessage",
    }
)
_REFUSED: Final = frozenset({400, 413, 422})
_NEVER: Final = frozenset({401, 402, 403, 404, 408, 409, 429})
_LOOSE_FIELD: Final = lazy.pattern(r'"(\w{1,40})"\s{0,20}:\s{0,20}(?:"((?:[^"\\]|\\.)*)|(\d{1,12}))')
_SCALES: Final = {"k": 1000, "m": 1_000_000}
#: Where a message that is an object has its words (OData: ``"message": {"lang": "en", "value": "..."}``).
_SPOKEN: Final = ("value", "text")
_TAG: Final = lazy.pattern(r"<(?:style|script)[^>]{0,200}>[^<]{0,4000}<|<[^<>]{0,400}>")
_ECHO: Final = lazy.pattern(
    r"(?:input was|input_value|received value|value was|got value|you (?:sent|passed)"
    r"|\b(?:content|near|unexpected|pars(?:e|ing)|text|says|saying|said|wrote|unsupported|decod(?:e|ing)|user message"
    r"|starting with|beginning with|found|invalid (?:message|content|text|string|role)))\W{0,5}['\"`“‘«].*"
    r"|\bthe (?:\w+ )?(?:message|result|string|value) ['\"`“‘«](?=\S+ \S+ ).*"
    r"|\barguments?:? ['\"`“‘«](?=[^\s'\"`”’»]+ \S+ ).*",
    re.DOTALL,
)
# Names of models, and a quotation of which the error says that it is not what it should be: neither says anything itself.
_QUOTED: Final = lazy.pattern(
    r"(?<=\bmodel )(?:id |name )?['\"`][^'\"`\s]{1,100}['\"`]|(?<=\bmodel: )(?!\d+\b)[^\s,]{1,100}"
    r"|(?<!\w)(['\"`])[^'\"`\n]{1,400}\1(?= (?:is|are|was) (?:not|an? (?:invalid|unknown)|invalid|unknown|unsupported)\b)"
)

# Quoted words of somebody who speaks of himself: a server does not.
_OF_SOMEBODY: Final = lazy.pattern(
    r"(?<!\w)(?:\"(?=[^\"]*\b(?:i|my|me)\b)[^\"]*\"|'(?=[^'\n]*\b(?:i|my|me)\b)[^'\n]*'(?!\w)|[“«](?=[^”»]*\b(?:i|my|me)\b)[^”»]*[”»])"
)

# A word with figures in it, as names of models have ("llama-3.3-70b", "qwen2.5"): none of them counts anything.
_NAMED: Final = lazy.pattern(r"(?<![\w.-])[a-z](?:[a-z0-9_-]|\.(?=\d))*\d(?:[a-z0-9_-]|\.(?=\d))*")
_MEASURES: Final = lazy.pattern(r"max|len|limit|ctx|context|token|size|window|prompt|input|n_keep")


@dataclass(slots=True)
class _ErrorText:
    """The contents of an error body, in their order in the body."""

    texts: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    fields: dict[str, int] = field(default_factory=dict)


def detect(status: int, body: bytes, *, in_stream: bool = False) -> Overflow | None:
    """Whether an upstream's answer says that the request does not fit its context, and by how much; None if it does not.

    Args:
        status: HTTP status of the answer; 200 if the error is the first event of a stream.
        body: the beginning of its body; for a stream the first event, either framed or only its data.
        in_stream: whether `body` is the beginning of an answer with status 200.
    """
    if not (in_stream if status < 400 else status not in _NEVER):
        return None
    found = _read(body[:SCANNED].decode("utf-8", "replace"), in_stream=in_stream)
    if not (found.texts or found.codes):  # the usual answer: nothing that a rule could apply to
        return None
    named = next((int(c) for c in found.codes if re.fullmatch(r"[45]\d\d", c)), None)
    inner = 400 if named is None else named
    if inner in _NEVER or _says("no", found):
        return None
    refused = (status in _REFUSED or in_stream or named is not None) and inner in _REFUSED  # a gateway may send 500 for a 400
    pair = _compared(found)
    if not (_says("certain", found) or (refused and (pair or _says("full", found)))):
        return None
    return _measure(found, pair)


def _says(said: Says, found: _ErrorText) -> bool:
    return any(rule.says == said and _speaks(rule, found) for rule in TABLE)


def _speaks(rule: OverflowRule, found: _ErrorText) -> bool:
    if rule.where == "code":
        return any(rule.pattern.match(code) for code in found.codes)
    return rule.where == "text" and any(
        rule.pattern.search(text) and not (rule.unless and rule.unless.search(text)) for text in found.texts
    )


def _compared(found: _ErrorText) -> tuple[int, int] | None:
    """The only two figures about input tokens in a text: the limit, which is always the smaller one, and the size."""
    for rule in (one for one in TABLE if one.says == "compared"):
        for text in (one for one in found.texts if _speaks(rule, _ErrorText([one]))):
            figures = sorted({_number(match[1]) for match in FIGURE.finditer(text)})
            figures = [one for one in figures if one not in _STATUSES]
            if len(figures) == 2 and figures[0] >= _SMALLEST_WINDOW and figures[1] < 100 * figures[0]:
                return figures[0], figures[1]
    return None


def _measure(found: _ErrorText, pair: tuple[int, int] | None) -> Overflow:
    limit = _figure("limit", found)
    total, prompt = _figure("total", found, limit), _figure("prompt", found, limit)
    output = _figure("output", found)
    if pair and limit in (None, pair[0]) and {total, prompt} <= {None, pair[1]}:
        limit, prompt = pair
    if output is not None and total is not None and total > output:
        prompt = total - output  # includes tool schemas, unlike "in the messages"
    if total is None and prompt is not None:
        total = prompt + (output or 0)
    return Overflow(
        kind=_kind(limit, prompt, output),
        limit=limit,
        requested=total,
        prompt=prompt,
        output=output,
        lower_bound=_says("at-least", found),
        prompt_only=_says("prompt-only", found),
    )


def _kind(limit: int | None, prompt: int | None, output: int | None) -> Kind:
    if limit is None or output is None:
        return "prompt"
    if output >= limit:
        return "output"
    return "sum" if prompt is not None and prompt <= limit else "prompt"


def _figure(says: Says, found: _ErrorText, other_than: int | None = None) -> int | None:
    """The first figure of its kind in the order of the table, which lists fields first, since they are unambiguous."""
    for rule in TABLE:
        if rule.says == says:
            for figure in _figures(rule, found):
                if figure and figure != other_than:
                    return figure
    return None


def _figures(rule: OverflowRule, found: _ErrorText) -> Iterator[int]:
    if rule.where == "field":
        yield from (n for name, n in found.fields.items() if rule.pattern.match(name))
    for text in found.texts if rule.where == "text" else ():
        for match in rule.pattern.finditer(text):
            yield _number(next(g for g in match.groups() if g))


def _number(figure: str) -> int:
    if scale := _SCALES.get(figure[-1]):
        return round(float(figure[:-1].replace(",", ".")) * scale)
    return int(re.sub(r"\D", "", figure))


def _read(text: str, *, in_stream: bool) -> _ErrorText:
    found = _ErrorText()
    text = text.lstrip("\ufeff \t\r\n")
    if in_stream:
        event, text = _first_event(text)
        if text[:1] not in "{[" and event != "error":
            return found
    _read_text(text, found, 0)
    return found


def _first_event(text: str) -> tuple[str, str]:
    """Name and data of the first event; an unframed body is its own data."""
    if text[:1] in ("{", "["):
        return "", text
    name, data = "", []
    for line in text.splitlines():
        field_name, _, value = line.partition(":")
        if field_name == "data":
            data.append(value.removeprefix(" "))
        elif field_name == "event":
            name = value.strip()
        elif not line and data:
            break
    return name, "\n".join(data)


def _read_text(text: str, found: _ErrorText, depth: int) -> None:
    """Read a text that is JSON, contains JSON after some words, or is words."""
    at = min((i for i in (text.find("{"), text.find("[{")) if i >= 0), default=-1)
    if at < 0 or depth > 3:
        _add_words(text, found)
        return
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, at)
    except (ValueError, RecursionError):  # truncated, or a printed Python dict
        _add_words(text[:at], found)
        if not _read_loose(text[at:], found, depth):
            _add_words(text[at:], found)
        return
    _add_words(text[:at] + text[end:], found)
    _read_value(value, found, depth)


def _read_loose(text: str, found: _ErrorText, depth: int) -> bool:
    """Read the fields of truncated JSON; whether there were any."""
    found_any = False
    for m in _LOOSE_FIELD.finditer(text):
        found_any = True
        if m[1] in _WORDS or m[1] in _CODES or m[3]:
            _read_field(m[1], int(m[3]) if m[3] else _unescape(m[2]), found, depth)
    return found_any


def _unescape(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text.replace('\\"', '"').replace("\\n", "\n")


def _read_value(value: Any, found: _ErrorText, depth: int) -> None:
    if isinstance(value, list):
        for item in value[:20]:
            _read_value(item, found, depth + 1)
    elif isinstance(value, str) and depth <= 8:  # a list of messages
        _read_text(value, found, depth + 1)
    elif isinstance(value, dict) and depth <= 8:
        for key, item in ((name.lower(), item) for name, item in value.items()):
            if isinstance(item, dict | list):
                if key in _HOLDERS or key.endswith("_error"):
                    _read_value(item, found, depth + 1)
                if key == "message" and isinstance(item, dict) and "role" not in item and "type" not in item:
                    _read_value([item[name] for name in _SPOKEN if isinstance(item.get(name), str)], found, depth + 1)
            else:
                _read_field(key, item, found, depth)


def _read_field(key: str, value: Any, found: _ErrorText, depth: int) -> None:
    if key in _CODES and isinstance(value, str | int):
        found.codes.append(_code(str(value)))
    elif key in _WORDS and isinstance(value, str):
        _read_text(value, found, depth + 1)
    elif isinstance(value, int) and not isinstance(value, bool):
        found.fields.setdefault(key, value)


def _code(value: str) -> str:
    return value.lower().replace("-", "_")


def _add_words(text: str, found: _ErrorText) -> None:
    if "<" in text:
        text = html.unescape(_TAG.sub(" ", text))
    text = text.lower().replace("\u0307", "").replace("’", "'")  # "İ" in lower case includes a combining dot
    text = _OF_SOMEBODY.sub(" ", _QUOTED.sub(" ", _ECHO.sub("", text)))
    text = _NAMED.sub(lambda name: name[0] if _MEASURES.search(name[0]) else "the", text).strip()
    if text:
        found.texts.append(text)
