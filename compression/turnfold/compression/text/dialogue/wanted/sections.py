"""Sections of a long text that a message names: "what does section 4.2 say?", "explain the part on refunds", "§ 5".

This module finds the sections of a text, and tells which a message names. Which text is meant, and what is quoted, is decided in
``recall.wholes.parts.sections``. Parts by their place are in ``places``, single words in ``lexicon/sections.txt``.

A section is what stands under a heading of Markdown or reStructuredText, under a line in bold or in capitals, or after a number
that continues a count: "4. Fees", "Article 7", "3.2 Either party ...".
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range, fences, line_end
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.lower import MARKS

_LONGEST: Final = 300  # characters of a message that names a section
_LONGEST_TITLE: Final = 90  # characters
_LOOK_BACK: Final = 80  # characters above a line
_ENDS: Final = (*".:;!?)。！？：；|*_`",)
_MOST_HEADS: Final = 2_000
_FARTHEST: Final = 400  # headings from one to the one that ends its section
_NUMBERED: Final = 10  # the level of headings that only a number makes
_FEWEST_EASTERN: Final = 3
_FEWEST_BARE: Final = 3
_MOST_NAMED: Final = 6  # numbers in a message
_SHORTEST_TITLE: Final = 8  # letters of a title of several words that is one wherever it is said
_TABLES: Final = lexicon("sections")
_NUMBER_WORD: Final = rf"(?:{one_of('sections', 'numbered')})"
_CONTENTS: Final = lazy.pattern(
    rf"(?<![\w{MARKS}])(?:(?P<sure>{one_of('sections', 'contents')})|{one_of('sections', 'contents of a text')})(?![\w{MARKS}])"
)
_ABOUT_CONTENTS: Final = _TABLES["about contents"] | _TABLES["texts"]
_RUN_ON_CONTENTS: Final = lazy.pattern(one_of("sections", "contents run-on"))
_RUN_ON_ABOUT: Final = lazy.pattern(rf"(?:\W|{one_of('sections', 'about contents run-on')})*+")
_RUN_ON_TITLED: Final = lazy.pattern(one_of("sections", "titled run-on"))
_SHORT_QUESTION: Final = 120  # characters of one that asks for the contents alone
_NUMBER: Final = r"(\d{1,3}(?:\.\d{1,3}){0,4})"
_ASKED: Final = lazy.pattern(
    rf"(?:(?<!\w){_NUMBER_WORD}\.?[^\S\n]|§§?)[^\S\n]*(?:no\.?|nr\.?|number|#)?[^\S\n]*{_NUMBER}(?!\.?\d|\w|%)"
    rf"((?:[^\S\n]*(?:,|-|–|&|\b(?:and|to|or|und|bis|et|à|y|e|o|en|и)\b)[^\S\n]*(?:{_NUMBER_WORD}[^\S\n]+|§[^\S\n]*)?"
    r"\d{1,3}(?:\.\d{1,3}){0,4}(?!\.?\d|\w|%)){0,5})"
)
#: "das 3. Kapitel", "3rd section", "3-й раздел", "4. madde".
_ASKED_BEHIND: Final = lazy.pattern(
    rf"(?<![\w.,:$€£¥]){_NUMBER}(?:\.|st|nd|rd|th|e|er|ère|ème|º|ª|°|-?(?:й|я|е|го|м|ой|ю))[^\S\n](?!no\b){_NUMBER_WORD}(?![\w:])"
)
#: "第三条", "第12章", "제5조".
_EASTERN: Final = rf"[第제][ \t]*({words.FIGURE})[ \t]*[条條章节節款項项部点조장절항부](?!{one_of('sections', 'counted run-on')})"
_PART_BEHIND: Final = "[章節条項]|部分|質問|項目|問題|セクション"
#: The same, and "3章では", "6番の質問": in Chinese such a sign behind a number counts, as in Korean ("사진 3장": three photos),
#: where a text must be named in front of it, or nothing: "계약서 3장", "3장 요약".
_EASTERN_ASKED: Final = lazy.pattern(
    rf"{_EASTERN}|(?<![\d.:])(\d{{1,3}})[ \t]*"
    rf"(?:[章節条項](?=の|を|は|が|で|に|と|目)|番目?の(?={_PART_BEHIND})|번 ?(?=질문|항목|문제|조항|부분))"
    rf"|(?:\A|(?:{one_of('sections', 'documents run-on')})(?:의|에서|에)?)[ \t]*"
    r"(\d{1,3})[ \t]*[조장절항](?! ?(?:원|달러|엔))(?=\s|[을를은는이가에의])"
)
_EASTERN_LISTED: Final = lazy.pattern(rf"(?:\d|[{words.HAN_FIGURES}])(?:[点點项項题題步番]|번)")
#: "第三条 ..." or "三、...".
_EASTERN_LINE: Final = lazy.pattern(
    rf"^[ \t#*>]{{0,8}}(?:{_EASTERN}[ \t:：.]*|[（(]?([{words.HAN_FIGURES}]{{1,3}})[、．.）)][ \t]*)(?P<title>[^\n]{{0,400}})",
    re.MULTILINE,
)
#: A title on a line of its own, below the number.
_BELOW: Final = lazy.pattern(r"[ \t*_]*\n(?:[ \t]*\n)?[ \t*_]*(?P<title>[^\W\d_][^\n]{1,60}?)[ \t*_]*(?=\n|\Z)")
#: "3(b)(ii)", "(a)(i) of section 7".
_LABELS: Final = r"((?:[^\S\n]?\((?:[a-z]{1,4}|\d{1,2})\)){1,3})"
_LETTERED: Final = lazy.pattern(rf"(?<![\w.]){_NUMBER}{_LABELS}")
_WITHIN: Final = lazy.pattern(rf"(?:(?<=\d)|(?:{_NUMBER_WORD})[^\S\n]){_LABELS}(?!\w)")
_ROMAN: Final = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
_JOINT: Final = lazy.pattern(r"(?<=\w)[._/:-]+(?=\w)")
_RANGE: Final = lazy.pattern(r"\A[^\S\n]*(?:-|–|to|bis|à)")
_DOTTED: Final = lazy.pattern(r"(?<![\w.$€£¥v])(\d{1,3}(?:\.\d{1,3}){1,4})(?![\w.%$€£°])")
_LINE: Final = lazy.pattern(
    r"^[ \t>]{0,6}(?:(?P<marks>#{1,6})[ \t]+)?(?P<bold>\*\*|__)?"
    rf"(?:(?:(?i:{_NUMBER_WORD})\.?|§)[ \t]*(?P<named>\d{{1,3}}(?:\.\d{{1,3}}){{0,4}})(?![\w%])"
    r"(?![ \t]*(?:/|of|von|de|из)[ \t]*\d)"  # a piece of what was pasted: "Part 1 of 3"
    r"|(?P<number>\d{1,3}(?:\.\d{1,3}){0,4})(?=[.):]?[ \t*_]|[.):]?$))?"
    r"(?P<stop>[.):\]]?[ \t]*(?:[–—-][ \t]+)?)(?P<title>[^\n]{0,400})",
    re.MULTILINE,
)
_BEGINS: Final = lazy.pattern(
    r"(?m)^[ \t>]{0,6}(?:#|\*\*|__|\d|§|[^\W\d_]{2,12}\.?[ \t]+\d|[^\W\d_a-z])|^(?:={3,}|-{3,}|~{3,})[ \t]*$"
)
_RULED: Final = lazy.pattern(r"^[ \t]{0,3}(\S[^\n]{0,100})\n(={3,}|-{3,}|~{3,}|\^{3,})[ \t]*$", re.MULTILINE)
#: Scripts in which words stick together, or to what stands in front of them, so that a title is looked for as it is.
_STICKING: Final = lazy.pattern(r"[\u0590-\u06ff]")
_SAME_BEGINNING: Final = 5  # letters of two forms of a word
_MOST_ENDING: Final = 3
_CAPITALS: Final = lazy.pattern(r"[^\w\n]*[^\W\d_a-zà-ÿ][^a-zà-ÿ\n]{3,70}")
#: A title that nothing marks but that it stands alone, above a paragraph: as pages and word processors leave it when copied.
_BARE: Final = lazy.pattern(
    r"(?:\A|(?<=\n\n)|(?<=\n\r\n))(?P<title>[^\W\d_a-z][^\n]{0,59}?)[ \t]*\r?\n(?=(?:[ \t]*\r?\n)?[^\n]{80,})"
)


class HeadedSection(NamedTuple):
    """A section of a text.

    Attributes:
        number: its number as written; "" for none.
        title: the words of its heading; () for none; in scripts whose words stick together one, without blanks.
        place: its range, including the heading.
        head: its first line.
        level: its depth.
    """

    number: str
    title: tuple[str, ...]
    place: Range
    head: Range
    level: int


class NamedSections(NamedTuple):
    """What a message names: numbers, its words, among which titles may be, of a section the labels of a part of it, and all that
    it says, without blanks."""

    numbers: tuple[str, ...]
    said: tuple[str, ...]
    quoted: tuple[tuple[str, ...], ...]
    within: tuple[str, ...] = ()
    joined: str = ""


class _Head(NamedTuple):
    at: int
    level: int
    number: str
    title: str


def named_sections(message: str) -> NamedSections:
    """The sections that a message may name; empty for a long message."""
    folded = words.fold(message)
    if len(folded) > _LONGEST:  # it contains what it needs
        return NamedSections((), (), ())
    numbers: list[str] = []
    for found in _ASKED.finditer(folded):
        numbers.append(found[1])
        numbers += _more(found[1], found[2])
    numbers += [found[1] for found in _LETTERED.finditer(folded) if found[1] not in numbers]
    labels = _WITHIN.search(folded)
    within = tuple(re.findall(r"\w+", labels[1])) if labels else ()
    numbers += [found[1] for found in _ASKED_BEHIND.finditer(folded) if found[1] not in numbers]
    numbers += [str(words.figure(next(filter(None, found.groups())))) for found in _EASTERN_ASKED.finditer(folded)]
    numbers += [found[1] for found in _DOTTED.finditer(folded) if found[1] not in numbers]
    quoted = tuple(_title(part) for part in re.findall(r"[\"“„«'‘「『《]([^\"”“»'’」』》\n]{2,90})[\"”“»'’」』》]", folded))
    joined = "" if folded.isascii() else "".join(folded.split())
    in_figures = tuple(_figures(number) for number in numbers[:_MOST_NAMED])
    return NamedSections(in_figures, _spoken(folded), quoted, within, joined)


def _spoken(folded: str) -> tuple[str, ...]:
    """The words of a heading, or of a message that names it, in order: "pyproject.toml options" has three."""
    return tuple(words.words(_JOINT.sub(" ", folded)))


def _title(folded: str) -> tuple[str, ...]:
    """The words of a title; a single one without spaces in scripts whose words are joined."""
    return ("".join(folded.split()),) if _sticks(folded) else _spoken(folded)


def _sticks(folded: str) -> bool:
    return not folded.isascii() and (words.has_pairs(folded) or _STICKING.search(folded) is not None)


def _figures(number: str) -> str:
    """A number in ASCII digits."""
    return number if number.isascii() else ".".join(str(int(part)) for part in number.split("."))


def may_be_listed(named: NamedSections) -> bool:
    """Whether the named numbers may be those of list items: "step 3", "question 2"."""
    is_listed = not _TABLES["listed"].isdisjoint(named.said) or _EASTERN_LISTED.search(named.joined) is not None
    return bool(named.numbers) and is_listed


def _more(first: str, rest: str) -> Iterator[str]:
    others = re.findall(_NUMBER, rest)
    if len(others) == 1 and _RANGE.match(rest) and first.isdigit() and others[0].isdigit():
        yield from map(str, range(int(first) + 1, int(others[0]) + 1))
    else:
        yield from others


def text_sections(text: str) -> list[HeadedSection]:
    """The sections of a text, in order, including nested ones."""
    heads = _heads(text)[:_MOST_HEADS]
    return [
        HeadedSection(
            head.number,
            _title(words.fold(head.title)),
            (head.at, _end(heads, n, len(text))),
            _heading(text, head),
            head.level,
        )
        for n, head in enumerate(heads)
    ]


def asks_for_contents(message: str) -> bool:
    """Whether a message only asks which sections there are: "give me the table of contents"."""
    folded = words.fold(message)
    if len(folded) <= _SHORT_QUESTION and words.has_pairs(folded) and (found := _RUN_ON_CONTENTS.search(folded)):
        beside = (folded[: found.start()], folded[found.end() :])
        return all(_RUN_ON_ABOUT.fullmatch(part) for part in beside)
    named = [*_CONTENTS.finditer(folded)] if len(folded) <= _SHORT_QUESTION else []
    rest = words.words(_CONTENTS.sub(" ", folded).replace("-", " "))
    if not named or not (any(one["sure"] for one in named) or not _TABLES["texts"].isdisjoint(rest)):
        return False  # "the plan" may be any, "the plan of the report" is its outline
    return all(word in _ABOUT_CONTENTS or words.is_function_word(word) for word in rest)


def _heading(text: str, head: _Head) -> Range:
    """A heading's line, including a title below it; for a clause on one line, its beginning."""
    end = line_end(text, head.at)
    title = text.find(head.title, head.at)
    return head.at, min(max(end, title + len(head.title)), head.at + _LONGEST_TITLE + 10)


