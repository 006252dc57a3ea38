"""What somebody said and when: exports of chats, captions, logs of channels.

This module reads the label that a line of such a text begins with, and tells whether a text is one. Labels without a time ("Anna:
...") and lines that only name who speaks are in ``statements`` and ``heads``; what needs a label is in ``ties.near``.

Formats: WhatsApp on iOS and Android, IRC (irssi, WeeChat), Zoom, Teams, WebVTT, SubRip.
"""

from __future__ import annotations

from typing import Final

from turnfold.compression import lazy

_TIME: Final = r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:[ \u202f]?[AaPp]\.?[Mm]\.?)?"
_DATE: Final = r"\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}"
#: "[12/03/2025, 14:02:11] Anna 🌻: ", "3/12/25, 8:15 PM - Rui: ", "14:02 <@ben> ", "[민수] [오전 9:12] ".
STAMPED: Final = lazy.pattern(
    rf"[\u200e ]*(?:(?P<log>\[(?:{_DATE},? )?{_TIME}\]|{_DATE},? {_TIME} [-–])[ \t]|(?:\[?{_TIME}\]?[ \t]+)(?=<))"
    r"(?(log)(?!\[|(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b)"
    r"[\u200e~+]?[^\n:：<>\[\]{}=]{1,40}[:：][ \t\u200e]"
    r"|<[ @+%&~]?[^\s<>]{1,32}>[ \t])(?=\S)"
    rf"|\[[^\W\d][^\]\n]{{0,40}}\][ \t]\[[^\W\d]{{0,4}}[ \t]?{_TIME}\][ \t](?=\S)"
)
#: A time at the start of a line, with or without a speaker.
TIMED: Final = lazy.pattern(rf"[\u200e ]*\[?(?:{_DATE},? )?{_TIME}\b")
_CUE: Final = lazy.pattern(r"\n(?:\d{1,2}:)?\d\d:\d\d[.,]\d{3} --> (?:\d{1,2}:)?\d\d:\d\d[.,]\d{3}")
_FEWEST: Final = 2
_MOSTLY: Final = 0.5  # of the lines


def cues(text: str) -> list[int]:
    """The positions of caption times at the starts of lines; empty if there are fewer than two."""
    found = [m.start() + 1 for m in _CUE.finditer("\n" + text)] if " --> " in text else []
    return [at - 1 for at in found] if len(found) >= _FEWEST else []


def is_transcript(text: str) -> bool:
    """Whether a text is captions, or lines that mostly begin with their speaker and time."""
    if cues(text):
        return True
    if ":" not in text[:400]:
        return False
    lines = [line for line in text.split("\n") if line.strip()]
    stamped = sum(STAMPED.match(line) is not None for line in lines)
    return stamped >= _FEWEST and stamped >= _MOSTLY * len(lines)
