"""Requests of every number of messages, cut and fitted into every room (``tests.support.golden`` says when to write anew)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import Any, Final

from tests.support import golden
from tests.support.three_wires import WIRES
from turnfold.compression.calibration import Learned
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.cut import cut
from turnfold.compression.fit.fit import fit
from turnfold.compression.fit.overflow import detect
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.conversation import Conversation

FILES = Path(__file__).parent / "golden"
MEMO = Memo()
OPTIONS: Final = FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0))


def read(messages: Sequence[dict[str, Any]]) -> Conversation:
    return WIRES["chat"].wire.read(json.dumps({"model": "gpt-4o", "messages": messages}).encode(), MEMO)


def chat(number: int, *, pictures: int = 0, pinned: int = 0) -> Conversation:
    """So many short messages; every so many one with a picture, or instructions between two others."""
    found: list[dict[str, Any]] = []
    for i in range(number):
        role, said = ("user", "assistant")[i % 2], f"{i}. The pump of bay {i} ran. " + "Yes. " * (i % 5)
        content: Any = said
        if pictures and i % pictures == 0 and role == "user":
            content = [{"type": "text", "text": said}, {"type": "image_url", "image_url": {"url": f"https://x.org/{i}.png"}}]
        if pinned and i % pinned == pinned - 1:
            found.append({"role": "system", "content": f"From message {i} on be short."})
        found.append({"role": role, "content": content})
    return read(found)


def agent(number: int) -> Conversation:
    """So many calls with results, of which every third is long, and arguments that are long strings or no JSON."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "Find the bay. " * 9}]
    for i in range(number):
        given = (
            json.dumps({"path": f"{i}.log", "text": "one two three " * (60 * (i % 3 == 0)), "n": i}) if i % 5 else '{"path": "x'
        )
        call = {"id": f"c{i}", "type": "function", "function": {"name": "read", "arguments": given}}
        found += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{i}", "content": f"{i} of many. " * (4 if i % 3 else 90)},
        ]
    return read([*found, {"role": "user", "content": "Which bay is it?"}])


def told(request: Conversation, budget: int) -> str:
    try:
        made = cut(request, budget, OPTIONS, MEMO)
    except FoldRejected as rejected:
        return rejected.reason
    if made is None:
        return "none"
    return f"{made.tokens} {made.shortened} {made.dropped} {made.recent_whole} {golden.name_of(made.forwarded.body)}"


def test_cuts_of_every_size() -> None:
    lines = []
    for number in (*range(1, 14), 41, 42, 50, 51, 81, 82, 83, 99, 101, 102, 103, 104, 123, 151):
        for name, request in {
            "plain": chat(number),
            "pictures": chat(number, pictures=6 if number > 9 else 2),
            "pinned": chat(number, pinned=4),
        }.items():
            total = sum(one.tokens for one in request.messages)
            shares = (0.35, 0.7) if number < 40 or name == "plain" else (0.5,)
            lines += [f"{name} {number} {share}: {told(request, int(share * total))}" for share in shares]
    golden.agrees(FILES / "sizes.txt", lines)


