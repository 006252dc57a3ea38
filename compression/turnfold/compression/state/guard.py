"""Keeps ordinary sentences that begin like directives away from the engine, in the proxy.

Lives here: one pure check of a text, and its word lists. Does not belong here: changing what the engine accepts (it stays exact,
and direct callers such as the command line are not guarded).

A sentence that is applied by mistake never reaches the model and stays in the state; a directive that is let through by mistake
still reaches the model as the user's words. So in doubt a text is ordinary. To use a long or unusual item, put it in quotes:
``use "answers in French"`` is always a directive.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from turnfold.compression.state.grammar import Directive, parse

#: An item is a name: the longest that people lay down have about six words.
MAX_ITEM_WORDS: Final = 6
MAX_ITEM_CHARS: Final = 64
#: A premise may be a sentence, not a document.
MAX_PREMISE_CHARS: Final = 500

# Function words that do not stand inside a name but do stand in a request: who, where, when, why, what for, and finite verbs.
_SENTENCE_WORDS: Final = frozenset(
    """
    i me my mine we us our you your yours he him his she her they them their it its this that these those there here
    who whom whose which what whatever whichever when whenever where wherever why how
    to for from with within in into onto on at by as about after before during until till while since because so if unless
    although though whether per via upon between among against like than through across along around behind
    up down out off over again
    is are was were be been being am has have had having do does did done can could will would shall should may might must
    isn't aren't wasn't doesn't didn't can't cannot won't wouldn't shouldn't let's i'm i've it's that's there's
    please then also too instead now today tonight tomorrow later next once yet just rather maybe perhaps actually
    everything anything something nothing everyone anyone all both either neither none every each any some
    above below following attached provided given mentioned enclosed uploaded previous earlier aforementioned same
    another other others more less fewer better different but or not
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
# Behind "use the ...": things at hand in this conversation, not lasting choices.
_AT_HAND: Final = frozenset(
    """
    answer article attachment chart code context csv data dataset docs document documentation draft
    email equation example figure file files
    formula function graph image info information input instructions key link list log logs message
    notes numbers option options output page paper paragraph pdf photo picture plan prompt question quote readme report
    response result results
    schema screenshot script section sentence snippet source spreadsheet story table template text
    title transcript url website words
    """.split()  # noqa: SIM905
)
_ORDINALS: Final = frozenset(
    "first second third fourth fifth last latter former middle top bottom left right".split()  # noqa: SIM905
)
# "use of force", "use cases for ...": the noun.
_ARTICLES: Final = ("a", "an", "the")
_NOUN_FOLLOWERS: Final = frozenset({"of", "case", "cases"})
# Tasks: behind "and", or anywhere inside, they make the text a request.
_TASKS: Final = frozenset(
    """
    add analyse analyze answer apply build calculate change check clean compare compute continue convert convince correct
    create debug define delete describe deploy do draft draw edit estimate evaluate explain extract figure fill find finish
    fix generate get give go help identify illustrate implement improve include insert keep list look make move open
    optimise optimize organise organize outline paraphrase parse pick predict prepare print produce prohibit prove provide
    put read refactor remove rename repeat rephrase replace respond return review rewrite run save search see select send set
    show simplify solve sort split start stop suggest summarise summarize take tell test think translate try turn update
    use verify visit walk write
    """.split()  # noqa: SIM905
)
# Of these only those that are no name of a thing as well: they may stand anywhere in a request.
_PURE_TASKS: Final = frozenset(
    """
    analyse analyze calculate compute convert convince create describe evaluate explain extract generate
    identify implement optimise optimize
    paraphrase predict prove rephrase retell rewrite simplify solve summarise summarize tell translate verify write
    """.split()  # noqa: SIM905
)
# Behind "set premise" and "change premise": the sentence speaks of some story's or argument's premise.
_ABOUT_A_PREMISE: Final = frozenset(
    """
    of for in on at so such and or but from into as number again slightly completely entirely totally somewhat aside
    """.split()  # noqa: SIM905
)
# Behind "use", a comparative measures against the answer at hand.
_COMPARATIVES: Final = frozenset(
    """
    bigger brighter broader clearer cleaner darker easier fancier faster friendlier funnier gentler happier harder heavier
    higher kinder larger lighter longer louder lower milder narrower newer nicer older quicker richer sharper shorter simpler
    slower smaller smarter smoother softer stricter stronger tighter tougher warmer weaker wider worse
    """.split()  # noqa: SIM905
)

_SENTENCE_MARKS: Final = re.compile(r"[,;:?…]|[.!](?:\s|$)|\s[-–—]\s|\s[({]")
_LINE_BREAKS: Final = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_QUOTED: Final = re.compile(r'"[^"]+"|“[^”]+”|`[^`]+`')


def why_ordinary(text: str) -> str:
    """Why a message must not be treated as a directive, as a slug; "" if it may go to the engine.

    Slugs: "none" (the grammar sees no directive), "lines", "long", "sentence".
    """
    if len(text) > 2 * MAX_PREMISE_CHARS:
        return "long"
    parsed = parse(text)
    if parsed is None:
        return "none"
    if _LINE_BREAKS.search(text.strip()):
        return "lines"
    if text.startswith(("set premise", "change premise")):
        return _why_no_premise(text.split(maxsplit=2)[2:])
    if isinstance(parsed, Directive):
        return _why_no_item(parsed.value) or _why_no_item(parsed.old)
    return ""


def _why_no_premise(rest: list[str]) -> str:
    if not rest:
        return ""
    if len(rest[0]) > MAX_PREMISE_CHARS:
        return "long"
    first = rest[0].split(maxsplit=1)[0].lower()
    return "sentence" if first in _ABOUT_A_PREMISE or rest[0].endswith("?") else ""


def _why_no_item(item: str) -> str:
    if not item:
        return ""
    if len(item) > MAX_ITEM_CHARS:
        return "long"
    if _QUOTED.fullmatch(item):
        return ""
    words = item.lower().replace("’", "'").split()
    if len(words) > MAX_ITEM_WORDS:
        return "long"
    return "sentence" if _SENTENCE_MARKS.search(item) or _reads_as_request(words) else ""


def _reads_as_request(words: list[str]) -> bool:
    if words[0] in _NOUN_FOLLOWERS or words[-1] in ("and", "of"):
        return True
    if words[0] == "the" and (words[-1] in _AT_HAND or any(word in _ORDINALS for word in words)):
        return True
    if words[0] in ("last", "next") or any(word in _ARTICLES for word in words[1:]):
        return True
    if words[0] in _COMPARATIVES or (words[0] in _ARTICLES and len(words) > 1 and words[1] in _COMPARATIVES):
        return True
    if any(word in _SENTENCE_WORDS for word in words) or any(word in _PURE_TASKS for word in words[1:]):
        return True
    return any(word == "and" and after in _TASKS for word, after in pairwise(words))
