"""Emails that somebody pastes, one by one or as a thread, and requests that name one by its place or its writer: "reply to the
first one".

This module tells whether a message is such an email, and which of them a request means. Which are quoted is decided in
``recall.wholes.mails``. Letters that the conversation made are in ``works``, single words in ``lexicon/mails.txt``.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.picks import PLACES
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.lower import joined_words, lower_text

_TABLE: Final = lexicon("mails")
_LONGEST: Final = 200  # characters of a request; a longer one contains its own email
_HEAD: Final = 120  # characters of the line above an email that says whose it is
_OPENING: Final = 400  # characters of a message in which an email's own head stands
_BACK: Final = 3  # words from a noun back to its place
_FIELDS: Final = lazy.pattern(r"^(?:From|Von|De|Da|Van|Od|От): .+\n(?:[A-Z][\w-]{1,20}: .*\n){1,6}", re.MULTILINE)
_CAPITAL: Final = lazy.pattern(r"[^\W\d_a-zà-ÿ][^\W\d_]+")
_NAME: Final = lazy.pattern(rf"(?<=[\w:,] ){_CAPITAL.pattern}")
_SIGNATURE: Final = 3  # words of one, at most
_SAYS_WHOSE: Final = lazy.pattern(rf"\b(?:{one_of('mails', 'from')})\b")


class NamedMails(NamedTuple):
    """The emails that a request refers to: one by position (from 1, or from the end from -1) or all; and the request's words."""

    place: int | None
    said: frozenset[str]


def is_mail(text: str) -> bool:
    """Whether a message is an email, with a line above it that names its author, or a header of its own."""
    head, _, body = text.strip().partition("\n")
    if not body.strip():
        return False
    says_whose = len(head) <= _HEAD and head.rstrip().endswith(":") and _SAYS_WHOSE.search(lower_text(head)) is not None
    return says_whose or _FIELDS.search(text, 0, _OPENING) is not None


def mail_places(text: str) -> list[Range]:
    """The ranges of emails in a message, which may be one, or a thread of several."""
    heads = [found.start() for found in _FIELDS.finditer(text)]
    if len(heads) > 1:
        return [(start, start + len(text[start:end].rstrip())) for start, end in pairwise((*heads, len(text)))]
    return [(0, len(text))] if is_mail(text) else []


def mail_names(text: str) -> frozenset[str]:
    """The names in the lines that name an email's author, the first and the last, in lower case."""
    lines = text.strip().splitlines()
    named = _NAME.findall(lines[0][:_HEAD])
    if len(lines[-1].split()) <= _SIGNATURE:
        named += _CAPITAL.findall(lines[-1])
    return frozenset(map(str.lower, named)) - _TABLE["mail"] - _TABLE["mails"]


def named_mails(folded: str) -> NamedMails | None:
    """The emails that a case-folded request refers to; None if it refers to none."""
    if len(folded) > _LONGEST:
        return None
    said = joined_words(lower_text(folded))
    bare = frozenset(word.removesuffix("'s") for word in said)
    answers = not _TABLE["answers"].isdisjoint(bare)
    for at, word in enumerate(said):
        if word in _TABLE["mail"] or (answers and word == "one"):
            places = [PLACES[one] for one in said[max(0, at - _BACK) : at] if one in PLACES]
            if places or (answers and word != "one"):
                return NamedMails(places[-1] if places else -1, bare)
    return NamedMails(None, bare) if not _TABLE["mails"].isdisjoint(bare) else None
