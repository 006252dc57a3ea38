"""A message that asks for several things that the chat made: one by one ("send me all three descriptions"), or as parts of one
("put everything together", "the whole story in one piece").

This module recognises such messages and what they call the things, and requests for one more of them or for the next part. The
things are found in ``recall.wholes.several_works`` and ``recall.wholes.works.assembled``. A work of one answer is in ``works``,
everything that was said in ``overall``, single words in ``lexicon/assembly.txt``.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.memo import remembering
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.overall import asks_for_overall
from turnfold.compression.text.dialogue.wanted.judging import JUDGED, judging_sentences
from turnfold.compression.text.dialogue.wanted.picks import PLACES
from turnfold.compression.text.dialogue.wanted.versions import asked_versions
from turnfold.compression.text.dialogue.wanted.works import WANTED_WORDS, AskedWork, is_code, work_named
from turnfold.compression.text.lexicon import any_of, lexicon, one_of
from turnfold.compression.text.words import is_function_word

_LONGEST: Final = 200  # characters of such a message
_BEGINNING: Final = 12  # characters in front of "another one": "and now"
_BRIEF: Final = 80  # characters of a request that says little else
_NUMBER: Final = (
    r"(?:[2-9]|1\d|two|three|four|five|six|seven|eight|nine|ten|zwei|drei|vier|fünf|sechs|sieben|acht|deux|trois|quatre|cinq|sept"
    r"|huit|dos|tres|cuatro|cinco|seis|due|tre|quattro|cinque|dois|duas|três|quatro|twee|drie)"
)
_TWO: Final = lazy.pattern(r"\b(?:2|two|zwei|deux|dos|due|dois|duas|twee|both|beiden?|amb[oa]s|entramb[ie])\b")
_THREE: Final = lazy.pattern(r"\b(?:3|three|drei|trois|tres|tre|três|drie)\b")
_OWN: Final = (
    r"(?:of |the |these |those |your |my |our |die |der |deine |meine |les |des |tes |mes |los |las |tus |mis |le |i |os |as )"
)
_ALL: Final = lazy.pattern(
    r"\b(?:(?:all|both|alle|beiden?|sämtliche|tous|toutes|todos|todas|ambos|ambas|tutti|tutte|entrambi|entrambe) "
    rf"{_OWN}{{0,2}}"
    rf"(?:{_NUMBER} )?|{_OWN}{_NUMBER} )(?P<things>[^\W\d_]{{4,}}(?: [^\W\d_]{{4,}})?)"
)
_HAVING: Final = lazy.pattern(
    r"\b(?:have|get|need|want|collect|combine|merge|together|brauche|möchte|hätte|zusammen|avoir|veux|voudrais|quiero|necesito)\b"
)
_ONE_MORE: Final = lazy.pattern(
    r"\b(?:one|another|noch (?:ein\w*|mehr)|(?:und|jetzt|nun|dann) ein\w*|encore une?|une? (?:autre|sur|pour|de plus)|otr[oa]"
    r"|un[oa] (?:más|para|sobre)|un['’]?\s?altr[oa]|ancora un\w*|mais uma?|outr[oa]|nog een)\b|再来一|再來一|もう一|하나 더"
)
_LONGEST_ASSEMBLY: Final = 300  # characters of a request; a longer one brings what it is about
_NEAR: Final = 4  # words behind "the whole" among which the noun stands
_IN_FRONT: Final = 2  # and in front of it
_PART_NAMED: Final = 60  # characters in which a request names the part that it asks for
_EVERYTHING: Final = rf"(?<!\w)(?:{one_of('assembly', 'all')})(?!\w)"
_JOINS: Final = lazy.pattern(
    rf"(?<![\w'])(?<!\bi )(?<!\bwe )(?:{one_of('assembly', 'join')})(?!\w)[^.!?\n]{{0,60}}?{_EVERYTHING}"
    rf"|{_EVERYTHING}[^.!?\n]{{0,60}}?(?<!\w)(?:{one_of('assembly', 'join last')})(?!\w)|{one_of('assembly', 'run-on')}"
)
_WHOLE: Final = lazy.pattern(rf"(?<!\w)(?:{one_of('assembly', 'whole')})(?!\w)")
#: "Great, now the CSS."
_NEXT: Final = lazy.pattern(
    rf"\W{{0,4}}(?:[^\W\d_]{{2,10}}(?: [^\W\d_]{{2,6}})?[,.!]+ ){{0,2}}(?:(?:{one_of('assembly', 'next')})(?!\w)"
    rf"|{one_of('assembly', 'next run-on')})"
)
_PARTS: Final = one_of("assembly", "parts")
_ORDINALS: Final = any_of([*PLACES, *lexicon("assembly")["ordinals"]])
#: "Chapter 2", "day two", "the next part", "the second half".
_PART: Final = lazy.pattern(
    rf"(?<!\w)(?:(?:{_PARTS})[ -]?(?:\d{{1,3}}|[ivx]{{1,4}}|{one_of('assembly', 'numbers')})"
    rf"|(?:{_ORDINALS}) (?:[^\W\d_]+ )?(?:{_PARTS}))(?!\w)"
    rf"|第[一二三四五六七八九十\d]{{1,3}}[章节節部話回段天日步]|[\d一二三四五六七八九十]{{1,2}}(?:장|부|화|막)"
)
_NAMES_PART: Final = lazy.pattern(rf"(?<!\w)(?:{_PARTS})(?!\w)")


def asked_several(folded: str) -> AskedWork | None:
    """All works of a kind that a case-folded message requests; None if it requests anything else."""
    found = _ALL.search(folded) if len(folded) <= _LONGEST else None
    if found is None or asked_versions(folded) or asks_for_overall(folded):
        return None
    things = found["things"].split()
    named = frozenset(thing for thing in things if not is_function_word(thing) and thing not in WANTED_WORDS)
    if not named or any(map(is_code, named)) or not JUDGED.isdisjoint(named):  # "all mistakes" are no work
        return None
    work = next(filter(None, map(work_named, reversed(things))), None)
    is_wanted = _HAVING.search(folded) or not WANTED_WORDS.isdisjoint(re.findall(r"[^\W\d_]+", folded))
    if not (is_wanted or (work and judging_sentences(folded))):
        return None
    work = work or AskedWork("either", named)
    return work._replace(kind="either", telling=named, is_several=True, number=_number(found[0]))


def _number(said: str) -> int:
    return 2 if _TWO.search(said) else 3 if _THREE.search(said) else 0


def asks_for_one_more(folded: str, *, alone: bool = False) -> bool:
    """Whether a case-folded request asks for one more of what the previous one requested: "and one for the kettle".

    Args:
        alone: whether there was other talk since, so that it must begin with that and say little else.
    """
    found = _ONE_MORE.search(folded)
    return found is not None and not (alone and (found.start() > _BEGINNING or len(folded) > _BRIEF or folded.endswith("?")))


class AssemblyRequest(NamedTuple):
    """A request for all of something that may have been made part by part.

    Attributes:
        is_sure: whether it joins parts, or names a kind of work; if not, its things may be anything: "the full explanation".
        things: the words around "the whole".
    """

    is_sure: bool
    things: frozenset[str]


@remembering
def assembly_request(folded: str) -> AssemblyRequest | None:
    """The thing that a case-folded message requests all of; None if it doesn't."""
    if len(folded) > _LONGEST_ASSEMBLY:
        return None
    things = frozenset(word for found in _WHOLE.finditer(folded) for word in _around(folded, *found.span()))
    is_sure = _JOINS.search(folded) is not None or any(work_named(word) is not None for word in things)
    things = frozenset(word for word in things if not is_function_word(word))
    return AssemblyRequest(is_sure, things) if is_sure or things else None


def _around(folded: str, start: int, end: int) -> list[str]:
    """The words directly before a place, where adjectives follow their nouns, and after it."""
    return words.words(" ".join((*folded[:start].split()[-_IN_FRONT:], *folded[end:].split(maxsplit=_NEAR)[:_NEAR])))


@remembering
def asks_for_next_part(folded: str) -> bool:
    """Whether a short case-folded message asks for the next part of something made before."""
    return len(folded) <= _LONGEST_ASSEMBLY and (_NEXT.match(folded) is not None or names_part(folded))


def names_part(folded: str) -> bool:
    """Whether a case-folded request names the part of something that it wants: "chapter 2", "and now the ending"."""
    if _PART.search(folded, 0, _PART_NAMED):
        return True
    return _NEXT.match(folded) is not None and _NAMES_PART.search(folded, 0, _PART_NAMED) is not None
