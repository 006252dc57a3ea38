"""Lines that no shortening may lose: failures, warnings, outcomes.

Lives here: what marks such a line, as data. Must not: how lines are chosen.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

_OUTCOME: Final = re.compile(
    r"\b(?:exit(?:ed)?(?: with)?(?: status| code)?|status(?: code)?|return ?code|rc|errno)\b[^\n\w]{0,4}(\d+)"
    r"|\b\d+ (?:passed|failed|errors?|warnings?|skipped|failures?|tests?|insertions?|deletions?|files? changed|problems?)\b"
    r"|^(?:OK|FAILED|PASSED|Ran|Done|Success\w*|Finished|Command)\b"
    r"|\bbuild (?:succeeded|failed|successful)\b",
    re.IGNORECASE,
)
_GRAVE: Final = re.compile(
    r"error|exception|fatal|panic|failed|failure|critical|traceback|denied|refused|timed out|timeout|abort|not found|no such|"
    r"cannot |can't |could not|undefined|unresolved|segfault|segmentation|killed|invalid|unable to|✗|✘|❌"
)
_MILD: Final = re.compile(r"warn|deprecat|conflict|missing|skipp|retry|rollback|corrupt|leak")
_HARMLESS: Final = re.compile(r"\b(?:0|no) (?:errors?|failures?|failed|warnings?|exceptions?)\b|without (?:errors?|failure)")


def grade(line: str) -> int:
    """How sorely a line of output must be kept: 3 a failure, 2 an outcome, 1 a warning, 0 none of these."""
    lower = line.lower()
    if _GRAVE.search(lower) and not _HARMLESS.search(lower):
        return 3
    if _OUTCOME.search(line):
        return 2
    return 1 if _MILD.search(lower) else 0


#: Whatever `grade` can answer to; lines without any of it need no closer look.
_TRIGGER: Final = re.compile(
    _GRAVE.pattern
    + "|"
    + _MILD.pattern
    + r"|exit|status|return ?code|\brc\b|errno|\d (?:passed|test|insert|delet|file|problem)|\n(?:ok|passed|ran|done|success"
    r"|finished|command)" + "|build "
)


def grades(lines: Sequence[str]) -> list[int]:
    """`grade` of each line, in one pass over the text that only looks closely where something is to be found."""
    text = "\n" + "\n".join(lines)
    lower = text.lower()
    if len(lower) != len(text):  # some capital is two small letters: places would not agree
        return [grade(line) for line in lines]
    starts = list(accumulate((len(line) + 1 for line in lines), initial=1))
    out = [0] * len(lines)
    hit = _TRIGGER.search(lower)
    while hit:
        index = min(bisect_right(starts, max(hit.start(), hit.end() - 1)) - 1, len(lines) - 1)
        out[index] = grade(lines[index])
        hit = _TRIGGER.search(lower, starts[index + 1] - 1)
    return out
