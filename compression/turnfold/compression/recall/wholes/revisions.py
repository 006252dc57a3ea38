"""The versions of a text that the chat revised step by step: "shorter, please", "now with the dog in it".

This module decides which answers are versions of one text, and which of them a message means. Versions of code, and of texts that
share most of their words, are found in ``works``; such a message is recognised in ``text.dialogue.wanted.versions``.

A poem that was made funnier may share no line with its earlier version. The request between the two shows that they are versions:
it is short, asks no question, and comes right after the one and before the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.fence import FRAME
from turnfold.compression.recall.question import WantedWork, content_words
from turnfold.compression.text import words
from turnfold.compression.text.blocks import fences
from turnfold.compression.text.dialogue.wanted.versions import (
    ALL,
    NEWEST,
    VERSION_WORDS,
    WITH_OLDER,
    asks_to_revise,
    version_behind,
)
from turnfold.compression.text.dialogue.wanted.works import WANTED_WORDS, AskedWork
from turnfold.compression.text.quotes import Quotable, Quote

_LONGEST_REQUEST: Final = 160  # characters of a message that only requests a change
_SHORTEST: Final = 80  # characters of a version; anything shorter is a nod
_LEAST_SIZE: Final = 0.1  # share of a text's characters that a version of it needs
_WHOLE: Final = 0.6  # share of the longest version's characters, from which a version is complete
_MOST_WORDS: Final = 0.5  # share of the longer text's words that two versions have in common
_PREFIX: Final = 4  # letters by which "short" matches "shorter"
_NEXT: Final = 2  # messages from one version to the next

_PREVIOUS: Final = (-2,)

#: Numbers of the messages with the versions of a text, in order.
Chain = tuple[int, ...]


def find_revisions(
    messages: Sequence[Quotable],
    behind: int,
    wanted: WantedWork,
    folded: str,
    room: int,
    count: Callable[[str], int],
    memo: Memo,
) -> tuple[tuple[Quote, ...], int]:
    """The versions that a message refers to, and the tokens of their quotes.

    Empty if it refers to the newest, if nothing was revised in this way, or if they don't fit.
    """
    asked = wanted.asked
    if not wanted.is_whole or asked.versions == NEWEST or asked.kind == "code":
        return (), 0
    names = frozenset(content_words(folded)) - WANTED_WORDS - VERSION_WORDS
    found = chains(messages, memo)
    for chain in sorted(found, key=lambda one: (len(one), one), reverse=True):  # the text with most revisions is the likeliest
        if not _is_named(messages, chain, asked):
            continue
        meant = [n for n in _requested(messages, _with_alike(messages, chain), asked, folded, names) if n < behind]
        tokens = sum(count(messages[n].text) + FRAME for n in meant)
        if meant and tokens <= room:
            return tuple([Quote(n, 0, len(messages[n].text)) for n in meant]), tokens
    return (), 0


def newest_revision(messages: Sequence[Quotable], number: int, memo: Memo) -> Chain:
    """For a text with a version in a message: its newest complete version and later changes; () if it was not revised since."""
    chain = next((one for one in chains(messages, memo) if number in one and one[-1] != number), ())
    longest = max((len(messages[n].text) for n in chain), default=0)
    whole = max((n for n in chain if len(messages[n].text) >= _WHOLE * longest), default=0)
    return tuple(n for n in chain if n >= whole)


def chains(messages: Sequence[Quotable], memo: Memo) -> list[Chain]:
    """The texts with several versions, in order."""
    changing = of_each(memo, "asks for a change", messages, _asks_for_change)
    running: dict[int, Chain] = {}
    for n in range(_NEXT, len(messages)):
        before = n - _NEXT
        if changing[n - 1] and _is_version(messages[before], messages[n]):
            running[n] = (*running.pop(before, (before,)), n)
    return list(running.values())


def _with_alike(messages: Sequence[Quotable], chain: Chain) -> Chain:
    """A chain, extended by later texts that share most words with one of its versions, whatever was said in between."""
    known = [_words_of(messages[n]) for n in chain]
    more: list[int] = []
    for n in range(chain[-1] + 1, len(messages)):
        if messages[n].role == "assistant" and len(messages[n].text) >= _SHORTEST:
            said = _words_of(messages[n])
            if any(len(said & one) >= _MOST_WORDS * max(len(said), len(one)) for one in known):
                more.append(n)
                known.append(said)
    return (*chain, *more)


def _words_of(message: Quotable) -> frozenset[str]:
    return frozenset(words.words(words.fold(message.text)))


def _asks_for_change(message: Quotable) -> bool:
    """Whether a user's message requests a change of the previous text."""
    text = message.text.strip()
    if message.role != "user" or not 0 < len(text) <= _LONGEST_REQUEST:
        return False
    return asks_to_revise(words.fold(text))


def _is_version(before: Quotable, message: Quotable) -> bool:
    """Whether a text may be a new version of the one before it."""
    sizes = sorted((len(before.text), len(message.text)))
    if (before.role, message.role) != ("assistant", "assistant") or sizes[0] < max(_SHORTEST, _LEAST_SIZE * sizes[1]):
        return False
    return not any(any(fences(f"\n{one.text}")) for one in (before, message))


def _is_named(messages: Sequence[Quotable], chain: Chain, asked: AskedWork) -> bool:
    """Whether the text was asked for under the name that the message has for it, or has it in it; any was where it has none."""
    names = asked.telling | asked.alike
    first = chain[0]
    said = words.fold("\n".join(one.text for one in messages[max(0, first - 1) : first + 1]))
    return not names or any(re.search(rf"\b{re.escape(name)}", said) for name in names)


def _requested(messages: Sequence[Quotable], chain: Chain, asked: AskedWork, folded: str, names: frozenset[str]) -> list[int]:
    """The versions that the message refers to; empty if there are not that many, or none fits its description."""
    if behind := version_behind(folded):
        told = content_words(behind)
        changed = (n for n in chain[1:] if _says_any(messages[n - 1].text, told))
        return [n - _NEXT for n in changed][:1]
    if asked.versions == _PREVIOUS and names - asked.telling:
        held = [n for n in chain[:-1] if _says_any(messages[n].text, names - asked.telling)]
        return held[-1:]
    size = len(chain)
    numbers = [number for number in asked.versions if -size <= number < size]
    is_all = asked.versions in (ALL, WITH_OLDER)
    return sorted({chain[number] for number in numbers}) if is_all or len(numbers) == len(asked.versions) else []


def _says_any(text: str, told: Iterable[str]) -> bool:
    """Whether a text has one of the words, or one with the same beginning."""
    begins = {word[:_PREFIX] for word in told}
    return any(word[:_PREFIX] in begins for word in content_words(words.fold(text)))
