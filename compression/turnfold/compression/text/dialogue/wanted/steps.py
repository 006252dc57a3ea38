"""Going through a text part by part: "translate this, one paragraph at a time", "next", "continue".

This module tells whether a message asks for the next part, whether a text is to be gone through in this way, what its parts are,
and how far an answer has come. Which text is meant, and what is quoted of it, is decided in ``recall.wholes.next_parts``. Parts
by their number are in ``places``, single words in ``lexicon/steps.txt``.

A translation shares figures and names with its original, a corrected text most of its words. If an answer shares nothing that
distinguishes the parts, only the number of answers shows how far they have come.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from statistics import median_low
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.places import is_title, lines, numbered_items, paragraphs
from turnfold.compression.text.dialogue.wanted.sections import text_sections
from turnfold.compression.text.lexicon import lexicon, one_of

_LONGEST: Final = 80  # characters of a message that asks for the next part
_LONGEST_RUN_ON: Final = 16  # signs of one in a script without blanks
_LEAD: Final = 600  # characters at either end of a text in which it says what is to be done with it
_FEWEST: Final = 6  # parts of a text that somebody goes through
_SIGN: Final = 1.0  # what an answer must share with a part: as much as a word that no other part has
_BACK: Final = 2  # parts behind and ahead of where the answers before have come, that an answer may cover
_AHEAD: Final = 12
_PLAIN: Final = 0.2  # of a name or a figure, what a word in small letters counts, which may be another in another language
_AT_A_TIME: Final = (1, 2, 3, 4, 5, 10)
_FEWER: Final = 0.97  # for each part more that an answer is taken to cover, since more parts share more by chance
_GOES_ON: Final = lazy.pattern(rf"(?<![\w'’])(?:{one_of('steps', 'goes on')})(?![\w'’])|{one_of('steps', 'goes on run-on')}")
_DONE: Final = lazy.pattern(rf"(?<![\w'’])(?:{one_of('steps', 'done')})(?![\w'’])|{one_of('steps', 'done run-on')}")
_ONE_BY_ONE: Final = lazy.pattern(
    rf"(?<![\w'’])(?:{one_of('steps', 'one by one')})(?![\w'’])|{one_of('steps', 'one by one run-on')}"
)
_SECTIONS: Final = lexicon("steps")["sections"]
_EMPTY: Final = lexicon("requests")["empty"] | frozenset().union(
    *(lexicon("places")[kind] for kind in ("block", "item", "sentence", "line", "count 2", "count 3", "count 4", "count 5")),
    lexicon("row_numbers")["count 10"],
)
_MOST_OWN: Final = 1  # word of such a message that says anything else: "next product"
_MARK: Final = lazy.pattern(r"\A[\s>*#-]*(?:[^\W\d_]{0,12}[ ]?\d{1,3}[.):])?\**")
_LEAST_CORE: Final = 12  # characters
_TOKEN: Final = lazy.pattern(r"\w+(?:[.,:/-]\w+)*")


def goes_on(message: str) -> bool:
    """Whether a short message only asks for the next part."""
    return _says_only(message, _GOES_ON, _MOST_OWN)


def is_done(message: str) -> bool:
    """Whether a short message only says that a step is done, or asks for the next one."""
    return _says_only(message, _DONE, 0) or goes_on(message)


def done_step(message: str) -> int | None:
    """The number of the step that a message reports as done: "step 8 is done"."""
    numbers = re.findall(r"(?<![\w.,:])\d{1,2}(?![\w:%]|[.,]\d)", message)
    return int(numbers[0]) if len(numbers) == 1 and _says_only(message, _DONE, 0) else None


def _says_only(message: str, phrases: re.Pattern[str], most: int) -> bool:
    """Whether a short message has such a phrase, and at most `most` other content words."""
    if len(message) > _LONGEST and message.isascii():  # as long when it is folded
        return False
    folded = words.fold(message)
    longest = _LONGEST_RUN_ON if words.has_pairs(folded) else _LONGEST
    if len(folded) > longest or not phrases.search(folded):
        return False
    rest = words.words(_DONE.sub(" ", _GOES_ON.sub(" ", folded)))
    return sum(not (word in _EMPTY or words.is_function_word(word) or word.isdigit()) for word in rest) <= most


def is_one_by_one(text: str) -> bool:
    """Whether a text says, at one of its ends, to go through it part by part."""
    ends = text if len(text) <= 2 * _LEAD else f"{text[:_LEAD]}\n{text[-_LEAD:]}"
    return _ONE_BY_ONE.search(words.fold(ends)) is not None


def lists_steps(text: str) -> bool:
    """Whether a text has a list of numbered steps."""
    return len(numbered_items(text)) >= _FEWEST


def step_parts(text: str) -> list[Range]:
    """The parts of a text to go through.

    Its sections, if it mentions them at one of its ends; otherwise its paragraphs or lines, without the instructions. Empty if
    there are few.
    """
    ends = set(words.words(words.fold(f"{text[:_LEAD]} {text[-_LEAD:]}")))
    if not _SECTIONS.isdisjoint(ends):
        sections = text_sections(text)
        level = Counter(one.level for one in sections).most_common(1)[0][0] if sections else 0
        places = [one.place for one in sections if one.level == level]
        if len(places) >= _FEWEST:
            return places
    blocks = _with_titles(text, _tasks(text, paragraphs(text)))
    if len(blocks) >= _FEWEST:
        return blocks
    single = _tasks(text, lines(text))
    return single if len(single) >= _FEWEST else []


def _tasks(text: str, parts: Sequence[Range]) -> list[Range]:
    """The parts without instructions on how to go through the others."""
    return [one for one in parts if not _ONE_BY_ONE.search(words.fold(text[slice(*one)]))]


def _worth(token: str) -> float:
    return 1.0 if token[0].isupper() or any(map(str.isdigit, token)) else _PLAIN


def _with_titles(text: str, blocks: Sequence[Range]) -> list[Range]:
    """Paragraphs, each with the title above it; a short line before the first one announces them."""
    found: list[Range] = []
    title: Range | None = None
    for n, block in enumerate(blocks):
        said = text[slice(*block)].strip()
        if is_title(said):
            title = None if n == 0 and said.endswith((":", "：")) else title or block
            continue
        found.append((title[0] if title else block[0], block[1]))
        title = None
    return found


def says_part(part: str, answer: str) -> bool:
    """Whether an answer contains a whole part, except for its number."""
    core = _MARK.sub("", part).strip()
    return len(core) >= _LEAST_CORE and core in answer


def progress(text: str, parts: Sequence[Range], answers: Sequence[str]) -> tuple[int, int]:
    """The number of the last part that answers have covered, and the number of parts that each covers, chosen so that they have
    most in common.

    Args:
        text: the text with the parts.
        answers: the answers that go through it, in order.
    """
    own = [frozenset(_TOKEN.findall(text[slice(*part)])) for part in parts]
    often = Counter(token for part in own for token in part)
    said = [frozenset(_TOKEN.findall(answer)) for answer in answers]

    @cache
    def share(answer: int, part: int) -> float:
        same = said[answer] & own[part] if part < len(own) else ()
        return sum(_worth(token) / often[token] for token in same if often[token] < len(parts) / 2)

    def gone(size: int) -> tuple[float, int]:
        at, shared = 0, 0.0
        for answer in range(len(answers)):
            near = range(max(0, at - _BACK), min(len(parts), at + _AHEAD))
            most, first = max(((share(answer, n) - abs(n - at), n) for n in near), default=(0.0, at))
            first = first if most >= _SIGN and not at <= first < at + size else at
            shared += sum(share(answer, n) for n in range(first, first + size))
            at = first + size
        return shared, at

    lines = median_low(sum(not line.isspace() for line in answer.splitlines() if line) for answer in answers) if answers else 1
    found = {size: gone(size) for size in _AT_A_TIME if size <= max(1, lines)}
    size = max(found, key=lambda size: (found[size][0] * _FEWER**size, -size))
    return found[size][1], size
