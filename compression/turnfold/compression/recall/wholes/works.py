"""A work that is asked for as a whole: the script, the letter, the table that the conversation made before.

Lives here: which message holds it, and what of it is quoted. Does not belong here: whether a message asks for one
(``text.dialogue.wanted.works``), passages that bear on a question (``ranking``), how much fits (``quote_choice``).

A work is the code of a message, in fences or as a user pasted it, or a long message. Of those that share most words with the
question, in themselves or in the request that they answer, the newest whole version is meant, unless an older one is asked for;
what changed it later is quoted with it. One that the request holds anyway, since its turn is not folded, needs no quote, nor do
the versions that are not wanted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.fence import FRAME, fence_tokens
from turnfold.compression.recall.passage_index import Floats, PassageIndex, build_beyond
from turnfold.compression.recall.question import Question, WantedWork, content_words
from turnfold.compression.recall.ranked_quotes import RankedQuotes, in_front
from turnfold.compression.recall.wholes.code_changes import code_changes
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.held_work import HeldWork, held_work
from turnfold.compression.recall.wholes.revisions import find_revisions, newest_revision
from turnfold.compression.recall.wholes.several_works import several_works
from turnfold.compression.recall.wholes.spread_works import fitting_spread
from turnfold.compression.recall.wholes.version_changes import version_changes
from turnfold.compression.scorers.bm25 import rarity, wanted_terms
from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.pasted_pieces import pieces_with
from turnfold.compression.text.dialogue.transcripts import is_transcript
from turnfold.compression.text.dialogue.turns import SPEAKER_LABEL
from turnfold.compression.text.dialogue.wanted.code_blocks import code_ranges
from turnfold.compression.text.dialogue.wanted.versions import NEWEST, VERSION_WORDS, WITH_OLDER
from turnfold.compression.text.dialogue.wanted.works import WANTED_WORDS, AskedWork, MakingRequest, has_form, making_request
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable, Quote

_TELLING: Final = 3.0  # weight of a word between "the" and the noun
_ALIKE: Final = 2.0  # the same of another noun for it
_REQUEST: Final = 400  # characters up to which a user's message says what is asked for, and little else
_BESIDE: Final = 0.6  # share of a word's weight where it stands in an answer and not in the request for it
_LIKE_BEST: Final = 0.8  # share of the best score from which a work may be meant as well
_RIVAL: Final = 0.9  # the same from which another work may as well be meant
_SHARED_LINES: Final = 0.3  # of the shorter one's lines, from which two that fit are forms of one work
_MOST_LINES: Final = 0.5  # the same whatever was asked for
_NEXT: Final = 2  # messages from a work to a version of it that the next request asked for
_MOST_WORDS: Final = 0.5  # of the shorter one's words, from which two texts are versions of one
_ASKED_ABOUT: Final = 500  # tokens of a work up to which it is quoted to a question about it
_WHOLE: Final = 0.6  # share of the longest form's lines from which a form is no mere part
_OPENING: Final = (":", "{")  # ends of a line that begins a part of code
_NO_NAMES: Final = WANTED_WORDS | VERSION_WORDS
_BEFORE: Final = re.compile(r"\b(?:before|bevor|vor|avant|antes|prima)\b")  # behind it stands what a version has not
_PROSE_TOKENS: Final = 60  # shorter messages are quoted as they are
_SEVERAL: Final = 2
_LINED_TOKENS: Final = 30  # the same of those in lines
_FEWEST_LINES: Final = 5
_MOST_CODE: Final = 0.5  # of a document
_PASTED_TOKENS: Final = 150  # of a text that people did not type as they talk
_TALK: Final = 0.1  # the most that a text fits which only talks of the work
_UNFORMED: Final = 0.5  # of what a text fits without the form of the work, where others have it
_VERSION_SIZE: Final = 0.3  # of a long text's characters, from which another may be a version of it
_HEADING: Final = 80  # characters of one above a text that a user pasted
_ANNOUNCING: Final = (":", "：")


def find_work(
    sources: Sequence[Quotable], index: PassageIndex, question: Question, folded: str, count: Callable[[str], int], memo: Memo
) -> FoundWork:
    """The work that is asked for, and what changed it later.

    Args:
        sources: what may be quoted.
        folded: the question, case-folded.
    """
    wanted = question.work
    if wanted is None:
        return FoundWork()
    room = question.whole_room - fence_tokens(count)
    if wanted.asked.is_several:
        quotes, tokens = several_works(sources, wanted.asked.telling, index, room, count, memo)
        if quotes or not wanted.asked.is_long:
            return FoundWork(quotes, (), tokens)
    messages = [*sources, *question.behind]
    revised, tokens = find_revisions(messages, len(sources), wanted, folded, room, count, memo)
    found = [] if revised else _works(messages, index, wanted, folded, memo)
    if not found:
        return FoundWork(revised, (), tokens)
    forms = _forms(found, wanted.asked, _names(folded, wanted.asked))
    if not wanted.is_whole:  # if it is short, since what it says may share no word with the question
        return _fitting(forms.wanted[:1], sources, min(room, _ASKED_ABOUT), count) or FoundWork()
    several = _together(messages, index, found, forms, wanted, folded, memo)
    changes = _changes_between(messages, several or forms.wanted, sources, room, count)
    if changes.quotes or several:
        return changes if changes.quotes else _all_of(several, sources, room, count)
    forms = _with_changes(messages, _revised(messages, forms, wanted.asked, memo), wanted.asked, memo)
    return _one(found, forms, wanted.asked, sources, room, count)


def _changes_between(
    messages: Sequence[Quotable],
    works: Sequence[HeldWork],
    sources: Sequence[Quotable],
    room: int,
    count: Callable[[str], int],
) -> FoundWork:
    """Where several versions differ that have no room."""
    versions = sorted({work.source for work in works})
    if len(versions) < _SEVERAL or _cost(works, sources, count) <= room:
        return FoundWork()
    changes, tokens = version_changes(messages, versions, len(sources), room, count)
    return FoundWork(changes, (), tokens)


def _one(
    found: Sequence[HeldWork],
    forms: _Forms,
    asked: AskedWork,
    sources: Sequence[Quotable],
    room: int,
    count: Callable[[str], int],
) -> FoundWork:
    """The version of a work that is meant, with what changed it later."""
    apart = tuple(chain.from_iterable(work.quotes for work in forms.others))
    if forms.wanted[0].source >= len(sources) and len(asked.versions) == 1:
        return FoundWork((), apart)
    likely = _RIVAL * max(map(_fit, found))
    known = {work.source for work in (*forms.wanted, *forms.changed, *forms.others)}
    rivals = [work for work in found if work.fits >= likely and work.source not in known]
    fitting = _fitting((*forms.wanted, *reversed(forms.changed), *rivals[-1:]), sources, room, count)
    if fitting is None and asked.is_long:
        fitting = _all_of(forms.wanted[:1], sources, room, count)
    return fitting._replace(outdated=apart) if fitting else FoundWork()


def _with_changes(messages: Sequence[Quotable], forms: _Forms, asked: AskedWork, memo: Memo) -> _Forms:
    """The same with what was told of code since its newest version."""
    newest = forms.wanted[0]
    if newest.is_prose or asked.versions != NEWEST:
        return forms
    known = {work.source: work for work in forms.changed}
    for n, ranges in code_changes(messages, newest.source, newest.ranges).items():
        known.setdefault(n, held_work(n, messages[n], ranges, newest.fits, memo))
    return forms._replace(changed=tuple([known[n] for n in sorted(known)]))


def _revised(messages: Sequence[Quotable], forms: _Forms, asked: AskedWork, memo: Memo) -> _Forms:
    """The same with what became of a text step by step in place of the version that fits best."""
    number = forms.wanted[0].source
    chain = () if asked.versions != NEWEST or asked.kind == "code" else newest_revision(messages, number, memo)
    if not chain or chain[-1] <= number:
        return forms
    held = [held_work(n, messages[n], ((0, len(messages[n].text)),), forms.wanted[0].fits, memo) for n in chain]
    others = [work for work in (*forms.wanted, *forms.others) if work.source not in chain]
    return _Forms((held[0],), tuple(held[1:]), tuple(others))


def _together(
    messages: Sequence[Quotable],
    index: PassageIndex,
    found: Sequence[HeldWork],
    forms: _Forms,
    wanted: WantedWork,
    folded: str,
    memo: Memo,
) -> list[HeldWork]:
    """The works that a message asks for together, in order: of one kind, by several names, or the pieces of one; none where it
    asks for one."""
    asked = wanted.asked
    if asked.is_long and (pieces := pieces_with(messages, forms.wanted[0].source, memo)):
        return [held_work(n, messages[n], ((0, len(messages[n].text)),), 0.0, memo) for n in pieces]
    if asked.beside:
        works = {forms.wanted[0].source: forms.wanted[0]}
        for one in asked.beside:
            others = _works(messages, index, WantedWork(one, True), folded, memo, frozenset(works))
            if others:
                best = _forms(others, one, frozenset()).wanted[0]
                works[best.source] = best
        return [works[source] for source in sorted(works)]
    number = asked.number if asked.is_several else max(asked.versions) + 1
    is_other = asked.is_long and len(forms.wanted) + len(forms.others) == 1 and asked.versions != WITH_OLDER
    if not (asked.is_several or (number > 0 and is_other)):
        return []
    return _newest_of_each([work for work in found if work.fits >= _LIKE_BEST * max(map(_fit, found))], number)


def _newest_of_each(works: Sequence[HeldWork], number: int) -> list[HeldWork]:
    """The newest of so many works, in order; of which two are versions of one, unless there are too few without them: two leases
    may share most of their words."""
    apart: list[HeldWork] = []
    for work in reversed(works):
        if not any(_is_version(work, other) for other in apart):
            apart.append(work)
    apart = apart[: number or None]
    versions = [work for work in reversed(works) if work not in apart]
    return sorted([*apart, *versions[: max(0, number - len(apart))]], key=lambda work: work.source)


def _fit(work: HeldWork) -> float:
    return work.fits


def _all_of(works: Sequence[HeldWork], sources: Sequence[Quotable], room: int, count: Callable[[str], int]) -> FoundWork:
    """The works whole, those that are folded; where the room is too small for all, what each says throughout."""
    folded = [work for work in works if work.source < len(sources)]
    quotes, tokens = fitting_spread(sources, list(chain.from_iterable(work.quotes for work in folded)), room, count)
    return FoundWork(tuple(quotes), (), tokens)


def _fitting(works: Sequence[HeldWork], sources: Sequence[Quotable], room: int, count: Callable[[str], int]) -> FoundWork | None:
    """Those of the works that are folded and fit; None if the first is folded and does not."""
    quotes: list[Quote] = []
    spent = 0
    for work in works:
        if work.source >= len(sources):
            continue
        cost = _cost([work], sources, count)
        if spent + cost <= room:
            spent += cost
            quotes += work.quotes
        elif work is works[0]:
            return None
    return FoundWork(tuple(quotes), (), spent)


def _cost(works: Sequence[HeldWork], sources: Sequence[Quotable], count: Callable[[str], int]) -> int:
    """The tokens of those works that are folded, as they are quoted."""
    quotes = (quote for work in works if work.source < len(sources) for quote in work.quotes)
    return sum(count(sources[n].text[start:end]) + FRAME for n, start, end in quotes)


def with_work(ranking: RankedQuotes, index: PassageIndex, work: FoundWork) -> RankedQuotes:
    """A ranking with a work in front, without the passages that stand in it or in its older forms."""
    apart: dict[int, list[Quote]] = {}
    for quote in (*work.quotes, *work.outdated):
        apart.setdefault(quote.source, []).append(quote)
    quotes = (*index.quotes, *ranking.more) if ranking.more else index.quotes

    def is_apart(quote: Quote) -> bool:
        return not any(quote.start < one.end and one.start < quote.end for one in apart.get(quote.source, ()))

    others = [n for n in ranking.numbers.tolist() if is_apart(quotes[n])]
    return in_front(ranking, work.quotes, np.array(others, np.int64))


def _works(
    sources: Sequence[Quotable],
    index: PassageIndex,
    wanted: WantedWork,
    folded: str,
    memo: Memo,
    taken: frozenset[int] = frozenset(),
) -> list[HeldWork]:
    """What may be meant, in order, but not what is taken for another work."""
    asked = wanted.asked
    made = _made(sources, asked, memo)
    free = (n for n in range(len(sources)) if n not in taken)
    held = {n: ranges for n in free if (ranges := _ranges(sources[n], asked, is_made=n in made))}
    formed = frozenset(n for n in held if has_form(sources[n].text, asked))
    if not wanted.is_whole:
        held = {n: ranges for n, ranges in held.items() if n in formed or n in made}
    if not held:
        return []
    fits, named = _fits(build_beyond(index, sources[len(index.sources) :], memo), sources, held, asked, folded)
    if formed and wanted.is_whole:
        fits *= _UNFORMED
    fits[sorted(formed)] += _TELLING
    if wanted.is_whole and asked.is_long and (likely := _likely_texts(sources, held, named, asked, memo)):
        fits = _TALK * fits / max(1.0, float(fits.max(initial=0.0)))
        fits[likely] = named[likely].max() + 1.0 if asked.number else named[likely] + 1.0
        least = _VERSION_SIZE * max(_size(held[n]) for n in likely)
        held = {n: ranges for n, ranges in held.items() if n in likely or (_size(ranges) >= least and _is_changed(sources, n))}
    if asked.kind != "code" and (asked.telling or asked.alike) and not any(fits[n] for n in held):
        return []
    return [held_work(n, sources[n], ranges, float(fits[n]), memo) for n, ranges in held.items()]


def _likely_texts(
    sources: Sequence[Quotable], held: Mapping[int, Sequence[Range]], named: Floats, asked: AskedWork, memo: Memo
) -> list[int]:
    """Those that who asks for a long text may mean: what was pasted or made under its name, or else the newest that was pasted,
    of several as many; not what was said about it since."""
    made = _made(sources, asked, memo)
    pasted = [n for n in held if _is_pasted(sources[n])]
    texts = [n for n in held if named[n] and (n in made or n in pasted or _is_headed(sources[n]))]
    nameless = [n for n in pasted if not _is_talk(sources[n].text) or pieces_with(sources, n, memo)]
    return texts if len(texts) >= max(1, asked.number) else sorted({*texts, *nameless[-max(1, asked.number) :]})


def _is_pasted(source: Quotable) -> bool:
    """Whether a user pasted a text: nobody types so much, or it is announced."""
    return source.role == "user" and (estimate(source.text) >= _PASTED_TOKENS or _is_announced(source.text))


def _is_announced(text: str) -> bool:
    """Whether a text stands behind a short paragraph that ends with a colon: "Read this for me:"."""
    announced, gap, rest = text.strip().partition("\n\n")
    is_short = bool(gap) and "\n" not in announced and len(announced) <= _HEADING
    return is_short and announced.endswith(_ANNOUNCING) and estimate(rest) >= _PROSE_TOKENS


def _is_changed(sources: Sequence[Quotable], n: int) -> bool:
    """Whether a message answers a short one that may ask for something to be changed."""
    asked = sources[n - 1] if n else None
    if asked is None or (asked.role, sources[n].role) != ("user", "assistant") or len(asked.text) > _REQUEST:
        return False
    return not WANTED_WORDS.isdisjoint(words.words(words.fold(asked.text)))


def _is_headed(source: Quotable) -> bool:
    """Whether a user's text stands under a heading, or "my poem:"."""
    heading, behind, rest = source.text.strip().partition("\n")
    has_heading = source.role == "user" and bool(behind) and len(heading) <= _HEADING and len(rest) > len(heading)
    return has_heading and not _is_talk(source.text)


