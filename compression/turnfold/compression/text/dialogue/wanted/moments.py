"""Moments of a text whose lines say when: "what is said at 12:30?", "minutes 8 to 10", "errors between 10:05 and 10:20", "Ben's
last message".

This module reads captions, transcripts, logs and exported chats by their times, and tells which moments a message names. Which
text is meant, and what is quoted, is decided in ``recall.wholes.parts.moments``. Days are in ``text.names.named_days``, single
words in ``lexicon/moments.txt``.

A log of several days contains each time of day several times. If a message names a day, that day's lines are meant; if it names
none, or only by a word that its writer alone can resolve ("yesterday"), those of each day, with their dates.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.row_numbers import COUNT_WORDS
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.names.named_days import Day, is_day, named_days

_LONGEST: Final = 300  # characters of a message that names a moment
_FEWEST: Final = 8  # lines with a time
_MINUTE: Final = 60
_ASKED: Final = r"(\d{1,2}:\d\d(?::\d\d)?)(?![\d/])"
_MINUTE_WORD: Final = rf"(?:{one_of('moments', 'minute')})"
_AND: Final = rf"(?:{one_of('moments', 'and')})"
#: A line with its time: a cue of captions, a transcript's "[00:12:30]" or "12:30", a log's or a chat's with a date in front.
_LINE: Final = lazy.pattern(
    r"^[ \t]*(?:\d+\n)?(?P<cue>(?:\d{1,2}:)?\d{1,2}:\d\d)[.,]\d{1,3} --> [\d:.,]{5,12}[^\n]*"
    r"|^[ \t]*[\[(]?(?:(?P<date>\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\w{3} [ \d]\d)[,T ] ?)?(?P<time>\d{1,2}:\d\d(?::\d\d)?)"
    r"(?:[.,]\d{1,6})?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?(?:Z|[+-]\d\d:?\d\d)?(?![\d:])",
    re.MULTILINE,
)
#: The same with its time behind something else: a level, an address, the key of a record.
_DATED: Final = lazy.pattern(
    r"^[^\n]{1,80}?(?<![\w.:/-])(?P<date>\d{1,4}[-/.](?:\d{1,2}|[A-Za-z]{3})[-/.]\d{1,4})[T :](?P<time>\d{1,2}:\d\d(?::\d\d)?)"
    r"(?:[.,]\d{1,9})?(?![\d:])(?P<cue>(?!))?(?P<half>(?!))?",
    re.MULTILINE,
)
_MOST_SAY: Final = 0.8  # of the lines of a log
_BETWEEN: Final = lazy.pattern(
    rf"\b(?:{one_of('moments', 'between')})\s+(?:{_MINUTE_WORD}\s+)?{_ASKED}\s*{_AND}\s*{_ASKED}"
    rf"|{_ASKED} ?(?:[-–—~～到至]|から|에서|부터) ?{_ASKED}"
)
_AT: Final = lazy.pattern(rf"(?<!\w)(?:{one_of('moments', 'at')})\s+(?:{_MINUTE_WORD}\s+|\d{{4}}-\d\d-\d\d[t ])?{_ASKED}")
#: What is asked of a time stands behind it in some scripts, and in Turkish ("12:30'da ne denildi?"); in brackets it is a stamp.
_TIME_ALONE: Final = lazy.pattern(rf"(?<![\d:/.\-\[(]){_ASKED}")
_HAS_TIME_FIRST: Final = lazy.pattern(r"[\u0590-\u1fff\u2e80-\ud7ff]|\d['’][dt][ae]n?\b")
_MINUTES: Final = lazy.pattern(rf"\b{_MINUTE_WORD}\s+(\d{{1,3}})(?!:)(?:\s*{_AND}\s*(?:{_MINUTE_WORD}\s+)?(\d{{1,3}})(?![\d:]))?")
_OF_MINUTES: Final = lazy.pattern(
    rf"\b(?:(?P<first>{one_of('moments', 'first')})|{one_of('moments', 'last')})\s+(?P<many>\d{{1,3}}|\w+)\s+{_MINUTE_WORD}\b"
)
#: An hour without minutes, which is all of it: "at 3 pm", "um 15 Uhr", and two of them.
_HOUR: Final = rf"(\d{{1,2}})(?::(\d\d))?[^\S\n]?({one_of('moments', 'half')}|{one_of('moments', 'hour')})?(?!\w|:\d)"
_AT_HOUR: Final = lazy.pattern(rf"(?<!\w)(?P<at>{one_of('moments', 'at')})\s+{_HOUR}")
_BETWEEN_HOURS: Final = lazy.pattern(rf"\b(?P<between>{one_of('moments', 'between')})\s+{_HOUR}\s*{_AND}\s*{_HOUR}")
_LAST_HOUR: Final = 23
_MOST_LINES: Final = 80  # of days that a message does not tell apart
_TABLES: Final = lexicon("moments")
_SPEAKER: Final = lazy.pattern(r"[\])\s,–-]{0,4}([^\W\d_][\w.'’-]*(?: [\w.'’-]+){0,2}):\s")


class TimedLine(NamedTuple):
    """A line with a time.

    Attributes:
        parts: the time as written; hours come first if there are three parts.
        day: the date in front of it; "" for none.
        place: its range, including the text below.
        speaker: its speaker, case-folded; "" if not given.
    """

    parts: tuple[int, ...]
    day: str
    place: Range
    speaker: str


class NamedMoment(NamedTuple):
    """A time that a message names.

    Attributes:
        begin, end: its times as they are written; "" for none. An `end` alone is as many minutes from the beginning or the end.
        which: 0 for a time, 1 for the first that fits the words, -1 for the last.
        said: the words of the message.
        days: the days that it names.
    """

    begin: str
    end: str
    which: int
    said: frozenset[str]
    days: frozenset[Day] = frozenset()


def named_moment(message: str) -> NamedMoment | None:
    """The time that a short message names, if any."""
    folded = words.fold(message)
    if len(folded) > _LONGEST:
        return None
    said = frozenset(words.words(folded))
    found = _named_time(_with_minutes(folded), said) or _named_end(said)
    return found and found._replace(days=named_days(folded))


def _with_minutes(folded: str) -> str:
    """A message with its hours in clock notation.

    "Between 3 and 4 pm" becomes "between 15:00 and 16:00", and "at 3 pm" becomes 15:00 to 15:59.
    """
    if found := _BETWEEN_HOURS.search(folded):
        begin, begun, half, end, ended, other = found.groups()[-6:]
        half, other = half or other, other or half
        times = (_clock(begin, begun, half), _clock(end, ended, other)) if half and other else ("", "")
        return f"{found['between']} {times[0]} - {times[1]}" if all(times) else folded
    found = _AT_HOUR.search(folded)
    if found and found[4] and (time := _clock(found[2], found[3], found[4])):
        return f"{found['at']} {time}" if found[3] else f"{time} - {time[:-2]}59"
    return folded


def _clock(hour: str, minutes: str | None, half: str) -> str:
    """A time in clock notation; "" for none."""
    value = int(hour)
    if half[0] in "ap" and half.endswith(("m", ".")):
        value = value % 12 + (12 if half[0] == "p" else 0)
    return f"{value}:{minutes or '00'}" if value <= _LAST_HOUR else ""


def _named_time(folded: str, said: frozenset[str]) -> NamedMoment | None:
    if found := _BETWEEN.search(folded):
        begin, end = filter(None, found.groups())
        return NamedMoment(begin, end, 0, said)
    if found := _OF_MINUTES.search(folded):
        many = found["many"] if found["many"].isdigit() else COUNT_WORDS.get(found["many"])
        return NamedMoment("", f"{many}:00", 1 if found["first"] else -1, said) if many else None
    if found := _MINUTES.search(folded):
        return NamedMoment(f"{found[1]}:00", f"{found[2] or found[1]}:59", 0, said)
    found = _AT.search(folded) or (_TIME_ALONE.search(folded) if _HAS_TIME_FIRST.search(folded) else None)
    return NamedMoment(found[1], "", 0, said) if found else None


def _named_end(said: frozenset[str]) -> NamedMoment | None:
    """The first or the last line of a speaker, or of all."""
    if said.isdisjoint(_TABLES["said"]) or not said.isdisjoint(_TABLES["us"]):
        return None
    ends = ((-1, "last"), (1, "first"))
    return next((NamedMoment("", "", n, said) for n, name in ends if not said.isdisjoint(_TABLES[name])), None)


def timed_lines(text: str) -> list[TimedLine]:
    """The lines of a text with a time, in order; empty if few have one."""
    found = list(_LINE.finditer(text))
    if len(found) < _FEWEST:
        found = list(_DATED.finditer(text))
        if len(found) < max(_FEWEST, _MOST_SAY * (1 + text.rstrip().count("\n"))):
            return []
    lines: list[TimedLine] = []
    for n, line in enumerate(found):
        end = found[n + 1].start() if n + 1 < len(found) else _block_end(text, line.end())
        speaker = _SPEAKER.match(text, line.end())
        parts = _parts(line["cue"] or line["time"], line["half"])
        lines.append(TimedLine(parts, line["date"] or "", (line.start(), end), words.fold(speaker[1]) if speaker else ""))
    often = Counter(line.speaker for line in lines)
    return [line if often[line.speaker] > 1 else line._replace(speaker="") for line in lines]


def _block_end(text: str, at: int) -> int:
    end = text.find("\n\n", at)
    return len(text) if end < 0 else end


def _parts(time: str, half: str | None = None) -> tuple[int, ...]:
    parts = [int(part) for part in time.split(":")]
    if half:
        parts[0] = parts[0] % 12 + (12 if half in "pP" else 0)
    return tuple(parts)


def lines_at(lines: Sequence[TimedLine], moment: NamedMoment) -> list[TimedLine]:
    """The lines at a named time, limited to the speaker named in the message, if any."""
    if moment.which and not moment.end:
        fitting = _fitting(lines, moment.said)
        return fitting[:1] if moment.which > 0 else fitting[-1:]
    by_day = {day: [*group] for day, group in groupby(lines, lambda line: line.day)}
    if len(by_day) == 1:
        return _lines_of_day(lines, moment)
    if moment.days:
        meant = [day for day in by_day if any(is_day(day, one) for one in moment.days)]
    else:
        meant = [*by_day] if not moment.which else [[*by_day][0 if moment.which > 0 else -1]]
    found = [line for day in meant for line in _lines_of_day(by_day[day], moment)]
    return found if moment.days else found[-_MOST_LINES:]


def _lines_of_day(lines: Sequence[TimedLine], moment: NamedMoment) -> list[TimedLine]:
    times = [_value(line.parts) for line in lines]
    begin, end = _window(moment, times, len(lines[0].parts))
    inside = [line for line, at in zip(lines, times, strict=True) if begin <= at <= end]
    if not inside and times[0] <= begin <= times[-1]:
        n = max(n for n, at in enumerate(times) if at <= begin)
        inside = list(lines[n : n + 2])
    return _fitting(inside, moment.said)


def _fitting(lines: Sequence[TimedLine], said: frozenset[str]) -> list[TimedLine]:
    """The lines of a named speaker; all if none is named."""
    spoken = [line for line in lines if line.speaker and not said.isdisjoint(line.speaker.split())]
    return spoken or list(lines)


def _window(moment: NamedMoment, times: Sequence[int], size: int) -> tuple[int, int]:
    """The interval of a named time, in the unit of the text's lines: seconds if they have three parts."""
    least, most = min(times), max(times)
    if moment.which:
        many = int(moment.end.partition(":")[0]) * _MINUTE
        return (least, least + many) if moment.which > 0 else (most - many, most)
    begin, width = _read(moment.begin, least, most, size)
    if not moment.end:
        return begin, begin + width
    end, width = _read(moment.end, least, most, size)
    return begin, end + width


def _read(time: str, least: int, most: int, size: int) -> tuple[int, int]:
    """A time in the unit of a text's lines, and its uncertainty.

    "12:30" is minutes and seconds, or hours and minutes, whichever fits the lines.
    """
    parts = _parts(time)
    value = _value(parts)
    if len(parts) >= size:
        return (value if len(parts) == size else value // _MINUTE), 0
    clock = value * _MINUTE
    if least - _MINUTE < clock <= most:
        return clock, _MINUTE - 1
    return value, 0


def _value(parts: Sequence[int]) -> int:
    value = 0
    for part in parts:
        value = value * _MINUTE + part
    return value
