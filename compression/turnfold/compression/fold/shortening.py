"""Messages at FACTS: each text is shortened in its place.

This module makes the new texts of a run of messages. How a text is shortened is up to ``shorten.facts``; which messages are, and
where blocks go, to ``write``.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Final

from turnfold.compression import lazy, tokens
from turnfold.compression.fold.shape import references
from turnfold.compression.memo import Memo
from turnfold.compression.options import Prose
from turnfold.compression.shorten import asked_lines
from turnfold.compression.shorten.asked_lines import TaskWords
from turnfold.compression.shorten.facts import arguments, facts
from turnfold.compression.shorten.file_forms import UNCHANGED, Changed, Lines, changed, telling_lines
from turnfold.compression.shorten.lines import names, visible_parts
from turnfold.compression.text.dialogue.wanted.picks import picked
from turnfold.compression.wire.message import Message, Path, Texts

_WORD: Final = lazy.pattern(r"\w{3,}")
_OFFER: Final = 240  # tokens


def shorten_messages(
    messages: Sequence[Message],
    forms: Sequence[Texts],
    words: frozenset[str],
    prose: Prose,
    before: Sequence[Message] = (),
    memo: Memo | None = None,
) -> list[Texts]:
    """New texts by path for each message at FACTS; empty for a message that stays unchanged.

    Works from the newest message back, so that repeated text is kept where it occurred last.

    Args:
        before: earlier messages, which may contain earlier forms of the same files.
    """
    repeated = references(messages, 0, len(messages))
    known: set[str] = set()
    files = changed([_shown(message, memo) for message in (*before, *messages)])
    out: list[Texts] = []
    for index in reversed(range(len(messages))):
        message = messages[index]
        stays = message.sealed or (index + 1 < len(messages) and _is_picked_from(message, messages[index + 1]))
        differ = [files.get((len(before) + index, n), UNCHANGED) for n in range(len(message.texts) + len(message.arguments))]
        new = repeated.get(index) or ({} if stays else dict(_shorten_texts(message, forms[index], words, known, differ, prose)))
        for text in message.texts:
            known |= visible_parts(new.get(text.path, text.text))
        out.append(new)
    return out[::-1]


def _shown(message: Message, memo: Memo | None) -> tuple[Lines, ...]:
    """The lines that each text of a message shows."""

    def make() -> tuple[Lines, ...]:
        return tuple([telling_lines(text.text) for text in (*message.texts, *message.arguments)])

    if memo is None:
        return make()
    return memo.get(("telling", message.key), make, lambda texts: 100 + sum([len(line) + 60 for one in texts for line in one]))


def _is_picked_from(message: Message, answer: Message) -> bool:
    """Whether a short message offers a list that the next one picks from: "the third one" means nothing without it."""
    return answer.speaker == "user" and message.tokens <= _OFFER and picked(message, answer) is not None


def _shorten_texts(
    message: Message, form: Texts, words: frozenset[str], known: Container[str], differ: Sequence[Changed], prose: Prose
) -> Iterator[tuple[Path, str]]:
    count = tokens.count_once({message.text: message.tokens - message.other_tokens})
    for text, different in zip(message.texts, differ, strict=False):
        new = facts(text.text, role=message.speaker, words=words, known=known, changed=different, count=count, prose=prose)
        whole = form.get(text.path, text.text)
        if whole != text.text and (new == text.text or count(whole) <= count(new)):
            new = whole
        if new != text.text and new.strip():
            yield text.path, new
    for text, different in zip(message.arguments, differ[len(message.texts) :], strict=True):
        new = arguments(text.text, count=count, changed=different)
        if new != text.text and new.strip():
            yield text.path, new


def task_words(users: Sequence[Message], assistants: Sequence[Message]) -> TaskWords:
    """Words of the task, and names in the assistant's calls."""
    return asked_lines.task_words(_said(users, assistants), [message.own for message in users])


def _said(users: Sequence[Message], assistants: Sequence[Message]) -> Iterator[str]:
    for message in users:
        yield from _WORD.findall(message.own[:4000].lower())
    for message in assistants:
        yield from (n.lower() for n in names(message.text[:2000]))


def weight(texts: Sequence[Texts]) -> int:
    return 200 + sum(len(text) for one in texts for text in one.values())
