"""Tool results when they first appear: shaped once, or replaced by a reference if one repeats another.

This module decides which results are shaped, and which of several equal ones keeps the text. The forms are in ``shorten.birth``;
the levels of folded pieces are another matter.

Both depend on the prefix alone, so no prefix is ever rewritten for them. A result is shaped by itself and its call, unless the
prompt would become too short for the provider's cache (`large_enough`). Of equal results, the newest one that the last fold event
saw keeps the text, because it stays longest; before any event it is the first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from turnfold.compression import lazy, tokens
from turnfold.compression.memo import Memo, continued
from turnfold.compression.shorten.birth import shape
from turnfold.compression.text.duplicates import duplicates
from turnfold.compression.wire.message import Call, Message, Texts, family

#: Words in a tool's name that indicate text results, which a model may have to repeat including white space.
_READERS: Final = frozenset(
    {"cat", "document", "edit", "editor", "file", "files", "notebook", "open", "patch", "read", "resource", "view", "write"}
)
#: The same for commands and file names in its arguments.
_READS: Final = lazy.pattern(
    r"\b(?:bat|cat|diff|head|less|more|nl|sed|tail|type|Get-Content|git show)\b"
    r"|\.(?:jsonl?|ndjson|geojson|ipynb|ya?ml|toml|lock|csv|tsv|xml|html?|md|txt|ini|cfg|conf|log)\b",
    re.IGNORECASE,
)
_NAME_WORDS: Final = lazy.pattern(r"[A-Z]?[a-z]+|[A-Z]+")
_LEAST: Final = 100  # tokens; a smaller result stays unchanged
_UNSETTLED: Final = 8  # newest messages
_SHOWN_ARGUMENTS: Final = 60  # characters
_SCHEMA_SHARE: Final = 0.5  # of the tokens of JSON schemas; providers render them in fewer


@dataclass(frozen=True, slots=True)
class ShapedResult:
    """The form of one result: new texts by path (none if it stays unchanged), and the message's tokens with them."""

    texts: Texts
    tokens: int


class _Shaped(NamedTuple):
    """What is known of a conversation's results; the next request continues after the settled messages.

    Attributes:
        settled: number of settled messages; a client may still change later ones, for example by moving its cache marks.
        settled_forms, calls: the forms of the settled messages' results, and their calls.
        kept: the messages to keep unchanged.
    """

    forms: dict[int, ShapedResult]
    settled: int
    settled_forms: dict[int, ShapedResult]
    calls: dict[str, Call]
    kept: frozenset[int]


def shape_results(messages: Sequence[Message], memo: Memo, kept: frozenset[int] = frozenset()) -> dict[int, ShapedResult]:
    """Results with a smaller form from which every value and line can still be copied, by message index; none of `kept`."""

    def run(known: _Shaped | None, same: int) -> _Shaped:
        if known is not None and known.settled <= same and _keeps_alike(known, kept):
            begin, forms, calls = known.settled, dict(known.settled_forms), dict(known.calls)
        else:
            begin, forms, calls = 0, {}, {}
        settled = max(begin, len(messages) - _UNSETTLED)
        forms.update(_forms(messages, range(begin, settled), calls, kept, memo))
        newest = dict(_forms(messages, range(settled, len(messages)), dict(calls), kept, memo))
        return _Shaped(forms | newest if newest else forms, settled, forms, calls, kept)

    key = ("shapes", family(messages))
    return continued(memo, key, messages, run, lambda found: 100 * (2 * len(found.forms) + len(found.calls))).forms


class LargeEnough(NamedTuple):
    """Content that can be made smaller without making a prompt too short for the provider's cache.

    Attributes:
        forms: forms of results.
        start: the first message that may be replaced by a reference.
    """

    forms: dict[int, ShapedResult]
    start: int


def large_enough(messages: Sequence[Message], forms: dict[int, ShapedResult], enough: int, front: int) -> LargeEnough:
    """The forms of results with which a request up to there is still long enough to be cached.

    A prompt slightly below that length costs more than a longer one, since no later request reads it from the cache. The decision
    about a result is the same in each request with it, so no prefix is rewritten.

    Args:
        enough: tokens of the shortest prompt that the provider caches; 0 if it caches none, or a smaller prompt is cheaper.
        front: tokens of the tool schemas before the messages.
    """
    size = _SCHEMA_SHARE * front
    for index, message in enumerate(messages):
        if size >= enough:
            return LargeEnough(forms, index)
        form = forms.get(index)
        if form is not None and size + form.tokens < enough:
            forms = {i: other for i, other in forms.items() if i != index}
            form = None
        size += message.tokens if form is None else form.tokens
    return LargeEnough(forms, len(messages))


