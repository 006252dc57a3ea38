"""Named blocks of pasted data: a service in a configuration, a table of a schema, a file in a diff, a theorem, a failed test.

This module finds the blocks of a text, and tells which of them a message names. Which text is meant, and what is quoted, is
decided in ``recall.wholes.parts.keyed_blocks``. Rows of tables are in ``text.records``, functions and classes in
``code_definitions``, single words in ``lexicon/keyed_blocks.txt``.

Two rules find the blocks of JSON, YAML, HCL, SQL, markup, schemas and bibliographies alike: a line with what is indented deeper
below it and its closing line, and a line that marks the beginning of a part, up to the next such line. Any word of such a line
may name the block; words that most of them share distinguish none.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range, line_end
from turnfold.compression.text.lexicon import lexicon, one_of

_LONGEST: Final = 400  # characters of a message that names a block
_LONGEST_HEAD: Final = 240  # characters
_MOST_LINES: Final = 20_000
_BELOW: Final = 10  # lines of a part in which it may be named
_TABLE: Final = lexicon("keyed_blocks")
_WORD: Final = lazy.pattern(r"[^\W_][\w$-]*(?:\.[\w$-]+)*|_[\w$-]+")
#: A path of at least three parts, or to a file with an extension.
_PATH: Final = lazy.pattern(r"(?<![\w./@$~-])[\w.@$~-]*(?:/[\w.@$-]+){2,}|(?<![\w./@$~-])[\w.@$~-]+/[\w@$-]+\.\w+")
_PAIR: Final = lazy.pattern(r"(?<![^\W\d_])([^\W\d_]{3,})[^\S\n]*(?:no\.?|nr\.?|#|\()?[^\S\n]*(\d{1,3})(?![\w.]*\d)")
#: A line that opens a block: it ends with a bracket or a colon, or with the end of a tag, or is an item of a list with a key.
_DAY: Final = lazy.pattern(
    r"(?<![\w.:])(\d{1,2})(?:st|nd|rd|th|\.)?[^\S\n](?:of[^\S\n]|de[^\S\n])?([^\W\d_]{3,})|(?<![^\W\d_])([^\W\d_]{3,})[^\S\n](\d{1,2})(?![\w:])"
)
_ISO_DAY: Final = lazy.pattern(r"(?<!\d)\d{4}-(\d\d)-(\d\d)(?!\d)")
_MONTHS: Final = {word: int(number) for number, listed in lexicon("months").items() if number.isdigit() for word in listed}
_OPENS: Final = lazy.pattern(r"[{(\[][\w:.-]+,\s*$|[{(\[:>]\s*(?:[&!|#/][^\n]*)?$|^[ \t]*- [\w.\"'-]{1,60}:")
#: A line of few words between blank lines, as above a recipe or a poem.
_TITLE: Final = lazy.pattern(r"[\"“„«]?[^\W\d_a-zà-ÿ][\w'’-]*(?:[ ,&]{1,2}[\w'’()-]+){1,7}[\"”“»]?$")
_NO_TITLE: Final = frozenset(string.printable).difference(string.ascii_uppercase, '"')  # with which no such line begins
#: A line that opens a block of a program.
_CODE: Final = lazy.pattern(
    r"[ \t]*(?:\} ?)?(?:for|if|elif|else|while|with|try|except|finally|switch|case|catch|do|return|foreach|match|when|new)\b"
    r"|[^\n]*\)[^()\n<>]{0,40}[:{][ \t]*$|[^\n]*=[ \t]*[\w.]+\($"
)
_CLOSES: Final = lazy.pattern(r"[ \t]*(?:[}\])]|</|end\b)")
_MARKED: Final = lazy.pattern(
    r"(?P<commit>commit [0-9a-f]{7,64}\b)|(?P<doc>apiVersion:)|(?P<file>diff --git |Index: )"
    r"|(?P<hunk>@@ )|(?P<table>\[\[?[^\]\[\n]{1,80}\]\]?[ \t]*(?:[#;][^\n]*)?$)"
    r"|(?P<ruled>(?P<sign>[=_#*-])(?P=sign){2,}[ \t]+[^\n]{2,100}?[ \t]+(?P=sign){3,}[ \t]*$)|(?P<group>##\[group\]|::group::)"
    r"|(?P<tex>\\(?:part|chapter|(?:sub){0,2}section)\*?(?:\[[^\]\n]*\])?\{)|(?P<ends>---[ \t]*$|##\[endgroup\]|::endgroup::)"
)
_MARKS: Final = frozenset("acdI@[=_#*:\\-")  # with which such a line begins
_RANKS: Final = {"commit": -10, "doc": -9, "file": -9, "group": -9, "ends": -9, "table": -8, "ruled": -8, "tex": -7, "hunk": -5}
_TITLED: Final = -6
_KINDS: Final = {"file": ("file", "files"), "commit": ("commit", "commits")}  # what people call such parts
_ABOUT: Final = "metadata"  # a block whose name is that of what it stands in
_BEGIN: Final = lazy.pattern(r"[ \t]*\\begin\{(\w+)\*?\}")
_END: Final = lazy.pattern(r"[ \t]*\\end\{(\w+)\*?\}")
_ENVIRONMENT: Final = -3
_LABEL: Final = lazy.pattern(r"\\label\{([^}\n]{1,60})\}|^[ \t]*(?:kind|name):[ \t]*[\"']?([\w.-]{1,60})", re.MULTILINE)
_FIRST: Final = lazy.pattern(r"^[^\w\n]*(\w[\w-]*)", re.MULTILINE)
#: A line that says which one a block is: "name: x", "<artifactId>x</artifactId>".
_NAMING: Final = lazy.pattern(
    r"[ \t]*(?:- )?[<\"']?(?:\w{0,12}[_-]?name|id|key|kind|slug|label|title|type|artifactId|operationId|resource|service|host)"
    r"[\"'>]?[ \t]*[:=]?[ \t]*[\"']?([\w./:@-]{1,60})[\"']?[ \t]*(?:[,;]|</\w+>)?$"
)
#: What makes a text worth a look: three lines that open something deeper, or mark a part.
_SIGNS: Final = lazy.pattern(
    r"\n(?:(?<=[{(\[:>,]\n)[ \t]+\S|apiVersion:|diff --git |commit [0-9a-f]{7,64}\b"
    r"|@@ |\[[\w.\" -]{1,80}\]\n|[_=*#-]{3,} \w|\\begin\{|##\[group\]"
    r"|\S[^\n.:;!?{}]{5,80}\n\n|[\w./-]{1,60}:[^\n=]{0,80}\n\t)"
)
_REPORTS: Final = lazy.pattern(r"^(?:diff --git |@@ -\d|_{3,} \w[^\n]* _{3,}$)", re.MULTILINE)
_CODE_SHAPED: Final = lazy.pattern(r"\w[_.:-]\w|^_+\w|[a-z\d][A-Z]|[A-Z]{2}[a-z]|[a-z]\d")
#: "#signup", ".btn", "[tool]", "/cart/", "`name`".
_MARKED_WORD: Final = lazy.pattern(r"(?<![\w#@/.\[])[#@/.\[]([^\W\d_][\w$-]{1,60})|([`\"'“])([^\W_][\w$-]{1,60})[`\"'”]")
_PLURAL: Final = 4  # letters from which an "s" is no part of the word
_LISTS: Final = lazy.pattern(rf"\b(?:{one_of('keyed_blocks', 'lists')})\b")
_ONE_OF: Final = lazy.pattern(rf"\b(?:{one_of('keyed_blocks', 'one of')})\b")
_ASIDE: Final = _TABLE["aside"]  # words with which somebody asks for a block, whatever it is


class KeyedBlock(NamedTuple):
    """A block of data.

    Attributes:
        keys: the words of its first line, in lower case, and those that name it below.
        head: its first line.
        place: its range, including that line and the closing one.
        above: the number of the enclosing block; -1 for none.
    """

    keys: frozenset[str]
    head: Range
    place: Range
    above: int


class NamedKeys(NamedTuple):
    """The names in a message.

    Attributes:
        terms: its words, as written and in the form of keys.
        joined: words that code writes as one name, with the original words.
        parts: words that stand only in a path, with the names at the ends of such paths: without that name they name nothing.
        said: the content words, except those that request any block.
        sure: words that nobody would use except for code or data.
        lists: whether it asks for all of some kind, and not which of them does something, which no names tell.
    """

    terms: frozenset[str]
    joined: Mapping[str, Sequence[str]]
    parts: Mapping[str, frozenset[str]]
    said: frozenset[str]
    sure: frozenset[str]
    lists: bool


@dataclass(slots=True)
class _OpenBlock:
    rank: int
    keys: set[str]
    head: Range
    above: int
    environment: str = ""
    end: int = 0


def may_name_keys(message: str) -> bool:
    """Whether a message may name a block; a long one contains what it needs."""
    return len(message) <= _LONGEST


def named_keys(message: str) -> NamedKeys:
    """The names in a message."""
    if not may_name_keys(message):
        return NamedKeys(frozenset(), {}, {}, frozenset(), frozenset(), lists=False)
    asked, said = words.fold(message), [word.rstrip("-") for word in _WORD.findall(message)]
    folded = [word.lower() for word in said]
    sure = {word.lower() for word in said if _CODE_SHAPED.search(word)}
    sure |= {(found[1] or found[3]).lower() for found in _MARKED_WORD.finditer(message)}
    plain = words.words(asked)
    content = frozenset(words.content(plain, words.language(set(plain))))
    empty = set(plain) - content
    terms = {form for word in {*folded, *sure} - empty for form in _forms(word)} - empty - _ASIDE
    terms = {term for term in terms if len(term) > 1}
    pairs = (pair for pair in pairwise(folded) if empty.isdisjoint(pair) and all(map(str.isalnum, pair)))
    joined = {f"{a}{sign}{form}": (a, b, form) for a, b in pairs for sign in ("_", "-", "") for form in (b, _singular(b))}
    terms.update(joined)
    terms.update(_figures(message))
    lists = _LISTS.search(asked) is not None and _ONE_OF.search(asked) is None
    return NamedKeys(frozenset(terms), joined, _path_parts(asked), content - _ASIDE, frozenset(sure) & terms, lists)


def _path_parts(message: str) -> dict[str, frozenset[str]]:
    """For each word that a message has only in paths, the last names of these paths."""
    outside = set(_WORD.findall(_PATH.sub(" ", message)))
    parts: dict[str, frozenset[str]] = {}
    for found in _PATH.finditer(message):
        *above, last = found[0].strip("/").split("/")
        words_in = {form for part in above for word in _WORD.findall(part) for form in _forms(word)} | {*_forms(last)}
        for word in sorted(words_in - {last} - outside):
            parts[word] = parts.get(word, frozenset()) | {last}
    return parts


def _forms(word: str) -> Iterator[str]:
    """The forms of a word in keys."""
    yield word
    yield _singular(word)
    if "." in word:
        yield from word.split(".")
    if "'" in word:
        yield word.partition("'")[0]


def _singular(word: str) -> str:
    return word[:-1] if len(word) >= _PLURAL and word.endswith("s") and not word.endswith("ss") else word


def is_report(text: str) -> bool:
    """Whether a text is a diff or a test report, which contain code under lines that name it."""
    return _REPORTS.search(text) is not None


def keyed_blocks(text: str, fewest: int) -> list[KeyedBlock]:
    """The blocks of a text, in order; empty if it has fewer than `fewest` signs of them."""
    if sum(1 for _ in islice(_SIGNS.finditer(text), fewest)) < fewest:
        return []
    return _BlockReader(text).blocks()


class _BlockReader:
    """Reads a text line by line, keeping track of open blocks."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[_OpenBlock] = []
        self._open: list[int] = []
        self._numbers = Counter[str]()

    def blocks(self) -> list[KeyedBlock]:
        at = 0
        lines: list[tuple[int, str]] = []
        for line in self._text.splitlines(keepends=True)[:_MOST_LINES]:
            if not line.isspace():
                lines.append((at, line.rstrip()))
            at += len(line)
        for n, (start, line) in enumerate(lines):
            self._read(start, line, lines[n + 1 : n + 2], n, lines)
        end = lines[-1][0] + len(lines[-1][1]) if lines else 0
        self._close(-99, end)
        return [
            KeyedBlock(frozenset(one.keys), one.head, (one.head[0], max(one.end, one.head[1])), one.above) for one in self._found
        ]

    def _read(self, start: int, line: str, after: Sequence[tuple[int, str]], n: int, lines: Sequence[tuple[int, str]]) -> None:
        end, before = start + len(line), self._end_before(n, lines)
        marked = _MARKED.match(line) if line[0] in _MARKS else None
        begins, ends = (_BEGIN.match(line), _END.match(line)) if "\\" in line else (None, None)
        if self._is_title(n, lines):
            self._close(_TITLED, before)
            self._push(_TITLED, line, (start, end), "", ())
        elif marked:
            kind = next(name for name in _RANKS if marked[name])
            rank = _RANKS[kind] + (line.count("sub", 0, 12) if kind == "tex" else 2 * line.startswith("---"))
            if kind == "table" and self._continues(n, lines):
                self._found[self._open[-1]].keys.update(_keys(line))
                return
            self._close(rank, before)
            if kind != "ends":
                below = "\n".join(one for _, one in lines[n : n + _BELOW]) if kind == "doc" else ""
                said = [one for _, one in lines[n + 1 : n + _BELOW]] if kind == "commit" else ()
                self._push(rank, line, (start, end), below, (*_KINDS.get(kind, ()), *_subject(said)))
        elif begins:
            number = self._numbers[begins[1]] = self._numbers[begins[1]] + 1
            below = "\n".join(one for _, one in lines[n : n + 3])
            self._push(_ENVIRONMENT, line, (start, end), below, (f"{begins[1]} {number}",), begins[1])
        elif ends:
            self._end_environment(ends[1], end)
        else:
            self._read_indented(start, line, after, before)

    def _read_indented(self, start: int, line: str, after: Sequence[tuple[int, str]], before: int) -> None:
        indent = _indent(line)
        closes = _CLOSES.match(line) is not None
        self._close(indent + 1 if closes else indent, before)
        if closes and self._open and self._found[self._open[-1]].rank == indent:
            self._found[self._open.pop()].end = start + len(line)
        named = _NAMING.match(line)
        if named and self._open and self._found[self._open[-1]].rank < indent:
            self._name(self._found[self._open[-1]], (named[1].lower(), *_keys(named[1])))
        if after and _indent(after[0][1]) > indent and _opens(line, after[0][1]):
            self._push(indent, line, (start, start + len(line)), "", ())

    def _name(self, block: _OpenBlock, name: Sequence[str]) -> None:
        block.keys.update(name)
        if block.above >= 0 and [*_keys(self._text[slice(*block.head)])] == [_ABOUT]:
            self._found[block.above].keys.update(name)

    def _continues(self, n: int, lines: Sequence[tuple[int, str]]) -> bool:
        """Whether the line above a line in brackets is one too, as in the header of a recorded game."""
        if n == 0 or not self._open or self._found[self._open[-1]].rank != _RANKS["table"]:
            return False
        start, above = lines[n - 1]
        marked = _MARKED.match(above)
        return bool(marked and marked["table"]) and self._text.count("\n", start, lines[n][0]) == 1

    def _is_title(self, n: int, lines: Sequence[tuple[int, str]]) -> bool:
        start, line = lines[n]
        if (
            line[0] in _NO_TITLE
            or n + 1 == len(lines)
            or self._text.count("\n", start + len(line), lines[n + 1][0]) < 2
            or not _TITLE.match(line)
        ):
            return False
        return n == 0 or self._text.count("\n", lines[n - 1][0], start) > 1

    def _end_before(self, n: int, lines: Sequence[tuple[int, str]]) -> int:
        return lines[n - 1][0] + len(lines[n - 1][1]) if n else 0

    def _push(self, rank: int, line: str, head: Range, below: str, name: Sequence[str], environment: str = "") -> None:
        keys = {*_keys(line), *_figures(line)}
        for found in _LABEL.finditer(below):
            keys.update(_keys(found[1] or found[2]))
            keys.add((found[1] or found[2]).lower())
        keys.update(name)
        above = self._open[-1] if self._open else -1
        self._found.append(_OpenBlock(rank, keys, head, above, environment))
        self._open.append(len(self._found) - 1)

    def _close(self, rank: int, end: int) -> None:
        """End the blocks that are at least as deep as `rank`."""
        while self._open and self._found[self._open[-1]].rank >= rank:
            self._found[self._open.pop()].end = end

    def _end_environment(self, name: str, end: int) -> None:
        while self._open and self._found[self._open[-1]].rank >= _ENVIRONMENT:
            one = self._found[self._open.pop()]
            one.end = end
            if one.environment == name:
                break