def is_named(section: HeadedSection, named: NamedSections, *, by_title: bool) -> bool:
    """Whether a message names a section by title or number."""
    if not by_title:
        return section.number in named.numbers
    title = section.title
    if title and title in named.quoted:
        return True
    if len(title) == 1 and _sticks(title[0]):
        return _is_in(title[0], named)
    if not title or len(title) > len(named.said):
        return False
    at = _phrase(named.said, title)
    if at is None:
        return False
    is_long = len(title) > 1 and sum(map(len, title)) >= _SHORTEST_TITLE
    before, behind = named.said[max(0, at - 2) : at], named.said[at + len(title) : at + len(title) + 2]
    return is_long or not (_TABLES["titled"].isdisjoint(before) and _TABLES["titled behind"].isdisjoint(behind))


def _is_in(title: str, named: NamedSections) -> bool:
    """Whether a title in a script whose words are joined is named."""
    bare = title.removeprefix("ال")  # Arabic's article goes into what stands in front of it
    if len(bare) < 2 or bare not in named.joined:
        return False
    is_titled = _RUN_ON_TITLED.search(named.joined) or not _TABLES["titled"].isdisjoint(named.said)
    return len(title) >= _SHORTEST_TITLE or bool(is_titled)


def part_within(text: str, place: Range, labels: Sequence[str]) -> list[Range]:
    """The part of a section with the given labels, such as "(b)(ii)", with the first lines of its enclosing parts; the whole
    section if it has no such part.
    """
    (start, end), found = place, list[Range]()
    for label in labels:
        begins = _labelled(text, (start, end), (label,))
        if begins is None:
            break
        found.append((start, line_end(text, start)))
        end = _labelled(text, (begins + 1, end), _following(label)) or end
        start = begins
    return [*found, (start, end)]