def _is_talk(text: str) -> bool:
    """Whether a text is what somebody says whose name stands in front of it, but no transcript."""
    return SPEAKER_LABEL.match(text) is not None and not (is_transcript(text) or _is_announced(text))


def _made(sources: Sequence[Quotable], asked: AskedWork, memo: Memo) -> frozenset[int]:
    """The answers to short messages of users that ask for a work of this name to be made."""
    requests = of_each(memo, "making", sources, _making)[:-1]
    answered = (n for n, request in enumerate(requests, 1) if request is not None and request.asks_for(asked))
    return frozenset(n for n in answered if sources[n].role == "assistant")


def _making(source: Quotable) -> MakingRequest | None:
    return making_request(words.fold(source.text)) if source.role == "user" and len(source.text) <= _REQUEST else None


def _ranges(source: Quotable, asked: AskedWork, *, is_made: bool) -> tuple[Range, ...]:
    """Where a message holds a work of the kind; a short one where it was made by this name, or has its form."""
    text = source.text
    if source.role not in ((asked.by,) if asked.by else ("user", "assistant")):
        return ()
    if asked.kind == "prose":
        least = _LINED_TOKENS if _is_lined(text) else _PROSE_TOKENS
        is_long = estimate(text) >= least or is_made or has_form(text, asked)
        return ((0, len(text)),) if is_long else ()
    found = code_ranges(text, is_bare=source.role == "user")
    is_text = not found or (asked.is_long and _size(found) < _MOST_CODE * len(text))
    if is_text and asked.kind == "either" and estimate(text) >= _PROSE_TOKENS:
        found = [(0, len(text))]
    return tuple(found)