def _opens(line: str, after: str) -> bool:
    """Whether a line begins a block, followed by a deeper line."""
    is_rule = after.startswith("\t") and ":" in line  # of a makefile
    return len(line) <= _LONGEST_HEAD and (is_rule or _OPENS.search(line) is not None) and not _CODE.match(line)


def _keys(line: str) -> Iterator[str]:
    """The words of a line that may name it, without figures and single letters."""
    for word in _WORD.findall(line.lower()):
        for part in (word.rstrip("-"), *(word.split(".") if "." in word else ())):
            if len(part) > 1 and not part.isdigit():
                yield part


def _figures(text: str) -> Iterator[str]:
    """Numbered things in a text ("round 4"), and days ("5-7")."""
    folded = text.lower()
    for word, number in _PAIR.findall(folded):
        yield f"{_singular(word)} {int(number)}"
    for found in _DAY.finditer(folded):
        day, word = (found[1], found[2]) if found[1] else (found[4], found[3])
        if word in _MONTHS:
            yield f"{_MONTHS[word]}-{int(day)}"
    for month, day in _ISO_DAY.findall(folded):
        yield f"{int(month)}-{int(day)}"


def _subject(lines: Sequence[str]) -> Iterator[str]:
    """The words of a commit's subject, which is the first indented line below its own."""
    return _keys(next((line for line in lines if line.startswith((" ", "\t"))), ""))


