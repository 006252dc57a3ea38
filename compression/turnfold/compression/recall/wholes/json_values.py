"""JSON that the chat answered with, for a request to change it: "remove the second item", "add a field to the object".

This module decides which value is meant. Such a message, and the values in a text, are recognised in
``text.dialogue.wanted.json_values``; records that a question looks up are in ``whole_records``.

The newest value is meant of those that have most of the message's words, or the newest of all where it names none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.fence import fence_tokens, quote_tokens
from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.recall.question import Question
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.json_values import ValueRequest, json_value, value_request
from turnfold.compression.text.quotes import Quotable, Quote

_LEAST: Final = 0.5  # share of the message's words that a value must have if it is not named


class _HeldValue(NamedTuple):
    """A JSON value, with its words and its top-level keys."""

    place: Range
    said: frozenset[str]
    keys: frozenset[str]


def find_json(
    sources: Sequence[Quotable], index: PassageIndex, question: Question, folded: str, count: Callable[[str], int], memo: Memo
) -> FoundWork:
    """The value that a message wants changed, with older forms as outdated; no quotes if the request holds it.

    Args:
        folded: the message, case-folded.
    """
    wanted = value_request(folded) if index.is_talk else None
    if wanted is None:
        return FoundWork()
    values = dict(enumerate(of_each(memo, "json values", [*sources, *question.behind], _value)))
    held = {n: value for n, value in values.items() if value is not None}
    meant = _requested(held, wanted, index.languages)
    if not meant:
        return FoundWork()
    older = tuple([Quote(n, *held[n].place) for n in meant[:-1] if n < len(sources)])
    if meant[-1] >= len(sources):
        return FoundWork((), older)
    quotes = (Quote(meant[-1], *held[meant[-1]].place),)
    tokens = quote_tokens(quotes, sources, count)
    fits = tokens <= question.whole_room - fence_tokens(count)
    return FoundWork(quotes, older, tokens) if fits else FoundWork()


def _value(source: Quotable) -> _HeldValue | None:
    found = json_value(source.text) if source.role in ("user", "assistant") else None
    if found is None:
        return None
    return _HeldValue(found.place, frozenset(words.words(words.fold(source.text[slice(*found.place)]))), found.keys)


def _requested(held: dict[int, _HeldValue], wanted: ValueRequest, languages: Sequence[str]) -> list[int]:
    """The numbers of the messages that hold the forms of the requested value, the newest last."""
    has = {n: _share(wanted.telling, value.said, languages) for n, value in held.items()}
    most = max(has.values(), default=0.0)
    if not has or (most < _LEAST and not wanted.is_named):
        return []
    best = max(n for n, share in has.items() if share == most)
    return [n for n in held if held[n].keys == held[best].keys]


def _share(telling: frozenset[str], said: frozenset[str], languages: Sequence[str]) -> float:
    """The share of the words that are said, in any inflection."""
    known: set[int] = set().union(*(words.stem_table(said, name).values() for name in languages))
    stems = [{words.stem_table([word], name)[word] for name in languages} for word in sorted(telling)]
    return sum(not known.isdisjoint(one) for one in stems) / max(1, len(stems))
