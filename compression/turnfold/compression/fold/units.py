"""Units: the runs of messages that are kept or folded together.

This module groups messages so that a tool call and its results stay together. Where borders fall is decided in ``replay``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.fold.shape import ShapedResult
from turnfold.compression.memo import Grown, Memo, continued
from turnfold.compression.shorten.facts import facts_tokens
from turnfold.compression.shorten.steps import tells_and_asks
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.announced_inputs import announces_inputs
from turnfold.compression.text.dialogue.handed_files import hands_over_files
from turnfold.compression.text.dialogue.requests import asks_for_compaction
from turnfold.compression.text.dialogue.standing.orders import standing_orders
from turnfold.compression.text.dialogue.wanted.entry_requests import asks_over_entries
from turnfold.compression.text.dialogue.wanted.row_requests import NEEDS_OTHERS, are_about, names_rows, row_terms, tally_terms
from turnfold.compression.text.dialogue.worked_examples import BRIEF, FREE, SHORT, allows_free, answer_forms, input_forms
from turnfold.compression.text.records import hold_data, main_rows, rows
from turnfold.compression.wire.message import Message, family

_NO_TERMS: Final = frozenset[str]()


class Unit(NamedTuple):
    """Messages ``start..end`` that are kept or folded together: one message, and the tool results after it.

    Attributes:
        tokens: tokens of all of them by the border counter.
        facts: approximate tokens at FACTS, estimated from roles and sizes.
        is_user: whether it is a user message to whose content text can be added.
        pinned: whether it is a system or developer message.
        asks: whether a request may end here: a user message, or an answered tool call.
        marked: whether the client set a cache mark in it.
        attached: whether a user's or assistant's message in it has a part that is not text, or one of its messages must stay
            unchanged; such a unit is never folded.
        reasons: whether it has signed reasoning.
        kept: whether it must stay unchanged, even under a budget.
        lines: tokens of its results from which lines are copied, such as files; from records, values are copied.
        interrupted: whether it has a user's message between a call and its late result.
        wordless: whether it is a user message without words, such as a picture: the question precedes it.
        reports: whether a user's message in it contains program output.
        in_doubt: whether a later message may tell, or has told, that it does.
        hands_over: whether it is a user's message in which a client supplies the current contents of files.
        wants_all: whether it is a user's message that requests a summary to replace the conversation.
        goes_over: whether it is a user's message about all entries that users have kept.
        entry: approximate tokens as a quote, if it is a user's short message that states something; otherwise 0.
        forms: for a single message of a user or the assistant, the forms that worked examples share.
        announces: whether it is the user's first message and gives instructions for each later message, or for all answers.
        rows: words that may describe the rows of a table or list, if that is most of it; otherwise empty.
        tallies: words that a user's message about all rows uses for them; empty for other messages, or if no message up to it has
            rows.
    """

    start: int
    end: int
    tokens: int
    facts: int
    is_user: bool
    pinned: bool
    asks: bool
    marked: bool
    attached: bool
    reasons: bool = False
    kept: bool = False
    lines: int = 0
    interrupted: bool = False
    wordless: bool = False
    reports: bool = False
    in_doubt: bool = False
    hands_over: bool = False
    wants_all: bool = False
    goes_over: bool = False
    entry: int = 0
    forms: tuple[str, ...] = ()
    announces: bool = False
    rows: frozenset[str] = _NO_TERMS
    tallies: frozenset[str] = _NO_TERMS

    def works_on(self, other: Unit) -> bool:
        """Whether it asks for something that may need all rows of another unit, and probably nothing else."""
        return not self.tallies.isdisjoint(other.rows) and are_about(self.tallies, other.rows)

    def tells_rows_of(self, other: Unit) -> bool:
        """Whether it names values of some rows of another unit and needs no others: "the average in Berlin"."""
        return NEEDS_OTHERS not in self.tallies and names_rows(self.tallies, other.rows)


_BETWEEN: Final = 6  # units at most between a question and its picture, for example if the picture was asked for
_MOST_BETWEEN: Final = 500  # and their tokens
_SINCE: Final = 8  # units after handed-over material up to which it belongs to the question
_ACKNOWLEDGED: Final = 40  # tokens of "Ok, any changes I propose will be to those files."
_LOOKED_AT: Final = 4000  # characters of a result from which its kind is determined
_LONGEST_REQUEST: Final = 20_000  # characters of a request for a summary; those of agents have up to 6,000
_LEAST_ROWS: Final = 300  # tokens of a message whose rows are examined
_SOON: Final = 2  # messages of the user within which work on rows begins
_SOON_ASKED: Final = 6  # requests within which these must be sent: an agent may continue alone
_LONGEST_OVER_ALL: Final = 300  # characters of a question about all kept entries
_LONGEST_ENTRY: Final = 100  # characters of an entry
_ASKS: Final = lazy.pattern(r"[?？؟]")
_FEWEST_EXAMPLES: Final = 4
_LEAST_RULES: Final = 60  # tokens of a message with instructions for each later message
_MOST_RULES: Final = 4_000
_MOST_TASK: Final = 400  # tokens of a message with instructions for all answers, and of the answer to it
_FEWEST_RULES: Final = 2  # rules for all messages, from which the first message is a task for the whole conversation
_MOST_EXAMPLE: Final = 1500  # tokens of an example's input or answer
_MOST_EXAMPLES: Final = 128  # more than this come one by one, such as tickets that a program labels
_MOST_FREE_EXAMPLES: Final = 24  # the same if answers are free text, as in a conversation with a translator
_AS_THEY_CAME: Final[Mapping[int, ShapedResult]] = MappingProxyType({})


def units(
    messages: Sequence[Message],
    results: Mapping[int, ShapedResult] = _AS_THEY_CAME,
    memo: Memo | None = None,
    kept: frozenset[int] = frozenset(),
) -> tuple[Unit, ...]:
    """Group messages into units. Every message is in exactly one, in order.

    Results count in their shaped form; `memo` saves time if given; `kept` are indices of messages that stay unchanged.
    """

    def run(known: _Grouped | None, same: int) -> _Grouped:
        if known is None or not _counts_alike(known, results, kept, same):
            return _grouped(Grown(_group(messages, results, kept, (), has_rows=False)), results, kept, None)
        # The last unit of a prefix may continue after it, and so may the one before instructions at its end.
        while same and messages[same - 1].pinned:
            same -= 1
        settled = known.units[: bisect_left(known.units, same - 1, key=lambda unit: unit.end)]
        rows_at = known.rows_at if known.rows_at is not None and known.rows_at < len(settled) else None
        found = settled + _group(messages, results, kept, settled, has_rows=rows_at is not None)
        return _grouped(Grown(found, known.units, len(settled)), results, kept, rows_at, len(settled))

    key = ("units", family(messages), bool(results))
    return continued(memo, key, messages, run, lambda found: 150 * len(found.units)).units


class _Grouped(NamedTuple):
    """Units, the results' forms and kept messages used for counting them, and the first unit with rows."""

    units: Grown[Unit]
    results: Mapping[int, ShapedResult]
    kept: frozenset[int]
    rows_at: int | None


