"""Names, figures and other facts that a summary should not lose.

Lives here: finding them by rules (no model, no dictionary of names). Does not belong here: their importance for a given text,
shortening.

Two linear scans: tokens that are more than words (``inline.tokens``), and one pattern for capitalised runs and for figures with
their unit. A capitalised word at the beginning of a sentence is a name only if it is one elsewhere in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from turnfold.compression.text.inline import DATE_WORDS, tokens


class Entity(NamedTuple):
    """One mention, ``text[start:end]``.

    `kind` is one of ``person``, ``organisation``, ``product``, ``acronym``, ``camelcase``, ``name``, ``money``, ``version``,
    ``date``, ``percent``, ``quantity``, ``identifier``.
    """

    text: str
    kind: str
    start: int
    end: int


# Both patterns begin with a plain class of characters, which the regex engine finds fast; look-behinds come after it.
_UPPER: Final = "A-ZÀ-ÖØ-ÞΑ-ΩА-ЯЁ"
_NAME_REST: Final = r"(?:(?:r|rs|s|rof|t)\.(?= )|\.(?= ?\b)|[\w'’&+/-]*+(?:\.\w++)*+)"
_LINK: Final = r"(?:of|de|von|van|der|du|la|für|et|&) "
_NAME: Final = re.compile(
    rf"[{_UPPER}](?<![\w.][{_UPPER}]){_NAME_REST}(?: (?:{_LINK})?(?:[{_UPPER}]{_NAME_REST}|[vV]?\d\w*+(?:\.\w++)*+))*+"
)

_MAGNITUDE: Final = r"(?:[- ]?(?:[kKMBbm](?:n|illion)?\b|thousand\b|million\b|billion\b|trillion\b|[万亿億]|lakh\b|crore\b))?+"
_FIGURE: Final = re.compile(
    rf"\d(?<![\w.,]\d)(?:[\d,]*\d)?+(?:\.\d++)?+(?!\.\d){_MAGNITUDE}(?:"
    r"(?P<percent> ?(?:%|percent\b|per cent\b|bps\b|basis points\b)(?: [a-zA-Z]++)?)"
    r"|(?P<money> ?(?:dollars?|euros?|pounds|USD|EUR|GBP|JPY|€|£|円|元)(?!\w))"
    r"|(?P<quantity>(?:-(?:to-)?\d[\d,.]*+)?+"
    r"(?:[- ][^\W\d_]++(?:[-/][^\W\d_]++)*+| ?[°µ][A-Za-z]?|[人個名件年月日回本枚台歳]|[A-Za-zµ]++))"
    r"|(?P<plain>(?:/[a-z]++|-[$€£¥]?\d[\d,.]*+[kKMB]?+)?))"
)
_CURRENCY: Final = "$€£¥₹₽₩"
_KATAKANA: Final = re.compile(r"[ァ-ヶー・]{3,}+")

# Words that open sentences, or stand with a capital for other reasons than being a name. Closed classes only.
_OPENING_WORDS: Final = (
    "A About Above Actually Additionally After Again All Already Also Although Always An And Another Any Anyway Are "
    "As At Basically Be Because Before Below Best Both But By Can Certainly Could Dear Depending Did Do Does Don't "
    "During Each Either Even Every Everyone Everything Except Finally First Firstly For From Further Furthermore "
    "Given Good Great Had Has Have Haven't Having He Hello Hence Her Here Hey Hi His How However I I'd I'll I'm "
    "I've If In Instead Into Is It It'll It's Its Just Last Let Let's Like Look Many May Maybe Meanwhile Might More "
    "Moreover Most Much Must My Neither Never Next No None Nor Not Note Now Of Often Oh Ok Okay On Once One Only Or "
    "Other Our Out Over Overall Per Perhaps Please Rather Right Second Secondly See She Should Similarly Since So "
    "Some Something Sometimes Soon Still Such Sure Thank Thanks That That's The Their Them Then There There's "
    "Therefore These They They're They've Third This Those Though Through Thus To Today Together Tomorrow Too "
    "Toward Under Unless Unlike Until Up Upon Us Use Using Usually Very Via Was We We'd We'll We're We've Well Were "
    "What What's When Whenever Where Whereas Whether Which While Who Why Will With Within Without Would Wow Yeah "
    "Yes Yesterday Yet You You'd You'll You're You've Your Der Die Das Ein Eine Und Oder Aber Wir Ich Sie Es Ist In "
    "Im Am Le La Les Un Une Et Mais Nous Je Il Elle El Los Las Una Y Pero Yo Assistant User System Tool "
)
_OPENERS: Final = frozenset(_OPENING_WORDS.split())
_CURRENCY_CODES: Final = frozenset({"USD", "EUR", "GBP", "JPY", "CHF", "INR", "CNY"})
_WHOLE: Final = frozenset({"I", "A", "I'm", "I'd", "I'll", "I've", "OK", "Ok"})
_ORGANISATION: Final = re.compile(
    r"\b(?:Inc|Corp|Corporation|Ltd|LLC|GmbH|AG|SA|PLC|Co|Company|Group|Holdings|Partners|University|Institute|College|School|Bank"
    r"|Foundation|Association|Agency|Ministry|Department|Council|Committee|Commission|Board|Team|Labs?|Systems|Technologies|Union"
    r"|Authority|Court|Hospital|Museum|Office|Service)\b"
)
_TITLE: Final = re.compile(r"(?:Mr|Mrs|Ms|Dr|Prof|Sir|Herr|Frau|Sr|Sra|M|Mme)\b")
_BORDER: Final = re.compile(r"(?:[.!?:;…。！？\n][\"'”’)\]]*|\A|[-*•>|#\"“(]|\d[.)])[ \t]*\Z")
_TECHNICAL: Final = {
    "version": "version",
    "date": "date",
    "time": "date",
    "email": "identifier",
    "pull": "identifier",
    "branch": "identifier",
    "path": "identifier",
    "flag": "identifier",
    "row": "identifier",
    "token": "identifier",
}
_CODED: Final = re.compile(r"[\d_.:(\[]|[a-z][A-Z]")
_WORDY_SLASH: Final = re.compile(r"[^\W\d_A-Z]++(?:/[^\W\d_A-Z]++)++")


def entities(text: str) -> list[Entity]:
    """Mentions in order, without overlaps: of two that overlap the one that begins first is kept, then the longer one."""
    plain = text.replace("`", " ")  # a fact in code quotes is a fact
    found = [Entity(m.group(), "date", m.start(), m.end()) for m in DATE_WORDS.finditer(plain)]
    found += _technical(plain)
    found += _names(plain)
    found += _figures(plain)
    if not text.isascii():
        found += [Entity(m.group(), "product", m.start(), m.end()) for m in _KATAKANA.finditer(plain)]
    found.sort(key=lambda e: (e.start, -e.end))
    out: list[Entity] = []
    end = 0
    for entity in found:
        if entity.start >= end and "`" not in text[entity.start : entity.end]:
            out.append(entity)
            end = entity.end
    return out


def _technical(text: str) -> Iterator[Entity]:
    for start, end, kind in tokens(text):
        token = text[start:end]
        if kind == "identifier":
            if _CODED.search(token):
                yield Entity(token, "camelcase" if token.isalpha() else "identifier", start, end)
        elif kind in _TECHNICAL and not (kind == "path" and _WORDY_SLASH.fullmatch(token)):
            yield Entity(token, _TECHNICAL[kind], start, end)


def _figures(text: str) -> Iterator[Entity]:
    for m in _FIGURE.finditer(text):
        start, end = m.span()
        kind = m.lastgroup or ""
        if start and text[start - 1] in _CURRENCY:
            yield Entity(text[start - 1 : end], "money", start - 1, end)
        elif kind != "plain":
            yield Entity(m.group(), kind, start, end)


def _names(text: str) -> list[Entity]:
    found: list[Entity] = []
    doubtful: list[Entity] = []
    known: set[str] = set()
    for m in _NAME.finditer(text):
        _sort_name(text, *m.span(), found, doubtful, known)
    return found + [e for e in doubtful if e.text in known]


def _sort_name(text: str, start: int, end: int, found: list[Entity], doubtful: list[Entity], known: set[str]) -> None:
    """Classifies a capitalised run, without the common word that opens its sentence."""
    opens = bool(_BORDER.search(text, max(0, start - 8), start))
    words = text[start:end].split(" ")
    first = 0
    while first < len(words) and words[first] in _OPENERS and (opens or words[first] in _WHOLE):
        start += len(words[first]) + 1
        first += 1
        opens = False
    del words[:first]
    if not words or words[0][:1].isdigit() or (len(words) == 1 and (words[0] in _OPENERS or len(words[0]) < 2)):
        return
    name = text[start:end]
    entity = Entity(name, _name_kind(name, words), start, end)
    if len(words) == 1 and opens and entity.kind == "name":
        doubtful.append(entity)
    else:
        found.append(entity)
        known.update(words)


def _name_kind(name: str, words: list[str]) -> str:
    if any(map(str.isdigit, name)):
        return "money" if words[0] in _CURRENCY_CODES else "product"
    if _ORGANISATION.search(name):
        return "organisation"
    if len(words) == 1:
        if name.isupper() and len(name) > 1:
            return "acronym"
        return "camelcase" if any(map(str.isupper, name[1:])) else "name"
    if _TITLE.match(name) or (len(words) <= 3 and all(word.istitle() for word in words)):
        return "person"
    return "name"
