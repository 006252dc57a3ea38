"""Removing white space at the end of assistant text, for upstreams that refuse it.

This module makes the changes of a request with its assistant texts trimmed. Which upstreams need that is an option (``options``).

Claude refuses a request whose last message is the assistant's and ends in white space ("final assistant content cannot end with
trailing whitespace"). Only what stands behind the first change of a request is trimmed: the bytes in front of it are those that
the provider's cache knows from earlier requests (law 4), and an unchanged request stays as it came (law 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from turnfold.compression.wire.changes import Changes, kept_indices
from turnfold.compression.wire.message import Message, Path, Texts


def trim_endings(messages: Sequence[Message], made: Changes) -> Changes:
    """The changes, without white space at the end of assistant texts after the first change.

    Signed messages and messages of only white space stay unchanged.
    """
    trimmed = {}
    for index in kept_indices(made.dropped, _first_changed(made, len(messages)), len(messages)):
        message = messages[index]
        if message.role == "assistant" and not message.sealed and (ending := _trimmed_ending(message, made.texts.get(index, {}))):
            trimmed[index] = ending
    return replace(made, texts={**made.texts, **trimmed}) if trimmed else made


def _first_changed(made: Changes, nothing: int) -> int:
    return min((*(start for start, _ in made.dropped), *made.texts, *made.beside, *made.apart), default=nothing)


def _trimmed_ending(message: Message, new: Texts) -> dict[Path, str] | None:
    """The message's new texts with the last one trimmed; None if there is nothing to trim."""
    if not message.texts:
        return None
    last = message.texts[-1]
    text = new.get(last.path, last.text)
    short = text.rstrip()
    return {**new, last.path: short} if short and short != text else None
