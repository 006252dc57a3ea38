"""Lines that govern others: the head of a list above its items, a heading above its text.

This module finds them in text that is shown line by line. For sentences, ``statements`` does the same; which lines are shown is
decided in ``shorten.lines``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.ties.pieces import ITEM

_HEADING: Final = lazy.pattern(r"#{1,6} \S")
_COLONS: Final = (":", "：")
_LONGEST: Final = 300  # characters of a line that can be a head
_BULLETS: Final = frozenset("-*+•‣◦–([0123456789・●○■□◆◇（!▪▸►✓✔✗✘✅❌☑☐☒⚠⏳")
#: The mark in front of a remark in code, and what it says.
REMARK: Final = lazy.pattern(r"\s*(?:#(?!include|define|!)|//|/\*|--|;|<!--|%|REM\b)\s*(.*)")
#: The name of a section of settings in a line of its own, and a setting.
SECTION: Final = lazy.pattern(r"\[[^\[\]\n]{1,60}(?<=[\w.?!)\"'’])\][ \t\r]*(?:\n|\Z)")
SETTING: Final = lazy.pattern(r"[#;]?[ \t]*(?:[\w.-]+|\"[^\"\n]{1,80}\"|'[^'\n]{1,80}')[ \t]*[=:]")
_CLOCK: Final = r"\d{1,2}:\d\d(?::\d\d)?(?:[ \u202f]?[AaPp]\.?[Mm]\.?)?"
_CLOCKED: Final = lazy.pattern(r":(?<=\d:)\d\d")
_AGO_WORDS: Final = (" ago", "vor ", "il y a ", "hace ", "há ", " fa\n", " geleden", " temu", " назад", " önce")
#: "3 days ago", "5h ago", "vor 3 Tagen", as forums and comments have it.
AGO: Final = (
    r"(?:(?:about )?(?:\d{1,3}|an?) ?(?:s|sec|second|m|min|minute|h|hr|hour|d|day|w|wk|week|mo|month|y|yr|year)s? ago"
    r"|vor (?:\d{1,3}|eine[mr]?) [^\W\d_]{3,8}\.?|il y a (?:\d{1,3}|une?) [^\W\d_]{1,8}|hace (?:\d{1,3}|una?) [^\W\d_]{1,8}"
    r"|há (?:\d{1,3}|uma?) [^\W\d_]{1,8}|\d{1,3} [^\W\d_]{3,9} (?:fa|geleden|temu|назад|önce))"
)
#: What one of the lines holds that say who wrote what stands below them.
_SAYS_WHEN: Final = lazy.pattern(
    r":(?<=\d:)\d\d|\b(?:ago|vor \w+ \w{3,}|il y a \w+|hace \w+|há \w+|\d{1,3} [^\W\d_]{3,9} (?:fa|geleden|temu|назад|önce))\b"
)
#: Without one of these it is a time of day, which is found faster.
MAY_BE_AGO: Final = ("ago", "vor ", "il y a ", "hace ", "há ", " fa", " geleden", " temu", " назад", " önce")
_HANDLE: Final = r"(?:u/|/u/|@)[\w.-]{1,40}|\[deleted\]"
#: Emphasis, as exports of chats put it around names and times.
_STRESS: Final = r"(?:\*{1,3}|_{1,2}|`|</?(?:b|strong|em|i)>)?"
_TITLE: Final = rf"(?:#{{1,6}} )?{_STRESS}"
#: A line that says who wrote what stands below it, and when: "anna  10:02", "Maria Lopez  9:14 AM", "kai — Today at 14:02",
#: "**Kai** (14:02)", "### kai — 14:02", "u/oldstill · 3 days ago", "oldstill 3 days ago | parent | next [–]".
SPEAKER: Final = lazy.pattern(
    rf"{_TITLE}(?:{_HANDLE}|[^\W_][\w.-]*|[^\W\d_][\w.'’-]*(?: [\w.'’-]+){{1,3}}(?={_STRESS} [·•|—–-] ))(?: OP)?{_STRESS}"
    rf"[ \t\u00a0]*(?:[·•|—–-][ \t]*)?[ \t\u00a0]{_STRESS}{AGO}{_STRESS}"
    rf"(?:[ \t]*(?:\(edited\)|[·•|\[][^\n]{{0,40}}))?[ \t\r]*(?:\n|\Z)|"
    rf"{_TITLE}[^\W\d_][\w.'’@()-]*(?: [\w.'’@()-]+){{0,3}}(?:#\d{{4}})?:?{_STRESS}[ \t\u00a0]*"
    rf"(?:(?:[—–|·,-]|\bAPP\b)[ \t]*)?[ \t\u00a0]{_STRESS}"
    r"(?:\[?(?:Today at|Yesterday at|today at|yesterday at|heute um|gestern um|\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4},?(?: at)?)[ \t]+)?"
    rf"[\[(]?{_CLOCK}[\])]?:?{_STRESS}[ \t\r]*(?:\n|\Z)|"
    rf"{_TITLE}\[[^\]\n\d]{{0,20}}[\d/. -]{{0,12}},? ?{_CLOCK}\][ \t]+{_STRESS}"
    rf"[^\W\d_][\w.'’-]*(?:,? [\w.'’()-]+){{0,4}}:?{_STRESS}[ \t\r]*(?:\n|\Z)"
)
#: The same in two lines, as copied from a browser: "Anna Berg / 9:41 AM".
_TIME_ALONE: Final = lazy.pattern(rf"[ \t]*{_STRESS}(?:\[?{_CLOCK}\]?|(?:[·•][ \t]*)?{AGO}(?: \(edited\))?){_STRESS}[ \t\r]*")
_NAME_ALONE: Final = lazy.pattern(
    rf"{_STRESS}(?:(?:{_HANDLE})(?: OP)?|[^\W\d_][\w.'’-]*(?: [\w.'’()-]+){{0,3}}){_STRESS}[ \t\r]*"
)
_LONGEST_NAME: Final = 40  # characters
#: A field of a record in a line of its own: "Status: done".
FIELD: Final = lazy.pattern(r"(?P<name>[^\W\d_][\w .-]{0,30}?)[ \t]*[:=：](?=\s|\Z)")
_RECORDS: Final = 2  # so many are several
_ENDS: Final = (*".!?。！？",)
_STOPS: Final = (*".!。！",)  # a question may be what a list answers
_SHORTEST: Final = 3  # letters of a title
#: A block of settings begins, and a setting in it: ``location /admin {``, ``deny all;``, ``replicas = 3``.
_CHANGED: Final = "+-~/ "  # in front of what a plan adds, takes away or changes
_OPENING: Final = lazy.pattern(r"[A-Za-z_][^(){}=;]*\{")
_SET: Final = lazy.pattern(r"[A-Za-z_][\w.-]*(?:[ \t]*=(?!=)[^{};]*|[ \t]+[^(){}=]*;)(?:[ \t]*#.*)?")
_REMARKED: Final = 4  # lines of which a remark above them speaks at most
#: Words of a remark by which the line under it must not be taken for what it looks like.
_TELLING: Final = lexicon("ties")["remarks"]
_WORD: Final = lazy.pattern(r"[^\W\d_]+(?:'[^\W\d_]+)?")


def may_name_speakers(text: str) -> bool:
    """Whether a text may have lines that say who wrote the text below them, and when; a quick look decides for most texts."""
    return any(map(text.__contains__, _AGO_WORDS)) or _CLOCKED.search(text) is not None


def heads(lines: Sequence[str], *, headings: bool) -> dict[int, int]:
    """By index of a line, how far above it the line is without which it must not be read; lines that need none are left out.

    Args:
        headings: whether "# ..." is a heading; else it is a remark, and the first of several in a row is the head of the others.
    """
    if not any(line.rstrip().endswith(_COLONS) or line.startswith("#") or line.lstrip()[:1] in _BULLETS for line in lines):
        return {}
    found: dict[int, int] = {}
    heading = head = -1
    items: list[tuple[int, int]] = []  # the items that are open: how far each is indented, and which it is
    for i, line in enumerate(lines):
        body = line.strip()
        if not body:
            continue
        if _HEADING.match(line):
            if not headings and heading >= 0:
                found[i] = i - heading
            heading, head, items = (i if headings or heading < 0 else heading), -1, []
            continue
        if not headings:
            heading = -1
        indent = len(line) - len(line.lstrip())
        while items and items[-1][0] >= indent:
            items.pop()
        above = items[-1][1] if items else head
        if ITEM.match(line):
            items.append((indent, i))
        elif not items:
            above = -1
            head = i if len(line) <= _LONGEST and (body.endswith(_COLONS) or _is_listed_below(lines, i)) else -1
        above = above if above >= 0 else heading
        if above >= 0:
            found[i] = i - above
    return found


def _is_listed_below(lines: Sequence[str], i: int) -> bool:
    """Whether the next line with anything in it, at most one blank line below, is a list's item."""
    if lines[i].rstrip()[-1:] in _STOPS or len(lines[i].strip()) < _SHORTEST:
        return False
    below = next((line for line in lines[i + 1 : i + 3] if line.strip()), "")
    return below.lstrip()[:1] in _BULLETS and ITEM.match(below) is not None


