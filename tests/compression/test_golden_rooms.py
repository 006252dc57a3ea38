"""Whole conversations in every room, from none to room for all, and what a message is counted as (``tests.support.golden`` says
when to write the files anew).

These tests cover budgets, windows and thresholds in small steps, over conversations that have something of everything: whatever
just fits somewhere does so in one of them. They leave out rooms for one text (``shorten/test_golden.py``), for a request that is
cut (``fit/test_golden_sizes.py``).
"""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from itertools import product
from pathlib import Path
from typing import Any, Final

from tests.compression.fold.test_golden import CLAUDE, FREE, OPENAI, chat_body, tool_run
from tests.compression.recall.test_golden import ASKED, sources, talk
from tests.support import golden, odd_texts, small_talk
from tests.support.recalled import recall
from turnfold.compression import CompressOptions, compress
from turnfold.compression.budgeted import History, HistoryMessage, HistorySettings, add, context, drill_down, search
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions, Prose
from turnfold.compression.recall.question import Question, has_content
from turnfold.compression.roundtrip.condense import LEVELS, OutputText, condense, is_spoken, pieces
from turnfold.compression.roundtrip.values import characters, default_token_counter, readable, texts_of
from turnfold.compression.shorten.reading import read
from turnfold.compression.text import words
from turnfold.compression.text.dialogue import requests
from turnfold.compression.tokens import count
from turnfold.compression.wire.media import attachment, media_tokens, source_attachment, source_tokens
from turnfold.compression.wire.readable import readable_texts, readable_tokens, sealed_tokens
from turnfold.compression.wire.wires import read_any

FILES = Path(__file__).parent / "golden"
_LINE: Final = "2026-03-01 11:00:00 INFO reel {} of bay {} took {} ms at src/desk/{}.py"


