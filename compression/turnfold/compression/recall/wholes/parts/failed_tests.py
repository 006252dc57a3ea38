"""The failed tests of a report, for "which tests failed?".

This module decides which report is meant, and what is quoted of it. Reports and questions are read in
``text.dialogue.wanted.failed_tests``; why one test failed is found in ``keyed_blocks``.
"""

from __future__ import annotations

from turnfold.compression.memo import of_each
from turnfold.compression.recall.fence import quote_tokens
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.request import BESIDE, WholeRequest
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.failed_tests import asks_for_failed_tests, failed_tests
from turnfold.compression.text.quotes import Quotable, Quote


def find_failed_tests(asked: WholeRequest) -> FoundWork:
    """The lines that name the failed tests of the newest report with any.

    If the report names the tests in several ways, the first is taken, and others as far as they fit. Older reports of other
    programs follow.
    """
    sources, behind, question, room, count, memo = asked
    if not asks_for_failed_tests(question):
        return FoundWork()
    every = [*sources, *behind]
    held = of_each(memo, "failed tests", every, _named)
    at = next((n for n in reversed(range(len(every))) if held[n]), -1)
    if not 0 <= at < len(sources):
        return FoundWork()
    quotes, spent, known = list[Quote](), 0, set[int]()
    for n in range(at, -1, -1):
        ways = {way for way, _ in held[n]}
        for _, places in held[n] if known.isdisjoint(ways) else ():
            more = [Quote(n, *place) for place in places]
            tokens = quote_tokens(more, sources, count)
            if spent + tokens <= room:
                quotes, spent = [*quotes, *more], spent + tokens
        known |= ways
    return FoundWork(tuple(sorted(quotes)), (), spent, listed=frozenset(quotes), beside=BESIDE)


def _named(source: Quotable) -> tuple[tuple[int, tuple[Range, ...]], ...]:
    return tuple((way, tuple(places)) for way, places in failed_tests(source.text).items())