def _is_lined(text: str) -> bool:
    """Whether a text is written in lines, as short recipes, lists and poems are."""
    return sum(not line.isspace() for line in text.splitlines() if line) >= _FEWEST_LINES


def _size(ranges: Sequence[Range]) -> int:
    return sum(end - start for start, end in ranges)


def _fits(
    index: PassageIndex, sources: Sequence[Quotable], held: Mapping[int, Sequence[Range]], asked: AskedWork, folded: str
) -> tuple[Floats, Floats]:
    """The weight of the question's words in the user's request before each message, less where only the message has them; and
    that of the words alone which name the work."""
    told = dict.fromkeys(word for word in content_words(folded) if word not in _NO_NAMES and word not in asked.telling)
    groups = [_terms([word], index) for word in (*told, *sorted(asked.telling))]
    weights = [1.0] * len(told) + [_TELLING] * len(asked.telling)
    if asked.alike:
        groups.append(_terms(sorted(asked.alike - asked.telling), index))
        weights.append(_ALIKE)
    signs = words.run_on_terms(folded).tolist()
    hits = index.words.find(wanted_terms([*groups, *([sign] for sign in signs)]))
    has = np.zeros((len(sources), hits.terms), bool)
    has[index.source_of.take(hits.passage), hits.term] = True
    worth = np.array(weights + [1.0] * len(signs)) * rarity(has.sum(0), len(sources))
    short = np.array([len(source.text) <= _REQUEST for source in sources])
    requests = _requests(sources)
    brought = (
        source.role == "user" and len(source.text) - _size(held.get(n, ())) <= _REQUEST for n, source in enumerate(sources)
    )
    own = np.array([[1.0 if one else _BESIDE] for one in brought])
    said = np.maximum(own * has, has[requests] * np.where(short[requests], 1.0, _BESIDE)[:, None]) * worth
    names = said[:, len(told) : len(groups)]
    return said.sum(1), names.max(1, initial=0.0)


