"""Several questions in one message: "1. What is the wifi password? 2. When does the train leave?".

This module tells them apart. Each is read in ``question``, and answered in ``choosing``.

Read as one question, each would have only a part of the weight, and a passage that answers one of them completely would hold
little of the whole. A question that says nothing by itself, or points at what was said, is read together with the previous one.
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.recall.question import content_words, has_content
from turnfold.compression.text import words
from turnfold.compression.text.dialogue import requests
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.sentences import rough_sentences
from turnfold.compression.text.spans import QUESTION_MARKS

_LONGEST: Final = 1500  # characters of a message; a longer one contains pasted text
_MOST: Final = 8
_LONGEST_TOPIC: Final = 160  # characters of the line above a list
_FEW_WORDS: Final = 3  # if one of them is a pointer
_FEW_SIGNS: Final = 6  # in a script without spaces
_ITEM: Final = lazy.pattern(
    r"^[^\S\n]{0,8}(?:\(?\d{1,2}[.)、．]|\(?[a-h][.)]|[①-⑧])[^\S\n]*(?=\S)|^[^\S\n]{0,8}[-*•–][^\S\n]+(?=\S)", re.MULTILINE
)
#: Phrases that announce questions and name no topic: "a few quick questions".
_ANNOUNCING: Final = lexicon("requests")["announcing"]


def several(text: str) -> list[str]:
    """The questions of a message, in order; empty if it asks only one."""
    if len(text) > _LONGEST or not (any(mark in text for mark in QUESTION_MARKS) or "\n" in text):
        return []
    found = _items(text) or [one for a, b in rough_sentences(text) if (one := text[a:b].strip()).endswith(QUESTION_MARKS)]
    parts: list[str] = []
    for one in found:
        if not has_content(requests.without_asking(words.fold(one))):
            continue  # "could you help me remember something?"
        if parts and _leans(one):
            parts[-1] = f"{parts[-1]} {one}"
        else:
            parts.append(one)
    return parts if 1 < len(parts) <= _MOST else []


def _items(text: str) -> list[str]:
    """The items of a list, each after the line above the list that names their topic, if there is one."""
    begins = [*_ITEM.finditer(text)]
    if len(begins) < 2:
        return []
    ends = [item.start() for item in begins[1:]]
    said = [text[item.end() : end].strip() for item, end in zip(begins, [*ends, len(text)], strict=True)]
    above = text[: begins[0].start()].strip().rpartition("\n")[2][-_LONGEST_TOPIC:]
    topic = [word for word in content_words(words.fold(above)) if word not in _ANNOUNCING and word not in requests.EMPTY]
    return [f"{' '.join(topic)} {one}" if topic else one for one in said]


def _leans(asked: str) -> bool:
    folded = words.fold(asked)
    told = content_words(folded)
    if len(asked) <= _FEW_SIGNS and words.run_on_terms(folded).size:
        return True
    return not has_content(folded) or (len(told) <= _FEW_WORDS and not requests.POINTERS.isdisjoint(words.words(folded)))
