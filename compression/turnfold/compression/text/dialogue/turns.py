"""Turns of a conversation that stands in one text: a transcript that was pasted, a chat that was exported, messages that a wire
joined.

This module finds where each turn begins, and the label with a speaker's name. Turns are cut into passages in ``passages``. Which
lines of such a text a label governs is known to ``ties.near``; layouts that name the speaker on a line above are in ``heads``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.memo import Memo, continued_by_key, of_each
from turnfold.compression.text.dialogue.transcripts import STAMPED
from turnfold.compression.text.quotes import Quotable

#: What a message or a line begins with that says who speaks, "Anna: ", also behind a date in brackets.
SPEAKER_LABEL: Final = lazy.pattern(r"\s{0,4}(?:\[[^\]\n]{4,60}\]\s{1,4})?([^\W\d_][\w.'’ -]{0,40})[:：]\s")
# "Anna: ...", also below a line with a date, "[27 March 2023, 10:14]"; a name begins with a capital where its script has them.
_NAMED: Final = lazy.pattern(r"^(?:\[[^\]\n]{4,60}\]\s{1,4})?([^\W\d_a-z][\w.'’ -]{0,40})(?:：|:[ \t])", re.MULTILINE)
_LINE: Final = lazy.pattern(r"^.*\S", re.MULTILINE)
_TIME: Final = lazy.pattern(r"\d[:.]\d\d")
_MOSTLY: Final = 0.5  # of the lines
_FEWEST: Final = 3  # two turns in one message are its parts
_OFTEN: Final = 2  # occurrences of a name on average: keys of settings occur once


def turn_starts(text: str) -> list[int]:
    """The starts of turns, in order; empty unless most lines begin one."""
    if text.count(":") + text.count("：") < _FEWEST:
        return []
    named = {m.start(): m.group(1) for m in _NAMED.finditer(text)}
    if len(named) < _OFTEN * len(set(named.values())):
        named = {}
    timed = _TIME.search(text) is not None
    if len(named) < _FEWEST and not timed:
        return []
    lines = [m.start() for m in _LINE.finditer(text)]
    starts = sorted(named.keys() | {at for at in lines if STAMPED.match(text, at)} if timed else named)
    return starts if len(starts) >= _FEWEST and len(starts) >= _MOSTLY * len(lines) else []


class Labels(NamedTuple):
    """The number of users' messages, and of those that begin with the speaker's name."""

    messages: int
    labelled: int

    @property
    def are_most(self) -> bool:
        """Whether most of them do, as in a conversation of several people."""
        return 2 * self.labelled > self.messages

    def joined(self, other: Labels) -> Labels:
        """The sums of both."""
        return Labels(self.messages + other.messages, self.labelled + other.labelled)


def labels_of(sources: Sequence[Quotable], memo: Memo) -> Labels:
    """How many users' messages there are, and how many begin with the speaker's name."""
    labels = of_each(memo, "labelled", sources, _has_label)
    return Labels(len(labels) - labels.count(None), labels.count(True))


def is_labelled(sources: Sequence[Quotable], memo: Memo) -> bool:
    """Whether most users' messages begin with the speaker's name, as in a conversation of several people."""
    return labels_of(sources, memo).are_most


def several_speak(sources: Sequence[Quotable], memo: Memo) -> bool:
    """Whether several people talk.

    That is, users have names beside their texts, or most messages of both sides begin with one of a few names. "Coffee: 4.20" is
    no name, nor is "Letter 7:", which occurs once.
    """
    spoken = continued_by_key(memo, "speakers", sources, partial(_read_on, sources, memo), lambda _: 400)
    return len(spoken.users) > 1 or (spoken.user.are_names and spoken.assistant.are_names)


class _Side(NamedTuple):
    """The messages of a role, those that begin with a label, and the labels."""

    messages: int = 0
    labelled: int = 0
    labels: frozenset[str] = frozenset()

    @property
    def are_names(self) -> bool:
        return 2 * self.labelled > self.messages and _OFTEN * len(self.labels) <= self.labelled

    def with_labels(self, labels: Sequence[str]) -> _Side:
        named = [*filter(None, labels)]
        return _Side(self.messages + len(labels), self.labelled + len(named), self.labels.union(named))


class _Spoken(NamedTuple):
    """The evidence on speakers in the first messages: names beside users' texts, and labels of either side."""

    size: int = 0
    users: frozenset[str] = frozenset()
    user: _Side = _Side()
    assistant: _Side = _Side()


def _read_on(sources: Sequence[Quotable], memo: Memo, known: _Spoken | None, same: int) -> _Spoken:
    if known is not None and known.size == same:
        new = sources[same:]
        labels = [*map(_label, new)]
    else:
        known, new, labels = _Spoken(), sources, of_each(memo, "speaker-labels", sources, _label)
    sides = {role: [label for one, label in zip(new, labels, strict=True) if one.role == role] for role in ("user", "assistant")}
    return _Spoken(
        len(sources),
        known.users.union(one.name for one in new if one.role == "user"),
        known.user.with_labels(sides["user"]),
        known.assistant.with_labels(sides["assistant"]),
    )


def _label(source: Quotable) -> str:
    found = SPEAKER_LABEL.match(source.text)
    return found[1] if found else ""


def _has_label(source: Quotable) -> bool | None:
    """Whether a user's message begins with the speaker's name; None for other roles."""
    return SPEAKER_LABEL.match(source.text) is not None if source.role == "user" else None