def _terms(equivalent: Sequence[str], index: PassageIndex) -> list[int]:
    """The terms of words that may stand for each other, in each language of the sources."""
    tables = (words.stem_table(equivalent, name) for name in index.languages)
    terms = {table[word] for table in tables for word in equivalent if word in table}
    for signs in map(words.run_on_terms, equivalent):
        if len(signs) == 1:  # a noun of two signs is a term of its own
            terms.update(signs.tolist())
    return sorted(terms) or [0]


def _requests(sources: Sequence[Quotable]) -> npt.NDArray[np.int64]:
    """For each message the last one of a user up to it."""
    users = np.array([n if source.role == "user" else 0 for n, source in enumerate(sources)], np.int64)
    return np.maximum.accumulate(users)


class _Forms(NamedTuple):
    """The versions of the work that is meant: those that are wanted, what changed the newest later, and the others."""

    wanted: tuple[HeldWork, ...]
    changed: tuple[HeldWork, ...]
    others: tuple[HeldWork, ...]


def _forms(found: Sequence[HeldWork], asked: AskedWork, names: frozenset[str]) -> _Forms:
    """The versions of the work that fits best, of equal ones the newest."""
    likely = max(found, key=lambda work: (work.fits, work.source))
    pattern = [work for work in found if work is likely or _share(work.words, likely.words) >= _MOST_WORDS]
    best = max(pattern, key=lambda work: (len(names & work.words), work.fits, work.source))
    meant = _versions(found, best, names)
    longest = max(map(_length, meant))
    versions = [work for work in meant if _length(work) >= _WHOLE * longest]
    newest = versions[-1]
    numbers = dict.fromkeys(n % len(versions) for n in asked.versions if -len(versions) <= n < len(versions))
    wanted = tuple([versions[n] for n in numbers]) or (newest,)
    if newest not in wanted:
        return _Forms(wanted, (), tuple([work for work in meant if work not in wanted]))
    later = [work for work in found if work.source > newest.source and (work in meant or _changes(work, newest))]
    return _Forms(wanted, tuple(later), tuple([work for work in meant if work not in wanted and work not in later]))


