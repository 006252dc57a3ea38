"""Reading the upstream's own figures from a copy of its response.

This module finds ``"usage": {...}``, errors and a stream's last event in bytes that pass by, streamed or not, coded or not, in
constant memory. It never holds a response back, changes it, or raises: whatever it does not understand counts as no usage.

The bytes are searched, not parsed: inside a JSON string the quotes of such a text would be escaped, so an unescaped match is
a key. That one search serves server-sent events and whole bodies alike, wherever chunk borders fall.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from turnfold.compression import lazy
from turnfold.proxy.chat.receipts import Usage
from turnfold.proxy.http.codings import CodedBodyBroken, CodedBodyTooLarge, Inflater, is_readable

_KEY: Final = re.compile(
    rb'"(?P<object>usage|error)"\s{0,8}:\s{0,8}\{|"model"\s{0,8}:\s{0,8}"(?P<model>[^"\\]{1,128})"'
    rb'|"service_tier"\s{0,8}:\s{0,8}"(?P<tier>[^"\\]{1,32})"'
    rb'|"type"\s{0,8}:\s{0,8}"(?P<last>message_stop|response\.(?:completed|incomplete|failed))"'
    rb'|(?P<failure>\{)\s{0,8}"type"\s{0,8}:\s{0,8}"error"\s{0,8},\s{0,8}"(?:code|message|param|sequence_number)"'  # Responses
    rb'|"type"\s{0,8}:\s{0,8}"(?P<hosted>server_tool_use|mcp_tool_use|shell_call_output|program|'
    rb'(?!function_|custom_tool_|local_shell_|shell_|apply_patch_|computer_)[a-z_]{1,32}_call)"'  # what the client runs itself
)
#: A whole body that is an error; some servers give it a status of 200.
_ERROR_BODY: Final = re.compile(rb'\s{0,64}\[?\s{0,64}\{\s{0,64}"error"\s{0,8}:\s{0,8}[{"]')
_DONE: Final = re.compile(rb"(?:\A|[\r\n])data: ?\[DONE\]\s*\Z")
_BLANK_LINES: Final = (b"\n\n", b"\r\n\r\n", b"\r\r")
_MARK: Final = lazy.pattern(rb'"(?:[^"\\]|\\.)*+"|["{}]', re.DOTALL)  # a string at once, where all of it is there
_BRACKETS: Final = (b"{", b"}")
_ESCAPE_OR_END: Final = re.compile(rb'\\.|"', re.DOTALL)
_CARRY: Final = 192  # more than the longest match that a chunk border may cut
_LONGEST: Final = 16384  # the largest usage object seen in the field has about 1 kB
_MOST_INFLATED: Final = 32 * 2**20  # an answer of a model has less than one; what is inflated here holds up the event loop
#: Ten times the largest context window of any model (10 million tokens). What is reported beyond is no count of tokens, and its
#: dollars would spoil every sum that it is added to: it counts as not reported.
MOST_TOKENS: Final = 100_000_000
#: Maximum plausible dollars of one request: more than a hundred million tokens at the highest known price.
MOST_DOLLARS: Final = 1_000_000.0
_LONGEST_TIER: Final = 32
_DECODER: Final = json.JSONDecoder()

#: Where providers say it, in order of trust (OpenAI; DeepSeek; Anthropic and its relays, as LiteLLM; Qwen; Moonshot; Mistral, in
#: two more spellings; relays of Bedrock's Converse).
_PATHS: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "prompt_tokens": (("prompt_tokens",), ("input_tokens",)),
    "completion_tokens": (("completion_tokens",), ("output_tokens",)),
    "cached_tokens": (
        ("prompt_tokens_details", "cached_tokens"),
        ("input_tokens_details", "cached_tokens"),
        ("prompt_cache_hit_tokens",),
        ("cache_read_input_tokens",),
        ("cached_tokens",),
        ("prompt_token_details", "cached_tokens"),
        ("num_cached_tokens",),
        ("cacheReadInputTokens",),
    ),
    "cache_write_tokens": (
        ("prompt_tokens_details", "cache_write_tokens"),
        ("input_tokens_details", "cache_write_tokens"),
        ("cache_write_tokens",),
        ("cache_creation_input_tokens",),
        ("prompt_tokens_details", "cache_creation_tokens"),
        ("prompt_tokens_details", "cache_creation_input_tokens"),
        ("cacheWriteInputTokens",),
    ),
    "cache_write_hour_tokens": (
        ("cache_creation", "ephemeral_1h_input_tokens"),
        ("prompt_tokens_details", "cache_creation_token_details", "ephemeral_1h_input_tokens"),
    ),
    "audio_prompt_tokens": (("prompt_tokens_details", "audio_tokens"), ("input_tokens_details", "audio_tokens")),
    "audio_completion_tokens": (("completion_tokens_details", "audio_tokens"), ("output_tokens_details", "audio_tokens")),
}
#: Where a usage says it, and its unit in dollars: OpenRouter ("Usage Accounting") and other gateways, Perplexity, DeepInfra, xAI,
#: which bills in ticks ("Cost Tracking").
_COSTS: Final[tuple[tuple[tuple[str, ...], float], ...]] = (
    (("cost",), 1.0),
    (("cost", "total_cost"), 1.0),
    (("estimated_cost",), 1.0),
    (("cost_in_usd_ticks",), 1e-10),
)
#: LiteLLM, "Response Headers": after discounts and margins. A stream's head comes before its cost is known.
COST_HEADER: Final = b"x-litellm-response-cost"
#: Where they say how much of the answer was thinking.
_THOUGHTS: Final = ("completion_tokens_details", "output_tokens_details")


def _figures(usage: dict[str, Any], before: Usage) -> dict[str, int | None] | None:
    """The figures of a report, each from its most trusted place, else as known before; None if a place holds something that is
    not a token count. A stream that reported a figure does not retract it by reporting 0.
    """
    found: dict[str, int | None] = {}
    for name, paths in _PATHS.items():
        told = [value for path in paths if (value := _at(usage, path)) is not None]
        if not all(map(_is_count, told)):
            return None
        found[name] = (int(told[0]) if told else 0) or getattr(before, name) or (0 if told else None)
    return found


def _at(usage: dict[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = usage
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _is_count(value: object) -> bool:
    """Some servers write whole numbers as floats."""
    return (type(value) is int or (type(value) is float and value.is_integer())) and 0 <= value <= MOST_TOKENS


def merged(before: Usage, reported: dict[str, Any]) -> Usage:
    """The figures known so far with those of a later report: a stream may report several times, each time more.

    Where one figure is no count of tokens the others are not trusted either: nothing is known of such a request.
    """
    found = _figures(reported, before)
    if found is None:
        return Usage()
    found["prompt_tokens"] = _whole_prompt(before, reported, found)
    found["completion_tokens"] = _whole_completion(reported, found)
    cost = _cost(reported)
    return Usage(
        **found,
        service_tier=_tier(reported) or before.service_tier,
        inference_geo=_region(reported) or before.inference_geo,
        cost=before.cost if cost is None else cost,
    )


def _whole_completion(reported: dict[str, Any], found: dict[str, int | None]) -> int | None:
    """All output, thinking included.

    xAI and Google bill thinking as output, and count it in `total_tokens` but not in `completion_tokens` (xAI, "Consumption and
    rate limits"; Google, "Thinking"): what is missing counts as thinking if the details say the same number or none.
    """
    missing = _missing(reported, found)
    details = [reported[name] for name in _THOUGHTS if isinstance(reported.get(name), dict)]
    thoughts = next((one["reasoning_tokens"] for one in details if one.get("reasoning_tokens")), missing)
    return found["completion_tokens"] if not missing or missing != thoughts else (found["completion_tokens"] or 0) + missing


def _cost(usage: dict[str, Any]) -> float | None:
    """The dollars in a reported usage; None if it has none.

    Zero only counts with OpenRouter's word on whose key was used: a gateway that knows no price says zero as well. With the
    client's own key at a provider, OpenRouter charges its fee, and the provider the rest.
    """
    for path, unit in _COSTS:
        cost = _dollars(_at(usage, path), unit)
        if cost is not None:
            own_key = usage.get("is_byok")
            inference = _dollars(_at(usage, ("cost_details", "upstream_inference_cost"))) if own_key is True else None
            total = cost + (inference or 0.0)
            return total if total or own_key is not None else None
    return None


def cost_in_header(value: bytes | None) -> float | None:
    """The dollars in a gateway's header; None if it has none. Zero is what it says where it knows no price."""
    try:
        return _dollars(float(value or b"")) or None
    except ValueError:
        return None


def _dollars(value: object, unit: float = 1.0) -> float | None:
    """A number in units of dollars; None if it is none, or more than a request can cost."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return unit * value if 0 <= value <= MOST_DOLLARS / unit else None


def _missing(reported: dict[str, Any], found: dict[str, int | None]) -> int:
    """Tokens of the total that are neither the prompt's nor the completion's; 0 if that is not known."""
    prompt, completion, total = found["prompt_tokens"], found["completion_tokens"], reported.get("total_tokens")
    if prompt is None or completion is None or type(total) is not int or total > MOST_TOKENS:
        return 0
    return max(0, total - prompt - completion)


def _tier(reported: dict[str, Any]) -> str | None:
    """Anthropic says in its usage how a request was processed: a tier of service, and whether it was the fast (dearer) way."""
    if reported.get("speed") == "fast":
        return "fast"
    tier = reported.get("service_tier")
    return tier[:_LONGEST_TIER].lower() if isinstance(tier, str) else None


def _region(reported: dict[str, Any]) -> str | None:
    """Where Anthropic says that a request was processed: "us", "global", or another word of few letters."""
    region = reported.get("inference_geo")
    return region[:_LONGEST_TIER].lower() if isinstance(region, str) else None


def _whole_prompt(before: Usage, reported: dict[str, Any], found: dict[str, int | None]) -> int | None:
    """Anthropic's `input_tokens` are those behind the cache; OpenAI's, which come with details, are all of the prompt.

    Some relays give Anthropic's in OpenAI's words: the cache's are more than the prompt, or are what the total lacks.
    """
    prompt, cached, written = (found[name] or 0 for name in ("prompt_tokens", "cached_tokens", "cache_write_tokens"))
    if "prompt_tokens" in reported or "input_tokens_details" in reported or not reported.get("input_tokens"):
        apart = _missing(reported, found)
        if not apart or apart not in (cached, written, cached + written):
            apart = cached + written if cached + written > prompt else 0
        return None if found["prompt_tokens"] is None else prompt + apart
    return max(prompt + cached + written, before.prompt_tokens or 0)


class UsageReader:
    """Watches one response's bytes go by.

    Args:
        coding: the response's ``content-encoding``, lower case, "" for none.
        streamed: whether it is a stream of events, which may report several times. Else its last report counts alone: what comes
            before may be a tool's arguments, which Anthropic sends as an object.

    Attributes:
        has_hosted_calls: whether the provider ran a tool of its own. The model was sampled once more behind each, and the usage
            is the sum (Anthropic, `usage.iterations`; OpenAI the same): what was sent is only a part of that prompt.
    """

    def __init__(self, coding: str = "", *, streamed: bool = True) -> None:
        self.usage = Usage()
        self._streamed = streamed
        self._last_event = self._begun = False
        self.model = ""
        self.has_hosted_calls = False
        self._error = b""
        self._is_answered = self._has_failed = False
        self._held = b""
        self._collecting = self._is_error = False
        self._seen = self._depth = 0  # of an object that is being collected: bytes looked at, objects that are open
        self._in_string = False
        self._plain: Callable[[bytes], Iterator[bytes]] | None = None
        self._blind = coding not in ("", "identity") and not is_readable(coding)
        if is_readable(coding):
            self._plain = Inflater(coding, _MOST_INFLATED).pieces

    @property
    def has_ended(self) -> bool:
        """Whether the last event of a stream has passed by, as each wire tells it. The SDK for Python hangs up then, and does not
        wait for the end of the body."""
        if not self._streamed:
            return False
        return _DONE.search(self._held) is not None or (self._last_event and self._held.endswith(_BLANK_LINES))

    @property
    def is_refused(self) -> bool:
        """Whether it is an error instead of an answer: it has no usage, and names no model or says that it failed."""
        has_failed = self._has_failed or (bool(self._error) and not (self.model or self._is_answered))
        return has_failed and self.usage.prompt_tokens is None

    @property
    def broke_off(self) -> bytes:
        """The error that ended a stream, as a separate body; b"" if there was none."""
        return b"" if self._is_answered else self._error

    def feed(self, chunk: bytes) -> None:
        """Look at the next bytes. Never raises."""
        if self._blind:
            return
        if self._plain is None:
            self._scan(chunk)
            return
        try:
            for piece in self._plain(chunk):
                self._scan(piece)
        except (CodedBodyBroken, CodedBodyTooLarge):
            self._blind = True

    def _scan(self, piece: bytes) -> None:
        data = self._held + piece
        at = 0
        if not (self._begun or self._streamed):
            self._begun = True
            self._has_failed = _ERROR_BODY.match(data) is not None
        if self._collecting:
            at = self._collect(data, 0)
        while not self._collecting:
            match = _KEY.search(data, at)
            if match is None:
                self._held = data[max(at, len(data) - _CARRY) :]
                return
            at = self._read_key(match, data)

    def _read_key(self, match: re.Match[bytes], data: bytes) -> int:
        """Handle a key; returns the position after it, or after its object."""
        if match["model"] is not None:
            self.model = self.model or match["model"].decode("utf-8", "replace")
        elif match["tier"] is not None:  # a stream repeats first what was asked for, and at its end says what was done
            self._tell_tier(match["tier"].decode("utf-8", "replace").lower())
        elif match["last"] is not None:
            self._last_event = True
            self._has_failed = match["last"] == b"response.failed"
            self._is_answered = not self._has_failed
        elif match["hosted"] is not None:
            self.has_hosted_calls = True
        elif match["failure"] is not None:
            if self._streamed:
                self._is_error = True
                return self._collect(data, match.start())
        elif self._streamed or match["object"] == b"usage":  # a whole body's may be a tool's arguments
            self._is_error = match["object"] == b"error"
            return self._collect(data, match.end() - 1)
        return match.end()

    def _tell_tier(self, tier: str) -> None:
        if tier != self.usage.service_tier:  # every event of a stream says it
            self.usage = replace(self.usage, service_tier=tier)

    def _collect(self, data: bytes, start: int) -> int:
        """Read the object that opens at `start`; if it is incomplete, keep it for the next piece."""
        if not self._collecting:
            self._seen = self._depth = 0
            self._in_string = False
        end = self._end(data, start)
        self._collecting = end is None and len(data) - start < _LONGEST
        self._held = data[start:] if self._collecting else b""
        if end is None:
            return start + 1
        if self._is_error:  # what it holds is looked at too: errors in it, which are a part of it, and usage
            told = data[start:end]
            self._error = self._error if told in self._error else b'{"error":%b}' % told
            return start + 1
        try:
            reported = _DECODER.decode(data[start:end].decode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError):
            return start + 1
        before = self.usage if self._streamed else Usage(service_tier=self.usage.service_tier)
        self.usage = merged(before, reported)
        return end

    def _end(self, data: bytes, start: int) -> int | None:
        """Where the object closes; None while it does not. Every byte is looked at once, however small the pieces are."""
        at, stop = start + self._seen, min(len(data), start + _LONGEST)
        while match := (_ESCAPE_OR_END if self._in_string else _MARK).search(data, at, stop):
            at = match.end()
            if match[0] == b'"':
                self._in_string = not self._in_string
            elif match[0] in _BRACKETS:
                self._depth += 1 if match[0] == b"{" else -1
                if not self._depth:
                    return at
        # A backslash at the end of a piece belongs to the byte that comes next.
        self._seen = max(at, stop - (self._in_string and data[stop - 1 : stop] == b"\\")) - start
        return None