def _indent(line: str) -> int:
    """The indentation of a line; a list item counts as deeper than the key above it, which may have the same indentation."""
    wide = line.expandtabs(4) if "\t" in line else line
    return 2 * (len(wide) - len(wide.lstrip(" "))) + line.lstrip().startswith("- ")


def is_named(block: KeyedBlock, terms: frozenset[str]) -> frozenset[str]:
    """The terms of a message that name a block."""
    return terms & block.keys | {term for term in terms if f"{term}s" in block.keys}


def path_of(blocks: Sequence[KeyedBlock], n: int) -> list[int]:
    """The enclosing blocks of a block, outermost first."""
    found: list[int] = []
    while (n := blocks[n].above) >= 0:
        found.append(n)
    return found[::-1]


def holding(blocks: Sequence[KeyedBlock], at: int) -> int:
    """The innermost block around a position; -1 for none."""
    n = bisect_right(blocks, at, key=lambda one: one.place[0]) - 1
    while n >= 0 and not blocks[n].place[0] <= at < blocks[n].place[1]:
        n = blocks[n].above
    return n


def lines_with(text: str, place: Range, terms: frozenset[str]) -> list[Range]:
    """The lines of a block with one of the terms as a key."""
    return [line for line, key, _ in _split_lines(text, place) if not terms.isdisjoint(_forms_of(key))]


