"""One layer of a section, whatever form it is kept in.

Lives here: making layers 1 and 2 of what the proxy folded. Does not belong here: the store (``section_records``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from turnfold.compression.fold import Section
from turnfold.compression.layers import Compressor, CompressRequest, SectionLayer
from turnfold.compression.scorers.conversation import ConversationScorer
from turnfold.proxy.books.section_records import Layered


def section_layer(section: Section | Layered, layer: int) -> SectionLayer:
    """Layer 0, 1 or 2. Of a folded section layer 0 is its messages' JSON texts, a line each, byte for byte; 1 and 2 are made
    from what they say, which takes CPU time."""
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
    """The messages as ``role: text`` lines."""
    for raw in section.messages:
        message = json.loads(raw)
        texts = [*_texts(message.get("content")), *_calls(message.get("tool_calls"))]
        if texts:
            # A lone surrogate has no UTF-8 form, so no answer could carry it.
            yield f"{message.get('role', '')}: {' '.join(texts)}".encode("utf-8", "replace").decode()


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        yield from (part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))


def _calls(calls: Any) -> Iterator[str]:
    functions = (call.get("function") for call in (calls if isinstance(calls, list) else []) if isinstance(call, dict))
    for function in functions:
        if isinstance(function, dict):
            yield f"{function.get('name', '')}({function.get('arguments', '')})"