def _labelled(text: str, place: Range, labels: Sequence[str]) -> int | None:
    found = re.compile(rf"^[ \t]*(?:[-*][ \t])?\(?(?:{'|'.join(labels)})\)[ \t]", re.MULTILINE).search(text, *place)
    return found.start() if found else None


def _following(label: str) -> list[str]:
    """The labels that may follow a label: "ii" or "j" after "i"."""
    if label.isdigit():
        return [str(int(label) + 1)]
    roman = _ROMAN[_ROMAN.index(label) + 1 :][:1] if label in _ROMAN else ()
    return [*roman, *([chr(ord(label) + 1)] if len(label) == 1 else [])] or [label]


def _phrase(said: Sequence[str], title: Sequence[str]) -> int | None:
    size = len(title)
    begins = (at for at in range(len(said) - size + 1) if said[at][:_SAME_BEGINNING] == title[0][:_SAME_BEGINNING])
    return next((at for at in begins if all(map(_is_form, said[at : at + size], title))), None)


def _is_form(one: str, other: str) -> bool:
    """Whether two words are equal or forms of the same word: "гарантии" and "гарантия"."""
    if one == other:
        return True
    same = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    shorter, longer = sorted((len(one) - same, len(other) - same))
    return same >= _SAME_BEGINNING and longer <= _MOST_ENDING and shorter <= (1 if one.isascii() else 2)


