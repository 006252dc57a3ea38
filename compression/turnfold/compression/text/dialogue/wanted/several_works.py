"""A message that asks for several things that the chat made, one by one: "send me all three descriptions".

Lives here: whether a message does, and what it calls them; what asks for one more of them. Does not belong here: finding them
(``recall.wholes.several_works``), one work (``works``), everything that was said (``overall``).
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression.text.dialogue.overall import asks_for_overall
from turnfold.compression.text.dialogue.wanted.judging import JUDGED, judging_sentences
from turnfold.compression.text.dialogue.wanted.versions import asked_versions
from turnfold.compression.text.dialogue.wanted.works import WANTED_WORDS, AskedWork, is_code, work_named
from turnfold.compression.text.words import is_function_word

_LONGEST: Final = 200  # characters of such a message
_BEGINNING: Final = 12  # characters in front of "another one": "and now"
_BRIEF: Final = 80  # characters of a request that says little else
_NUMBER: Final = (
    r"(?:[2-9]|1\d|two|three|four|five|six|seven|eight|nine|ten|zwei|drei|vier|fünf|sechs|sieben|acht|deux|trois|quatre|cinq|sept"
    r"|huit|dos|tres|cuatro|cinco|seis|due|tre|quattro|cinque|dois|duas|três|quatro|twee|drie)"
)
_TWO: Final = re.compile(r"\b(?:2|two|zwei|deux|dos|due|dois|duas|twee|both|beiden?|amb[oa]s|entramb[ie])\b")
_THREE: Final = re.compile(r"\b(?:3|three|drei|trois|tres|tre|três|drie)\b")
_OWN: Final = (
    r"(?:of |the |these |those |your |my |our |die |der |deine |meine |les |des |tes |mes |los |las |tus |mis |le |i |os |as )"
)
_ALL: Final = re.compile(
    r"\b(?:(?:all|both|alle|beiden?|sämtliche|tous|toutes|todos|todas|ambos|ambas|tutti|tutte|entrambi|entrambe) "
    rf"{_OWN}{{0,2}}"
    rf"(?:{_NUMBER} )?|{_OWN}{_NUMBER} )(?P<things>[^\W\d_]{{4,}}(?: [^\W\d_]{{4,}})?)"
)
_HAVING: Final = re.compile(
    r"\b(?:have|get|need|want|collect|combine|merge|together|brauche|möchte|hätte|zusammen|avoir|veux|voudrais|quiero|necesito)\b"
)
_ONE_MORE: Final = re.compile(
    r"\b(?:one|another|noch (?:ein\w*|mehr)|(?:und|jetzt|nun|dann) ein\w*|encore une?|une? (?:autre|sur|pour|de plus)|otr[oa]"
    r"|un[oa] (?:más|para|sobre)|un['’]?\s?altr[oa]|ancora un\w*|mais uma?|outr[oa]|nog een)\b|再来一|再來一|もう一|하나 더"
)


def asked_several(folded: str) -> AskedWork | None:
    """The works of one kind that a case-folded message asks for, all of them; None where it asks for anything else."""
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
    """Whether a case-folded request asks for one more of what the one before it asked for: "and one for the kettle".

    Args:
        alone: whether something else was talked of since, so that it has to begin with that, and say little else.
    """
    found = _ONE_MORE.search(folded)
    return found is not None and not (alone and (found.start() > _BEGINNING or len(folded) > _BRIEF or folded.endswith("?")))