def _names(folded: str, asked: AskedWork) -> frozenset[str]:
    """The words of a question that say what the work is about, in whichever version."""
    if asked.versions == WITH_OLDER:  # what has gone is named
        return frozenset()
    return frozenset(content_words(_BEFORE.split(folded)[0])) - _NO_NAMES - asked.telling


def _versions(found: Sequence[HeldWork], best: HeldWork, names: frozenset[str]) -> list[HeldWork]:
    """The versions of the work that fits best, and parts of it, in order. Texts of one pattern may be about different things."""
    named = names & best.words if best.is_prose else frozenset()
    alike = [work for work in found if work.is_prose == best.is_prose and named <= work.words]
    meant = {work.source: work for work in alike if work is best or _is_version(work, best)}
    for step, ordered in ((_NEXT, alike), (-_NEXT, alike[::-1])):  # each changed as soon as it was made
        for work in ordered:
            before = meant.get(work.source - step)
            if before is not None and _share(work.words, before.words) >= _MOST_WORDS:
                meant[work.source] = work
    return [meant[source] for source in sorted(meant)]


def _is_version(work: HeldWork, best: HeldWork) -> bool:
    if best.is_prose:
        return _share(work.words, best.words) >= _MOST_WORDS
    least = _SHARED_LINES if work.fits >= _LIKE_BEST * best.fits else _MOST_LINES
    return _share(work.lines, best.lines) >= least


def _length(work: HeldWork) -> int:
    return len(work.words if work.is_prose else work.lines)


def _share(some: frozenset[str], others: frozenset[str]) -> float:
    """Of the fewer ones the part that they have in common."""
    return len(some & others) / max(1, min(len(some), len(others)))


def _changes(work: HeldWork, whole: HeldWork) -> bool:
    """Whether a later and smaller one begins a part anew that the whole one has: "def total(self):"."""
    return len(work.lines) < _WHOLE * len(whole.lines) and any(line.endswith(_OPENING) for line in work.lines & whole.lines)
