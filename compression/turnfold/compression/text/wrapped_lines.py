"""Lines wrapped at a column: in mails, notes and commit messages a sentence continues in the next line.

This module finds the line breaks at which a sentence goes on. Where sentences end is decided in ``sentences``; blocks are in
``protect``.

A line continues if it has not ended and the next one begins with a small letter. If that one begins with a capital or a figure,
or the script has neither, the widths decide: a text wrapped at a column breaks where the next word does not fit. In doubt a line
continues: joining too much costs tokens, half a sentence may say the opposite. A line also continues if the next one begins with
a word and a colon ("parts: ..."), but not from one such line to another: these are settings, or people speaking.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.dialogue.transcripts import STAMPED, cues
from turnfold.compression.text.heads import SPEAKER
from turnfold.compression.text.lexicon import all_words
from turnfold.compression.text.spans import STOPS

#: A line that may go on, up to the line feed, and the next one.
_MAY_GO_ON: Final = lazy.pattern(r"[^\W_][,;.’'\")\]»”*_、，；）」』-]{0,3}[ \t]?\Z")
_LONGEST_END: Final = 5  # characters of that
_MAY_BEGIN: Final = lazy.pattern(r"\n[ \t>]*[\"'“‘„«(\[*_$€£¥「『（]{0,2}[^\W_]")
_PARAGRAPH: Final = lazy.pattern(r"(?:[^\n]+\n?)+")
_LINE: Final = lazy.pattern(r"[^\n]+")
_FRONT: Final = lazy.pattern(r"([ \t]*(?:>[ \t]?)*)[\"'“‘„«(\[*_$€£¥「『（]*")
_BACK: Final = " \t\"'”’»)]*_"
_TERMINATORS: Final = frozenset(f".!?:…。！？：｡{STOPS}")
_ENDS: Final = lazy.pattern(rf"[.!?…][\"'”’»)\]*_]*(?:\s|\Z)|[。！？｡{STOPS}]")
#: The same, and what leads to more.
_BREAKS: Final = lazy.pattern(rf"[.!?…:][\"'”’»)\]*_]*(?:\s|\Z)|[。！？：｡{STOPS}]")
_HARD_BREAK: Final = ("  ", "\\")  # of Markdown
_MARK: Final = lazy.pattern(r"[-*+•‣◦–#|][ \t]|\(?\d{1,3}[.)][ \t]|\(?[a-zA-Z][.)][ \t]|\[[ xX]\]")
_LABEL: Final = lazy.pattern(r"[^\W\d_][\w.'-]{0,30}(?: [A-Z\d(][\w.'()-]*){0,3}[:：]\s")
_KEY: Final = lazy.pattern(r"[^\W\d_][\w.'-]{0,30}(?: [\w.'()-]+){0,3} ?[:：]\s")  # of a line that is a setting or a saying
_SHORT_END: Final = 6  # characters at the end of a line by which a short form is told
_SHORT_FORM: Final = lazy.pattern(r"(?:\w\.)+\w?\.\Z|(?<!\w)[^\W\d_]{1,4}\.\Z")
#: Begins with one class, which the regex engine finds fast. Not "p < 0.01, n = 12".
_CODE: Final = lazy.pattern(r"[{}|\\<=(](?:(?<=[{}|\\])|(?<=<)(?=[A-Za-z/!])|(?<==)(?! ?[\d.])|(?<=\w\()\w*\))")
_COMMAND: Final = lazy.pattern(
    r"\n[ \t]*\\(?:documentclass|usepackage|begin|end|(?:sub){0,2}section|chapter|paragraph|frametitle|caption|item|maketitle)\b"
)
_FEWEST_COMMANDS: Final = 3
_HOURS: Final = frozenset(("am", "pm"))
_TIME_OF_DAY: Final = lazy.pattern(r"\d[ \t\u202f]?[AaPp][Mm]\]?\s*\Z")
_WORD: Final = lazy.pattern(r"[^\W\d_]{2,}")
_FEWEST_WORDS, _LETTERS = 3, 0.5
_DENSE: Final = lazy.pattern(r"[\u3040-\u30ff\u3400-\u9fff]")
_LEAST_WIDTH, _MOST_WIDTH = 32, 160  # characters of the widest line of a text that is broken at a column
_CLOSING: Final = frozenset(")）」』】")
_LEAST_DENSE: Final = 16
_NEARLY: Final = 0.6  # of the width is full for whoever breaks lines by hand
_MOST_LINES: Final = 8  # without the end of a sentence: more are a list without marks, or verses
_FUNCTION_WORDS: Final = all_words("function_words")


def is_latex(text: str) -> bool:
    """Whether a text is the source of a LaTeX document, or a part of it."""
    return "\\" in text and sum(1 for _ in islice(_COMMAND.finditer("\n" + text), _FEWEST_COMMANDS)) >= _FEWEST_COMMANDS


def broken_lines(text: str, start: int, end: int) -> set[int]:
    """The places of those line feeds of a range in language at which a sentence goes on; linear."""
    if not any(_may_go_on(text, start, begin.start()) for begin in _MAY_BEGIN.finditer(text, start, end)):
        return set()
    paragraphs = [_Paragraph(text, m.start(), m.end()) for m in _PARAGRAPH.finditer(text, start, end)]
    small = [paragraph.small() for paragraph in paragraphs]
    column = max(chain.from_iterable(small), key=len, default=range(0))
    found = {line.stop for lines in small for line in lines}
    captions, latex = bool(cues(text[start:end])), is_latex(text)
    for paragraph in paragraphs:
        found.update(line.stop for line in paragraph.full(len(column)))
        found.update(line.stop for line in paragraph.spoken(captions=captions))
        found.update(line.stop for line in (paragraph.typeset() if latex else ()))
    return found.difference(*(paragraph.endless(found) for paragraph in paragraphs))


def _may_go_on(text: str, start: int, end: int) -> bool:
    return _MAY_GO_ON.search(text, max(start, end - _LONGEST_END), end) is not None


def flowing(text: str) -> str:
    """The text with a blank in place of each of these line feeds: names, dates and amounts go on there too."""
    broken = broken_lines(text, 0, len(text)) if "\n" in text else ()
    if not broken:
        return text
    signs = [*text]
    for place in broken:
        signs[place] = " "
    return "".join(signs)


class _Paragraph:
    """Lines without a blank one between them."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._lines = [range(*m.span()) for m in _LINE.finditer(text, start, end)]
        self._width = max((len(line) for line in self._lines if len(line) <= _MOST_WIDTH), default=0)

    @cached_property
    def _pairs(self) -> list[tuple[range, str, int]]:
        """Each line that may go on, the next one's first letter and how long its first word is."""
        return [
            (one, *_first(self._text, after))
            for one, after in pairwise(self._lines)
            if _continues(self._text, one, after) and (self._may_follow(after) or self._leads_on(one))
        ]

    def _may_follow(self, line: range) -> bool:
        """Whether a line is nearly full too, or one with which a sentence or the paragraph ends."""
        nearly_full = len(line) > _NEARLY * self._width or line is self._lines[-1]
        return nearly_full or _ENDS.search(self._text, line.start, line.stop) is not None

    def small(self) -> list[range]:
        """Lines that are nearly full, or end with a word that leads on, where a small letter begins the next one."""
        if not self._pairs:
            return []
        begin, end = self._lines[0].start, self._lines[-1].stop
        is_list = _first(self._text, self._lines[0])[0].islower() and not _ENDS.search(self._text, begin, end)
        return [
            one
            for one, first, word in self._pairs
            if first.islower() and not is_list and (self._leads_on(one) or self._is_nearly_full(one, word))
        ]

    def _last_word(self, line: range) -> str:
        return self._text[line.start : line.stop].rstrip().rpartition(" ")[2].strip("\"'“‘(*_").lower()

    def _leads_on(self, line: range) -> bool:
        last = self._last_word(line)
        if last in _HOURS and _TIME_OF_DAY.search(self._of(line)):
            return False
        return last in _FUNCTION_WORDS or (last.endswith(",") and len(last) > 1)

    def _is_nearly_full(self, line: range, word: int) -> bool:
        return self._width >= _LEAST_WIDTH and len(line) + 1 + word > _NEARLY * self._width

    def full(self, column: int) -> Iterator[range]:
        """Lines where the next one's first word, which tells nothing by its case, would not have fitted.

        Args:
            column: the widest line of the text that goes on with a small letter; 0: there is none.
        """
        for one, first, word in self._pairs:
            size = len(self._text[one.start : one.stop].rstrip())
            if _DENSE.match(first):  # such a line with a bracket at its end is a title or a remark
                if size >= max(_LEAST_DENSE, self._width - 2) and self._text[one.start + size - 1] not in _CLOSING:
                    yield one
            elif first.isalpha() and first.lower() == first.upper():  # a script without capitals
                if self._width >= _LEAST_WIDTH and size + 1 + word > self._width:
                    yield one
            elif not first.islower() and self._is_nearly_full(one, word):
                known = column >= _LEAST_WIDTH and (size + 1 + word > column or self._last_word(one) in _FUNCTION_WORDS)
                if known or _SHORT_FORM.search(self._text, max(one.start, one.stop - _SHORT_END), one.stop):
                    yield one

    def spoken(self, *, captions: bool) -> Iterator[range]:
        """Lines of a caption, and of a chat the one that says who speaks, where the next one is more of it."""
        at = next((i for i, line in enumerate(self._lines) if "-->" in self._of(line)), -1) if captions else -1
        for i, (one, after) in enumerate(pairwise(self._lines)):
            inside = 0 <= at < i
            if not (inside or self._text[after.start].islower()):
                continue
            said, following = self._of(one), self._of(after)
            if (inside or STAMPED.match(said)) and not (
                _LABEL.match(following)
                or _MARK.match(following)
                or STAMPED.match(following)
                or said.rstrip(_BACK)[-1:] in _TERMINATORS
            ):
                yield one

    def typeset(self) -> Iterator[range]:
        """Lines of LaTeX that end neither their sentence nor with a command, if the next one does not begin with a command."""
        for one, after in pairwise(self._lines):
            said, following = self._of(one).strip(), self._of(after).lstrip()
            if said.startswith("\\") and not said.startswith("\\item"):
                continue
            if following[:1] not in ("\\", "%", "&", "}") and said[-1:] not in _TERMINATORS and not said.endswith("\\\\"):
                yield one

    def _of(self, line: range) -> str:
        return self._text[line.start : line.stop]

    def endless(self, found: Set[int]) -> Iterator[int]:
        """The breaks within lines that are too many for one sentence."""
        run: list[int] = []
        for line in self._lines:
            if run and _BREAKS.search(self._text, line.start, line.stop):
                if len(run) > _MOST_LINES:
                    yield from run
                run = []
            if line.stop in found:
                run.append(line.stop)
        if len(run) > _MOST_LINES:
            yield from run


