"""Lines that name the writer: above the text, as in chats, tickets and forums, or below it (signatures).

This module finds these lines by where dates, names, dashes and quotation marks stand. A speaker and their words on one line are
in ``dialogue.transcripts`` and ``dialogue.turns``, one line with a name and a time in ``heads``; ``ties.layout`` ties them to
what they belong to.

Pages name their writers on separate lines: a name, perhaps the number of their messages, and a time. If such lines follow each
other with nothing said in between, they are a timetable or captions, and name nobody.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, takewhile
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.memo import remembering
from turnfold.compression.text.heads import (
    AGO,
    MAY_BE_AGO,
    is_name_alone,
    lines_with_times,
    may_name_speakers,
    named_above,
    speaker_lines,
)
from turnfold.compression.text.inline import DATE_WORDS
from turnfold.compression.text.lexicon import lexicon

_WORDS: Final = lexicon("speech")
_WHEN: Final = _WORDS["when"]
_BUTTONS: Final = _WORDS["buttons"]
_LONGEST: Final = 60  # characters of such a line
_FEWEST: Final = 2  # writers: of one alone nobody else could have said the rest
_FIELDS: Final = 4  # lines between a name and a date that tell of the writer
_LONGEST_COUNTER: Final = 8  # characters
_COUNTERS: Final = 4  # lines below a signature that hold no more than figures
_OFFICES: Final = 4  # lines below a quotation: who said it, his office, when
_CLOSING: Final = frozenset('"”“»')
_QUOTATION: Final = 16  # characters
_SHORTEST: Final = 3  # characters of a name
_DESCRIBING: Final = 3  # words beside a name that say what a picture shows
_PICTURED: Final = 9  # lines of a picture's description, the name and what stands below it
_MOST_SIGNED: Final = 60  # lines that one signature may be that of
_WORD: Final = lazy.pattern(r"[^\W\d_]+")
_NOT_BLANK: Final = lazy.pattern(r"\S")
_DIGIT: Final = lazy.pattern(r"\d")
#: "9:14 AM", "14h05", "12/03/2024", "2024-03-12", "Aug 3, 2024", "11 déc. 2023", "5 yr. ago", "2h", "5月3日".
_DATE: Final = lazy.pattern(
    rf"{AGO}|"
    r"\d{1,2}[:h]\d\d(?::\d\d)?(?:[ \u202f]?[AaPp]\.?[Mm]\b\.?)?"
    r"|\d{1,2}([/.-])\d{1,2}\1(?:19|20)?\d\d\b|\d{4}[/.-]\d{1,2}[/.-]\d{1,2}"
    r"|\d{1,2}/[^\W\d_]{3,4}/(?:19|20)?\d\d\b|[^\W\d_]{3,10}\.? \d{1,2}(?=,? (?:at )?\d{1,2}:\d\d)"
    r"|[^\W\d_]{3,10}\.? \d{1,2},? \d{4}|\d{1,2}\.? (?:de )?[^\W\d_]{3,10}\.?,? (?:de )?\d{4}"
    r"|\d{1,3} ?(?:s|m|h|d|w|mo|y|yr|min|hr)\b\.?|\d{1,3} [^\W\d_]{3,8}(?= (?:ago|fa|geleden|temu|назад|önce)\b)"
    r"|(?:\d{2,4}年)?\d{1,2}月\d{1,2}日|(?:\d{4}년 ?)?\d{1,2}월 ?\d{1,2}일"
)
#: What a page that names its writers so holds: dates at the ends of lines, names in capitals; signatures, ends of quotations.
_MAY_DATE: Final = lazy.pattern(r"\d(?:(?:(?<=1)9|(?<=2)0)\d\d[^\n]{0,12}\n| ?(?:y|yr|mo|d|h|w)\.?\n)")
#: In a text with a line feed in front of it.
_MAY_PLAY: Final = lazy.pattern(r"\n[^\Wa-z\d_][^\n\Wa-z\d_]+(?:[ .'-]{1,2}[^\n\Wa-z\d_]+)*[.:]?(?: \([^\n]*)?\n")
_MAY_SIGN: Final = ("\n—", "\n―", "\n–", "\n--", '"\n', "”\n", "»\n", "“\n")
_UNKNOWN: Final = 3  # words of a line that says when: a month, what a date has between its parts
_FIELD: Final = lazy.pattern(r"[^\W\d_][\w .]{0,24} ?[:：] ?\S")
_DASHED: Final = lazy.pattern(r"[ \t]*(?:—|―|–|--)[ \t]?[^\W\d_][^.!?\n]{1,56}\Z")
_DASH: Final = lazy.pattern(r"[ \t]*(?:—|―|–|--)")
_QUOTED: Final = lazy.pattern(r"[ \t]*[\"“„«].{15,}[\"”“»]\.?[ \t]*\Z")
_ENDED: Final = (*".!?:;,…。！？：",)
#: What somebody did on a page, with the blank in front.
_ACTS: Final = sorted((f" {act.replace('_', ' ')}" for act in _WORDS["acts"]), key=lambda act: (-len(act), act))
_ACTED: Final = lazy.pattern(r"[ \t]*([^\n]{2,40}?)(?:" + "|".join(map(re.escape, _ACTS)) + r")\b[ \t]*[-–—·:,]?")
#: A name in capitals in a line of its own, as in plays and interviews, with a direction behind it.
_ROLE: Final = lazy.pattern(
    r"[ \t]*([^\Wa-z\d_]+(?:[ .'’-]{1,2}[^\Wa-z\d_]+){0,3})[.:]?(?:[ \t]*[(\[][^\n)\]]{1,60}[)\]][.:]?)?[ \t]*\Z"
)


_HEADER_LINES: Final = 3  # at least
_FROM: Final = lazy.pattern(
    r"[ \t*]*(?:From|Von|De|Da|Van|Från|Fra|От|差出人|发件人|寄件者|보낸 사람)[ \u00a0]?\*{0,2}[:：]\*{0,2}[ \t]?\S"
)
_HEADER: Final = lazy.pattern(r"[ \t*]*[^\W\d_][\w ()-]{0,20}?[ \u00a0]?\*{0,2}[:：]\*{0,2}[ \t]?\S")
_ADDRESSED: Final = lazy.pattern(r"[^<>\n:]{2,50} <[^@\s<>]{1,60}@[^\s<>]{1,60}>[ \t]")


class Signature(NamedTuple):
    """Lines `start` to ``stop - 1`` say who wrote lines `first` to ``start - 1``."""

    first: int
    start: int
    stop: int


class Writers(NamedTuple):
    """The lines of a text that say who wrote what.

    Attributes:
        heads: the first of the lines that say who wrote what stands below them, and the line behind their last.
        signatures: those that say it of what stands above them, in order.
    """

    heads: dict[int, int]
    signatures: tuple[Signature, ...]

    def __bool__(self) -> bool:
        return bool(self.heads or self.signatures)


_NONE: Final = Writers({}, ())


def may_name_writers(text: str) -> bool:
    """Whether a text may have such lines; a quick look decides for most texts."""
    return "\n" in text and any(_hints(text))


def _hints(text: str) -> tuple[bool, bool, bool]:
    """Whether a text may have dates and names on separate lines, names in capitals, or signatures."""
    dated = may_name_speakers(text) or _MAY_DATE.search(text) is not None
    return dated, _MAY_PLAY.search("\n" + text) is not None, any(map(text.__contains__, _MAY_SIGN))


def writers(text: str) -> Writers:
    """The lines of a text that say who wrote the others; linear."""
    return _writers(text) if "\n" in text else _NONE


@remembering  # several stages ask the same text in a row
def _writers(text: str) -> Writers:
    dates, roles, signs = _hints(text)
    if not (dates or roles or signs):
        return _NONE
    lines = text.split("\n")
    heads: dict[int, int] = {}
    dated: frozenset[int] = frozenset()
    if dates:
        found = (i for i, line in enumerate(lines) if len(line) <= _LONGEST and _DIGIT.search(line) and says_when(line))
        dated = frozenset(found)
        timed = lines_with_times(text, lines)
        heads = {i: i + 1 for i in speaker_lines(lines, timed) - dated} | {i: i + 2 for i in named_above(lines, timed) - dated}
        heads |= _several(_dated_heads(lines, dated)) | _mailed(lines) | _several(_acted(lines))
        heads = _joined(heads, _several(_pictured(lines)))
    heads |= _roles(lines) if roles else {}
    signatures = (*(_dashed(lines) if signs else ()), *(_below_quotations(lines) if signs else ()), *_behind_dates(lines, dated))
    return Writers(_with_words_below(heads, lines) if heads else heads, tuple(sorted(signatures)))


class WrittenBy(NamedTuple):
    """The same by characters.

    Attributes:
        heads: ranges of lines that say who wrote what stands below them, in order, with the blank lines below each.
        signatures: in order, where what is signed begins, and the ranges of the lines that say by whom.
    """

    heads: tuple[tuple[int, int], ...]
    signatures: tuple[tuple[int, int, int], ...]

    def above(self, at: int) -> tuple[int, int] | None:
        """The head above a place, unless the place is in it, or in or after a later signature."""
        k = bisect_right(self.heads, (at + 1,)) - 1
        return None if k < 0 or at < self.heads[k][1] else self.heads[k]

    def below(self, at: int) -> tuple[int, int] | None:
        """The signature below a place."""
        return next(((start, stop) for first, start, stop in self.signatures if first <= at < start), None)


_NOBODY: Final = WrittenBy((), ())


def written_by(text: str) -> WrittenBy:
    """The lines of a text that say who wrote the others, by characters."""
    named = writers(text)
    if not named:
        return _NOBODY
    starts = [*accumulate((len(line) + 1 for line in text.split("\n")), initial=0)]

    def behind(line: int) -> int:
        found = _NOT_BLANK.search(text, starts[line])
        return text.rfind("\n", 0, found.start()) + 1 if found else len(text)

    return WrittenBy(
        tuple((starts[at], behind(stop)) for at, stop in sorted(named.heads.items())),
        tuple((starts[first], starts[at], behind(stop)) for first, at, stop in named.signatures),
    )


def says_when(line: str) -> bool:
    """Whether a line only says when something was written: "Yesterday 4:12 PM", "Posté le 11 déc. 2023 à 09:12"."""
    said = line.strip(" \t·•|")
    if sum(word not in _WHEN for word in _WORD.findall(said.lower())) > _UNKNOWN:
        return False
    rest, found = _DATE.subn(" ", said)
    if not found:
        rest, found = DATE_WORDS.subn(" ", said)
    return bool(found) and not _DIGIT.search(rest) and _WHEN.issuperset(_WORD.findall(rest.lower()))


def is_button(line: str) -> bool:
    """Whether a line is a button of a page, or what it counts."""
    return _BUTTONS.issuperset(_WORD.findall(line.lower())) and not line.rstrip().endswith(_ENDED)


def _several(heads: dict[int, int]) -> dict[int, int]:
    return heads if len(heads) >= _FEWEST else {}


def _joined(heads: dict[int, int], others: dict[int, int]) -> dict[int, int]:
    """Both, those that overlap made one."""
    found: dict[int, int] = {}
    last = stop = -1
    for start, end in sorted((*heads.items(), *others.items())):
        if start >= stop:
            last, stop = start, end
        stop = found[last] = max(stop, end)
    return found


def _with_words_below(heads: dict[int, int], lines: Sequence[str]) -> dict[int, int]:
    """The heads below which something is said; none where most follow on each other, as in captions and timetables."""
    below = {start: next((i for i in range(stop, len(lines)) if lines[i].strip()), len(lines)) for start, stop in heads.items()}
    said = {start: stop for start, stop in heads.items() if below[start] not in heads}
    return said if 2 * len(said) > len(heads) else {}


def in_turns(lines: Sequence[str]) -> dict[int, int]:
    """By index of a line, how far above it the line with its writer's name is; negative if that is below."""
    named = writers("\n".join(lines))
    found: dict[int, int] = {}
    speaker = stop = -1
    for i, line in enumerate(lines if named.heads else ()):
        if i in named.heads:
            speaker, stop = i, named.heads[i]
        if speaker >= 0 and i > speaker and line.strip():
            found[i] = 1 if i < stop else i - speaker
    for first, start, end in named.signatures:
        name = next((i for i in range(start, end) if is_name_alone(lines[i])), start)
        found |= {i: i - name for i in range(first, start) if lines[i].strip()}
    return found


