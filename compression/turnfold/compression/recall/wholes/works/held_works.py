"""Messages that may contain a requested work, and how well each fits the question.

This module knows what a message holds of a work, and what is pasted, made or merely said of it. Which of these are versions of
one work is decided in ``work_forms``, what is quoted in ``named_work``; whether a message asks for a work, in
``text.dialogue.wanted.works``.

A work is the code of a message, in fences or as a user pasted it, or a long message. It fits by the words that it shares with the
question, in itself or in the request that it answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.passage_index import Floats, PassageIndex, build_beyond
from turnfold.compression.recall.question import WantedWork, content_words
from turnfold.compression.recall.wholes.works.held_work import HeldWork, held_work
from turnfold.compression.scorers.bm25 import rarity, wanted_terms
from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.pasted_pieces import pieces_with
from turnfold.compression.text.dialogue.transcripts import is_transcript
from turnfold.compression.text.dialogue.turns import SPEAKER_LABEL
from turnfold.compression.text.dialogue.wanted.code_blocks import code_ranges
from turnfold.compression.text.dialogue.wanted.versions import NEWEST, VERSION_WORDS
from turnfold.compression.text.dialogue.wanted.works import WANTED_WORDS, AskedWork, MakingRequest, has_form, making_request
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable

_TELLING: Final = 3.0  # weight of a word between "the" and the noun
_ALIKE: Final = 2.0  # and of a synonym of the noun
_REQUEST: Final = 400  # characters of a user's message that says little besides what it requests
_BESIDE: Final = 0.6  # factor for the weight of a word that occurs only in the answer, not in the request
#: Words of a question that do not describe a work.
NO_NAMES: Final = WANTED_WORDS | VERSION_WORDS
_PROSE_TOKENS: Final = 60  # shorter messages are quoted as they are
_LINED_TOKENS: Final = 30  # and shorter ones in lines
_FEWEST_LINES: Final = 5
_MOST_CODE: Final = 0.5  # share of a document
_PASTED_TOKENS: Final = 150  # tokens of a text that nobody types in conversation
_TALK: Final = 0.1  # greatest fit of a text that only talks about the work
_UNFORMED: Final = 0.5  # factor for the fit of a text without the work's form, if others have it
_VERSION_SIZE: Final = 0.3  # share of a long text's characters that a version of it needs
_LEAD: Final = 120  # characters of a line that describes the text below it
_HEADING: Final = 80  # characters of a heading above a text that a user pasted
_ANNOUNCING: Final = (":", "：")


def works_for(
    sources: Sequence[Quotable],
    index: PassageIndex,
    wanted: WantedWork,
    folded: str,
    memo: Memo,
    taken: frozenset[int] = frozenset(),
) -> list[HeldWork]:
    """The works that may be meant, in order, except those in `taken`, which belong to another request."""
    asked = wanted.asked
    made = _making_answers(sources, asked, memo)
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
    if wanted.is_whole and asked.is_long and (likely := _likely_texts(sources, held, named, asked, folded, memo)):
        fits = _TALK * fits / max(1.0, float(fits.max(initial=0.0)))
        fits[likely] = named[likely].max() + 1.0 if asked.number else named[likely] + 1.0
        least = _VERSION_SIZE * max(_size(held[n]) for n in likely)
        held = {n: ranges for n, ranges in held.items() if n in likely or (_size(ranges) >= least and _is_changed(sources, n))}
    if asked.kind != "code" and (asked.telling or asked.alike) and not any(fits[n] for n in held):
        return []
    return [held_work(n, sources[n], ranges, float(fits[n]), memo) for n, ranges in held.items()]


def _likely_texts(
    sources: Sequence[Quotable],
    held: Mapping[int, Sequence[Range]],
    named: Floats,
    asked: AskedWork,
    folded: str,
    memo: Memo,
) -> list[int]:
    """The long texts that the request may mean.

    Those pasted or made under the given name; else the newest pasted one, or several if that many are requested. Texts that
    discuss them are left out. That a text mentions documents does not make it a likelier document.
    """
    made = _making_answers(sources, asked, memo)
    pasted = [n for n in held if _is_pasted(sources[n])]
    texts = [n for n in held if named[n] and (n in made or n in pasted or _is_headed(sources[n]))]
    if asked.kind == "either":
        told = set(content_words(folded)) - NO_NAMES
        named_above = {n for n in pasted if not told.isdisjoint(words.words(lead(sources[n].text)))}
        texts = [n for n in held if n in named_above or (named[n] and n in made)]
    nameless = [n for n in pasted if not _is_talk(sources[n].text) or pieces_with(sources, n, memo)]
    every = max(1, len(nameless))
    number = every if asked.labels else asked.number or (1 if asked.versions == NEWEST else every)
    return texts if len(texts) >= number else sorted({*texts, *nameless[-number:]})


def lead(text: str) -> str:
    """The text's first line, folded, if it is short."""
    first = text.lstrip().partition("\n")[0]
    return words.fold(first) if len(first) <= _LEAD else ""