def _grouped(
    found: Grown[Unit], results: Mapping[int, ShapedResult], kept: frozenset[int], rows_at: int | None, since: int = 0
) -> _Grouped:
    """Units; those before `since` were already searched for rows."""
    if rows_at is None:
        rows_at = next((since + n for n, unit in enumerate(found[since:]) if unit.rows), None)
    return _Grouped(found, results, kept, rows_at)


def _counts_alike(known: _Grouped, results: Mapping[int, ShapedResult], kept: frozenset[int], end: int) -> bool:
    """Whether the messages before `end` have the same forms, and the same of them are kept."""
    if known.kept is not kept and {i for i in known.kept if i < end} != {i for i in kept if i < end}:
        return False
    if known.results is results or not (known.results or results):
        return True
    was, now = ({i: form for i, form in some.items() if i < end} for some in (known.results, results))
    return was == now


def _group(
    messages: Sequence[Message],
    results: Mapping[int, ShapedResult],
    kept: frozenset[int],
    settled: Sequence[Unit],
    *,
    has_rows: bool,
) -> tuple[Unit, ...]:
    """The units after the settled ones; `has_rows` says whether one of the settled units has rows."""
    begin = settled[-1].end if settled else 0
    rest = range(begin, len(messages))
    inside = set(_instructions_inside(messages, begin))
    starts = [i for i in rest if i == begin or not (_continues(messages[i]) or i in inside)]
    found: list[Unit] = []
    for start, end in pairwise([*starts, len(messages)]):
        found.append(_unit(messages, results, kept, start, end, has_rows=has_rows))
        has_rows = has_rows or bool(found[-1].rows)
    return tuple(found)