# ---------------------------------------------------------------- above


def _dated_heads(lines: Sequence[str], dated: frozenset[int]) -> dict[int, int]:
    """A name, what a page tells of its bearer, and a date: "meca_bruno / Modérateur / Messages : 8 904 / Posté le ..."."""
    found: dict[int, int] = {}
    for i in dated:
        above = i - 1
        while i - above <= _FIELDS and above >= 0 and _tells_of_writer(lines[above]):
            above -= 1
        if i - above > 1 and above > 0 and _is_writer(lines, above - 1, dated) and _begins_block(lines, above - 2):
            above -= 1
        if above >= 0 and _is_writer(lines, above, dated):
            found[above] = i + 1
    return found


def _tells_of_writer(line: str) -> bool:
    """Whether a line is a field, or has only signs."""
    return bool(line.strip()) and (_FIELD.match(line) is not None or not _WORD.search(line))


def _is_writer(lines: Sequence[str], i: int, dated: frozenset[int]) -> bool:
    line = lines[i]
    return i not in dated and is_name_alone(line) and not is_button(line)


def _begins_block(lines: Sequence[str], above: int) -> bool:
    return above < 0 or not lines[above].strip() or is_button(lines[above])


def _mailed(lines: Sequence[str]) -> dict[int, int]:
    """What programs write above a mail: "From: ..." above other fields, or name, address and time in one line. Fields at the top
    are those of the whole text.
    """
    found: dict[int, int] = {}
    for i, line in enumerate(lines):
        above_fields = (
            i
            and ":" in line
            and _FROM.match(line)
            and len([*takewhile(_HEADER.match, lines[i : i + _HEADER_LINES])]) >= _HEADER_LINES
        )
        if above_fields or (len(line) <= 2 * _LONGEST and "@" in line and _ADDRESSED.match(line) and _DATE.search(line)):
            found[i] = i + 1
    parted = any(lines[i - 1].lstrip().startswith("--") for i in found)  # "-----Original Message-----" tells them apart
    if found and not parted and _FROM.match(lines[0]) and all(map(_HEADER.match, lines[1:_HEADER_LINES])):
        found[0] = 1  # the newest mail of several
    return found