def remarked(lines: Sequence[str]) -> dict[int, int]:
    """By index of a line, how far above it a remark is without which it must not be read: "# DO NOT", "-- old"."""
    found: dict[int, int] = {}
    remark = -1
    for i, line in enumerate(lines):
        said = REMARK.match(line)
        if said:
            telling = not _TELLING.isdisjoint(_WORD.findall(said[1].lower()))
            if remark == i - 1 and remark >= 0:
                found[i] = 1
            remark = i if telling or (remark == i - 1 and remark >= 0) else -1
        elif (
            not line.strip()
            or (remark >= 0 and i - remark > _REMARKED)
            or (remark >= 0 and _indent(line) < _indent(lines[remark]))
        ):
            remark = -1
        elif remark >= 0:
            found[i] = i - remark
    return found


def in_sections(lines: Sequence[str]) -> dict[int, int]:
    """By index of a setting, or a line just below one, how far above it the name of its section is: "[production]"."""
    found: dict[int, int] = {}
    section = -1
    close = False
    for i, line in enumerate(lines):
        close = close and bool(line.strip())
        if line.startswith("[") and SECTION.match(line):
            section, close = i, True
        elif section >= 0 and (close or SETTING.match(line)):
            found[i] = i - section
    return found


def opened(lines: Sequence[str]) -> dict[int, int]:
    """By index of a setting in braces, how far above it the line is that opens them: ``server {``, ``resource "x" "y" {``."""
    found: dict[int, int] = {}
    stack: list[int] = []  # the lines that opened what is open, -1 for what is no block of settings
    for i, line in enumerate(lines if any(line.endswith("{") for line in lines) else ()):
        body = line.strip().lstrip(_CHANGED)
        if body.startswith("}") and stack:
            stack.pop()
        elif stack and stack[-1] >= 0 and body:
            found[i] = i - stack[-1]
        if body.endswith("{"):
            stack.append(i if _OPENING.fullmatch(body) and _sets_below(lines, i) else -1)
    return found


