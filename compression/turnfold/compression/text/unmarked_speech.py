"""Speech without punctuation: dictation, and transcripts of videos whose lines end at a length limit.

This module finds stretches of such speech in a text, and where their passages begin. Sentences with an end are in ``sentences``,
lines that say who speaks in ``dialogue.transcripts``.

The end of a sentence cannot be recognised there, and a single line is half a sentence. A passage has about 20 to 50 words and
begins where the speaker moves on ("so", "and then"), never after a word that leads on ("the", "you"), nor with one that leans on
what came before ("because", "unless", "but").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.memo import remembering
from turnfold.compression.text.lexicon import all_words, lexicon
from turnfold.compression.text.spans import STOPS

_WORDS: Final = lexicon("speech")
_GOES_ON: Final = _WORDS["goes-on"]
_AND: Final = _WORDS["and"]
_SUBJECTS: Final = _WORDS["subjects"]
_SPEAKERS: Final = _WORDS["speakers"]  # no objects too, as "it" and "you" are
_LEADING_ON: Final = all_words("function_words")
_LEANING: Final = (
    lexicon("ties")["joining"]
    | {first for phrase in lexicon("ties")["restricts"] for first in phrase.split("_")[:1]}
    | frozenset(("of", "to", "as", "too", "either", "though", "not", "nicht", "pas", "no", "não", "non", "niet", "не"))
) - (_AND | _GOES_ON)

_LEAST: Final = 250  # characters without a mark that are worth asking about
_MARKS: Final = lazy.pattern(rf"[.!?…,;。！？、，{STOPS}]")
_ENDS: Final = frozenset(f".!?…:。！？：{STOPS}")
_SIGNS: Final = frozenset("-*+•–#|>=`{}<")  # with one of which lists, tables, headings and code begin
_LINE: Final = lazy.pattern(r"[^\n]+\n?")
_WORD: Final = lazy.pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d[\d.,:]*|\S")
_TIME: Final = r"\d{1,2}:\d\d(?::\d\d)?(?:[.,:]\d{1,3})?"
_FRACTION: Final = lazy.pattern(r"(?<=:\d\d)[.,](?=\d{3}\b)")
#: A line that only says when: "0:03", "3 seconds" beside it, the number and the times of a caption.
_WHEN: Final = lazy.pattern(
    rf"[ \t]*(?:[\[(]?{_TIME}[\])]?(?: --> {_TIME}.*)?|(?:\d+ (?:hours?|minutes?|seconds?),? ?){{1,3}}|\d{{1,5}})[ \t]*\n?\Z"
)
#: The same in front of what is said.
_WHEN_FIRST: Final = lazy.pattern(rf"[ \t]*[\[(]?{_TIME}[\])]?[ \t]*(?:[-–][ \t]+)?")
_PLAIN_WORD: Final = lazy.pattern(r"[^\W\d_]+")
_BEGIN: Final = 400  # characters of a stretch that are looked at first
_FEWEST_WORDS: Final = 60
_RARE: Final = 40  # words for each mark of the end of a sentence, or comma, at least
_SIGNS_A_WORD: Final = 4  # characters that a word and its blank take at least, on average
_LEADING_SHARE: Final = 0.25  # of the words that are function words
_LINES_LEADING_ON: Final = 0.12  # of its lines that end with one
_SMALL: Final = 0.7  # of its lines that begin with a small letter
_LEAST_WORDS, _MOST_WORDS, _USUAL_WORDS = 18, 50, 32

_DENSE: Final = lazy.pattern(r"[\u3040-\u30ff\u3400-\u9fff]")


class _LineWords(NamedTuple):
    """With what lines begin that go on to something, or lean on the one in front, and with what sentences end."""

    goes_on: tuple[str, ...]
    leaning: tuple[str, ...]
    ends: tuple[str, ...]


def _line_words(name: str) -> _LineWords:
    return _LineWords(*(tuple(sorted(_WORDS[f"{section} {name}"])) for section in ("goes-on", "leaning", "ends")))


_DENSE_WORDS, _CAPTION_WORDS = _line_words("run-on"), _line_words("captions")
_SPOKEN: Final = _WORDS["spoken run-on"]
_FIRST_LINES: Final = 24
_FEWEST_LINES, _LENGTHS, _LONGEST_LINE = 8, 4, 40  # characters, of lines in such a script
_LONGEST_CAPTION: Final = 80  # characters
_MOSTLY, _SPOKEN_SHARE = 0.8, 0.15  # of the characters
_LEAST_DENSE, _USUAL_DENSE, _MOST_DENSE = 35, 80, 120  # characters of a passage

Range = tuple[int, int]


def unmarked_speech(text: str, start: int, end: int) -> list[list[int]]:
    """The stretches of a range that are such speech: where the passages of each begin, and where its last one ends."""
    return [[*run] for run in _speech_lines(text, start, end)] if end - start >= _LEAST else []


@remembering  # sentences of a text are cut, then tied, a few texts at a time
def _speech_lines(text: str, start: int, end: int) -> Sequence[Sequence[int]]:
    text = _without_fractions(text)
    if not _may_hold(text, start, end):
        return ()
    found: list[Sequence[int]] = []
    for run in _runs(text, start, end):
        if run[-1][1] - run[0][0] < _LEAST:
            continue
        if _is_dense(text, run):
            begins = _dense_passages(text, run) if _is_dense_speech(text, run) else []
        elif _begins_like_speech(text, run) and _is_speech(text, run):
            begins = _passages(text, run)
        else:
            begins = _passages_of_captions(text, run) if _is_captioned(text, run) else []
        if begins:
            found.append((*begins, run[-1][1]))
    return tuple(found)


@remembering  # each paragraph of a long text asks in a row
def _without_fractions(text: str) -> str:
    """A text in which the times of captions hold no marks."""
    return _FRACTION.sub(":", text) if " --> " in text else text


def is_unmarked_speech(text: str) -> bool:
    """Whether a text is such speech for the most part."""
    return sum(run[-1] - run[0] for run in unmarked_speech(text, 0, len(text))) * 2 > len(text)


def _may_hold(text: str, start: int, end: int) -> bool:
    """Whether a range has that many characters without a mark; a quick look decides for most texts."""
    half = _LEAST // 2
    for at in range(start, end - half + 1, half):
        if not _MARKS.search(text, at, at + half):
            return max(map(len, _MARKS.split(text[start:end]))) >= _LEAST
    return False


def _runs(text: str, start: int, end: int) -> Iterator[list[Range]]:
    """Lines of a paragraph, or of captions, most of which have no marks."""
    run: list[Range] = []
    for line in _LINE.finditer(text, start, end):
        said = line.group()
        begins = said.lstrip()[:1]
        ended = begins in _SIGNS or said.rstrip()[-1:] in _ENDS or len(_MARKS.findall(said)) * _LEAST > 5 * len(said) + _LEAST
        if run and (ended or (text.endswith("\n\n", start, line.start()) and not _is_caption(text, run[0], line.span()))):
            yield run
            run = []
        if not ended:
            run.append(line.span())
    if run:
        yield run


def _is_caption(text: str, first: Range, line: Range) -> bool:
    """Whether a line behind a blank one is the time of a caption, as the first of its stretch is."""
    return _WHEN.match(text, *first) is not None and _WHEN.match(text, *line) is not None


def _spoken_range(text: str, line: Range) -> Range:
    """The text of a line after its time; empty if it has only a time."""
    if _WHEN.match(text, *line):
        return line[1], line[1]
    first = _WHEN_FIRST.match(text, *line)
    return (first.end() if first else line[0]), line[1]


def _begins_like_speech(text: str, run: Sequence[Range]) -> bool:
    """Whether it has few marks and enough function words at its beginning, unlike most lists and code."""
    if len(_MARKS.findall(text, run[0][0], run[-1][1])) * _RARE > (run[-1][1] - run[0][0]) / _SIGNS_A_WORD:
        return False
    words = _PLAIN_WORD.findall(text[run[0][0] : min(run[-1][1], run[0][0] + _BEGIN)].lower())
    return sum(word in _LEADING_ON for word in words) > _LEADING_SHARE / 2 * len(words)


def _is_speech(text: str, run: Sequence[Range]) -> bool:
    lines = [text[slice(*said)] for line in run if (said := _spoken_range(text, line))[0] < said[1]]
    words = [[word.lower() for word in _WORD.findall(line)] for line in lines]
    everything = [word for line in words for word in line]
    if len(everything) < _FEWEST_WORDS or sum(len(_MARKS.findall(line)) for line in lines) * _RARE > len(everything):
        return False
    if sum(word[0].isalpha() for word in everything) < 0.9 * len(everything):
        return False
    if sum(word in _LEADING_ON for word in everything) < _LEADING_SHARE * len(everything):
        return False
    if len(lines) < 3:
        return True
    small = sum(line.lstrip()[:1].islower() for line in lines)
    leading = sum(line[-1] in _LEADING_ON for line in words if line)
    return small >= _SMALL * len(lines) and leading >= _LINES_LEADING_ON * len(lines)


def _passages(text: str, run: Sequence[Range]) -> list[int]:
    """Where the passages begin: the first at the beginning, each other at the best place within reach of the last one."""
    begins: list[int] = []  # of each word: where it begins, or the line whose first it is, with the time in front
    words: list[str] = []
    front = -1
    for line in run:
        start, end = _spoken_range(text, line)
        if start == end:
            front = line[0] if front < 0 else front
            continue
        first = True
        for word in _WORD.finditer(text, start, end):
            begins.append((front if front >= 0 else line[0]) if first else word.start())
            words.append(word.group().lower())
            first, front = False, -1
    found, last = [run[0][0]], 0
    while len(words) - last > _MOST_WORDS:
        last = max(range(last + _LEAST_WORDS, last + _MOST_WORDS), key=lambda k: _fitness(words, k, k - last))
        found.append(begins[last])
    return found


def _fitness(words: Sequence[str], k: int, size: int) -> float:
    """How well a passage may begin with a word."""
    word, before = words[k], words[k - 1]
    if word in _LEANING or (before in _LEADING_ON and before not in _GOES_ON):
        begins = -2.0
    elif word in _AND:
        begins = 2.0 if words[k + 1] in _SUBJECTS | _GOES_ON else 0.5
    elif before in _GOES_ON or before in _AND:
        begins = 0.0
    else:
        begins = 2.5 if word in _GOES_ON else 1.0 if word in _SPEAKERS else 0.0
    return begins - abs(size - _USUAL_WORDS) / _USUAL_WORDS


# ---------------------------------------------------------------- scripts without blanks


def _is_dense(text: str, run: Sequence[Range]) -> bool:
    begin = "".join(text[slice(*_spoken_range(text, line))] for line in run[:_FIRST_LINES])[:_BEGIN]
    return not begin.isascii() and len(_DENSE.findall(begin)) * 3 > len(begin)


def _is_dense_speech(text: str, run: Sequence[Range]) -> bool:
    """Whether the lines are parts of sentences: short, of many lengths, as verses are not, with the signs of grammar."""
    lines = [said for line in run if (said := text[slice(*_spoken_range(text, line))].strip())]
    everything = "".join(lines)
    if len(lines) < _FEWEST_LINES or len({*map(len, lines)}) < _LENGTHS or max(map(len, lines)) > _LONGEST_LINE:
        return False
    if len(_MARKS.findall(everything)) * _LEAST > len(everything) or len(_DENSE.findall(everything)) < _MOSTLY * len(everything):
        return False
    return sum(map(everything.count, _SPOKEN)) >= _SPOKEN_SHARE * len(everything)


def _dense_passages(text: str, run: Sequence[Range]) -> list[int]:
    """Where the passages begin: each at a line that goes on to something, or at any that does not lean on the one in front."""
    return _by_lines(text, run, _DENSE_WORDS, len)


def _by_lines(text: str, run: Sequence[Range], words: _LineWords, size_of: Callable[[str], float]) -> list[int]:
    found, size, front, ended = [run[0][0]], 0.0, -1, False
    for line in run:
        start, end = _spoken_range(text, line)
        if start == end:
            front = line[0] if front < 0 else front
            continue
        said = text[start:end].strip()
        leans = said.startswith(words.leaning)
        least = _LEAST_DENSE if said.startswith(words.goes_on) else _MOST_DENSE if leans else _USUAL_DENSE
        if size >= (min(least, _LEAST_DENSE + 5) if ended and least < _MOST_DENSE else least):
            found.append(front if front >= 0 else line[0])
            size = 0
        size += size_of(said)
        front, ended = -1, said.endswith(words.ends)
    return found


# ---------------------------------------------------------------- captions in scripts with few words that are known here


def _is_captioned(text: str, run: Sequence[Range]) -> bool:
    """Whether times alternate with short lines of a script without capitals: captions of Korean, Thai, Hindi, Arabic."""
    if text[run[0][0] : run[-1][1]].isascii():
        return False
    begin = run[:_FIRST_LINES]
    lines = [text[slice(*said)].strip() for line in begin if (said := _spoken_range(text, line))[0] < said[1]]
    timed = sum(_WHEN.match(text, *line) is not None or _WHEN_FIRST.match(text, *line) is not None for line in begin)
    if len(lines) < _FEWEST_LINES or timed < _MOSTLY * len(lines) or max(map(len, lines)) > _LONGEST_CAPTION:
        return False
    letters = [sign for line in lines for sign in line if sign.isalpha()]
    return sum(sign.lower() == sign.upper() for sign in letters) >= _MOSTLY * len(letters)


def _passages_of_captions(text: str, run: Sequence[Range]) -> list[int]:
    """The same, by how much room each line takes: a syllable of Hangul is about two letters of other scripts."""
    return _by_lines(text, run, _CAPTION_WORDS, lambda said: sum(1 if "\uac00" <= sign <= "\ud7a3" else 0.6 for sign in said))