def _continues(message: Message) -> bool:
    """Whether a message belongs to the unit of the message before it."""
    return message.is_result or message.bound or (message.role == "user" and not message.holds)


def _instructions_inside(messages: Sequence[Message], begin: int) -> Iterator[int]:
    """Indices of instructions followed by a message that belongs to the unit before them."""
    inside = False
    for index in range(len(messages) - 1, begin - 1, -1):
        if not messages[index].pinned:
            inside = _continues(messages[index])
        elif inside:
            yield index


def _unit(
    messages: Sequence[Message],
    results: Mapping[int, ShapedResult],
    kept: frozenset[int],
    start: int,
    end: int,
    *,
    has_rows: bool,
) -> Unit:
    """The unit of these messages; `has_rows` says whether an earlier one has rows."""
    first, last = messages[start], messages[end - 1]
    if end == start + 1 and not (first.is_result or first.attached or start in kept):  # a faster equivalent for most units
        size, held = first.tokens, _rows(first)
        return Unit(
            start,
            end,
            tokens=size,
            facts=_facts(first, size),
            is_user=first.role == "user" and first.holds and not first.fixed,
            pinned=first.pinned,
            asks=first.role == "user",
            marked=first.marked,
            attached=False,
            reasons=first.reasoning is not None,
            interrupted=first.bound and first.speaker == "user" and first.holds,
            in_doubt=first.in_doubt,
            hands_over=first.role == "user" and hands_over_files(first.text),
            wants_all=_wants_all(first),
            goes_over=_goes_over(first),
            entry=_entry(first, size),
            forms=_forms(first),
            announces=_announces(messages, start),
            rows=held,
            tallies=_tallies(first) if has_rows or held else _NO_TERMS,
        )
    inside = messages[start:end]
    stays = not kept.isdisjoint(range(start, end))
    sizes = [results[i].tokens if i in results else messages[i].tokens for i in range(start, end)]
    return Unit(
        start,
        end,
        tokens=sum(sizes),
        facts=sum(map(_facts, inside, sizes)),
        is_user=first.role == "user" and first.holds and not first.fixed,
        pinned=first.pinned,
        marked=any(m.marked for m in inside),
        attached=stays or any(m.attached and not m.is_result for m in inside),
        asks=last.role == "user" or last.is_result,
        reasons=any(m.reasoning is not None for m in inside),
        kept=stays,
        interrupted=any(m.bound and m.speaker == "user" and m.holds for m in inside),
        lines=sum(size for m, size in zip(inside, sizes, strict=True) if m.is_output and not _holds_records(m.text)),
        wordless=first.role == "user" and bool(first.attached) and not first.own.strip(),
        reports=any(m.reports for m in inside),
        in_doubt=any(m.in_doubt for m in inside),
        hands_over=end == start + 1 and first.role == "user" and not first.reports and hands_over_files(first.text),
        wants_all=_wants_all(last),
        rows=next((said for m in inside if m.is_result and (said := _rows(m))), _NO_TERMS),
    )


def _wants_all(message: Message) -> bool:
    """Whether a message requests a summary that replaces the conversation."""
    if message.role != "user" or message.reports or len(message.own) > _LONGEST_REQUEST:
        return False
    return asks_for_compaction(words.fold(message.own))


def _goes_over(message: Message) -> bool:
    """Whether a message asks about all entries that users have kept. Long messages don't count."""
    if message.role != "user" or message.reports or len(message.own) > _LONGEST_OVER_ALL:
        return False
    return asks_over_entries(words.fold(message.own))


def _entry(message: Message, size: int) -> int:
    if message.role != "user" or not 0 < len(message.own) <= _LONGEST_ENTRY:
        return 0
    return size if not _ASKS.search(message.own) or tells_and_asks(message.own) else 0