def _sets_below(lines: Sequence[str], i: int) -> bool:
    """Whether the next line with anything in it but a remark is a setting, or another block of settings."""
    below = (line.strip() for line in lines[i + 1 : i + 1 + _REMARKED] if line.strip() and not REMARK.match(line))
    first = next(below, "")
    return bool(_SET.fullmatch(first) or _OPENING.fullmatch(first))


def in_records(lines: Sequence[str]) -> dict[int, int]:
    """By index of a field, how far above it the first field of its record is; nothing if the first name does not recur.

    "Status: done" below the task of another record would be taken for that task's.
    """
    named = {i: m["name"].lower() for i, line in enumerate(lines) if (m := FIELD.match(line))}
    first = next(iter(named.values()), "")
    if sum(name == first for name in named.values()) < _RECORDS:
        return {}
    found: dict[int, int] = {}
    begun = -1
    for i, name in named.items():
        if name == first:
            begun = i
        else:
            found[i] = i - begun
    return found


def lines_with_times(text: str, lines: Sequence[str]) -> list[int]:
    """Indices of the lines of a text that may say when something was written, for those below."""
    when = _SAYS_WHEN if any(map(text.__contains__, MAY_BE_AGO)) else _CLOCKED
    return [i for i, line in enumerate(lines) if len(line) <= _LONGEST and when.search(line)]


def speaker_lines(lines: Sequence[str], timed: Iterable[int]) -> frozenset[int]:
    """Indices of the lines that say who wrote those below them; none where two follow on each other, as in a timetable."""
    at = frozenset(i for i in timed if SPEAKER.match(lines[i]))
    return at if len(at) >= _RECORDS and all(_has_words_below(lines, i, at) for i in at) else frozenset()


def _has_words_below(lines: Sequence[str], i: int, at: Set[int]) -> bool:
    """Whether a line that names a speaker is followed by text, with at most one blank line between if it says how long ago."""
    below = i + 1
    if below < len(lines) and not lines[below].strip() and not _CLOCKED.search(lines[i]):
        below += 1
    return below < len(lines) and below not in at and bool(lines[below].strip())


def named_above(lines: Sequence[str], timed: Iterable[int]) -> frozenset[int]:
    """Indices of the lines that name the writer of the lines below, if the next line gives the time; none for a single one."""
    times = (i for i in timed if i and _TIME_ALONE.fullmatch(lines[i]))
    at = frozenset(i - 1 for i in times if _NAME_ALONE.fullmatch(lines[i - 1]))
    return at if len(at) >= _RECORDS else frozenset()


def is_name_alone(line: str) -> bool:
    """Whether a line may be the name of somebody, and no more."""
    return len(line) <= _LONGEST_NAME and _NAME_ALONE.fullmatch(line) is not None and not line.rstrip().endswith(_ENDS)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