def _heads(text: str) -> list[_Head]:
    if not text.isascii() and any(sign in text for sign in "第제、"):
        eastern = [_eastern_head(found) for found in _EASTERN_LINE.finditer(text)]
        if len(eastern) >= _FEWEST_EASTERN:
            return eastern
    if _BEGINS.search(text) is None:
        return _bare_heads(text)
    code = [*fences(f"\n{text}")]
    starts = [start for start, _ in code]
    ruled = {found.start(): found for found in _RULED.finditer(text)}
    heads: list[_Head] = []
    for found in _LINE.finditer(text):
        at = found.start()
        block = bisect_right(starts, at) - 1
        if block >= 0 and at < code[block][1]:
            continue
        before = text[max(0, at - _LOOK_BACK) : at]
        above = before.rstrip("> \t\r\n\f")
        is_apart = not above or before.count("\n", len(above)) > 1
        head = _head(found, ruled.get(at), is_apart=is_apart)
        if head is None or not (is_apart or head.level < _NUMBERED or above.endswith(_ENDS)):
            continue  # a number that begins a line of a wrapped sentence
        if head.level != _NUMBERED - 1 or not _CAPITALS.match(text, found.end() + 1):  # several lines in capitals are said
            heads.append(head)
    return heads or _bare_heads(text)


