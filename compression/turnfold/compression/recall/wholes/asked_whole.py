"""Everything that a question needs whole: a work, the rows of a table, a part, and what it takes for granted.

This module fixes the order in which these are looked for, and joins what was found. Each is found in a module beside this one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial

from turnfold.compression.memo import Memo
from turnfold.compression.recall.fence import fence_tokens
from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.recall.question import Question, normal_text
from turnfold.compression.recall.wholes.all_rows import find_rows
from turnfold.compression.recall.wholes.answered_lists import with_answered
from turnfold.compression.recall.wholes.definitions import find_definitions
from turnfold.compression.recall.wholes.exchanges.answer_series import find_answer_series
from turnfold.compression.recall.wholes.exchanges.entries import find_entries
from turnfold.compression.recall.wholes.exchanges.game_moves import find_moves
from turnfold.compression.recall.wholes.exchanges.given_before import find_given
from turnfold.compression.recall.wholes.exchanges.series import find_series
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.handed_code import find_code, find_read_code
from turnfold.compression.recall.wholes.json_values import find_json
from turnfold.compression.recall.wholes.mails import find_mails
from turnfold.compression.recall.wholes.materials import find_materials
from turnfold.compression.recall.wholes.named_rows import find_named_rows, find_numbered_rows
from turnfold.compression.recall.wholes.next_parts import find_next_parts
from turnfold.compression.recall.wholes.offers import find_labelled, find_offer
from turnfold.compression.recall.wholes.parts.code_parts import code_parts, find_code_parts, find_printed_code
from turnfold.compression.recall.wholes.parts.failed_tests import find_failed_tests
from turnfold.compression.recall.wholes.parts.keyed_blocks import find_keyed_blocks
from turnfold.compression.recall.wholes.parts.moments import find_moment
from turnfold.compression.recall.wholes.parts.printed_parts import find_printed_parts
from turnfold.compression.recall.wholes.parts.sections import find_sections
from turnfold.compression.recall.wholes.placed_parts import find_parts
from turnfold.compression.recall.wholes.request import WholeRequest
from turnfold.compression.recall.wholes.works.assembled import find_assembled
from turnfold.compression.recall.wholes.works.named_work import find_work
from turnfold.compression.recall.wholes.works.remarks import with_remarks
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.wanted.entry_requests import asks_over_entries
from turnfold.compression.text.dialogue.wanted.materials import is_about_all_code, needs_code
from turnfold.compression.text.dialogue.wanted.series import asks_for_moves
from turnfold.compression.text.dialogue.wanted.versions import NEWEST
from turnfold.compression.text.quotes import Quotable


def find_whole(
    sources: Sequence[Quotable], index: PassageIndex, question: Question, count: Callable[[str], int], memo: Memo
) -> FoundWork:
    """What a question needs completely: rows of a table, a work, or a part or rows that it names.

    Includes the chat's answers to it, if the question refers back to them.
    """
    asks = normal_text(question)
    asked = WholeRequest(sources, question.behind, asks, question.whole_room - fence_tokens(count), count, memo)
    found = _find(asked, index, question)
    return with_remarks(found, asked) if index.is_talk else found


def _find(asked: WholeRequest, index: PassageIndex, question: Question) -> FoundWork:
    sources, behind, asks, room, count, memo = asked
    is_text = _asks_for_text(question)
    rows = partial(find_rows, sources, index, question, asks, count, memo)
    work = partial(find_work, sources, index, question, asks, count, memo)
    parts = partial(find_parts, sources, question, asks, count)
    offer = cache(partial(_offer, asked, index))
    refers = partial(_referred_to, asked, index, question, offer)
    named = partial(find_named_rows, sources, question, asks, count, memo)
    mails = partial(find_mails, sources, question, asks, count, memo)
    values = partial(find_json, sources, index, question, asks, count, memo)
    if index.is_talk and (step := find_next_parts(sources, question, count, memo)).quotes:
        return step
    if index.is_talk and (parts_of := find_assembled(asked)).quotes:
        return parts_of
    if (part := _named_part(asked._replace(text=words.apart(question.text)), index, question)).quotes:
        return with_answered(part, sources, behind, room, count) if index.is_talk else part
    found = FoundWork()
    for find in (mails, work, rows, parts, named) if is_text else (mails, values, rows, refers, work, offer, parts, named):
        one = find()
        if one.quotes:
            found = with_answered(one, sources, behind, room, count) if index.is_talk else one
            break
        # Even if there is nothing to quote, a work has older forms that must not be quoted, and a table may be too long.
        found = one if one.outdated or one.cut is not None else found
    return found if question.whole_room == 0 else found.joined(_beside(asked, index, question, found))


def _named_part(asked: WholeRequest, index: PassageIndex, question: Question) -> FoundWork:
    """The part of handed-over material that a question names: of code, a document, data, or a stretch of time."""
    if asked.room <= 0 or (question.request and not index.is_talk):
        return FoundWork()
    is_of_all = _asks_for_text(question) or _asks_of_all_code(asked)
    finders = (find_failed_tests, find_sections, find_moment, *(() if is_of_all else (find_keyed_blocks, find_numbered_rows)))
    code = (find_code_parts if index.is_talk else find_printed_code)(asked)
    if code.quotes:
        return code
    if not index.is_talk:
        return find_printed_parts(asked, finders)
    found = (find(asked) for find in finders)
    return next((one for one in found if one.quotes), FoundWork())


def _asks_of_all_code(asked: WholeRequest) -> bool:
    """Whether it is about all code of a conversation, which has blocks as data does: "which classes are there?"."""
    folded = words.fold(asked.text)
    is_general = needs_code(folded) and is_about_all_code(folded)
    return is_general and any(held.definitions for held in code_parts(asked.memo, asked.sources))


def _referred_to(asked: WholeRequest, index: PassageIndex, question: Question, offer: Callable[[], FoundWork]) -> FoundWork:
    """The labelled exchange or the offered item that a question refers to."""
    if not index.is_talk or (question.work is not None and question.work.asked.versions != NEWEST):
        return FoundWork()
    labelled = find_labelled(asked)
    return labelled if labelled.quotes else offer()


def _offer(asked: WholeRequest, index: PassageIndex) -> FoundWork:
    """The offered item that a question refers to. "The third proposal" may also mean the third version of something."""
    return find_offer(asked) if index.is_talk else FoundWork()


def _beside(asked: WholeRequest, index: PassageIndex, question: Question, found: FoundWork) -> FoundWork:
    """What a question presupposes: definitions, material and code handed over, entries and answers that it covers."""
    more = FoundWork()

    def left() -> WholeRequest:
        return asked._replace(room=asked.room - found.tokens - more.tokens)

    if index.is_talk:
        more = find_definitions(left()._replace(text=question.text))
    if _asks_for_text(question):
        return more
    if index.is_talk:
        more = more.joined(find_materials(left()))
        held = frozenset(quote.source for quote in (*found.quotes, *more.quotes))
        more = more.joined(find_code(left(), held))
    elif not (found.quotes or question.request):
        more = more.joined(find_read_code(left()))
    series = FoundWork() if found.quotes else find_series(left())
    if series.quotes:
        return more.joined(series)
    if index.is_talk and (moves := find_moves(left())).quotes:
        return more.joined(moves)
    if index.is_talk and (given := find_given(left())).quotes:
        return more.joined(given)
    if asks_over_entries(asked.text) or asks_for_moves(asked.text):
        more = more.joined(find_entries(left(), index))
        more = more.joined(find_answer_series(left()))
    return more


def _asks_for_text(question: Question) -> bool:
    """Whether it requests a long text, or an opinion on one."""
    return question.work is not None and question.work.is_whole and question.work.asked.is_long


def repeated(work: FoundWork, sources: Sequence[Quotable], present: Sequence[str], held: frozenset[int]) -> list[int]:
    """Those of a work's quotes that count although the request may hold their text, by number.

    The request must have the text less often than they do. Quotes of sources that are `held` unchanged are left out.
    """
    counted = [quote for quote in work.counted if quote.source not in held]
    texts = {quote: sources[quote.source].text[quote.start : quote.end] for quote in counted}
    often = Counter(texts.values())
    lacking = {text for text, times in often.items() if sum(one.count(f": {text}\n") for one in present) < times}
    return [n for n, quote in enumerate(work.quotes) if texts.get(quote) in lacking]