def test_cuts_into_every_room() -> None:
    lines = []
    for name, request in {"chat": chat(9), "pictures": chat(12, pictures=4), "agent": agent(7)}.items():
        total = sum(one.tokens for one in request.messages)
        lines += [f"{name} {room}: {told(request, room)}" for room in range(8, total + 10, max(1, total // 60))]
    golden.agrees(FILES / "rooms.txt", lines)


def test_windows_around_what_fits() -> None:
    """Into a window that just holds the request, one token less, one more; and into small ones, with what was learned."""
    lines = []
    for name, request in {"chat": chat(60, pictures=9), "agent": agent(9)}.items():
        total = fit(request, OPTIONS, MEMO, Learned()).tokens
        learnt = (Learned(), Learned((1.2, 0.9), fits=total // 2, fails=total))
        for window, learned in golden.some(product((total - 1, total, total + 40, total * 3 // 4, total // 3), learnt)):
            try:
                made = fit(request, replace(OPTIONS, window=window), MEMO, learned)
            except FoldRejected as rejected:
                lines.append(f"{name} {window}: {rejected.reason}")
                continue
            lines.append(f"{name} {window}: {made.tokens} {made.fitted} {golden.name_of((made.account, made.forwarded.body))}")
    golden.agrees_in(FILES / "windows.txt", lines)


#: An example that hardly any other rule knows, for each rule on overflows.
FULL: Final = (
    *(
        "exceed context size 9",
        "the sequence length is too great",
        "input count exceeds all",
        "beyond tokens allowed",
        "the history was too big",
    ),
    *(
        "too many total tokens",
        "amount of tokens over it",
        "shorten your history",
        "ctx was 900) > (800",
        "message too long",
        "out of context",
    ),
    *(
        "request too large, 900 tokens",
        "provide a shorter input",
        "maximum input length",
        "context was in overflow",
        "`inputs` must have less than",
    ),
    *(
        "than the paged kv cache",
        "输入 超过 了",
        "超出 token",
        "入力が長すぎ",
        "トークン数超過",
        "입력이 너무 길다",
        "컨텍스트 초과",
        "eingabe ist zu lang",
    ),
    *(
        "la requête est trop longue: trop long",
        "dépasse le contexte",
        "la entrada es demasiado larga",
        "excede contexto",
        "запрос слишком длинный",
    ),
    *(
        "превышен контекст",
        "max tokens of 900 exceeded",
        "expected maxlength: 90, actual: 100",
        "over the model's token limit",
        "n_ctx will exceed",
    ),
    *(
        "context size exceeded",
        "input length exceeds context length",
        "max_tokens must be at least 1, got -5",
        "range of input length should be",
    ),
)
FIGURES: Final = (
    *(
        "n_ctx: 700",
        "max size: 700",
        "900) + (100) > 700",
        "(900 / 700)",
        "900 tokens > 700",
        "context window of 700",
        "token limit: 700",
    ),
    *(
        "with 700 maximum context",
        "max_seq_len: 700",
        "maximum input length 700",
        "700 tokens max",
        "limit for this model is 700",
        "cache size 700",
    ),
    *(
        "limited to 700",
        "at most 700",
        "must be <= 700",
        "exceeds the maximum of 700",
        "longer than 700",
        "fewer than 700",
        "700 allowed",
        "上限 700",
    ),
    *(
        "máximo de 700",
        "максимум 700",
        "total of at least 950",
        "requested about 950",
        "current length is 950",
        "max_total_tokens 950",
        "n_keep 900",
    ),
    *(
        "maxlength: 700, actual: 900",
        "900 tokens provided",
        "resulted in 900",
        "900 tokens in your prompt",
        "the request has 900",
        "got about 900 tokens",
    ),
    *(
        "input too long: 900",
        "token count is 900",
        "messages: 900",
        "900 `inputs` tokens",
        "given: 900",
        "keep the first 900",
        "120) > 700 - 20",
    ),
    *(
        "30 > 700 - 670",
        "30 for the completion",
        "30 output tokens",
        "max_tokens=30",
        "at least 900 tokens",
        "more than 900 tokens were",
        "input token count",
    ),
)
NO: Final = (
    *(
        "tokens per min",
        "rpm",
        "rate limit",
        "please wait",
        "频率",
        "quota",
        "can only afford",
        "content filter",
        "flagged",
        "name too long",
    ),
    *(
        "at most 90 output tokens",
        "maximum output tokens (90)",
        "max_tokens: 90 > 80",
        "daily limit",
        "limit for this week",
        "max_tokens must be small",
    ),
    *(
        "image too large",
        "megapixel",
        "payload too large",
        "9 characters",
        "invalid value",
        "internal error",
        "too many requests",
        "out of credit",
    ),
)
CODES: Final = (
    *(
        "rate_limit_x",
        "tokens",
        "overloaded_error",
        "image_x",
        "context_length_exceeded",
        "exceed_context_size_error",
        "context_too_long",
    ),
    *(
        "prompt_too_long",
        "outofcontexterror",
        "tokens_limit_reached",
        "input_token_limit",
        "3051",
        "5021",
        "1261",
        "input_too_long",
        "9999",
    ),
)


def _detected(said: dict[str, Any]) -> str:
    found = detect(400, json.dumps({"error": said}).encode(), in_stream=False)
    return "none" if found is None else " ".join(str(getattr(found, field.name)) for field in fields(found))


def test_what_an_upstream_may_say() -> None:
    lines = []
    for said in (*FULL, *FIGURES, *NO):
        texts = (
            said,
            f"too many tokens, {said}",
            f"{said}: context length is 800",
            f"The prompt is too long. {said}. 40 requests/min",
        )
        lines += [f"{text}: {_detected({'message': text})}" for text in texts]
    for code in CODES:
        lines += [
            f"{code} {text}: {_detected({'message': text, 'code': code})}" for text in ("No.", "too many tokens", "Limit: 800")
        ]
    for field in ("n_ctx", "context_window", "max_input_tokens", "n_prompt_tokens", "prompt_tokens", "input_tokens", "nothing"):
        lines.append(f"{field}: {_detected({'message': 'too many tokens', field: 800, 'more': {field: '900'}})}")
    golden.agrees(FILES / "said.txt", lines)


def test_what_is_said_in_an_answer() -> None:
    """No error but where it is known to be the first event of a stream."""
    body = json.dumps({"error": {"message": "too many tokens: context length is 800"}}).encode()
    assert detect(200, body) is None
    assert detect(200, body, in_stream=True) is not None
