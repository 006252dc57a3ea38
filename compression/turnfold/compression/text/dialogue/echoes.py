"""Answers that only repeat what the user said: "Noted: 5 July, 3 pm, about 90."

This module tells whether an answer is such an echo. What follows is decided in ``recall.later``; nods that say nothing are in
``requests.EMPTY``.

An echo is short, directly follows what it repeats, and has no word or figure that does not occur there, except for its opening
words ("All right: ...") and the numbers of its own list. An answer to a question is not an echo, nor is one that names one of
several things offered ("Coffee." to "Tea, coffee or juice").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.memo import Memo, continued_by_key
from turnfold.compression.text.dialogue.turns import is_labelled
from turnfold.compression.text.dialogue.updates import LONGEST
from turnfold.compression.text.lexicon import one_of
from turnfold.compression.text.lower import lower_text, words
from turnfold.compression.text.quotes import Quotable

#: What asks, or offers one of several.
_CHOICE: Final = lazy.pattern(rf"[?？؟]|(?<!\w)(?:{one_of('updates', 'choice')})(?!\w)|{one_of('updates', 'run-on choice')}")
_STEM: Final = 5  # letters by which two forms of a word are considered equal
_OPENING: Final = lazy.pattern(r"\s*[^\W\d_]+(?:[ '’][^\W\d_]+){0,2}\s*[:：,،、。.!！—–-]+\s*(?=\S)")
_NUMBERED: Final = lazy.pattern(r"(?<![\w.,])\d{1,2}[.)](?=\s)")
_FIGURE: Final = lazy.pattern(r"\d+(?:[.,:]\d+)*")
_RUN: Final = lazy.pattern(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]{2,}")


def echoes(sources: Sequence[Quotable], memo: Memo) -> list[int]:
    """The assistant's messages that only repeat the previous one, by index; empty if most messages name their speaker."""
    if is_labelled(sources, memo):
        return []

    def run(known: list[int] | None, same: int) -> list[int]:
        new = (at for at in range(max(1, same), len(sources)) if _repeats(sources[at], sources[at - 1], memo))
        return [*(at for at in known or () if at < same), *new]

    return continued_by_key(memo, "echoes", sources, run, lambda found: 32 * len(found))


def _repeats(answer: Quotable, said: Quotable, memo: Memo) -> bool:
    if (said.role, answer.role) != ("user", "assistant") or max(len(answer.text), len(said.text)) > LONGEST:
        return False
    return _is_echo_of(answer, said, memo)


def _is_echo_of(answer: Quotable, said: Quotable, memo: Memo) -> bool:
    return memo.get(("echo", answer.key, said.key), lambda: is_echo(answer.text, said.text), lambda _: 40)


def is_echo(answer: str, said: str) -> bool:
    """Whether an answer adds nothing to what was said."""
    low, before = lower_text(answer), lower_text(said)
    if _CHOICE.search(before):
        return False
    bare = _NUMBERED.sub(" ", _OPENING.sub("", low, count=1))
    if not set(_FIGURE.findall(bare)) <= set(_FIGURE.findall(before)):
        return False
    named = {word[:_STEM] for word in words(before)}
    repeated = words(bare)
    if not (repeated or _FIGURE.search(bare)):
        return False
    return all(word[:_STEM] in named or (_RUN.fullmatch(word) is not None and word in before) for word in repeated)
