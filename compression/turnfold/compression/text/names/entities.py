"""Names, figures and other facts that a summary should not lose.

They are found by rules (no model, no dictionary of names). How important they are for a given text is decided in ``shorten``.

Linear scans: tokens that are more than words (``inline.tokens``), capitalised runs, amounts (``amounts``), names in
scripts without capitals (``dense_names``). A capitalised word that opens a sentence is a name only if it is one elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.inline import DATE_WORDS, PULL_WORDS, tokens
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.names.amounts import Mention, amounts, sure_amounts
from turnfold.compression.text.names.dense_names import dense_names
from turnfold.compression.text.names.german_nouns import is_common_noun, is_german
from turnfold.compression.text.wrapped_lines import flowing


class Entity(NamedTuple):
    """One mention, ``text[start:end]``. A line feed from wrapping at a column is replaced by a blank.

    `kind` is one of ``person``, ``organisation``, ``product``, ``acronym``, ``camelcase``, ``name``, ``money``, ``version``,
    ``date``, ``percent``, ``quantity``, ``identifier``.
    """

    text: str
    kind: str
    start: int
    end: int


# Both patterns begin with a simple character class, which the regex engine finds fast; look-behinds come after it.
_TABLE: Final = lexicon("names")
_UPPER: Final = "".join(chr(c) for c in range(0x41, 0x530) if chr(c).isupper()) + "".join(
    chr(c) for c in range(0x1E00, 0x1F00) if chr(c).isupper()
)
_NAME_REST: Final = (
    r"(?:(?:\.[A-Z])++\.?(?!\w)|\.(?:p\.A|r\.l)\b\.?|(?:r|rs|s|rof|t)\.(?= )|o\.(?= (?:KG|OHG)\b)"
    r"|\.(?= ?\b)|[\w'’&+/-]*+(?:\.\w++)*+)"
)
_LINK: Final = (
    r"(?:of|de(?: la| los| las)?|del|von(?: der| den)?|van(?: der| den| de| het)?|der|du|des|da|do|dos|das|di|la|für|zu"
    r"|bin|ibn|&|the(?= (?:Great|Elder|Younger|Terrible|Conqueror|Confessor|Magnificent|Wise|Bold|Good)\b)) "
)
#: The suffix of a version: "3.0.13-r2", "2.1.0-rc.1".
_RELEASE: Final = r"-(?:r|rc|beta|alpha|p|b|ga|lts|pre|dev|post)\.?\d*+(?![\w-])"
_NAME: Final = lazy.pattern(
    rf"[{_UPPER}](?<![\w.°][{_UPPER}]){_NAME_REST}"
    rf"(?: (?:{_LINK}|[dl]['’])?(?:Sp\. z o\. ?o\.?+|plc\b|[{_UPPER}]{_NAME_REST}"
    rf"|[vV]?\d\w*+(?:\.\w++)*+(?:{_RELEASE})?+(?![-–:/]\d)))*+"
)
_KATAKANA: Final = lazy.pattern(r"[ァ-ヶー・]{3,}+")
_MONTH: Final = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b)"
)
# Dates that ``inline`` does not protect: these are found, but never kept byte for byte. All begin with a figure or a weekday, and
# only such places are tried.
_DATES: Final = lazy.pattern(
    r"(?=[\d一二三四五六七八九十〇零MTWFS])(?:"
    rf"\d{{1,2}}(?:er|º)? (?:{one_of('names', 'months behind a day')})\b(?: \d{{4}}\b)?"
    rf"|\d{{1,2}}\. (?:{one_of('names', 'months behind a dotted day')})\b(?: \d{{4}}\b)?"
    r"|\d{4}년(?: ?\d{1,2}월(?: ?\d{1,2}일)?)?|\d{1,2}월 ?\d{1,2}일"
    r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b"
    rf"(?:,? (?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}|{_MONTH} \d{{1,2}}\b)(?:,? \d{{4}}\b)?)?+"
    r"|\b\d{1,2}(?:[.:]\d\d)? ?[ap]\.m\."
    rf"|\d{{1,2}} (?:{one_of('names', 'hi months')})(?:,? \d{{4}})?"
    r"|(?:[一二三四五六七八九〇零]{4}年)?[一二三四五六七八九十]{1,3}月[一二三四五六七八九十]{1,3}[日号號]"
    rf"|\d{{1,2}} (?:{one_of('names', 'ar months')})(?!\w)(?: \d{{4}})?"
    rf"|\d{{1,2}} ב(?:{one_of('names', 'he months')})\b(?: \d{{4}}\b)?"
    r"|\d{1,2} tháng \d{1,2}\b(?: năm \d{4}\b)?|\b\d{1,2} h [0-5]\d\b)"
)
#: "+353 1 555 0142", "+49 (0)421 220-15".
_PHONES: Final = lazy.pattern(r"(?<![\w+])\+\d{1,3}(?:[ \u00a0./-]?\(\d{1,4}\))?(?:[ \u00a0./-]\d{1,8}){1,6}(?![\w.]\d)\b")
#: "version 3.2": two figures are a version only behind a word that says so.
_VERSIONS: Final = lazy.pattern(
    r"\d(?:(?<=[Vv]ersion \d)|(?<=ersions \d)|(?<=ersión \d)|(?<=ersão \d)|(?<=ersione \d)|(?<=ersie \d)|(?<=ersja \d)"
    r"|(?<=ерсия \d)|(?<=ерсии \d)|(?<=release \d)|(?<=firmware \d)|(?<=revision \d)|(?<=バージョン\d)|(?<=版本\d))"
    r"\d*+(?:\.\d+)++(?![\w%])"
)
#: "Q3 2026", "FY24".
_QUARTERS: Final = lazy.pattern(r"[QHF](?<!\w[QHF])(?:(?<!F)[1-4]|(?<=F)Y) ?(?:20)?\d\d\b")
_YEARS: Final = lazy.pattern(r" (?:19|20)\d\d\b")
_MONTHS: Final = _TABLE["months"]
_LONGEST_MONTH: Final = 16  # characters, with the text before it

#: Words that open sentences, or are capitalized for other reasons than being a name. Closed classes only.
_OPENERS: Final = _TABLE["openers"]
_WHOLE: Final = frozenset({"I", "A", "I'm", "I'd", "I'll", "I've", "OK", "Ok"})
_LEGAL: Final = (
    r"GmbH|AG|AS|KGaA|SE|KG|SA|S\.A|S\.p\.A|S\.r\.l|S\.L|S\.A\.U|z o\. ?o|plc|SARL|SAS|SpA|DAC|Ltda|BV|NV|AB"
    r"|ASA|Oy|Oyj|A/S|ApS|Kft|Zrt|LLP|LP|Pty|Pte|Sdn|Bhd"
)
_LEGAL_BEFORE: Final = lazy.pattern(r"\b(?:ООО|ОАО|ЗАО|ПАО|АО)\b")
_GERMAN_ORGANISATIONS: Final = (
    r"\w+(?:werke|gesellschaft|gemeinschaft|genossenschaft|verband|universität|ministerium|versicherung|[ks]kasse|kammer|anstalt"
    r"|behörde)|Sparkasse|Stadtwerke|Bundesbank|Hochschule|Universität|Stiftung"
)
_CUT_BEFORE: Final = lazy.pattern(
    rf"(?:.* )?(?:der|die|des|dem|den|de la|du) (?=(?:{_GERMAN_ORGANISATIONS})\b|[^ ]+(?: [^ ]+)* (?:{_LEGAL})\Z)"
)
_LINKS_BEHIND: Final = lazy.pattern(rf"(?: [^{_UPPER} ]+)* \Z")
#: Turkish case endings after a name and an apostrophe: "İstanbul'da".
_INFLECTED: Final = lazy.pattern(r"(?<=[^\W\d_])['’](?:[dt][ae]n?|[nyş]?[ıiuü]n|y[aeıiuü]|y?l[ae])(?= |\Z)")
_IN_QUOTES: Final = lazy.pattern(r"\b(?:ООО|ОАО|ЗАО|ПАО|АО|НПО|ФГУП|ТОО|ИП|ТОВ|Банк|Завод|Фонд|Компания) «[^»\n]{1,60}»")
#: Names that Russian and Ukrainian write with one capital: "Министерство финансов", "Національний банк України".
_CYRILLIC: Final = lazy.pattern(
    r"(?<!\w)(?:(?:Министерств|Міністерств|Департамент|Комитет|Комітет|Управлени|Управлінн)\w{0,3}(?: [а-яіїєґ]{4,})?"
    r"|[А-ЯІЇЄҐ][а-яіїєґ]+(?:ый|ий|ой|ая|ое|а|е|ого|ому|ой|ої|ій) "
    r"(?:банк|университет|університет|институт|інститут|театр|музей|суд|комитет|комітет|фонд|центр|академи|академі|совет|служб)[а-яіїєґ]{0,2})"
    r"(?: [А-ЯІЇЄҐ][а-яіїєґ]+)?(?!\w)"
)
_ORGANISATION: Final = lazy.pattern(
    rf"\b(?:{_LEGAL}|ООО|ОАО|ЗАО|ПАО|АО|Банк|Университет\w?|Министерств\w|Академи\w)\b|\b(?:{_GERMAN_ORGANISATIONS})\b"
    rf"|\b(?:{one_of('names', 'organisations')})\b"
    rf"|(?<= )(?:{one_of('names', 'organisations behind a name')})\b"
    rf"|(?<= )(?:{one_of('names', 'organisations at the end')})\b(?! )"
)
_TITLE: Final = lazy.pattern(
    r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Sir|Herrn?|Frau|Sr|Sra|Dra|Don|Doña|M|Mme|Mlle|Dott|Pan|Pani|Lord|Lady|Maître|Rev)\b"
)
#: A role before a name is not part of it, unless a single word follows: "President Biden".
_ROLES: Final = _TABLE["roles"]
_OF_A_PERSON: Final = _TABLE["small words"]
#: A name with such a beginning is that of a thing or an organisation: "Large Hadron Collider".
_NO_GIVEN_NAMES: Final = _TABLE["no given names"]
_INITIAL: Final = len("J.")
_LONGEST_NAME: Final = 12  # longest name, in words, that is split into parts
#: A name with such an ending is a place, even if it is named after a person.
_PLACES: Final = _TABLE["places"]
#: A name with such an ending is a thing.
_THINGS: Final = _TABLE["things"]
_INNER_CAPITAL: Final = lazy.pattern(rf"(?:[dl]['’]|Mc|Mac|O['’]|D['’]|De|La|Van)[{_UPPER}]\w")
#: A line of capitals is a heading, whatever its subject.
_HEADING: Final = lazy.pattern(rf"^(?=.{{8,80}}$)[{_UPPER}]{{2,}}(?:[,:&' -]+[{_UPPER}]+){{2,}}[:!?.]?$", re.MULTILINE)
#: Words before an identifier that are not part of it.
_LABELS: Final = _TABLE["numbered"]
_SEVERAL: Final = lazy.pattern(rf"[{_UPPER}][a-z]+[a-hj-rtv-z]s")
_BORDER: Final = lazy.pattern(r"(?:[.!?:;…。！？\n][\"'”’)\]]*|\A|[-*•>|#\"“(]|\d[.)])[ \t]*\Z")
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
_CODED: Final = lazy.pattern(r"[\d_.:(\[]|[a-z][A-Z]")
#: The rest of a product name whose first word has a small first letter: "iPhone 15 Pro", "macOS Sonoma".
_SMALL_FIRST: Final = lazy.pattern(r"[a-z]{1,3}[A-Z][A-Za-z]*\Z")
_MODEL: Final = lazy.pattern(
    rf"(?: (?:\d+(?:\.\d+)*+(?![\w-])|(?:Pro|Max|Plus|Mini|Ultra|Air)\b|[{_UPPER}][a-z]+(?=[ .,;:!?)]|\Z)))+"
)
_WORDY_SLASH: Final = lazy.pattern(r"[^\W\d_A-Z]++(?:/[^\W\d_A-Z]++)++")


#: What the mentions of a pattern are, and a sign without which a text has none of them.
_SURE: Final = (
    ("", "date", DATE_WORDS),
    ("", "date", _DATES),
    ("", "date", _QUARTERS),
    (".", "version", _VERSIONS),
    ("#", "identifier", PULL_WORDS),
    ("+", "identifier", _PHONES),
)
_SURE_BEYOND_ASCII: Final = (*_SURE, ("", "organisation", _CYRILLIC), ("«", "organisation", _IN_QUOTES))


def entities(text: str) -> list[Entity]:
    """Mentions in order, without overlaps: of two that overlap, the one that begins first is kept, or else the longer one."""
    plain = flowing(text).replace("`", " ")  # facts count in code quotes too
    certain = list(sure_amounts(plain))
    sure = [*_matched(plain, _SURE if text.isascii() else _SURE_BEYOND_ASCII), *_months(plain), *_mentions(plain, certain)]
    free = _without(plain, [(e.start, e.end) for e in sure])
    technical = list(_technical(plain))
    # "05.03.2026 noon" are no noons, "version 3.2 now" is no now
    uncounted = {e.start for e in (*sure, *technical) if e.kind in ("date", "version")}
    found = [*sure, *technical, *_names_of(text, free)]
    found += _mentions(plain, (amount for amount in amounts(plain, certain) if amount[0] not in uncounted))
    if not text.isascii():
        found += _mentions(plain, dense_names(free))
        found += _matched(plain, [("", "product", _KATAKANA)])
    found.sort(key=lambda e: (e.start, -e.end, e.kind in ("person", "name")))
    return _apart(text, plain, found)


def _matched(text: str, kinds: Iterable[tuple[str, str, re.Pattern[str]]]) -> Iterator[Entity]:
    """The mentions that patterns find, each only in a text with its sign."""
    for sign, kind, pattern in kinds:
        if sign in text:
            yield from (Entity(m.group(), kind, m.start(), m.end()) for m in pattern.finditer(text))


def _mentions(text: str, ranges: Iterable[Mention]) -> Iterator[Entity]:
    return (Entity(text[start:end], kind, start, end) for start, end, kind in ranges)


def _apart(text: str, plain: str, found: Iterable[Entity]) -> list[Entity]:
    """Entities in order without those that overlap an earlier one, or reach across the edge of a code quote."""
    out: list[Entity] = []
    end = 0
    for entity in found:
        if entity.start < end or "`" in text[entity.start : entity.end]:
            continue
        end = entity.end
        if out and _continues(plain, out[-1], entity):
            begin = out.pop().start
            out.append(Entity(plain[begin:end], "organisation", begin, end))
        else:
            out.append(entity)
    return out


def _names_of(text: str, free: str) -> list[Entity]:
    """The names of a text, a hard blank being a blank; `free` is the text without what is no part of a name."""
    names = _names(free.replace("\u00a0", " "))
    if "\u00a0" in free:
        names = [e._replace(text=free[e.start : e.end]) for e in names]
    if is_german(text):
        return [e for e in names if e.kind != "name" or " " in e.text or not is_common_noun(free, e.start, e.end)]
    return names


def _continues(text: str, before: Entity, entity: Entity) -> bool:
    """Whether both are one organisation: "Court of Justice", followed by "of the" and "European Union"."""
    if before.kind != "organisation" or entity.kind not in ("name", "organisation") or " of " not in before.text:
        return False
    return text[before.end : entity.start] == " of the "


def _months(text: str) -> Iterator[Entity]:
    """Months before a year: "février 2022", "enero de 2021"."""
    for m in _YEARS.finditer(text):
        end = m.start() - 3 if text.endswith(" de", 0, m.start()) else m.start()
        before = max(0, end - _LONGEST_MONTH)
        start = max(before - 1, *(text.rfind(sign, before, end) for sign in " '’")) + 1
        if text[start:end] in _MONTHS:
            yield Entity(text[start : m.end()], "date", start, m.end())


def _technical(text: str) -> Iterator[Entity]:
    for first, end, kind in tokens(text):
        start = first + text.startswith(",", first)  # after a word without blanks, the comma belongs to the sentence
        token = text[start:end]
        if kind == "identifier":
            if _CODED.search(token):
                model = _MODEL.match(text, end) if _SMALL_FIRST.match(token) else None
                if model:
                    yield Entity(text[start : model.end()], "product", start, model.end())
                else:
                    yield Entity(token, "camelcase" if token.isalpha() else "identifier", start, end)
        elif kind in _TECHNICAL and not (kind == "path" and _WORDY_SLASH.fullmatch(token)):
            yield Entity(token, _TECHNICAL[kind], start, end)


def _without(text: str, ranges: Iterable[tuple[int, int]]) -> str:
    """A text of the same length in which no name reaches into one of these ranges."""
    pieces: list[str] = []
    at = 0
    for start, end in sorted(ranges):
        if end > at:
            pieces += [text[at : max(at, start)], "\0" * (end - max(at, start))]
            at = end
    return "".join([*pieces, text[at:]])


def _names(text: str) -> list[Entity]:
    if headings := [m.span() for m in _HEADING.finditer(text)]:
        text = _without(text, headings)
    read = [name for m in _NAME.finditer(text) for name in _read_name(text, *m.span())]
    found = [name.entity for name in read if not name.doubtful]
    known: set[str] = set()
    for entity in found:
        words = entity.text.split(" ")
        known.update(words if entity.kind == "person" else words[:1])
    return found + [name.entity for name in read if name.doubtful and name.entity.text in known]


class _Name(NamedTuple):
    """A name; `doubtful` if it may be a common word that opens its sentence."""

    entity: Entity
    doubtful: bool


def _read_name(text: str, start: int, end: int) -> Iterator[_Name]:
    """The names in a capitalized run, without the common words that open its sentence."""
    words = text[start:end].split(" ")
    left_out, opens = _opening(words, opens=bool(_BORDER.search(text, max(0, start - 8), start)))
    start += left_out
    begin, start = start, _start_of_organisation(text, start, end, words)
    if " " in (before := _LINKS_BEHIND.sub("", text[begin:start])):  # "Anneliese Groß von der Kelmann GmbH"
        yield from _read_name(text, begin, begin + len(before))
    start += _drop_role(words)
    if _is_no_name(words):
        return
    if len(words) > 1 and words[-1].endswith(("'s", "’s")) and not words[-2].startswith("St"):
        end -= 2
        words[-1] = words[-1][:-2]
    if parts := _parts(text, start, end, words):
        for part in parts:
            yield from _read_name(text, *part)
        return
    entity = Entity(text[start:end], _name_kind(text[start:end], words), start, end)
    yield _Name(entity, doubtful=len(words) == 1 and opens and entity.kind == "name")


def _opening(words: list[str], *, opens: bool) -> tuple[int, bool]:
    """Remove common words from the beginning of a run; `opens` says whether it opens a sentence.

    Returns the number of characters removed, and whether what is left still opens the sentence.
    """
    gone = 0
    if opens and len(words) > 2 and words[1] == "of" and _SEVERAL.fullmatch(words[0]):  # "Shares of Acme Corp fell."
        gone, opens = 2, False
    least = gone
    while gone < len(words) and (
        (words[gone] in _OPENERS and (opens or words[gone] in _WHOLE))
        or (gone > least and words[gone].isdigit())  # "In 1959 Ada Lee"
    ):
        gone, opens = gone + 1, False
    length = sum(len(word) + 1 for word in words[:gone])
    del words[:gone]
    return length, opens


def _is_no_name(words: Sequence[str]) -> bool:
    """Whether nothing is left of a name, or only a figure, a common word, or a word with its number: "Ticket 12"."""
    if not words or words[0][:1].isdigit():
        return True
    if len(words) == 1:
        return words[0] in _OPENERS or words[0] in _LABELS or len(words[0]) < 2
    return words[0] in _LABELS and any(map(str.isdigit, words[1]))


def _parts(text: str, start: int, end: int, words: Sequence[str]) -> list[tuple[int, int]]:
    """The ranges of the names in one that holds several: before and after a case ending, or of a person and an organisation."""
    if inflected := _INFLECTED.search(text, start, end):
        behind = [(inflected.end() + 1, end)] if inflected.end() < end else []
        return [(start, inflected.start()), *behind]
    left, of, right = text[start:end].partition(" of ")
    if of and len(words) <= _LONGEST_NAME and " " in left and not _ORGANISATION.search(left) and _is_origin(left, right):
        return [(start, start + len(left)), (end - len(right), end)]
    return []


def _is_origin(left: str, right: str) -> bool:
    """Whether two names joined by "of" are a person and their place of origin."""
    if _ORGANISATION.search(right):
        return True
    words = left.split(" ")
    return right.count(" ") <= 1 and words[0] not in _NO_GIVEN_NAMES and _name_kind(left, words) == "person"


def _drop_role(words: list[str]) -> int:
    """Remove a person's role from the beginning of a name. Returns the number of characters removed."""
    role = 0
    while role < len(words) and words[role] in _ROLES:
        role += 1
    own = [word for word in words[role:] if word not in _OF_A_PERSON]
    if not role or not 2 <= len(own) <= 3 or _name_kind(" ".join(words[role:]), words[role:]) != "person":
        return 0
    taken = sum(len(word) + 1 for word in words[:role])
    del words[:role]
    return taken