def _forms(message: Message) -> tuple[str, ...]:
    """The forms of a message that may be part of a worked example."""
    if message.has_calls or message.sealed or message.attached or message.tokens > _MOST_EXAMPLE:
        return ()
    return input_forms(message.own) if message.role == "user" else answer_forms(message.own)


def _announces(messages: Sequence[Message], at: int) -> bool:
    message = messages[at]
    if message.role != "user" or message.reports or not _LEAST_RULES <= message.tokens <= _MOST_RULES:
        return False
    if next((i for i, one in enumerate(messages) if one.role == "user"), at) != at:
        return False
    is_short = all(one.tokens <= _MOST_TASK for one in messages[at : at + 2])
    return announces_inputs(message.own) or (is_short and len(standing_orders(message.own)) >= _FEWEST_RULES)


def _rows(message: Message) -> frozenset[str]:
    """What may be said of the rows that most of a message is; those of a short one are kept anyway."""
    if message.pinned or message.reports or message.tokens < _LEAST_ROWS:
        return _NO_TERMS
    runs = main_rows(message.own)
    if not runs or (message.role != "user" and not hold_data(message.own, runs)):
        return _NO_TERMS
    return row_terms(message.own, runs)


def _tallies(message: Message) -> frozenset[str]:
    """Words for all rows in a user's message about them, if it has no rows of its own."""
    if message.role != "user" or message.reports:
        return _NO_TERMS
    text = message.own
    for start, end in reversed(rows(text) if message.tokens >= _LEAST_ROWS else ()):
        text = text[:start] + text[end:]
    return tally_terms(text)


def _facts(message: Message, size: int) -> int:
    """Approximate tokens at FACTS of a message with `size` tokens. A sealed message is not shortened, except for removed
    reasoning.
    """
    if message.sealed and message.reasoning is None:
        return size
    return min(size, facts_tokens(message.speaker, message.tokens, message.own, calls=message.has_calls))


def _holds_records(text: str) -> bool:
    """Whether a result is JSON with values. JSON with line breaks in its strings is the wrapped text of a file."""
    beginning = text[:_LOOKED_AT].lstrip()
    return beginning[:1] in ("{", "[") and "\\n" not in beginning


def question_start(units: Sequence[Unit], index: int) -> int:
    """Index of the unit with the words of the question at `index`.

    That is the unit itself unless it has no words, such as a picture; then it is the user's last unit with words before it, if
    near. Pictures in between don't count.
    """
    passed = tokens = 0
    for i in range(index - 1, -1, -1) if units[index].wordless else ():
        unit = units[i]
        if unit.pinned or unit.wordless:
            continue
        if unit.is_user:
            return i
        passed, tokens = passed + 1, tokens + unit.tokens
        if passed > _BETWEEN or tokens > _MOST_BETWEEN:
            break
    return index


def examples_end(units: Sequence[Unit], start: int, most: int | None = None) -> int:
    """Index of the first unit after the worked examples that begin at the unit `start`; `start` if there are none.

    Units are read in order, so that later messages never reduce the examples.

    Args:
        most: most tokens for the examples and everything before them; examples that don't fit are left out in pairs.
    """
    first, second = units[start : start + 2], units[start + 2 : start + 4]
    if not (_are_pair(first) and _are_pair(second)):
        return start
    template = next((form for form in second[0].forms[:1] if form in first[0].forms), None)
    is_free = template is not None and allows_free(template)
    form = first[1].forms[0]
    if form == FREE and not is_free:
        return start
    alike = {form, FREE, SHORT} if is_free and form in (FREE, SHORT) else {form}
    most_pairs = _MOST_FREE_EXAMPLES if is_free else _MOST_EXAMPLES
    end = start
    while end < start + 2 * most_pairs and _are_pair(pair := units[end : end + 2]) and pair[1].forms[0] in alike:
        asked, answered = pair[0].forms, pair[1].forms
        if template not in asked if template is not None else BRIEF not in answered:
            break
        end += 2
    least = start + 2 * _FEWEST_EXAMPLES
    if end >= least and most is not None:
        sums = list(accumulate(unit.tokens for unit in units[:end]))
        while end >= least and sums[end - 1] > most:
            end -= 2
    return end if end >= least else start