def _keeps_alike(known: _Shaped, kept: frozenset[int]) -> bool:
    """Whether the same settled messages are to be kept."""
    return known.kept is kept or {i for i in known.kept if i < known.settled} == {i for i in kept if i < known.settled}


def _forms(
    messages: Sequence[Message], indices: range, calls: dict[str, Call], kept: frozenset[int], memo: Memo
) -> Iterator[tuple[int, ShapedResult]]:
    """The forms of some results, by message index.

    Args:
        calls: calls before these messages; their own are added.
    """
    for index, call in _results_with_calls(messages, indices, calls):
        message = messages[index]
        if index in kept or message.tokens < _LEAST or message.sealed or message.pinned or call is None or _reads_file(call):
            continue
        form = memo.get(("shaped", message.key), partial(_shape_result, message), _weight)
        if form.texts:
            yield index, form


def _weight(form: ShapedResult) -> int:
    return 200 + sum(map(len, form.texts.values()))


def _results_with_calls(messages: Sequence[Message], indices: range, calls: dict[str, Call]) -> Iterator[tuple[int, Call | None]]:
    """Indices of results among some messages, with the call that each answers, or None if the request lacks it.

    Args:
        calls: calls before these messages; their own are added.
    """
    for index in indices:
        message = messages[index]
        if message.calls:
            calls.update((call.id, call) for call in message.calls)
        elif message.is_result:
            yield index, calls.get(message.answers or "")


def _reads_file(call: Call) -> bool:
    words = {word.lower() for word in _NAME_WORDS.findall(call.name)}
    return not words.isdisjoint(_READERS) or _READS.search(call.arguments) is not None


def _shape_result(message: Message) -> ShapedResult:
    count = tokens.count_once({message.text: message.tokens - message.other_tokens})
    new = {t.path: shape(t.text, count) for t in message.texts}
    new = {t.path: new[t.path] for t in message.texts if new[t.path] != t.text}
    saved = sum(count(t.text) - count(new[t.path]) for t in message.texts if t.path in new)
    return ShapedResult(new, message.tokens - saved)


def references(messages: Sequence[Message], start: int, seen: int, kept: frozenset[int] = frozenset()) -> dict[int, Texts]:
    """Replacements for results that repeat another, by message index.

    Args:
        start: the first raw message; earlier ones are folded and cannot be referred to.
        seen: number of messages at the last fold event; 0 before the first.
        kept: messages that stay unchanged.
    """
    found = list(_results_with_calls(messages, range(start, len(messages)), {}))
    results = [(i, call) for i, call in found if i not in kept and _is_plain(messages[i])]
    groups: dict[int, list[int]] = defaultdict(list)
    for place, earlier in enumerate(duplicates([messages[i].own for i, _ in results])):
        if earlier is not None:
            groups[earlier].append(place)
    out: dict[int, Texts] = {}
    for first, others in groups.items():
        places = [first, *others]
        holder = max((p for p in places if results[p][0] < seen), default=first)
        for place in places:
            if place != holder:
                index, call = results[place]
                out[index] = {messages[index].texts[0].path: _reference(call, results[holder][1], before=holder < place)}
    return out


def _is_plain(message: Message) -> bool:
    return len(message.texts) == 1 and not message.sealed


def _reference(call: Call | None, target: Call | None, *, before: bool) -> str:
    where = "above" if before else "further down"
    if target is None:
        return f"[turnfold: the same text as another result {where}]"
    if call is not None and (call.name, call.arguments) == (target.name, target.arguments):
        return f"[turnfold: the same text as the result of the same call {where}]"
    arguments = target.arguments if len(target.arguments) <= _SHOWN_ARGUMENTS else f"{target.arguments[:_SHOWN_ARGUMENTS]}..."
    return f"[turnfold: the same text as the result of {target.name} {arguments} {where}]"
