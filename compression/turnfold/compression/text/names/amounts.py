"""Amounts in a text: money, shares, counted things, years.

This module has their patterns, in the languages of the word lists. Dates of day and month are in ``inline``; names are in
``entities``.

An amount ends with what it counts; a word of grammar behind a figure is not counted by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.lower import plain_words

Mention = tuple[int, int, str]

_BLANK: Final = "[ \u00a0\u202f]"
_NUMBER: Final = r"\d(?<![A-Za-zÀ-ɏ\d_.,'’]\d)(?:[\d,.'’]*\d)?+"
_SPACED: Final = rf"\d(?<![A-Za-zÀ-ɏ\d_.,'’]\d)\d{{0,2}}(?:{_BLANK}\d{{3}}){{1,4}}+(?!\d)(?:[.,]\d++)?+"
_MAGNITUDE: Final = (
    rf"(?:(?:[-]|{_BLANK})?(?:[kKMBbm](?:n|illion)?\b(?!/)|tn\b|thousand\b|million(?:en|er|s|i)?\b|billion(?:en|s)?\b|trillion\b"
    r"|Mio\b\.?|Mrd\b\.?|Millionen\b|Million\b|Milliarden\b|milliard(?:s|er|i)?\b|millones\b|millón\b"
    r"|mili(?:on|ard)(?:y|i|ów|ů|u|a|e|es)?\b|milj(?:on|oen|ard)(?:er|en)?\b|milijun[ai]?\b"
    r"|milhões\b|milhão\b|mil\b(?:\.(?= Kč))?"
    r"|mln\b\.?|mld\b\.?|tys\b\.?|млн\b\.?|млрд\b\.?|тыс\b\.?|тысяч\w?\b|миллион\w{0,3}\b"
    r"|миллиард\w{0,3}\b|[万萬亿億兆千百]+(?:\d[\d,]*[万萬亿億千百]*)*+|[만억천조]+(?: ?\d[\d,]*[만억천조]+)*+"
    r"|lakh\b|crore\b|milyon\b|milyar\b"
    r"|(?:करोड़|करोड़|लाख|हज़ार|हजार|अरब)(?![\w\u0900-\u0963])"
    r"|(?:مليون|مليونا|مليار|ملايين|مليارات|ألف|آلاف)(?!\w)))?+"
)
_SYMBOL: Final = r"(?:(?:R|US|A|C|CA|AU|HK|NZ|NT|S)?\$|[€£¥₹₽₩₺₫₴₱₪₦฿])"
_CODE: Final = f"(?:{one_of('amounts', 'currency codes')})"
_COINS: Final = (
    rf"(?:(?:{one_of('amounts', 'coins')}|руб\b\.?|грн\b\.?|крон\w?|kr\b\.?|{_CODE})(?!\w)"
    rf"|[€£¥₹₽₩₺₫₴₱₪₦฿$](?!{_BLANK}?\d)|(?:人民币|人民幣|美元|美金|欧元|歐元|日元|英镑|港元|元|円|ドル|ユーロ)|원|달러|유로"
    r"|(?:دولار|دينار|ريال|درهم|جنيه|يورو|ليرة)(?!\w))"
)
#: "4 millones de pesos", "2 millions d'euros".
_OF: Final = rf"(?:{_BLANK}(?:(?:de|di|of){_BLANK}|d['’]))"
#: The end of "$3-5 million", "€2m–€4m".
_TO: Final = rf"(?:[–-]{_SYMBOL}?{_NUMBER}(?![-–/]\d){_MAGNITUDE})?+"
_MONEY: Final = lazy.pattern(
    rf"(?:{_SYMBOL}|(?<!\w){_CODE}){_BLANK}?(?:{_SPACED}|{_NUMBER}){_MAGNITUDE}{_TO}(?:{_BLANK}?{_COINS})?+"
    rf"|(?:{_SPACED}|{_NUMBER}){_MAGNITUDE}(?:{_OF}|{_BLANK}?){_COINS}"
    r"|[一二三四五六七八九十百千万萬亿億两兩零〇]{1,12}+(?:人民币|人民幣|美元|美金|欧元|歐元|日元|英镑|港元|元|円)"
    r"|(?<![가-힣])[일이삼사오육칠팔구십백천만억]{2,12}+ ?(?:원|달러|유로)"
)
_PERCENT: Final = lazy.pattern(
    rf"{_NUMBER}{_BLANK}?(?:%|‰|(?:per ?cent|percentage points|Prozent(?:punkte)?|pour cent|por ciento|por cento|per cento"
    r"|procent\w?|процент\w{0,3}|bps|basis points)(?!\w)|퍼센트|パーセント)"
)
_FIGURE: Final = lazy.pattern(r"\d")
#: Money and shares contain at least one of these.
_NUMERAL: Final = lazy.pattern(r"[\d一二三四五六七八九十百千万萬亿億两兩零〇십백천만억]")
#: "8 to " before "12 percent".
_FROM: Final = lazy.pattern(rf"{_NUMBER}{_BLANK}?(?:to|bis|à|–|-){_BLANK}?\Z")
_LONGEST_FROM: Final = 12
#: A letter, or a mark that belongs to the letter before: without these, words of many scripts would be cut.
_LETTER: Final = (
    r"(?:[^\W\d_]|[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0981-\u0dff\u0e31-\u0e4e"
    r"\u0eb1-\u0ecd\u1000-\u109f\u1780-\u17d3])"
)
#: What Chinese and Japanese count and measure in figures.
_DENSE_UNITS: Final = (
    r"(?:[毫厘]米|公[里斤顷]|千[米克]|[平立]方米|小[时時]|分[钟鐘]|[时時]間|个月|個月"
    r"|[人個名件年月日回本枚台歳个张张本辆吨噸克米升斤度]|[ァ-ヶー]{1,8}+)"
)
_COUNTED: Final = lazy.pattern(
    rf"(?:{_SPACED}|{_NUMBER}(?!\.\d)){_MAGNITUDE}(?:-(?:to-)?\d[\d,.]*+)?+"
    rf"(?P<unit>(?:[- ](?:(?:cubic|square|nautical|metric) )?{_LETTER}++(?:[-/]{_LETTER}++)*+"
    rf"| ?[°µ][A-Za-z]?|{_DENSE_UNITS}|[A-Za-zµ]++|/[a-z]++)?)"
)
#: "四十二巴": the first numeral and the following ones must not form another word ("万一", "千万不要", "一一").
_HAN: Final = lazy.pattern(
    r"(?<![一二三四五六七八九十百千万亿零〇两第])(?!一一)[一二三四五六七八九两十]"
    r"[一二三四五六七八九十百千万亿零〇点]+"
    r"(?:毫秒|毫米|厘米|公里|公斤|公顷|千米|千克|平方米|立方米|小时|小時|分钟|分鐘|个月|個月|位|[人名个個件年月日号號时時秒分天周週回次倍台辆輛架本页頁枚张張条條只隻头頭匹"
    r"家所座层層楼樓岁歲歳户戶米克吨噸升斤两里亩畝度巴伏瓦株棵箱包袋瓶杯套项項种種期届屆批组組票席步])?"
)
# "In 1987 Rosalind": the name after a year is not what the year counts.
_DATED: Final = lazy.pattern(r"(?i:\b(?:in|since|until|from|after|before|between|during|im jahr|seit|en|desde|depuis|nel)) \Z")
_HAPPENED: Final = lazy.pattern(r" (?:\w+ed|sold|won|lost|fell|rose|led|ran|grew|began|saw|became)\Z")
_LANGUAGES: Final = ("en", "de", "fr", "es")
#: What goes on with a number in English: "two hundred", "twenty-five".
_MORE: Final = {"en": "(?:[- ](?:one|two|three|four|five|six|seven|eight|nine|hundred|thousand|million|dozen)){0,2}+"}
#: "ninety days", "two hundred people", "sechs Wochen": numbers in words, and the things counted most often, by language.
_SPELLED: Final = lazy.pattern(
    r"\b(?:"
    + "|".join(
        f"(?i:{one_of('amounts', f'{one} numbers')}){_MORE.get(one, '')} (?:{one_of('amounts', f'{one} counted')})"
        for one in _LANGUAGES
    )
    + r")\b"
)
_TABLE: Final = lexicon("amounts")
_SPELLED_NUMBERS: Final = frozenset().union(*(_TABLE[f"{one} numbers"] for one in _LANGUAGES))
#: After a figure that may be a year, these confirm that it is one.
_YEAR_WORDS: Final = frozenset(["год", "года", "году", "рік", "року", "році", "roku", "yılında", "yılı", "έτος"])
_YEAR: Final = lazy.pattern(r"1[0-9]\d\d|20\d\d")
# Function words; any other word after a figure is what the figure counts.
_SMALL: Final = _TABLE["small"]


def amounts(text: str, sure: Iterable[Mention]) -> Iterator[Mention]:
    """Start, end and kind ("quantity", "date" for a year) of the amounts in a text besides the `sure` ones, within which none
    begins.

    They may overlap.
    """
    begun = {start for start, _, _ in sure}
    for m in _COUNTED.finditer(text) if _FIGURE.search(text) else ():
        start, end = m.span()
        unit = m["unit"]
        if unit.startswith("/") or start in begun:
            continue
        dated = (
            unit[:1] == " " and (unit[1:2].isupper() or _HAPPENED.match(unit)) and _DATED.search(text, max(0, start - 12), start)
        )
        if unit[1:] in _YEAR_WORDS and _YEAR.fullmatch(text[start : m.start("unit")]):
            yield start, m.start("unit"), "date"
            continue
        if not unit or dated or (unit[0] in "- " and unit[1:].lower() in _SMALL):
            figure = text[start : m.start("unit")]
            if _YEAR.fullmatch(figure):
                yield start, m.start("unit"), "date"
            elif figure[-1:] == "m":  # millions or metres
                yield start, m.start("unit"), "quantity"
            continue
        signed = text[start - 1 : start] in ("-", "−") and text[start - 2 : start - 1] in (" ", "(")  # "at -80 °C"
        yield start - signed, end, "quantity"
    said = plain_words(text)
    if said is None or not _SPELLED_NUMBERS.isdisjoint(said):
        yield from ((*m.span(), "quantity") for m in _SPELLED.finditer(text))
    if not text.isascii():
        yield from ((*m.span(), "quantity") for m in _HAN.finditer(text))


def sure_amounts(text: str) -> Iterator[Mention]:
    """Start, end and kind of unambiguous amounts: money, shares."""
    if not _NUMERAL.search(text):
        return
    yield from ((*m.span(), "money") for m in _MONEY.finditer(text))
    for m in _PERCENT.finditer(text):
        range_ = _FROM.search(text, max(0, m.start() - _LONGEST_FROM), m.start())
        yield range_.start() if range_ else m.start(), m.end(), "percent"