def _is_in_capitals(title: str) -> bool:
    return _CAPITALS.fullmatch(title) is not None and all(sign.isupper() for sign in title if sign.isalpha())


def _bare_heads(text: str) -> list[_Head]:
    """Unmarked titles, if a text has several."""
    found = [
        _Head(one.start(), _NUMBERED - 1, "", one["title"]) for one in _BARE.finditer(text) if not one["title"].endswith(_ENDS)
    ]
    return found if len(found) >= _FEWEST_BARE else []


def _eastern_head(found: re.Match[str]) -> _Head:
    title = found["title"].strip(" \t*_#:：。") or _title_below(found)
    return _Head(found.start(), _NUMBERED, str(words.figure(found[1] or found[2])), title if len(title) <= _LONGEST_TITLE else "")


def _title_below(found: re.Match[str]) -> str:
    """The title below a line with only a number: "Termination" below "Article 7"."""
    below = _BELOW.match(found.string, found.end())
    title = below["title"].strip() if below else ""
    return "" if title.endswith(_ENDS) or _LINE.match(title) is None else title


def _head(found: re.Match[str], ruled: re.Match[str] | None, *, is_apart: bool) -> _Head | None:
    """The heading in a line; None if it is none.

    Args:
        is_apart: whether a blank line is above it. Without one, a number is treated as part of a wrapped sentence unless a sign
            follows it.
    """
    number = _figures(found["named"] or found["number"] or "")
    title = found["title"].strip().strip("*_#:").strip() or (_title_below(found) if number else "")
    is_title = len(title) <= _LONGEST_TITLE
    if found["marks"] and is_title:
        return _Head(found.start(), len(found["marks"]), number, title)
    if ruled and is_title:
        return _Head(found.start(), 1 if ruled[2][0] == "=" else 2, number, title)
    if number and (found["stop"].strip() or (is_apart and is_title)):
        return _Head(found.start(), _NUMBERED + number.count("."), number, title if is_title else "")
    is_bold = bool(found["bold"]) and found[0].rstrip().rstrip(":").endswith(found["bold"])
    if title and is_title and not number and (is_bold or (is_apart and _is_in_capitals(title))):
        return _Head(found.start(), _NUMBERED - 1, "", title)
    return None


def _end(heads: Sequence[_Head], n: int, end: int) -> int:
    """The end of a section: at the next heading of the same or a higher level; after a number, at the next number."""
    head = heads[n]
    for after in heads[n + 1 : n + 1 + _FARTHEST]:
        if after.level < _NUMBERED and (head.level >= _NUMBERED or after.level <= head.level):
            return after.at
        if head.level >= _NUMBERED and counts_on(head.number, after.number):
            return after.at
    return end


def counts_on(number: str, after: str) -> bool:
    """Whether a number directly follows another, at its own level or a higher one: 5 or 4.3 after 4.2."""
    old, new = [int(part) for part in number.split(".")], [int(part) for part in after.split(".")]
    return len(new) <= len(old) and new[:-1] == old[: len(new) - 1] and new[-1] == old[len(new) - 1] + 1