def _forms_of(key: str) -> Iterator[str]:
    return (form for word in _keys(key) for form in (word, _singular(word)))


def single_values(text: str, place: Range) -> dict[str, list[Range]]:
    """The words that are the only value of a line, also in the singular, with their lines."""
    found: dict[str, list[Range]] = {}
    for line, _, value in _split_lines(text, place):
        said = [*_keys(value)] if value else ()
        if len(said) == 1:
            for form in {said[0], _singular(said[0])}:
                found.setdefault(form, []).append(line)
    return found


def lines_valued(values: Mapping[str, Sequence[Range]], terms: frozenset[str]) -> list[Range]:
    """The lines of `single_values` whose value is one of the terms."""
    return sorted({line for term in terms & values.keys() for line in values[term]})


def _split_lines(text: str, place: Range) -> Iterator[tuple[Range, str, str]]:
    """The lines of a block, without the white space around them, with their keys and values."""
    at = place[0]
    for line in text[place[0] : place[1]].splitlines(keepends=True):
        key, sign, value = line.partition("=") if "=" in line and ":" not in line.partition("=")[0] else line.partition(":")
        yield (at + len(line) - len(line.lstrip()), at + len(line.rstrip())), key if sign else "", value
        at += len(line)


def first_words(text: str, place: Range) -> frozenset[str]:
    """The first words of a block's lines: its keys."""
    return frozenset(found[1].lower() for found in _FIRST.finditer(text, *place))


def mentions(text: str, terms: frozenset[str]) -> list[Range]:
    """The lines with one of the terms."""
    if not terms:
        return []
    said = re.compile(rf"(?i)(?<![\w-])(?:{'|'.join(map(re.escape, sorted(terms)))})(?![\w-])")
    lines = {text.rfind("\n", 0, found.start()) + 1 for found in said.finditer(text)}
    return [(at, line_end(text, at)) for at in sorted(lines)]