def _are_pair(pair: Sequence[Unit]) -> bool:
    """Whether two units are an input and an answer in a machine-readable form."""
    return len(pair) == 2 and pair[0].is_user and not (pair[1].asks or pair[1].pinned) and bool(pair[1].forms)


def handed_over(units: Sequence[Unit], index: int) -> range:
    """The units in which a client supplies files for the question at the unit `index`; empty if there are none.

    Clients send them anew with each request, just before the question: files and an outline of others, each briefly acknowledged.
        The conversation continues after them for a few steps. Such a message is first treated as a question, since a request
        might end with it.
    """
    near = range(index, max(0, index - _SINCE) - 1, -1)
    newest = next((i for i in near if _is_handed_over(units, i, index)), None)
    if newest is None:
        return range(index, index)
    start = newest
    while start > 1 and _acknowledges(units[start - 1]) and units[start - 2].hands_over:
        start -= 2
    return range(start, newest + 1)


def _is_handed_over(units: Sequence[Unit], index: int, last: int) -> bool:
    """Whether a unit supplies files and, up to the unit `last`, only continuations by the user follow, directly or after a word
    about it.
    """
    if not units[index].hands_over:
        return False
    behind = units[index + 1 : min(index + 3, last + 1)]
    return not behind or behind[0].is_user or (_acknowledges(behind[0]) and len(behind) > 1 and behind[1].is_user)


def _acknowledges(unit: Unit) -> bool:
    return not (unit.asks or unit.pinned or unit.reasons) and unit.tokens <= _ACKNOWLEDGED


def rests(units: Sequence[Unit], table: int, index: int) -> bool:
    """Whether a unit with a user's rows is too recent at the unit `index` to know whether they will be used."""
    return (
        units[table].is_user
        and len(_asked_soon(units[: index + 1], table)) < _SOON
        and sum(unit.asks for unit in units[table + 1 : index + 1]) < _SOON_ASKED
    )


def _asked_soon(units: Sequence[Unit], table: int) -> list[Unit]:
    """The user's first messages after a unit with rows."""
    found: list[Unit] = []
    asked = 0
    for unit in units[table + 1 :]:
        asked += unit.asks
        found += [unit] * unit.is_user
        if len(found) == _SOON or asked == _SOON_ASKED:
            break
    return found


def without_rows(units: tuple[Unit, ...]) -> tuple[Unit, ...]:
    """The units as if none had a table: a budget has no room for rows that nobody needs now."""
    return tuple([u._replace(rows=_NO_TERMS) if u.rows else u for u in units]) if any(u.rows for u in units) else units


class _Staying(NamedTuple):
    """The units that stay among the first ones, with the newest user's message and the newest unit that is not an instruction."""

    units: int
    stays: frozenset[int]
    user: int | None
    last: int | None


_KEPT: Final = 4  # requests that can be resumed when a cache mark moves
_NONE_STAYS: Final = _Staying(0, frozenset(), None, None)


def staying(units: Sequence[Unit], memo: Memo | None = None) -> frozenset[int]:
    """Indices of units that no fold removes: those with an attachment, and those that must stay with them so that roles
    alternate.

    For a user's message that is the last unit of its answer; for an assistant's, the user's message before it. Both are known
    before a fold could remove them.
    """

    def run(known: tuple[_Staying, ...] | None, same: int) -> tuple[_Staying, ...]:
        before = [one for one in known or () if one.units <= same][-_KEPT:]
        return (*before, _find_staying(units, before[-1] if before else _NONE_STAYS))

    key = ("staying", tuple([unit[:4] for unit in units[:4]]))
    return continued(memo, key, units, run, lambda found: sum([100 + 40 * len(one.stays) for one in found]))[-1].stays


def _find_staying(units: Sequence[Unit], known: _Staying) -> _Staying:
    new = set[int]()
    user, last = known.user, known.last
    for index, unit in enumerate(units[known.units :], known.units):
        if unit.is_user:
            if user is not None and last is not None and last > user and (user in new or user in known.stays):
                new.add(last)
            user = index
        last = last if unit.pinned else index
        if unit.attached:
            new.add(index)
            if user is not None:
                new.add(user)
    return _Staying(len(units), known.stays | new if new else known.stays, user, last)
