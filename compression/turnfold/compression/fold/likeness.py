"""The similarity of earlier passages to a question, by sentence vectors.

This module chooses the texts that an encoder gets, and makes a `Likeness` of its vectors. The shell has the encoders and keeps
the vectors; what a likeness is worth beside the words is up to ``recall``.

A vector is a string of int8, one a dimension, in any scale: only its direction counts. A likeness is a cosine times 127, rounded,
as one int8 a passage, and is all that a fold sees of vectors. It is decided once for a user message (law 5), so that neither a
vector that comes later nor another machine's arithmetic changes what was recalled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from turnfold.compression.fold.decisions import prefixes
from turnfold.compression.options import Likeness
from turnfold.compression.recall.question import has_content
from turnfold.compression.text import words
from turnfold.compression.text.escapes import with_breaks
from turnfold.compression.text.passages import passages
from turnfold.compression.text.private import Range, Redactor, without
from turnfold.compression.wire.message import Message

_SCALE: Final = 127
_MOST_ASKED: Final = 1000  # characters at each end of a long question
_ENGLISH: Final = "english"
_OTHER_SCRIPT: Final = 1.5  # bytes of a character

Small = npt.NDArray[np.int8]


def passage_texts(text: str, private: Sequence[Range] = ()) -> list[str]:
    """The passages of a message's text, divided as for recall, without its private parts."""
    return [without(text, private, start, end) for start, end in passages(with_breaks(text))]


def private_parts(messages: Sequence[Message]) -> dict[bytes, tuple[Range, ...] | None]:
    """The private parts of messages, by key, for those that have any; None if such a part spans several messages."""
    redact, found = Redactor(), dict[bytes, tuple[Range, ...] | None]()
    for message in messages:
        began_inside, ranges = redact.is_inside, tuple(redact.ranges(message.text))
        if began_inside or redact.is_inside:
            found[message.key] = None
        elif ranges:
            found.setdefault(message.key, ranges)
    return found


def question_messages(messages: Sequence[Message], user: int) -> list[Message]:
    """The messages of a question's text: its own, preceded by the previous exchange if it has no content of its own."""
    asked = messages[user]
    if has_content(words.fold(asked.own)):
        return [asked]
    spoken = [m for m in messages[:user] if m.speaker in ("user", "assistant") and m.own.strip()]
    return [*spoken[-2:], asked]


def question_text(messages: Sequence[Message], user: int) -> str:
    """The text to encode for a user message: its own, with the previous exchange if it has no content of its own."""
    read = [m.own for m in question_messages(messages, user)]
    if len(read) == 1 and has_content(words.fold(read[0])):
        return read[0] if len(read[0]) <= 2 * _MOST_ASKED else f"{read[0][:_MOST_ASKED]}\n{read[0][-_MOST_ASKED:]}"
    return "\n".join(text[:_MOST_ASKED] for text in read)


def language_of(text: str) -> str:
    """The language of a text as named by the stemmer: English if the text is too short, "" if it is in another script."""
    name = words.language(set(words.words(words.fold(text))))
    if name != _ENGLISH or text.isascii():
        return name
    return "" if len(text.encode("utf-8", "surrogatepass")) > _OTHER_SCRIPT * len(text) else name


def likeness(messages: Sequence[Message], user: int, question: bytes, vectors: Mapping[bytes, bytes]) -> Likeness:
    """The similarity of a user message to the passages before it.

    Args:
        messages: the conversation's messages.
        user: index of the user message.
        question: the message's vector.
        vectors: for each message key, the concatenated vectors of its passages.
    """
    by_message = tuple(cosines(question, vectors.get(m.key, b"")) for m in messages[:user])
    return nothing_known(messages, user) if not any(by_message) else replace(nothing_known(messages, user), by_message=by_message)


def nothing_known(messages: Sequence[Message], user: int) -> Likeness:
    """The similarity of a user message without vectors: only its words decide."""
    at = user + 1
    return Likeness(at, prefixes([m.key for m in messages[:at]], [at])[at])


def cosines(question: bytes, vectors: bytes) -> bytes:
    """For each vector, its cosine with the question's, times 127, as int8."""
    asked, size = np.frombuffer(question, np.int8), len(question)
    if not vectors or not size or len(vectors) % size:
        return b""
    rows = np.frombuffer(vectors, np.int8).reshape(-1, size).astype(np.int64)
    own = asked.astype(np.int64)
    lengths = np.sqrt((rows * rows).sum(axis=1) * float((own * own).sum()))
    cosines = np.where(lengths > 0, (rows @ own) / np.maximum(lengths, 1.0), 0.0)
    found: Small = np.clip(np.rint(_SCALE * cosines), -_SCALE, _SCALE).astype(np.int8)
    return found.tobytes()
