"""Blocks of whole lines: fences, keys, JSON, traces, formulas, tables, SQL, indented code, headings.

There is one finder per kind of block. Their order and priority are in ``protect``; whatever lies inside a line is found in
``inline``.

Every pattern is linear: possessive quantifiers, no nested repetition, bounded look-back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import orjson

from turnfold.compression import lazy

Range = tuple[int, int]

#: White space to every pattern, yet neither blank nor newline: masked text joins no lines and starts none.
MASK: Final = "\x1f"

# Block finders see the text with a newline in front, so that a pattern may begin with the literal "\n", which the regex
# engine finds with memchr, and "first line" is no special case. The match lined[i:j] is text[i : j - 1] without its newline.


def _blocks_of(pattern: re.Pattern[str], lined: str) -> Iterator[Range]:
    return ((m.start(), m.end() - 1) for m in pattern.finditer(lined))


# --- fences ---------------------------------------------------------------------------------------------------------

_FENCE_LINE: Final = lazy.pattern(r"\n[ \t]*+(?:>[ \t]?)?(`{3,}+|~{3,}+)([^\n]*+)")


def fences(lined: str) -> Iterator[Range]:
    """CommonMark fences, at any indent and in a quote."""
    if "```" not in lined and "~~~" not in lined:
        return
    opened: tuple[int, str] | None = None
    for m in _FENCE_LINE.finditer(lined):
        mark, rest = m.group(1), m.group(2)
        if opened is None:
            if mark[0] == "~" or "`" not in rest:
                opened = (m.start(), mark)
        elif mark.startswith(opened[1]) and not rest.strip():
            yield opened[0], m.end() - 1
            opened = None
    if opened is not None:
        yield opened[0], unclosed_end(lined, opened[0])


_PARAGRAPH_END: Final = lazy.pattern(r"\n[ \t]*+(?=\n)")
#: A paragraph of sentences: words from the first letter of its line, no sign of code, a stop at its end.
_CODE_LINE: Final = lazy.pattern(r"[{}=<>\\]|\w\(\w*\)|\n(?: {2}|\t)|;\s*(?:\n|\Z)|\n[^\S\n]*+(?:[#%$/|-]|\w++:(?:\s*\n|\Z))")
_FEWEST_WORDS: Final = 6
_STOPS: Final = (".", "!", "?", "…", "。", "！", "？", ":")


def unclosed_end(lined: str, start: int) -> int:
    """Where a fence that nobody closed ends: with the text, or in front of the last paragraphs if all of these are sentences.

    CommonMark knows the first only; but who pastes a text and forgets the fence goes on writing.
    """
    ends = [m.start() for m in _PARAGRAPH_END.finditer(lined, start)]
    last = len(lined) - 1
    for at, stop in zip(reversed(ends), [len(lined), *reversed(ends)], strict=False):
        paragraph = lined[at:stop].rstrip()
        if paragraph.strip() and not _is_prose(paragraph):
            break
        last = at if paragraph.strip() else last
    below = lined.find("\n", start + 1)
    # Nothing in it: it closes what was opened within a line.
    return last if lined[below:last].strip() else len(lined) - 1


def _is_prose(paragraph: str) -> bool:
    return len(paragraph.split()) >= _FEWEST_WORDS and paragraph.endswith(_STOPS) and not _CODE_LINE.search(paragraph)


# --- keys -----------------------------------------------------------------------------------------------------------

_KEY_BEGIN: Final = lazy.pattern(r"-----BEGIN [A-Z0-9 ]{1,60}-----")
_KEY_END: Final = lazy.pattern(r"-----END [A-Z0-9 ]{1,60}-----")


def keys(lined: str) -> Iterator[Range]:
    """Armoured keys and certificates: whole lines from BEGIN to END, or to the end of the text if END is missing."""
    at = 0
    while begin := _KEY_BEGIN.search(lined, at):
        end = _KEY_END.search(lined, begin.end())
        at = line_end(lined, end.end()) if end else len(lined)
        yield lined.rfind("\n", 0, begin.start()), at - 1


def line_end(text: str, at: int) -> int:
    """The end of the line with a place."""
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def _line_above(lined: str, start: int) -> int:
    """The newline before the line above the one that begins with the newline at `start`; `start` if that line is taken."""
    above = max(0, lined.rfind("\n", 0, start))
    return start if MASK in lined[above:start] else above


# --- JSON -----------------------------------------------------------------------------------------------------------

_BRACKET: Final = lazy.pattern(r'(?:[^][{}"]++|"(?:[^"\\\n]|\\[^\n])*+"|")*+([][{}]|\Z)')
#: At the beginning of a line (in a quote too) any bracket; inside one it must be followed by what JSON goes on with.
_JSON_START: Final = lazy.pattern(r'\n[ \t>]*+[\[{]|[\[{][ \t]*+(?:"|\r?\n[\s>]*+[]\[{}"\d-])')
_BEHIND: Final = '" \t\r\n'
_QUOTE_MARKS: Final = lazy.pattern(r"\n[ \t]*+>[ \t>]*+")
_MATES: Final = {"}": "{", "]": "["}
_LONGEST_INLINE: Final = 4_000  # characters of a value over several lines that is one sentence with the text beside it
_JSON_EFFORT: Final = 4  # times the text's length is parsed at most, so that nested look-alikes stay linear


def _bracket_pairs(lined: str, first: int) -> list[Range]:
    """Matching pairs of brackets outside of strings (a string ends with its line at the latest), outermost first."""
    stack: list[int] = []
    pairs: list[Range] = []
    for m in _BRACKET.finditer(lined, first):
        char, at = m.group(1), m.start(1)
        if char in _MATES:
            if stack and lined[stack[-1]] == _MATES[char]:
                pairs.append((stack.pop(), at + 1))
            elif stack:
                stack.clear()
        elif char:
            stack.append(at)
    # Only what JSON could begin with: a line, or a string behind the bracket.
    pairs = [p for p in pairs if lined[p[0] + 1] in _BEHIND or lined[p[0] - 1] in " \t\n"]
    pairs.sort()
    return pairs


def _is_json(piece: str) -> bool:
    """Whether it is valid JSON, quote marks in front of its lines aside."""
    try:
        orjson.loads(_QUOTE_MARKS.sub("\n", piece) if ">" in piece else piece)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return False
    return True


def json_values(lined: str) -> Iterator[Range]:
    """Outermost valid JSON objects and arrays, in one line or several, except brackets around numbers in prose."""
    first = _JSON_START.search(lined) if "{" in lined or "[" in lined else None
    if not first:
        return
    effort, done = _JSON_EFFORT * len(lined), 0
    for start, end in _bracket_pairs(lined, first.start()):
        if start < done or not _JSON_START.match(lined, _line_lead(lined, start, " \t>")):
            continue
        effort -= end - start
        if effort < 0:
            return
        if _is_json(lined[start:end]) and (lined[start] == "{" or '"' in lined[start:end] or "\n" in lined[start:end]):
            done = end
            yield start - 1, end - 1


def _line_lead(lined: str, start: int, marks: str = " \t") -> int:
    """The position of the newline before `start` if only marks (at most 40) lie between, else `start`."""
    at = start - 1
    while at > start - 40 and lined[at] in marks:
        at -= 1
    return at if lined[at] == "\n" else start


def whole_lines(lined: str, found: Iterable[Range]) -> Iterator[Range]:
    """Those ranges that have their lines to themselves, except for a trailing comma or semicolon; and those too long to be a
    part of what a sentence says, wherever they begin."""
    for start, end in found:
        ahead = lined[end + 1 : end + 4].lstrip(",; \t\r")
        if lined[_line_lead(lined, start + 1)] == "\n" and (not ahead or ahead[0] == "\n"):
            yield start, line_end(lined, end + 1) - 1
        elif end - start > _LONGEST_INLINE and "\n" in lined[start + 1 : end + 1]:
            yield start, end


# --- traces ---------------------------------------------------------------------------------------------------------

_PYTHON_TRACE: Final = lazy.pattern(
    r"Traceback \(most recent call last\):[^\n]*+(?:\n[ \t|]++[^\n]*+|\n(?=[ \t]*+\n[ \t]+\S))*+(?:\n[^\s][^\n]*+)?"
)
_FRAMES: Final = lazy.pattern(
    r"(?:\n[ \t]++(?:at [^\n]++|from [^\n]++|\.\.\. \d++ (?:more|lines)[^\n]*+|\d++: [^\n]++)|\n[ \t]*+File \"[^\n]++"
    r"|\n(?:Caused by|Suppressed): [^\n]*+|\n#\d++ +(?:0x|[^\s(]++\(\d|\{main\})[^\n]*+)++"
)
_FRAME_CALL: Final = lazy.pattern(
    r"\n[ \t]++at [\w$.<>/\[\]]++[ \t]*+[(:]|\n[ \t]++at [^\n]{0,400}?:\d+|File \"|\n[ \t]++from [^\s:]++:\d"
    r"|\n#\d++ +(?:0x|[^\s(]++\(\d)"
)
_PHP_HEAD: Final = "\nStack trace:"
_GO_TRACE: Final = lazy.pattern(
    r"\n(?:panic: |fatal error: |goroutine \d++ \[|thread '[^'\n]{0,200}' panicked at )[^\n]*+(?:\n[ \t]*+[^\s][^\n]*+)*+"
)


def traces(lined: str) -> list[Range]:
    """Stack traces of Python, JVM, .NET, JavaScript, Ruby, PHP, C, Go and Rust, each with the line that names the error."""
    found: list[Range] = []
    if "Traceback (most" in lined:
        found += [(lined.rfind("\n", 0, m.start()), m.end() - 1) for m in _PYTHON_TRACE.finditer(lined)]
    for m in _FRAMES.finditer(lined):
        if _FRAME_CALL.search(lined, m.start(), m.end()):
            above = _line_above(lined, m.start())
            found.append((_line_above(lined, above) if lined[above : m.start()] == _PHP_HEAD else above, m.end() - 1))
    if "panic" in lined or "goroutine " in lined or "fatal error: " in lined:
        found += _blocks_of(_GO_TRACE, lined)
    return disjoint(found)


def disjoint(found: list[Range]) -> list[Range]:
    """Ranges sorted, and joined if they overlap."""
    found.sort()
    out: list[Range] = []
    for start, end in found:
        if out and start < out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


# --- formulas -------------------------------------------------------------------------------------------------------

_FORMULA_BEGIN: Final = lazy.pattern(
    r"\n[ \t]*+(?:\$\$|\\\[|\\begin\{(?:equation|align|gather|multline|tabular|longtable|verbatim|lstlisting|tikzpicture)\*?\})"
)
_FORMULA_END: Final = lazy.pattern(r"(?:\$\$|\\\]|\\end\{\w+\*?\})[ \t.,;]*+(?=\n|\Z)|\n[ \t]*+(?=\n)")
_ENDS: Final = {"$": "$", "[": "]", "{": "}"}


def formulas(lined: str) -> Iterator[Range]:
    r"""Displayed formulas of LaTeX, ``$$ ... $$``, ``\[ ... \]`` and numbered ones, from their first line to their last."""
    if "$$" not in lined and "\\[" not in lined and "\\begin{" not in lined:
        return
    done = 0
    end: re.Match[str] | None = None
    for begin in _FORMULA_BEGIN.finditer(lined):
        if begin.start() < done:
            continue
        if end is None or end.start() < begin.end():  # else it is the next one for this beginning too
            end = _FORMULA_END.search(lined, begin.end())
        if end is None:
            return
        mark = "{" if begin[0].endswith("}") else begin[0][-1]
        if end[0].rstrip(" \t.,;").endswith(_ENDS[mark]):
            done = end.end()
            yield begin.start(), done - 1


# --- tables ---------------------------------------------------------------------------------------------------------

_PIPE_ROWS: Final = lazy.pattern(r"(?:\n[ \t]*+[|+║│┌├└╔╠╚][^\n]*+){2,}+")
_PIPE_RULE: Final = lazy.pattern(
    r"\n[ \t]*+:?-{2,}+:?[ \t]*+(?:[|+][ \t]*+:?-{2,}+:?[ \t]*+)++(?=\n|\Z)(?:\n[^\n|]*+\|[^\n]*+)*+"
)
_RULE_ROW: Final = lazy.pattern(r"\n[ \t]*+\|[ \t]*+:?-{2,}+")
_TAB_ROWS: Final = lazy.pattern(r"(?:\n[^\t\n]++\t[^\t\n]*+\t[^\n]*+){2,}+")
_COLUMN: Final = r"(?:[^ \n\x1f]| (?! ))++"
_INDENTED_COLUMNS: Final = lazy.pattern(r"\n {3,}+\S++(?: \S++)*+(?: {2,}+\S++(?: \S++)*+)++ *+")
_COLUMN_ROWS: Final = lazy.pattern(rf"(?:\n(?! ){_COLUMN}(?<![.!?]) {{2,}}+{_COLUMN}(?<![.!?]) {{2,}}+[^\n]++){{3,}}+")


def _header_start(lined: str, start: int) -> int:
    """Where a table begins if its first found row is the rule: at the header above it, if that has columns."""
    if not _RULE_ROW.match(lined, start):
        return start
    above = _line_above(lined, start)
    return above if "|" in lined[above:start] else start


def _indented_header(lined: str, start: int) -> int:
    """Where a table in columns begins: at the line above it, if that is indented and has columns too, without a name for the
    first one."""
    above = _line_above(lined, start)
    return above if _INDENTED_COLUMNS.fullmatch(lined, above, start) else start


def tables(lined: str) -> list[Range]:
    """Markdown and box tables, tab-separated rows (three columns or more), aligned columns (three rows or more)."""
    found: list[Range] = []
    if "|" in lined or "│" in lined or "║" in lined:
        found += [(_header_start(lined, m.start()), m.end() - 1) for m in _PIPE_ROWS.finditer(lined)]
        found += [(_line_above(lined, m.start()), m.end() - 1) for m in _PIPE_RULE.finditer(lined)]
    if "\t" in lined:
        found += _blocks_of(_TAB_ROWS, lined)
    if "   " in lined:
        found += [(_indented_header(lined, start), end) for start, end in _blocks_of(_COLUMN_ROWS, lined)]
    return disjoint(found)


# --- SQL ------------------------------------------------------------------------------------------------------------

_SQL_START: Final = lazy.pattern(
    r"\n[ \t]*+(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP|WITH|TRUNCATE|GRANT|EXPLAIN|MERGE INTO)\b[^\n]*+"
    r"(?:(?<!;)\n[ \t]*+[^\s][^\n]*+)*+"
)
_SQL_START_ANY: Final = lazy.pattern(_SQL_START.pattern, re.IGNORECASE)
_SQL_PROOF: Final = lazy.pattern(
    r"\b(?:FROM|INTO|SET|VALUES|ON)\b|\bAS \(|\b(?:TABLE|INDEX|VIEW|DATABASE|SCHEMA|FUNCTION|TRIGGER|TYPE|ROLE|USER|EXTENSION)\b"
)
_SQL_PROOF_ANY: Final = lazy.pattern(
    r"\bjoin\s+[\w.\"`]+(?:\s+(?:as\s+)?\w+)?\s+(?:on|using)\b"
    r"|\bfrom\s+[\w.\"`]+\s*(?:;|\bwhere\b|\bjoin\b|\border by\b|\bgroup by\b|\blimit\b)|\bvalues\s*\("
    r"|\bset\s+\w+\s*=|\btable\s+[\w.]+\s*[(;]",
    re.IGNORECASE,
)
_SQL_LIKE: Final = lazy.pattern(r"[Ss]elect |[Ii]nsert into |[Uu]pdate |[Dd]elete from |[Cc]reate |[Dd]rop |[Aa]lter ")


def sql(lined: str) -> list[Range]:
    """Statements from the beginning of a line to their semicolon or the next blank line; lower-case ones need stronger
    evidence."""
    found = [r for r in _blocks_of(_SQL_START, lined) if _SQL_PROOF.search(lined, r[0], min(r[1] + 1, r[0] + 2000))]
    if ";" in lined and _SQL_LIKE.search(lined):
        loose = _blocks_of(_SQL_START_ANY, lined)
        found += [r for r in loose if _SQL_PROOF_ANY.search(lined, r[0], min(r[1] + 1, r[0] + 2000))]
    return disjoint(found)


# --- indented code and headings -------------------------------------------------------------------------------------

_INDENTED: Final = lazy.pattern(r"(?:\n(?: {4}|\t)[ \t]*+[^\s][^\n]*+(?:\n[ \t]*+(?=\n(?: {4}|\t)))*+)++")
_LIST_ITEM: Final = lazy.pattern(r"\s*(?:[-*+•‣◦]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)])\s")
_CODE_SIGN: Final = lazy.pattern(r"[={}();<>\[\]]|:\n|\n[^\S\n]*+(?:#|//)")
_OPENERS: Final = (":", "{", "(", "[", ",", ";", "=", "\\", ">", "}", ")", "]")


def indented_code(lined: str) -> Iterator[Range]:
    """Lines indented by four blanks or a tab that follow a blank line or a line that opens a block; lists are excluded."""
    if "\n    " not in lined and "\n\t" not in lined:
        return
    for m in _INDENTED.finditer(lined):
        start = m.start()
        before = lined[lined.rfind("\n", 0, start) + 1 : start].rstrip() if start else ""
        if before and not before.endswith(_OPENERS):
            continue
        above = before or lined[max(0, start - 200) : start].rstrip().rpartition("\n")[2]
        if _LIST_ITEM.match(lined, start + 1, m.end()):
            continue
        if not (_LIST_ITEM.match(above) or before) or _CODE_SIGN.search(lined, start + 1, m.end()):
            yield start, m.end() - 1


_FRONT: Final = lazy.pattern(
    r"\n---[ \t]*+(?:\n(?!---[ \t]*+(?:\n|\Z))(?:[\w-]++[ \t]*+:|[ \t]|- |#)[^\n]*+){1,60}+\n---[ \t]*+(?=\n|\Z)"
)


def front_matter(lined: str) -> Iterator[Range]:
    """The settings in front of a page, between two lines of dashes."""
    if lined.startswith("\n---") and (found := _FRONT.match(lined)):
        yield found.start(), found.end() - 1


_ATX: Final = lazy.pattern(r"\n {0,3}#{1,6}[ \t]++[^\n]++")
_UNDERLINE: Final = lazy.pattern(r"\n(?:={3,}+|-{3,}+)[ \t]*+(?=\n|\Z)")


def headings(lined: str) -> list[Range]:
    """Markdown headings, with hashes or underlined."""
    found = list(_blocks_of(_ATX, lined)) if "#" in lined else []
    for m in _UNDERLINE.finditer(lined):
        above = lined.rfind("\n", 0, m.start())
        line = lined[above + 1 : m.start()]
        if above >= 0 and line.strip() and MASK not in line and len(line) < 200:
            found.append((above, m.end() - 1))
    return disjoint(found)
