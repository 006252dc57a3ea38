"""One layer of a section, for either stored form.

This module makes layers 1 and 2 of sections that the proxy folded. Storing sections is up to ``section_records``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from turnfold.compression.fold import Section
from turnfold.compression.layers import Compressor, CompressRequest, SectionLayer
from turnfold.compression.scorers.conversation import ConversationScorer
from turnfold.proxy.books.section_records import Layered


def section_size(section: Section | Layered, layer: int) -> int:
    """Characters that `section_layer` reads; 0 where what it tells is stored."""
    return sum(map(len, section.messages)) if isinstance(section, Section) and layer else 0


def section_layer(section: Section | Layered, layer: int) -> SectionLayer:
    """Layer 0, 1 or 2. For a folded section layer 0 is the JSON text of its messages, one per line, byte for byte; layers 1 and 2
    are computed from their texts, which takes CPU time."""
    if isinstance(section, Layered):
        chosen = section.layers[layer]
        return SectionLayer(section.id, layer, chosen.text, chosen.tokens)
    if layer == 0:
        return SectionLayer(section.id, 0, "\n".join(section.messages), section.tokens)
    text = "\n".join(_message_lines(section))
    if not text.strip():
        return SectionLayer(section.id, layer, "", 0)
    made = Compressor(ConversationScorer()).compress(CompressRequest(text, sections=False)).layers[layer]
    return SectionLayer(section.id, layer, made.text, made.tokens)


def _message_lines(section: Section) -> Iterator[str]:
    """The messages as ``role: text`` lines. A message of the Responses format may be several items with commas between them."""
    for raw in section.messages:
        for item in json.loads(f"[{raw}]"):
            texts = [*_texts(item.get("content")), *_texts(item.get("output")), *_calls(item)]
            if texts:
                # A lone surrogate has no UTF-8 form, so no answer could carry it.
                line = f"{item.get('role') or item.get('type', '')}: {' '.join(texts)}"
                yield line.encode("utf-8", "replace").decode()


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict):
                yield from (part[name] for name in ("text", "content") if isinstance(part.get(name), str))
                yield from _call(part)


def _calls(item: Mapping[str, Any]) -> Iterator[str]:
    calls = item.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            yield from _call(call.get("function") or call.get("custom"))
    yield from _call(item)


def _call(call: Any) -> Iterator[str]:
    """A call as text: its arguments are called ``arguments``, or ``input`` (Anthropic's, and custom tools)."""
    if isinstance(call, dict) and "name" in call and (given := [call[name] for name in ("arguments", "input") if name in call]):
        yield f"{call['name']}({given[0] if isinstance(given[0], str) else json.dumps(given[0], ensure_ascii=False)})"