def _acted(lines: Sequence[str]) -> dict[int, int]:
    """What somebody did on a page, and when, in one line: "Ann Lee added a comment - 12/Nov/26 9:14 AM"."""
    found: dict[int, int] = {}
    for i, line in enumerate(lines):
        may_tell = len(line) <= 2 * _LONGEST and (_DIGIT.search(line) or any(map(line.__contains__, MAY_BE_AGO)))
        acted = _ACTED.match(line) if may_tell and any(map(line.__contains__, _ACTS)) else None
        if acted and is_name_alone(acted[1]) and says_when(line[acted.end() :]):
            found[i] = i + 1
    return found


def _pictured(lines: Sequence[str]) -> dict[int, int]:
    """The description of a picture and the name that it ends or begins with, and the buttons and dates below: "Profile photo for
    Dana / Dana", "u/kilo avatar / kilo"."""
    found: dict[int, int] = {}
    for i, (above, below) in enumerate(pairwise(lines)):
        if len(below) < len(above) <= _LONGEST and _describes(above, below.strip()):
            stop = i + 2
            while stop < min(len(lines), i + _PICTURED) and lines[stop].strip() and _is_aside(lines[stop]):
                stop += 1
            found[i] = stop
    return found


def _describes(line: str, name: str) -> bool:
    if not _SHORTEST <= len(name) < len(line) <= _LONGEST or name not in line:
        return False
    return len(_WORD.findall(line.replace(name, ""))) <= _DESCRIBING and is_name_alone(name)