def _continues(text: str, line: range, after: range) -> bool:
    """Whether a line may not have ended and the next is no item, label or code. The checks that decide most lines come first."""
    said, following = text[line.start : line.stop], text[after.start : after.stop]
    end = said.rstrip(_BACK)
    last = end[-1:]
    if (last in _TERMINATORS and last != ".") or said.endswith(_HARD_BREAK) or _CODE.search(said) or _CODE.search(following):
        return False
    front, own = _FRONT.match(following), _FRONT.match(said)
    if front is None or own is None or front[1].count(">") != own[1].count(">"):
        return False
    if last == "." and not following[front.end() : front.end() + 1].islower() and not _SHORT_FORM.search(end[-_SHORT_END:]):
        return False  # where the sentence ends is for the segmenter to say
    if not _is_prose(said) or _MARK.match(following, front.end(1)):
        return False
    label = _LABEL.match(following, front.end(1))
    if label and (not label[0][0].islower() or _KEY.match(said, own.end(1))):
        return False
    return not SPEAKER.match(said)


def _is_prose(line: str) -> bool:
    """Whether a line is words for the most part."""
    found = _WORD.findall(line)
    if found and _DENSE.match(found[0]):
        return True
    return len(found) >= _FEWEST_WORDS and sum(map(len, found)) >= _LETTERS * len(line)


def _first(text: str, after: range) -> tuple[str, int]:
    """The first letter or figure of a line, and how long its first word is."""
    front = _FRONT.match(text, after.start, after.stop)
    at = front.end() if front else after.start
    words = text[at : after.stop].split(maxsplit=1)
    return text[at : at + 1], len(words[0]) if words else 0