def _mixed(size: int) -> list[golden.Message]:
    """People, a program, the same said again, calls with results, a picture, and orders."""
    logs = ["\n".join(_LINE.format(i, i % 3, 7 * i, "ab"[i % 2]) for i in range(k, k + 9 + k)) for k in range(size)]
    found: list[golden.Message] = [{"role": "system", "content": "You run the harbour desk. Never call Ben."}]
    for i in range(size):
        said = " ".join(odd_texts.PIECES[(5 * i + k) % 24] for k in range(1 + i % 6))
        call = {
            "id": f"c{i}",
            "type": "function",
            "function": {"name": "read", "arguments": json.dumps({"path": f"{i}.log", "n": i})},
        }
        found.append({"role": "user", "content": said if i % 4 else f"{said}\n\n{logs[i]}"})
        if i % 3 == 1:
            found += [
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"c{i}", "content": logs[i // 2 * 2]},
            ]
        found.append({"role": "assistant", "content": f"{odd_texts.PIECES[i % 40]} {said} {odd_texts.PIECES[-1 - i % 30]}"})
    parts = [{"type": "text", "text": "And this one?"}, {"type": "image_url", "image_url": {"url": "https://x.org/a.png"}}]
    return [*found, {"role": "user", "content": parts}]


def test_messages_kept_within_every_budget() -> None:
    lines = []
    for name, messages in {
        "mixed": _mixed(9),
        "talk": [*small_talk.talk(7, "The code is R-0417.", 2), *small_talk.chat(5)],
    }.items():
        whole = sum(map(default_token_counter, messages))
        for number, budget in golden.some(enumerate(range(20, whole + 60, max(7, whole // 10))), 2):
            options: dict[str, Any] = {
                "force_converge": number % 3 > 0,
                "min_recency_window": number % 4,
                "fuzzy_dedup": number % 2 > 0,
            }
            made = compress(messages, CompressOptions(token_budget=budget, trace=True, **options))
            told = [(one.action, one.after) for one in made.trace or ()]
            size = sum(map(default_token_counter, made.messages))
            lines.append(f"{name} {budget}: {made.fits} {size} {golden.name_of((made.messages, told))}")
        for window in range(0, len(messages) + 1, 3):
            made = compress(
                messages, CompressOptions(recency_window=window, fuzzy_dedup=True, fuzzy_threshold=window / len(messages))
            )
            lines.append(f"{name} window {window}: {golden.name_of(made.messages)}")
    golden.agrees_in(FILES / "every_budget.txt", lines)


def test_one_long_message_in_every_budget() -> None:
    """All that does not fit is one message: as much of it stays as there is room for."""
    said = " ".join(f"{one[:-1]}, as on day {i}." for i, one in enumerate(odd_texts.PIECES[:16] * 3))
    logs = "\n".join(_LINE.format(i, i % 3, 7 * i, "ab"[i % 2]) for i in range(60))
    lines = []
    for name, long in {"said": said, "logs": logs, "both": f"{said[:1500]}\n\n{logs[:2000]}"}.items():
        for place in (1, 3)[len(name) % 2 :][:1]:
            messages = small_talk.talk(5)
            messages[place]["content"] = long
            whole = sum(map(default_token_counter, messages))
            made = [
                compress(messages, CompressOptions(token_budget=whole * share // 100, force_converge=True))
                for share in range(28, 100, 5)
            ]
            sizes = [sum(map(default_token_counter, one.messages)) for one in made]
            lines.append(f"{name} {place}: {sizes} {golden.name_of([one.messages for one in made])}")
    golden.agrees(FILES / "one_long_message.txt", lines)


def test_folds_into_every_budget() -> None:
    lines = []
    for name, messages in {"mixed": _mixed(24), "tools": tool_run(5)}.items():
        request = read_any(chat_body(messages), Memo())
        for number, budget in golden.some(enumerate(range(150, 3600, 430)), 2):
            options = FoldOptions(
                prices=(FREE, OPENAI, CLAUDE)[number % 3],
                budget=budget,
                recall=number % 5 != 4,
                prose=Prose(("off", "lite", "full", "ultra")[number % 4]),
                wants_summaries=number % 2 == 0,
            )
            try:
                made = fold(request, options, Memo())
            except FoldRejected as rejected:
                lines.append(f"{name} {budget}: {rejected.reason}")
                continue
            told = (made.sections, made.account, made.wanted, made.outlook, made.decided)
            lines.append(f"{name} {budget}: {made.tokens_after} {made.fitting} {golden.name_of((made.body, told))}")
    golden.agrees_in(FILES / "every_fold.txt", lines)


def test_histories_with_every_threshold() -> None:
    messages, lines = [one for one in _mixed(12) if isinstance(one["content"], str)], []
    for number, threshold in golden.some(enumerate(range(40, 900, 140)), 2):
        state, settings, told = History(), HistorySettings(threshold, number % 4), list[Any]()
        for i, one in enumerate(messages):
            state, action = add(state, HistoryMessage(one["role"], one["content"]), settings)
            if action != "appended" or i % 6 == 0:
                told.append((action, context(state, settings)))
        drilled = [drill_down(state, block.id, layer) for block in state.blocks[:2] for layer in (0, 1, 2)]
        found = [search(state, text, most) for text in ("pump tide", "docker") for most in (1, 4)]
        lines.append(f"{threshold}: {len(state.blocks)} blocks, {told[-1][1].tokens} {golden.name_of((told, drilled, found))}")
    golden.agrees_in(FILES / "every_threshold.txt", lines)


_KINDS: Final = (
    *(
        *ASKED,
        "What did Ben say last?",
        "When, where and why?",
        "And it?",
        "List all names.",
        "ok",
        "thanks!",
        "Which of them is cheaper?",
    ),
    *(
        "Was it Anna Berg or Ben Carter who wrote about R-0417?",
        "Give me an overview of bay 7",
        "continue",
        "的预算是多少？",
        "全部总结一下",
    ),
    *(
        "Quand est-ce que le bail se termine?",
        "Wer hat Anna angerufen?",
        "first of May",
        "Anna: what of bay 3?",
        "R-0417",
        "12",
        "the second one",
    ),
)


def test_quotes_into_every_room() -> None:
    lines, memo = list[str](), Memo()
    held = {
        "talk": sources(talk(4, 40)),
        "headed": sources(talk(3, 30)),
        "long": sources([odd_texts.text(900 + i) * 2 for i in range(16)]),
    }
    held["document"] = sources(["\n\n".join(f"Pier {k}\n\n{odd_texts.text(700 + k)}" for k in range(9)), *talk(7, 9)])
    for name, some in held.items():
        for number, text in golden.some(enumerate(_KINDS), 2):
            asked = Question(text, tuple(some[-2:]) if number % 2 else ())
            rooms = range(30 + 2 * number, 420, 180)
            found = [recall(some, asked, room, (), count, memo) for room in rooms]
            lines.append(f"{name} {text[:24]!r}: {[len(one) for one in found]} {golden.name_of(found)}")
    for text in _KINDS:
        folded = words.fold(text)
        told = (
            has_content(folded),
            requests.asks_for_cover(folded),
            requests.asks_for_all(folded),
            requests.without_cover_words(folded),
        )
        lines.append(f"{text[:24]!r} {told}")
    golden.agrees_in(FILES / "every_room.txt", lines)


def _png(width: int, height: int) -> str:
    data = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0) + b"\0" * 8
    return b64encode(data).decode()


def test_what_is_counted_of_messages() -> None:
    """Pictures of every size, sealed and readable values, and messages of every length at every level."""
    lines = []
    edges = (0, 1, 511, 512, 513, 767, 768, 769, 1024, 1093, 1568, 1569, 2047, 2048, 2049, 9000)
    for width in edges:
        urls = [f"data:image/png;base64,{_png(width, height)}" for height in edges]
        tiles = [media_tokens([{"image_url": {"url": url, "detail": "high"}}, {"type": "text"}, 7]) for url in urls]
        blocks = [source_tokens({"type": "image", "source": {"type": "base64", "data": url.split(",")[1]}}) for url in urls]
        lines.append(f"{width}: {tiles} {blocks}")
    held = (
        "https://x.org/a/b.png?c=d",
        "data:application/pdf;base64,aGVsbG8=",
        "ftp://x/y",
        "aGk",
        "",
        None,
        7,
        {"url": "http://x/" + "n" * 90},
    )
    for one in held:
        data = one if isinstance(one, str) else "aGVsbG8gd29ybGQ="
        made: list[Any] = [attachment(("content", 0), {"type": kind, "image_url": one}) for kind in ("image_url", "input_image")]
        made += [
            attachment((), {"type": "input_file", "file": {"filename": one, "file_data": data}}),
            attachment((), {"type": "file", "data": one}),
        ]
        made += [source_attachment((), {"type": "image", "source": {"url": one}}), media_tokens([{"image_url": one}])]
        made += [
            source_attachment((), {"type": "document", "title": one, "source": {"media_type": "text/plain; x", "data": data}})
        ]
        lines.append(f"{str(one)[:30]}: {made}")
    values = (
        {"a": ["x y", {"b": "z", "id": "i"}], "n": 7},
        "data:image/png;base64,aGVsbG8",
        "",
        ["a" * 300, None],
        {"type": "x", "text": "of it"},
    )
    lines += [f"{list(readable_texts(value))[:1]!s:.40} {readable_tokens(value)}" for value in values]
    lines.append(str([sealed_tokens("x" * size, around) for size, around in product((0, 5, 6, 90, 91, 92, 93), (0, 1, 60, 70))]))
    for message in _mixed(5):
        lines.append(
            f"{characters(message)} {default_token_counter(message)} "
            f"{golden.name_of((readable(message), list(texts_of(message))))}"
        )
    for size in (0, 119, 120, 121, 199, 200, 201, 2900, 3100, 12_000):
        logs, said = (_LINE.format(1, 2, 3, "a") + "\n") * 200, odd_texts.PIECES[22] + " It was not sold before May. "
        texts = [(logs * 2)[:size], (said * 400)[:size], (f"{said}\n```\nx = 1\n```\nkey: AKIA9XAKIA9XAKIA9X7\n" * 200)[:size]]
        made = [(is_spoken(text), list(pieces(text))) for text in texts]
        made += [
            condense(OutputText(text) if i == 0 else read(text, "user"), level)
            for i, text in enumerate(texts)
            for level in LEVELS
        ]
        lines.append(f"{size} {[round(level.share_of(size), 6) for level in LEVELS]} {golden.name_of(made)}")
    golden.agrees(FILES / "counted.txt", lines)