def _is_aside(line: str) -> bool:
    return is_button(line) or says_when(line)


def _roles(lines: Sequence[str]) -> dict[int, int]:
    """Names in capitals above what is said, some of which recur: "TORVALD. / I paid him twice."."""
    named = {i: name for i, (line, below) in enumerate(pairwise(lines)) if below.strip() and (name := _role(line))}
    times = Counter(named.values())
    again = sum(number for number in times.values() if number >= _FEWEST)
    return {i: i + 1 for i in named} if len(times) >= _FEWEST and 2 * again > len(named) else {}


def _role(line: str) -> str:
    """The name of a role, where a line is nothing else."""
    found = _ROLE.match(line) if line[:2].isupper() and len(line) <= _LONGEST else None
    return found[1] if found and len(found[1]) >= _SHORTEST and found[1] != found[1].lower() else ""


# ---------------------------------------------------------------- below


def _posts(stretches: Sequence[tuple[int, int]]) -> Iterator[Signature]:
    """Signatures and the text between them; nothing for a single one."""
    first = 0
    for start, stop in stretches if len(stretches) >= _FEWEST else ():
        if first < start:
            yield Signature(max(first, start - _MOST_SIGNED), start, stop)
        first = stop


def _dashed(lines: Sequence[str]) -> Iterator[Signature]:
    """ "— martin_w, 12 Jan 2024" at the end of a paragraph, or below it; lines of a dialogue follow on each other."""
    found: list[tuple[int, int]] = []
    above = ""
    for i, line in enumerate(lines):
        if not line.strip():
            continue
        ends = i + 1 == len(lines) or not lines[i + 1].strip()
        if ends and above and len(line) <= _LONGEST and _DASHED.match(line) and not _DASH.match(above):
            found.append((i, i + 1))
        above = line
    yield from _posts(found)