def _is_pasted(source: Quotable) -> bool:
    """Whether a user pasted a text: it is too long to be typed, or it is announced."""
    return source.role == "user" and (estimate(source.text) >= _PASTED_TOKENS or _is_announced(source.text))


def _is_announced(text: str) -> bool:
    """Whether a text follows a short paragraph that ends with a colon: "Read this for me:"."""
    announced, gap, rest = text.strip().partition("\n\n")
    is_short = bool(gap) and "\n" not in announced and len(announced) <= _HEADING
    return is_short and announced.endswith(_ANNOUNCING) and estimate(rest) >= _PROSE_TOKENS


def _is_changed(sources: Sequence[Quotable], n: int) -> bool:
    """Whether a message answers a short one that may ask for a change."""
    asked = sources[n - 1] if n else None
    if asked is None or (asked.role, sources[n].role) != ("user", "assistant") or len(asked.text) > _REQUEST:
        return False
    return not WANTED_WORDS.isdisjoint(words.words(words.fold(asked.text)))


def _is_headed(source: Quotable) -> bool:
    """Whether a user's text is under a heading, or a line such as "my poem:"."""
    heading, behind, rest = source.text.strip().partition("\n")
    has_heading = source.role == "user" and bool(behind) and len(heading) <= _HEADING and len(rest) > len(heading)
    return has_heading and not _is_talk(source.text)


def _is_talk(text: str) -> bool:
    """Whether a text is one person's statement with the speaker's name in front, but not a transcript."""
    return SPEAKER_LABEL.match(text) is not None and not (is_transcript(text) or _is_announced(text))


def _making_answers(sources: Sequence[Quotable], asked: AskedWork, memo: Memo) -> frozenset[int]:
    """The answers to users' short messages that request a work of this name."""
    requests = of_each(memo, "making", sources, _making)[:-1]
    answered = (n for n, request in enumerate(requests, 1) if request is not None and request.asks_for(asked))
    return frozenset(n for n in answered if sources[n].role == "assistant")


def _making(source: Quotable) -> MakingRequest | None:
    return making_request(words.fold(source.text)) if source.role == "user" and len(source.text) <= _REQUEST else None


def _ranges(source: Quotable, asked: AskedWork, *, is_made: bool) -> tuple[Range, ...]:
    """The ranges of works of this kind in a message. A short message counts only if it was requested by this name or has its
    form.
    """
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
    """For each message, the weight of the question's words in its user's request, and less for words only in the message itself.

    Also returns the weight of those words alone that name the work.
    """
    told = dict.fromkeys(word for word in content_words(folded) if word not in NO_NAMES and word not in asked.telling)
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
    """The terms of equivalent words, in each language of the sources."""
    tables = (words.stem_table(equivalent, name) for name in index.languages)
    terms = {table[word] for table in tables for word in equivalent if word in table}
    for signs in map(words.run_on_terms, equivalent):
        if len(signs) in (1, 3):  # a noun of one or two characters is a term of its own, the last one
            terms.add(int(signs[-1]))
    return sorted(terms) or [0]


def _requests(sources: Sequence[Quotable]) -> npt.NDArray[np.int64]:
    """For each message, the last message of a user up to it."""
    users = np.array([n if source.role == "user" else 0 for n, source in enumerate(sources)], np.int64)
    return np.maximum.accumulate(users)
