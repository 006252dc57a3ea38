"""Layers of texts and conversations within budgets, byte for byte (``tests.support.golden`` says when to write anew)."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.support import golden, odd_bodies, odd_texts, words
from tests.support.cases import each
from turnfold.compression.budgeted import (
    History,
    HistoryMessage,
    HistorySettings,
    add,
    context,
    drill_down,
    export_history,
    search,
)
from turnfold.compression.budgeted.exports import read_export
from turnfold.compression.errors import InvalidInput, SectionUnknown
from turnfold.compression.layers import CompressedResult, Compressor, CompressRequest, SectionLayer, truncate_to_tokens
from turnfold.compression.negotiate import Demand, encodings, negotiate, to_a2a_part, to_mcp_resource

FILES = Path(__file__).parent / "golden"
QUERIES = ("When does the lease end?", "何が決まりましたか", "Что с картой?", "budget euros")


def layered() -> dict[str, str]:
    """Conversations as one text with headings, and texts with data in them."""
    found = {}
    for name, messages in golden.conversations().items():
        said = [m["content"] for m in messages if isinstance(m["content"], str)][:6]
        found[name] = "\n\n".join(f"# Part {i}\n\n{text}" if i % 3 == 0 else text for i, text in enumerate(said))
    return found | {f"mixed {seed}": words.text_of_kind("mixed", seed) for seed in range(3)}


def test_layers() -> None:
    lines = []
    for number, (name, text) in enumerate(layered().items()):
        for i, (ratio, most) in enumerate(((0.15, 1), (0.5, 5))[number % 2 :][: 1 + number // 7]):
            scorer = ("textrank", "tfidf", "conversation", None)[(number + i) % 4]
            query = QUERIES[number % 4] if (number + i) % 2 else None
            made = Compressor().compress(CompressRequest(text, l1_ratio=ratio, l2_max_sentences=most, query=query, scorer=scorer))
            offered = [negotiate(made, Demand(budget=budget)) for budget in (60, 400, None)]
            sizes = [layer.tokens for layer in made.layers]
            lines.append(f"{name} {ratio} {scorer}: {sizes} {golden.name_of(made)} {golden.name_of(offered)}")
            if name in ("oncall_en", "mixed 1"):
                lines += [f"  {line}" for layer in made.layers[1:] for line in layer.text.splitlines()]
    golden.agrees(FILES / "layers.txt", lines)


def test_layers_of_chunks_with_titles_at_every_size() -> None:
    """Titles and the lines that say where a chunk is from are kept as far as the budget goes."""
    chunks = [
        f"[Chunk {i}] Source: desk/{i}.md\n\n{words.prose(i, 'en', 2 + i % 3)}\n\n{words.text_of_kind('json', i)[:300]}"
        for i in range(6)
    ]
    texts = ("\n\n".join(chunks), "\n\n".join(f"## Part {i}\n\n{words.prose(9 + i, 'en', 3)}" for i in range(7)))
    lines = []
    for percent in golden.some(range(4, 100, 6)):
        made = [
            Compressor().compress(CompressRequest(text, l1_ratio=percent / 100, l2_max_sentences=1 + percent % 4))
            for text in texts
        ]
        lines.append(f"{percent}: {[layer.tokens for one in made for layer in one.layers]} {golden.name_of(made)}")
    golden.agrees_in(FILES / "titles.txt", lines)


def test_layers_of_odd_texts() -> None:
    lines = []
    for seed in golden.some(range(30)):
        text = "\n\n".join(odd_texts.text(3000 + 5 * seed + i) for i in range(1 + seed % 6))
        text += "\n\n" + odd_texts.json_text(seed) if seed % 5 == 0 else ""
        ratio, most, query = (0.1, 0.35, 0.8)[seed % 3], 1 + seed % 4, QUERIES[seed % 4] if seed % 2 else None
        scorer = ("textrank", None, "tfidf", "conversation")[seed % 4]
        made = Compressor().compress(CompressRequest(text, l1_ratio=ratio, l2_max_sentences=most, query=query, scorer=scorer))
        offered = [
            negotiate(made, Demand(budget=budget)) for budget in (None, 15, made.layers[1].tokens, made.layers[1].tokens - 1)
        ]
        parts = [(to_a2a_part(one), to_mcp_resource(one)) for one in offered]
        cuts = [truncate_to_tokens(text, limit) for limit in (0, 1, 9, 40, made.layers[0].tokens)]
        names = " ".join(map(golden.name_of, (made, offered, parts, cuts)))
        lines.append(f"{seed} {ratio} {most} {scorer}: {[layer.tokens for layer in made.layers]} {names}")
    golden.agrees_in(FILES / "odd_layers.txt", lines)


def test_layers_of_texts_whose_pieces_touch() -> None:
    lines = []
    for seed in range(48):
        text = " ".join(odd_texts.glued(200 + 3 * seed + i) for i in range(1 + seed % 3))
        ratio, query = (0.08, 0.2, 0.4, 0.6, 0.9)[seed % 5], QUERIES[seed % 4] if seed % 3 == 0 else None
        asked = CompressRequest(text, l1_ratio=ratio, l2_max_sentences=1 + seed % 5, sections=seed % 7 != 0, query=query)
        made = Compressor().compress(asked)
        drilled = [layer for section in made.sections for layer in (made_layer(made, section.id, i) for i in (0, 1, 2))]
        offered = [negotiate(made, Demand(budget=budget), drilled) for budget in (None, 40, made.layers[1].tokens + 9)]
        sizes = [layer.tokens for layer in made.layers]
        lines.append(f"{seed}: {sizes} {len(drilled)} {golden.name_of(made)} {golden.name_of((drilled, offered))}")
    golden.agrees(FILES / "glued_layers.txt", lines)


def test_layers_of_every_size() -> None:
    texts = (
        "# Bay\nAnna moors at 9:30. Nobody paid 40 euros. It rains.\n# Pier\nBen left on 3 May. He never came back.",
        "[Chunk 1] Source: a\n\nThe lease of the pier ends on the last day of May, as Anna Berg wrote to 40 tenants.\n\n"
        "[Chunk 2] Source: b\n\nBen Carter signs it for the desk, unless the audit of 2027 finds that 300 euros are gone.",
        "The pump failed.\n```\nx = 1\ny = 2\nz = x + y\n```\nERROR: no tide\nIt is fine now. Is it?",
    )
    lines = []
    for text in texts:
        size = Compressor().compress(CompressRequest(text)).layers[0].tokens
        asked = [CompressRequest(text, l1_ratio=most / size, l2_max_sentences=1 + most % 3) for most in range(1, size + 1)]
        made = [Compressor().compress(one).layers[1:] for one in asked]
        lines.append(f"{size}: {[one[0].tokens for one in made]} {golden.name_of(made)}")
    golden.agrees(FILES / "sizes.txt", lines)


def made_layer(made: CompressedResult, section: str, layer: int) -> SectionLayer:
    return Compressor().drill_down(made, section, layer)


def test_what_cannot_be_asked_for() -> None:
    """Every field with every value that is near a right one: what is refused, in full."""
    lines = []
    values: tuple[Any, ...] = ("", " ", "a", 0, 1, 2, 3, -1, 0.0, 0.5, 1.0, 1.01, True, None, "textrank", "nobody", ("full",), ())
    for field in ("text", "layer", "l1_ratio", "l2_max_sentences", "sections", "query", "scorer"):
        lines += [_told(partial(CompressRequest, **{"text": "a", field: value})) for value in values]
    lines += [_told(partial(Demand, budget=value)) for value in (None, 0, 1, -1)]
    some: tuple[Any, ...] = ((), ("raw",), ("facts", "summary"), ("facts", "nothing"), ("summary", "raw", "summary"))
    for names in some:
        lines += [_told(partial(Demand, names)), _told(partial(encodings, names))]
    made = Compressor().compress(CompressRequest("A boat came. Another left."))
    for value in values:
        lines.append(_told(partial(made_layer, made, made.sections[0].id, value)))
        lines.append(_told(partial(truncate_to_tokens, "A boat came. Another left.", value)))
    lines.append(_told(partial(made_layer, made, "none", 0)))
    for value in values:
        lines += [
            _told(partial(HistoryMessage, value, "a")),
            _told(partial(HistoryMessage, "user", value)),
            _told(partial(HistorySettings, compress_threshold=value)),
            _told(partial(HistorySettings, keep_recent=value)),
        ]
    golden.agrees(FILES / "refused.txt", lines)


def _told(make: Callable[[], Any]) -> str:
    try:
        return f"{make()!r}"[:200]
    except (InvalidInput, SectionUnknown) as refused:
        return f"{type(refused).__name__} {refused}"[:200]


@each("name", sorted(golden.conversations()))
def test_a_history_within_a_budget(name: str) -> None:
    lines = []
    for threshold, recent in ((700, 3), (250, 0)) if name == "oncall_en" else ((250, 2),) if name < "o" else ((600, 0),):
        state, settings = History(), HistorySettings(threshold, recent)
        for i, message in enumerate(golden.conversations()[name][:15]):
            if isinstance(message["content"], str):
                state, action = add(state, HistoryMessage(message["role"], message["content"]), settings)
                told = context(state, settings)
                if action != "appended" or i % 8 == 0:
                    lines.append(f"{i} {action} {told.tokens} of {told.raw_tokens} {golden.name_of(told.text)}")
        drilled = [drill_down(state, block.id, layer) for block in state.blocks for layer in (0, 1, 2)]
        found = search(state, golden.conversations()[name][5]["content"] or "tapes", 3)
        lines += [golden.name_of(drilled), golden.name_of(found), golden.name_of(export_history(state)), *told.text.splitlines()]
    golden.agrees(FILES / f"history.{name}.txt", lines)


def test_what_is_no_export_of_a_history() -> None:
    """Exports with something else in one or two places: what is wrong with each, in full."""
    state, settings = History(), HistorySettings(60, 2)
    for role, text in (("system", "Be short."), *(("user" if i % 2 else "assistant", odd_texts.text(i)) for i in range(8))):
        state, _ = add(state, HistoryMessage(role, text), settings)
    kept, lines = json.loads(export_history(state, settings)), list[str]()
    for seed in range(220):
        made = odd_bodies.spoiled(kept, seed)
        try:
            lines.append(f"{seed} read {golden.name_of(read_export(json.dumps(made)))}")
        except InvalidInput as refused:
            lines.append(f"{seed} {refused}"[:150])
    golden.agrees(FILES / "exports.txt", lines)
