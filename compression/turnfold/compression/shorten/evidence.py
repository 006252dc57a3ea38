"""Lines that should survive any shortening: failures, warnings, outcomes.

The patterns that mark such lines, as data. How lines are chosen is up to ``lines``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.spans import STOPS

_OUTCOME: Final = lazy.pattern(
    r"\b(?:exit(?:ed)?(?: with)?(?: status| code)?|status(?: code)?|return ?code|rc|errno)\b[^\n\w]{0,4}(\d+)"
    r"|\b\d+ (?:passed|failed|errors?|warnings?|skipped|failures?|tests?|insertions?|deletions?|files? changed|problems?)\b"
    r"|^(?:OK|FAILED|PASSED|Ran|Done|Success\w*|Finished|Command)\b"
    r"|\bbuild (?:succeeded|failed|successful)\b",
    re.IGNORECASE,
)
_GRAVE_WORDS: Final = (
    "error", "exception", "fatal", "panic", "fail", "critical", "traceback", "denied", "refused", "timed out", "timeout",
    "abort", "not found", "no such", "cannot ", "can't ", "could not", "undefined", "unresolved", "segfault", "segmentation",
    "killed", "invalid", "unable to", "✗", "✘", "❌", "unreachable", "unavailable", "unhealthy", "deadlock", "crashed",
    "rejected", "violates", "mismatch", "exceeded", "out of memory", "disk full", "no space left", "core dumped", "bad gateway",
    "npm err!", "lost connection", "connection lost",
    "fehler", "fehlgeschlagen", "abbruch", "erreur", "échec", "échou", "falló", "fallo ", "fallid", "falha", "falhou", "fallit",
    "błąd", "ошибк", "сбой", "отказ", "не удалось", "помилк", "σφάλμα", "başarısız", "错误", "錯誤", "失败", "失敗", "异常",
    "異常", "エラー", "例外", "오류", "실패", "에러", "خطأ", "فشل", "خطا ", "שגיאה", "त्रुटि", "विफल", "ข้อผิดพลาด", "ล้มเหลว", "lỗi",
)  # fmt: skip
_MILD_WORDS: Final = ("warn", "deprecat", "conflict", "missing", "skipp", "retry", "rollback", "corrupt", "leak")
_GRAVE: Final = lazy.pattern("|".join(word if word != "fail" else "failed|failure" for word in _GRAVE_WORDS))
_MILD: Final = lazy.pattern("|".join(_MILD_WORDS))
#: The location in a compiler's or linter's message; the line before it says what is wrong.
_PLACE: Final = lazy.pattern(r" *--> \S+:\d+")
#: Rows of a table with a rare value: this few are exceptions that a reader looks for; of more, none stands out.
MOST_ODD: Final = 3
_RARE: Final = 0.05  # share of the settings of one name up to which a value is rare; and of lines, a failure
_FAILURE: Final = 3
_SENTENCE_ENDS: Final = frozenset(("", *f".!?:…。！？：{STOPS}"))
_SETTINGS: Final = 10  # settings of a name for each distinct value, from which its values are few
_MOST_COLUMNS: Final = 60
_AGREEING, _MOSTLY = 6, 0.6  # fewest rows, and the share of them that must agree in a column
_COLUMNS: Final = 3  # fewest columns of output under a header
_ALIGNED: Final = 0.9  # share of the lines below a header that are its rows, with figures
_HARMLESS: Final = lazy.pattern(r"\b(?:0|no) (?:errors?|failures?|failed|warnings?|exceptions?)\b|without (?:errors?|failure)")


def is_outcome(line: str) -> bool:
    """Whether a line says how a program ended: an exit code or totals."""
    return _OUTCOME.search(line) is not None


def grade(line: str) -> int:
    """The importance of an output line: 3 a failure, 2 an outcome, 1 a warning, 0 none of these."""
    lower = line.lower()
    if (_GRAVE.search(lower) and not _HARMLESS.search(lower)) or _PLACE.match(line):
        return 3
    if _OUTCOME.search(line):
        return 2
    return 1 if _MILD.search(lower) else 0


#: Anything that `grade` can match; other lines need no closer look. Searching for one word after the other is several times
#: faster than one pattern for all, and most words do not occur at all.
_TRIGGERS: Final = (
    *_GRAVE_WORDS, *_MILD_WORDS, "exit", "status", "return code", "returncode", "errno", "build ", "--> ",
    "\nrc", " rc", "(rc", ",rc", "[rc", "\"rc", "\nok", "\npassed", "\nran", "\ndone", "\nsuccess", "\nfinished", "\ncommand",
)  # fmt: skip
_COUNTED: Final = lazy.pattern(r"[0-9] (?:passed|test|insert|delet|file|problem)")


def _hits(lower: str, starts: Sequence[int]) -> Iterator[int]:
    """Indices of lines with a trigger, possibly repeated; `starts` also includes the start of a line after the last."""
    for trigger in _TRIGGERS:
        at = lower.find(trigger)
        while at >= 0:
            index = bisect_right(starts, at + len(trigger) - 1) - 1
            yield index
            at = lower.find(trigger, starts[index + 1] - 1)
    for hit in _COUNTED.finditer(lower):
        yield bisect_right(starts, hit.start()) - 1


def grades(lines: Sequence[str]) -> list[int]:
    """`grade` of each line, in few passes over the text; only likely lines are examined closely."""
    text = "\n" + "\n".join(lines)
    lower = text.lower()
    if len(lower) != len(text):  # some capital becomes two lower-case letters, so positions differ
        return [grade(line) for line in lines]
    starts = list(accumulate((len(line) + 1 for line in lines), initial=1))
    out = [0] * len(lines)
    for index in set(_hits(lower, starts)):
        out[index] = grade(lines[index])
    return out


def lone_failures(pieces: Sequence[str]) -> list[int]:
    """Indices of the few lines that report a failure among twenty times as many that do not; sentences are no such lines."""
    lines = [i for i, piece in enumerate(pieces) if piece.rstrip()[-1:] not in _SENTENCE_ENDS]
    failures = [i for i, one in zip(lines, grades([pieces[i].strip() for i in lines]), strict=True) if one == _FAILURE]
    return failures if len(failures) <= MOST_ODD and len(failures) <= _RARE * len(lines) else []


#: A line without the white space around it that gives a name a value: "replicas: 3", `instance_type = "t3.micro",`.
_SETTING: Final = lazy.pattern(r"(?:- )?[\"']?([A-Za-z][\w.-]*+)[\"']?\s*+(?::\s|=)\s*+(\S.{0,80}?)[,;]?\Z")


def odd_settings(lines: Sequence[str]) -> set[int]:
    """Indices of settings whose value differs from nearly all others of that name; empty if there are more than `MOST_ODD`."""
    named: dict[str, dict[str, list[int]]] = {}
    for i, line in enumerate(lines):
        if found := _SETTING.match(line.strip()):
            named.setdefault(found[1], {}).setdefault(found[2], []).append(i)
    odd: set[int] = set()
    for values in named.values():
        total = sum(map(len, values.values()))
        if 1 < len(values) <= max(2, total // _SETTINGS):
            odd.update(i for places in values.values() if len(places) <= _RARE * total for i in places)
    return odd if len(odd) <= MOST_ODD else set()


def odd_cells(records: Sequence[Sequence[str]]) -> dict[int, frozenset[str]]:
    """The rare values of each column with few values, and the unique values of a column in which nearly all rows agree."""
    usual = Counter(map(len, records)).most_common(1)[0][0] if records else 0
    full = [record for record in records if len(record) == usual]
    rare, few = len(records) * _RARE, max(2, len(records) // 10)
    out: dict[int, frozenset[str]] = {}
    for i, column in enumerate(zip(*full, strict=True)):
        if i >= _MOST_COLUMNS:
            break
        counts = Counter(column)
        agreed = len(full) >= _AGREEING and counts.most_common(1)[0][1] >= _MOSTLY * len(full)
        if agreed or 1 < len(counts) <= few:
            out[i] = frozenset(cell for cell in counts if counts[cell] <= max(rare, int(agreed)))
    return {i: cells for i, cells in out.items() if cells}


def odd_rows(lines: Sequence[str]) -> set[int]:
    """Indices of the lines below a header with a rare value in its column: `ps`, `kubectl get pods`; empty if they are many."""
    header = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    names = lines[header].split() if header < len(lines) else []
    if len(names) < _COLUMNS or any(name[:1].isdecimal() for name in names):
        return set()
    records = {i: line.split(None, len(names) - 1) for i, line in enumerate(lines) if i > header and line.strip()}
    full = {i: cells for i, cells in records.items() if len(cells) == len(names) and any(map(str.isdecimal, lines[i]))}
    if len(full) < max(_AGREEING, _ALIGNED * len(records)):
        return set()
    odd = odd_cells([*full.values()])
    found = {i for i, cells in full.items() if any(cells[at] in rare for at, rare in odd.items())}
    return found if len(found) <= MOST_ODD else set()


def with_messages(lines: Sequence[str], found: Sequence[int]) -> list[int]:
    """Grades in which the message above a failure's location has the location's grade."""
    return [
        3 if i + 1 < len(lines) and found[i + 1] == 3 and line.strip() and _PLACE.match(lines[i + 1]) else found[i]
        for i, line in enumerate(lines)
    ]


def graded_lines(found: Sequence[int]) -> Iterator[int]:
    """Indices of lines whose grade is not 0."""
    return (i for i, one in enumerate(found) if one)
