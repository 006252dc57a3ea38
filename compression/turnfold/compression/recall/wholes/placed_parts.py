"""Parts of folded texts that a question names by their place: "the second stanza", "what comes after step 16?".

This module decides which text is meant. Such a question is recognised, and parts are found, in ``text.dialogue.wanted.places``.

The newest text with such parts is meant, preferring texts that are called so ("step by step", "Step 1"), and among these those
that share most words with the question. None is meant if the request contains an unfolded text that is called so no less, since
then that one is spoken of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from turnfold.compression.recall.fence import FRAME, fence_tokens
from turnfold.compression.recall.question import Question, content_words
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.wanted.places import NamedParts, last_number, named_parts, placed
from turnfold.compression.text.quotes import Quotable, Quote

_SPEAKERS: Final = ("user", "assistant")
_ENDING: Final = 2  # letters of an inflectional ending
_LEAST: Final = 200  # characters of a text that has parts with places


def find_parts(sources: Sequence[Quotable], question: Question, folded: str, count: Callable[[str], int]) -> FoundWork:
    """The parts that a question names by their position; empty if it names none.

    Args:
        sources: messages that may be quoted.
        folded: the question, case-folded.
    """
    parts = _named_parts(question, folded) if question.whole_room else None
    if parts is None:
        return FoundWork()
    messages = [*sources, *question.behind]
    said = {n: _words_with_request(messages, n) for n, source in enumerate(messages) if _holds(source, parts)}
    called = [n for n in said if _is_called(parts.noun, said[n])] or [*said]
    if not called or called[-1] >= len(sources):
        return FoundWork()
    told = frozenset(content_words(folded))
    best = max(called, key=lambda n: (len(told & said[n]), n))
    text = sources[best].text
    quotes = tuple([Quote(best, start, end) for start, end in placed(text, parts)])
    tokens = sum(count(text[one.start : one.end]) + FRAME for one in quotes)
    return FoundWork(quotes, (), tokens) if tokens <= question.whole_room - fence_tokens(count) else FoundWork()


def _named_parts(question: Question, folded: str) -> NamedParts | None:
    """The named parts; "the next chapter" is the one after that of the last answer."""
    parts = named_parts(folded)
    if parts is None or not parts.is_next:
        return parts
    answer = next((one.text for one in reversed(question.before) if one.role == "assistant"), "")
    number = last_number(answer, parts.noun)
    return None if number is None else parts._replace(places=(number + 1,))


def _holds(source: Quotable, parts: NamedParts) -> bool:
    return source.role in _SPEAKERS and len(source.text) >= _LEAST and bool(placed(source.text, parts))


def _is_called(noun: str, said: set[str]) -> bool:
    """Whether words name a part by its noun, in singular or plural: "step", "steps"."""
    return any(noun.startswith(word) or word.startswith(noun) for word in said if abs(len(word) - len(noun)) <= _ENDING)


def _words_with_request(sources: Sequence[Quotable], n: int) -> set[str]:
    """The words of a text, and of the user's message just before it."""
    before = sources[n - 1].text if n and sources[n - 1].role == "user" else ""
    return set(words.words(words.fold(f"{before}\n{sources[n].text}")))
