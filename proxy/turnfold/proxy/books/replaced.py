"""What stands in a forwarded request in place of each section.

Lives here: reading that off a fold's own edits. Must not: folding, the store (``originals``).

An edit that restores the original names both texts: where it stands, what the fold wrote; in it, what was there before. So
nothing is parsed or made a second time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # undocumented, as in ``wire.chat``
from typing import Final

from turnfold.compression.fold import FoldedRequest, Section

_MARKER: Final = re.compile(r"\[turnfold ([0-9a-f]{12}): ")


@dataclass(frozen=True, slots=True)
class Replaced(Section):
    """A section with what was written in its place.

    Attributes:
        instead: at level "facts" one text for each message, its shortened texts joined, None where it stayed as it was; at other
            levels the one text that stands for all of them.
    """

    instead: tuple[str | None, ...] = ()


def with_replacements(folded: FoldedRequest) -> tuple[Replaced, ...]:
    """The sections of a fold, each with what stands in its place."""
    forwarded = folded.body.decode("utf-8")
    edits = sorted(folded.restore, key=lambda edit: edit.start)
    pairs = [(edit.new, forwarded[edit.start : edit.end]) for edit in edits]
    summaries = {name: text for _, new in pairs for name, text in _summaries(new)}
    shortened = _Shortened([(old, new) for old, new in pairs if old and new])
    return tuple(
        Replaced(
            section.id,
            section.level,
            section.messages,
            section.tokens,
            tuple(shortened.of(section.messages)) if section.level == "facts" else (summaries.get(section.id),),
        )
        for section in folded.sections
    )


def _summaries(written: str) -> Iterator[tuple[str, str]]:
    """Section ids and the texts behind them, in something that was written into a message's JSON."""
    found = list(_MARKER.finditer(written))
    for number, match in enumerate(found, start=1):
        end = found[number].start() if number < len(found) else len(written)
        # Inside a JSON string a quote that is not escaped ends it: what follows is another part.
        text, _ = scanstring(written[match.start() : end] + '"', 0, False)
        yield match[1], text.strip()


class _Shortened:
    """Shortened texts in their order, given out message by message."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._pairs = pairs
        self._next = 0

    def of(self, messages: Sequence[str]) -> Iterator[str | None]:
        """For each message what its texts became."""
        for raw in messages:
            texts: list[str] = []
            while self._next < len(self._pairs) and self._pairs[self._next][0] in raw:
                texts.append(_plain(self._pairs[self._next][1]))
                self._next += 1
            yield "\n".join(texts) or None


def _plain(inner: str) -> str:
    """The text of a JSON string without its quotes."""
    try:
        text: str = json.loads(f'"{inner}"', strict=False)
    except ValueError:  # a marker was joined to it, as a part of its own
        return inner
    return text
