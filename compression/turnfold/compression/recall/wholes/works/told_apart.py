"""Telling several long texts apart: "the second article", "document B", "the offer from Lund".

They are told apart by their order, by a label, or by the words above them. Versions of one text are found in ``work_forms``; what
their kind is called is known in ``text.dialogue.wanted.works``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.recall.question import content_words
from turnfold.compression.recall.wholes.works.held_work import HeldWork
from turnfold.compression.recall.wholes.works.held_works import NO_NAMES, lead
from turnfold.compression.recall.wholes.works.work_forms import WorkForms, is_edited, newest_pasted
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.wanted.versions import NEWEST
from turnfold.compression.text.dialogue.wanted.works import AskedWork
from turnfold.compression.text.quotes import Quotable

#: "Document A", "[Text 2]", "Contract #3: lease".
_LABEL: Final = lazy.pattern(r"(?:^|(?<![^\W\d_])[^\W\d_]{2,}[ ]?#?)([a-h]|[1-9])[)\]]?[ ]?(?:$|[:–—-])")


def told_apart(
    messages: Sequence[Quotable], found: Sequence[HeldWork], forms: WorkForms, asked: AskedWork, folded: str
) -> list[HeldWork]:
    """The texts that a message refers to, in order; empty if it does not distinguish them."""
    pasted = [work for work in found if messages[work.source].role == "user"] if asked.is_pasted else []
    apart = newest_pasted(pasted)
    if len(apart) < 2:
        return []
    leads = [lead(messages[work.source].text) for work in apart]
    if asked.labels:
        places = [_labelled(leads, label) for label in asked.labels]
        return [apart[place] for place in sorted({place for place in places if place is not None})]
    if len(asked.versions) == 1 and asked.versions != NEWEST:
        place = asked.versions[0]
        has_versions = any(is_edited(work, forms.wanted[0]) for work in forms.others)
        return [apart[place]] if not has_versions and 0 <= place < len(apart) else []
    if asked.versions != NEWEST or asked.is_several or asked.beside:
        return []
    said = set(content_words(folded)) - NO_NAMES - {word for word in asked.alike if word not in asked.telling}
    often = [len(said.intersection(words.words(one))) for one in leads]
    return [apart[often.index(max(often))]] if max(often) and often.count(max(often)) == 1 else []


def _labelled(leads: Sequence[str], label: str) -> int | None:
    """The number of the text with a label above it or, if no text has labels, of the text at that position."""
    found = [_LABEL.search(one) for one in leads]
    named = [n for n, one in enumerate(found) if one and one[1] == label]
    if named:
        return named[-1]
    place = int(label) - 1 if label.isdigit() else ord(label) - ord("a")
    return place if place < len(leads) and not any(found) else None
