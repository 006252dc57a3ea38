"""Names, figures and other facts that a summary should not lose.

They are found by rules (no model, no dictionary of names). How important they are for a given text is decided in ``shorten``.

Linear scans: tokens that are more than words (``inline.tokens``), capitalised runs, amounts (``amounts``), names in
scripts without capitals (``dense_names``). A capitalised word that opens a sentence is a name only if it is one elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.inline import DATE_WORDS, PULL_WORDS, tokens
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.names.amounts import amounts, sure_amounts
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
    r"\d{1,2} (?:января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря|stycznia|lutego|marca|kwietnia"
    r"|maja|czerwca|lipca|sierpnia|września|października|listopada|grudnia|januari|februari|maart|april|mei|juni|juli|augustus"
    r"|september|oktober|november|december|Ocak|Şubat|Mart|Nisan|Mayıs|Haziran|Temmuz|Ağustos|Eylül|Ekim|Kasım|Aralık"
    r"|січня|лютого|березня|квітня|травня|червня|липня|серпня|вересня|жовтня|листопада|грудня|Ιανουαρίου|Φεβρουαρίου|Μαρτίου|Απριλίου"
    r"|Μαΐου|Ιουνίου|Ιουλίου|Αυγούστου|Σεπτεμβρίου|Οκτωβρίου|Νοεμβρίου|Δεκεμβρίου|maj|augusti|januar|februar|marts|juni|juli)\b"
    r"(?: \d{4}\b)?"
    r"|\d{1,2}\. (?:ledna|února|března|dubna|května|června|července|srpna|září|října|listopadu|prosince"
    r"|januar|februar|marts|mars|april|maj|mai|juni|juli|august|september|oktober|november|desember|december)\b(?: \d{4}\b)?"
    r"|\d{4}년(?: ?\d{1,2}월(?: ?\d{1,2}일)?)?|\d{1,2}월 ?\d{1,2}일"
    rf"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b"
    rf"(?:,? (?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}|{_MONTH} \d{{1,2}}\b)(?:,? \d{{4}}\b)?)?+"
    r"|\b\d{1,2}(?:[.:]\d\d)? ?[ap]\.m\."
    r"|\d{1,2} (?:जनवरी|फ़?रवरी|फरवरी|मार्च|अप्रैल|मई|जून|जुलाई|अगस्त|सितंबर|सितम्बर|अक्टूबर|नवंबर|नवम्बर|दिसंबर|दिसम्बर)(?:,? \d{4})?"
    r"|(?:[一二三四五六七八九〇零]{4}年)?[一二三四五六七八九十]{1,3}月[一二三四五六七八九十]{1,3}[日号號]"
    r"|\d{1,2} (?:يناير|فبراير|مارس|أبريل|إبريل|مايو|يونيو|يوليو|أغسطس|سبتمبر|أكتوبر|نوفمبر|ديسمبر|كانون الثاني|شباط|آذار"
    r"|نيسان|أيار|حزيران|تموز|آب|أيلول|تشرين الأول|تشرين الثاني|كانون الأول|جانفي|فيفري|أفريل|ماي|جوان|جويلية|أوت)(?!\w)"
    r"(?: \d{4})?|\d{1,2} ב(?:ינואר|פברואר|מרץ|אפריל|מאי|יוני|יולי|אוגוסט|ספטמבר|אוקטובר|נובמבר|דצמבר)\b(?: \d{4}\b)?"
    r"|\d{1,2} tháng \d{1,2}\b(?: năm \d{4}\b)?|\b\d{1,2} h [0-5]\d\b)"
)
#: "+353 1 555 0142", "+49 (0)421 220-15".
_PHONES: Final = lazy.pattern(r"(?<![\w+])\+\d{1,3}(?:[ \u00a0./-]?\(\d{1,4}\))?(?:[ \u00a0./-]\d{1,8}){1,6}(?![\w.]\d)\b")
#: "Q3 2026", "FY24".
_QUARTERS: Final = lazy.pattern(r"[QHF](?<!\w[QHF])(?:(?<!F)[1-4]|(?<=F)Y) ?(?:20)?\d\d\b")
_YEARS: Final = lazy.pattern(r" (?:19|20)\d\d\b")
_MONTHS: Final = _TABLE["months"]
_LONGEST_MONTH: Final = 16  # characters, with the text before it

# Words that open sentences, or are capitalized for other reasons than being a name. Closed classes only.
_OPENING_WORDS: Final = (
    "A About Above Actually Additionally After Again All Already Also Although Always An And Another Any Anyway Are As At "
    "Basically Be Because Before Below Best Between Both But By Can Certainly Could Dear Depending Did Do Does Don't During "
    "Each Either Even Every Everyone Everything Except Finally First Firstly For From Further Furthermore Given Good Great Had "
    "Has Have Haven't Having He Hello Hence Her Here Hey Hi His How However I I'd I'll I'm I've If In Instead Into Is It It'll "
    "It's Its Just Last Let Let's Like Look Many May Maybe Meanwhile Might More Moreover Most Much Must My Neither Never Next "
    "No None Nor Not Note Now Of Often Oh Ok Okay On Once One Only Or Other Our Out Over Overall Per Perhaps Please Rather "
    "Right Second Secondly See She Should Similarly Since So Some Something Sometimes Soon Still Such Sure Thank Thanks That "
    "That's The Their Them Then There There's Therefore These They They're They've Third This Those Though Through Thus To "
    "Today Together Tomorrow Tonight Too Toward Under Unless Unlike Until Up Upon Us Use Using Usually Very Via Was We We'd "
    "We'll We're We've Well Were What What's When Whenever Where Whereas Whether Which While Who Why Will With Within Without "
    "Would Wow Yeah Yes Yesterday Yet You You'd You'll You're You've Your Der Die Das Ein Eine Und Oder Aber Wir Ich Sie Es Ist "
    "Im Am Nach Mit Von Vom Zum Zur Bei Beim Seit Für Auf Aus Den Dem Wer Wo Wenn Dann Auch Heute Gestern Au Aux Du Des Ce "
    "Cette Ces Selon Pour Avec Dans Mon Ma Mes Leur Mi Mis Su Sus Con Por Para En Según Cuando Meu Minha Seu Sua O Os Um Uma Na "
    "Com Het De Een Op Van Voor Bij W Z В На С По Из За От Для Мы Он Она Они Это Его Как Что Вчера Сегодня Завтра Потом Но "
    "Если Когда Учора Вчора Сьогодні Завтра Але Якщо Коли Це Він Вона Вони Ми "
    "Ο Η Το Οι Τα Στο Στη Στην Χθες Σήμερα Αύριο Όμως Wczoraj Dzisiaj Dziś Jutro Dün Bugün Yarın Bu Včera Dnes Zítra Igår Idag "
    "Tegnap Holnap Azonban "
    "Det Hôm Ngày Tại Hier Demain Ayer Hoy Mañana Ieri Oggi Domani Il Gli Le La Les Un Une Et Mais Nous Je "
    "Il Elle El Los Las Una Y Pero Yo Assistant User System Tool "
    "Mein Meine Dein Deine Unser Unsere Ihr Ihre Kein Keine Diese Dieser Dieses Jeder Jede Jedes Alle Alles Viele Einige Beide "
    "Bitte Leider Vielleicht Danach Dort Hier Jetzt Nun Noch Nur Schon Deshalb Trotzdem Außerdem Allerdings Jedoch Weil Falls "
    "Obwohl Während Nachdem Bevor Damit Laut Ohne Gegen Durch Um Kann Können Soll Sollte Muss Müssen "
    "Hat Habe Haben Sind Wird Werden "
    "Add Apply Ask Call Check Compare Compile Configure Contact Copy Create Delete Deploy Disable Download Downgrade Email "
    "Enable Fix Install Meet Migrate Move Notify Open Pay Ping Read Rebuild Reinstall Remember Remove Replace Restart Review Run "
    "Schedule Send Set Ship Start Stop Switch Tell Test Try Update Upgrade Visit Write "
)
_OPENERS: Final = frozenset(_OPENING_WORDS.split())
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
    r"|\b(?:Universi(?:dad|dade|té|tät|teit|tà|tet)|Uniwersytet|Banco|Banque|Banca|Compañía|Companhia"
    r"|Compagnie|Société|Coopérative|Cooperativa|Tribunale?"
    r"|Minist(?:erio|ère|ério|ero|erium)|Mus(?:ée|eo|eu)|Instituto|Institut|École|Escola|Escuela|Stiftung|Verein|Fundación|Fundação|Fondation|Fondazione|Fundacja|Fundația|Quartet|Orchestra|Philharmonic"
    r"|Brewery|Brothers|Crédit|Caisse|Engineering|Construction|Insurance|Pharmaceuticals?|Logistics|Securities|Petroleum|Publishing"
    r"|Consulting|Infrastructure|Bancorp|Telecom|Railways?|Shipping"
    r"|Sans Frontières|Without Borders|Administration|Observatory|Tribunal|Directorate|Registry"
    r"|Fund|Organi[sz]ations?|Bureau|Federation|Federal Reserve|League|Alliance"
    r"|Society|Red Cross|Crescent|Church|Parliament|Congress|Senate|Police|Airlines?|Airways|Motors|Industries|Ventures|Studios?"
    r"|Network|Forum|Assembly|Chamber|Treasury|Programme|Center|Centre|Academy|Clinic|Laborator(?:y|ies)|United Nations"
    r"|Inc|Corp|Corporation|Ltd|LLC|GmbH|AG|SA|PLC|Co|Company|Group|Holdings|Partners|University|Institute|College|School|Bank"
    r"|Foundation|Navy|Army|Air Force|Coast Guard|Marines"
    r"|Association|Agency|Ministry|Department|Council|Committee|Commission|Board|Team|Labs?|Systems|Technologies|Union"
    r"|Authority|Court|Hospital|Museum|Office|Service|Sąd|Urząd|Ayuntamiento|Mairie|Préfecture)\b"
    r"|(?<= )(?:Services|Utilities|Athletics|Therapeutics|Foods|Chemicals|Electronics|Instruments|Bakery|Stores|Press|Club)\b"
    r"|(?<= )(?:Records|Networks|Software|Entertainment|Pictures|Media|Energy|Aviation|Mining|Solutions|Architects"
    r"|Associates|Sons|Biosciences|Institutet)\b(?! )"
)
_TITLE: Final = lazy.pattern(
    r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Sir|Herrn?|Frau|Sr|Sra|Dra|Don|Doña|M|Mme|Mlle|Dott|Pan|Pani|Lord|Lady|Maître|Rev)\b"
)
# A role before a name is not part of it, unless a single word follows: "President Biden".
_ROLE_WORDS: Final = (
    "Actor Actress Ambassador Analyst Archbishop Artist Author Bishop Captain Cardinal Chairman Chairwoman Chancellor Chef Chief "
    "Coach Colonel Commander Commissioner Congressman Congresswoman Councillor Deputy Designer Detective Director Editor "
    "Engineer Executive General Governor Inspector Judge Justice Lieutenant Major Manager Mayor Minister Officer Pastor Pilot "
    "President Prime Prosecutor Professor Representative Secretary Senator Sergeant Spokesman Spokeswoman Vice "
    "Architect Attorney Barrister Biologist Cellist Chemist Clerk Composer Conductor Counsel Curator Cyclist Dean "
    "Defender Driver Economist Farmer Forester Goalkeeper Gymnast Historian Journalist Librarian Midfielder Novelist "
    "Nurse Painter Photographer Physicist Pianist Poet Provost Ranger Rector Referee Registrar Rower Sailor Sculptor "
    "Singer Skipper Sociologist Solicitor Soprano Sprinter Statistician Striker Surgeon Swimmer Tenor Trainer Treasurer "
    "Umpire Violinist Winger Ông Bà Cô "
    "CEO CFO CIO COO CTO MEP MP PM VP"
)
_ROLES: Final = frozenset(_ROLE_WORDS.split())
_OF_A_PERSON: Final = {"the"}.union(
    ["de", "la", "los", "las", "del", "van", "von", "der", "den", "het", "da", "do", "dos", "das", "di", "du", "zu", "bin", "ibn"]
)
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
_LABELS: Final = frozenset(
    [
        "Ticket",
        "Issue",
        "Bug",
        "Order",
        "Case",
        "Invoice",
        "Incident",
        "Build",
        "Task",
        "Story",
        "Error",
        "Commit",
        "Revert",
        "Version",
    ]
)
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


def entities(text: str) -> list[Entity]:
    """Mentions in order, without overlaps: of two that overlap, the one that begins first is kept, or else the longer one."""
    plain = flowing(text).replace("`", " ")  # facts count in code quotes too
    found = [Entity(m.group(), "date", m.start(), m.end()) for m in DATE_WORDS.finditer(plain)]
    found += [Entity(m.group(), "date", m.start(), m.end()) for m in _DATES.finditer(plain)]
    found += [Entity(m.group(), "date", m.start(), m.end()) for m in _QUARTERS.finditer(plain)]
    if "#" in plain:
        found += [Entity(m.group(), "identifier", m.start(), m.end()) for m in PULL_WORDS.finditer(plain)]
    if "+" in plain:
        found += [Entity(m.group(), "identifier", m.start(), m.end()) for m in _PHONES.finditer(plain)]
    found += _months(plain)
    if not text.isascii():
        found += [Entity(m.group(), "organisation", m.start(), m.end()) for m in _CYRILLIC.finditer(plain)]
    if "«" in plain:
        found += [Entity(m.group(), "organisation", m.start(), m.end()) for m in _IN_QUOTES.finditer(plain)]
    certain = list(sure_amounts(plain))
    found += [Entity(plain[start:end], kind, start, end) for start, end, kind in certain]
    sure = [(e.start, e.end) for e in found]
    technical = [*_technical(plain)]
    found += technical
    free = _without(plain, sure)
    found += _names_of(text, free)
    dated = {e.start for e in technical if e.kind == "date"}  # "05.03.2026 noon" are no noons
    counted = (amount for amount in amounts(plain, certain) if amount[0] not in dated)
    found += [Entity(plain[start:end], kind, start, end) for start, end, kind in counted]
    if not text.isascii():
        found += [Entity(plain[start:end], kind, start, end) for start, end, kind in dense_names(free)]
        found += [Entity(m.group(), "product", m.start(), m.end()) for m in _KATAKANA.finditer(plain)]
    found.sort(key=lambda e: (e.start, -e.end, e.kind in ("person", "name")))
    out: list[Entity] = []
    end = 0
    for entity in found:
        if entity.start >= end and "`" not in text[entity.start : entity.end]:
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
    found: list[Entity] = []
    doubtful: list[Entity] = []
    known: set[str] = set()
    if headings := [m.span() for m in _HEADING.finditer(text)]:
        text = _without(text, headings)
    for m in _NAME.finditer(text):
        _sort_name(text, *m.span(), found, doubtful, known)
    return found + [e for e in doubtful if e.text in known]


def _sort_name(text: str, start: int, end: int, found: list[Entity], doubtful: list[Entity], known: set[str]) -> None:
    """Classify a capitalized run, without the common word that opens its sentence."""
    opens = bool(_BORDER.search(text, max(0, start - 8), start))
    words = text[start:end].split(" ")
    first = 0
    if opens and len(words) > 2 and words[1] == "of" and _SEVERAL.fullmatch(words[0]):  # "Shares of Acme Corp fell."
        start += len(words[0]) + len(" of ")
        del words[:2]
        opens = False
    while first < len(words) and (
        (words[first] in _OPENERS and (opens or words[first] in _WHOLE))
        or (first and words[first].isdigit())  # "In 1959 Ada Lee"
    ):
        start += len(words[first]) + 1
        first += 1
        opens = False
    del words[:first]
    begin, start = start, _start_of_organisation(text, start, end, words)
    if " " in (before := _LINKS_BEHIND.sub("", text[begin:start])):  # "Anneliese Groß von der Kelmann GmbH"
        _sort_name(text, begin, begin + len(before), found, doubtful, known)
    start += _drop_role(words)
    if not words or words[0][:1].isdigit() or (len(words) == 1 and (words[0] in _OPENERS or len(words[0]) < 2)):
        return
    if len(words) > 1 and words[0] in _LABELS and any(map(str.isdigit, words[1])):
        return
    if len(words) > 1 and words[-1].endswith(("'s", "’s")) and not words[-2].startswith("St"):
        end -= 2
        words[-1] = words[-1][:-2]
    if inflected := _INFLECTED.search(text, start, end):
        _sort_name(text, start, inflected.start(), found, doubtful, known)
        if inflected.end() < end:
            _sort_name(text, inflected.end() + 1, end, found, doubtful, known)
        return
    name = text[start:end]
    left, of, right = name.partition(" of ")
    if of and len(words) <= _LONGEST_NAME and " " in left and not _ORGANISATION.search(left) and _is_origin(left, right):
        _sort_name(text, start, start + len(left), found, doubtful, known)
        _sort_name(text, end - len(right), end, found, doubtful, known)
        return
    entity = Entity(name, _name_kind(name, words), start, end)
    if len(words) == 1 and opens and entity.kind == "name":
        doubtful.append(entity)
    else:
        found.append(entity)
        known.update(words if entity.kind == "person" else words[:1])


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