def _below_quotations(lines: Sequence[str]) -> Iterator[Signature]:
    """Short lines of a paragraph after a quotation that are not sentences: a name, an office."""
    found: list[Signature] = []
    for i, line in enumerate(lines):
        if len(line) < _QUOTATION or line.rstrip(" \t.")[-1:] not in _CLOSING or not _QUOTED.match(line):
            continue
        stop = i + 1
        while stop < min(len(lines), i + 1 + _OFFICES) and _is_office(lines[stop]):
            stop += 1
        if any(map(is_name_alone, lines[i + 1 : stop])):
            found.append(Signature(i, i + 1, stop))
    yield from found if len(found) >= _FEWEST else ()


def _is_office(line: str) -> bool:
    return 0 < len(line.strip()) <= _LONGEST and not line.rstrip().endswith(_ENDED)


def _behind_dates(lines: Sequence[str], dated: frozenset[int]) -> Iterator[Signature]:
    """ "answered Mar 2, 2021 / Henrik / 32.1k": a date below buttons, a name below the date, what it counts below the name."""
    found: list[tuple[int, int]] = []
    for i in sorted(dated):
        start = i
        while start and (start - 1 in dated or not lines[start - 1].strip()):
            start -= 1
        below = i + 1 if i + 1 < len(lines) and lines[i + 1].strip() else i + 2
        if not start or not is_button(lines[start - 1]) or below >= len(lines) or not _is_writer(lines, below, dated):
            continue
        stop = below + 1
        while stop < min(len(lines), below + 1 + _COUNTERS) and _is_counter(lines[stop]):
            stop += 1
        if stop > below + 1 or stop == len(lines) or not lines[stop].strip():
            found.append((i, stop))
    yield from _posts(found)


def _is_counter(line: str) -> bool:
    return _DIGIT.search(line) is not None and len(line.strip()) <= _LONGEST_COUNTER