def _start_of_organisation(text: str, start: int, end: int, words: list[str]) -> int:
    """The start of a name that contains its legal form: words before an article belong to the sentence."""
    name = text[start:end]
    cut = _LEGAL_BEFORE.search(name)
    skipped = cut.start() if cut else 0
    if not skipped and len(words) <= _LONGEST_NAME and (before := _CUT_BEFORE.match(name)):
        skipped = before.end()
    if skipped:
        words[:] = name[skipped:].split(" ")
    return start + skipped


def _name_kind(name: str, words: list[str]) -> str:
    if any(map(str.isdigit, name)) or (len(words) == 2 and len(words[1]) == 1):  # "Severity 1", "Scenario B"
        return "product"
    if _ORGANISATION.search(name):
        return "organisation"
    if len(words) == 1:
        return _word_kind(name)
    if words[-1] in _PLACES or words[0] in _NO_GIVEN_NAMES or words[-1] in _THINGS:
        return "name"
    own = [word for word in words if word not in _OF_A_PERSON]
    initials = sum(len(word) == _INITIAL and word[1] == "." for word in own)
    is_person = 2 <= len(own) <= 3 + max(0, initials - 1) and all(word.istitle() or _INNER_CAPITAL.match(word) for word in own)
    return "person" if is_person or _TITLE.match(name) else "name"


def _word_kind(word: str) -> str:
    if word.isupper() and len(word) > 1:
        return "acronym"
    return "camelcase" if any(map(str.isupper, word[1:])) else "name"
