"""The kind that a single line looks like.

It is a table of patterns; the vote over them is in ``text.kinds``. `plain` is program output without a more specific kind,
`commits` is a commit log.
"""

from __future__ import annotations

from typing import Final

from turnfold.compression import lazy
from turnfold.compression.memo import remembering
from turnfold.compression.text.lower import MARKS

LONGEST_LINE: Final = 300  # characters of a line that its mark is sought in
#: The time with which lines of logs begin: "2026-01-02 10:11", "Jan  2 10:11:12", "01-02 10:11:12.123", "10:11:12".
STAMP: Final = (
    r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\[?\w{3} [ \d]\d \d\d:\d\d:\d\d|\[?\d\d:\d\d:\d\d\b"
    r"|\[?(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]?\d|\d\d[-/. ](?:\d\d|[A-Z][a-z]{2})(?:[-/. ]\d{4})?|\d{8})[T ]\d\d:\d\d:\d\d"
)
#: What an opening line says about the lines behind it, tried in order. Every pattern is anchored and without nested repeats.
_MARKS: Final = lazy.pattern(
    "|".join(
        f"(?P<{kind}>{pattern})"
        for kind, pattern in (
            ("diff", r"diff --git |--- (?:a/|/dev/null|\S+\t)|\+\+\+ (?:b/|/dev/null|\S+\t)|@@ -\d+"),
            (
                "trace",
                r"Traceback \(most recent|\s+File \"[^\"]*\", line \d+|\s+at [\w.$<>/@-]+[ (]|\s+at .{1,200}:\d+:\d+\)?$"
                r"|goroutine \d+ \[|thread '[^']*' (?:\(\d+\) )?panicked|Caused by: |Exception in thread"
                r"|\s+\d+: (?:0x[\da-f]+ - )?\w+::"
                r"|stack backtrace:",
            ),
            (
                "binary",
                r"(?=[A-Za-z0-9+/=_-]{60,}$)(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=\D*\d)."
                r"|(?:[0-9a-f]{2}){32,}$|[\da-f]{6,8}:? +(?:[\da-f]{2,4} ){4,}",
            ),
            (
                "tests",
                r"={3,} .{1,120} ={3,}$|_{3,} .{1,120} _{3,}$|(?:PASS|FAIL|FAILED|PASSED|XFAIL|SKIPPED|ERROR):? [\w./\\-]+"
                r"|--- (?:PASS|FAIL|SKIP): |=== (?:RUN|PAUSE|CONT) |(?:not )?ok \d+ |ok  \t|test \S+ \.\.\. "
                r"|\w+ \([\w.]+\)(?: \.\.\. |$)"
                r"|\S+::\S+ (?:PASSED|FAILED|ERROR|SKIPPED)|\S+\.py [.FEsxX]{2,}|Ran \d+ tests? |collected \d+ item"
                r"|\s+[✓✔✗✘×√] |[✓✔✗✘×√] [^\n]{0,200}(?:\d ?m?s\)|::|\.\w{1,4}\b)"
                r"|[\w\[\]\-]+ (?:ok|F|E|f|s)$|E   ",
            ),
            (
                "log",
                rf"{STAMP}"
                r"|\S+ \S+ \S+ \[\d\d/\w{3}/\d{4}:"
                r"|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b|(?:time|ts|level)=|[DIWEF]\d{4} \d\d:",
            ),
            (
                "search",
                r"(?![\w./@+-]+:\d+:?\s*$)"
                r"(?:[\w.@+-]+:)?[\w./@+ -]{0,200}[\w]\.\w{1,8}[:-]\d+[:-]|[\w./@+-]*/[\w./@+-]+:.|\d+[:-](?:\s|\S)",
            ),
            (
                "listing",
                r"[-dlbcps][rwxsStT-]{9}[ +@.]|\d{6} (?:blob|tree|commit) |[│|├└ ]*[├└│|`+][─-]{2}|(?:total \d+)$"
                r"|\.{0,2}/?[\w.@+-]+(?:/[\w.@+-]+)+/?$|[\d.]+[KMGT]?\t[\w./@+-]+$",
            ),
            ("table", r"\s*\|.*\|\s*$|\s*[+|][-+=:| ]{6,}$"),
            (
                "html",
                r"\s*</?(?:div|span|p|a|ul|li|td|tr|table|head|body|html|script|style|meta|link|h[1-6]|img|input|button"
                r"|nav)\b|\s*<!DOCTYPE html",
            ),
            ("xml", r"\s*<\?xml |\s*</?[\w:.-]+(?: [\w:.-]+=\"[^\"]*\")*\s*/?>(?!:)"),
            (
                "code",
                r"\s*\d+(?:\t|→|\s*\| )|\s*(?:def|class|async|import|from|return|if|elif|else|for|while|try|except|finally"
                r"|with|raise|yield|assert|pass"
                r"|function|const|let|var|export|public|private|protected|static|func|fn|impl|struct|enum|interface|type"
                r"|package|use|mod|pub"
                r"|switch|case|break|continue|throw|catch|new|void|int|#include|#define|using|namespace|template|end|do|begin"
                r"|module)\b.*[:;{}(),]\s*(?://.*|#.*)?$"
                r"|\s*(?:from \S+ )?import (?:[\w.*]+(?:$|[,;]| as )|[\w{(*\"'].* from |[\"'({])"
                r"|(?!##{1,5} [^\W\d_])\s*(?:#|//|/\*|\*/|\"\"\"|''')|(?:  |\t)* \*(?:\s|/|$)|\s*@\w+"
                r"|.*[;{}(\[]\s*$|.*[)\]}],\s*$"
                r"|\s*[)}\]]+[;,:]?\s*$"
                r"|\s+[\w.\[\]'\"]+ [-+*/|&]?= .",
            ),
            ("plain", r"(?:make|g?cc|c\+\+|ld|sh|bash|npm|error|warning|note|fatal)(?:\[\d+\]|\[\w+\])?: "),
            (
                "yaml",
                r"\s*(?:- )?[\w./\"'-]+:(?: \S.*)?$|---$|\s*- [\w\"']|[\w.-]+ = \S|\[{1,2}[\w.\" -]+\]{1,2}$",
            ),
            ("markdown", r"#{1,6} |\s*[-*+] |\s*\d+\. |> |\*\*"),
            (
                "prose",
                rf"\s*[\"'“‘(*_]*[^\W\d_][\w{MARKS}'’-]*[,;:]?"
                rf"(?: [\"'“‘(*_]*(?:[^\W\d_][\w{MARKS}'’-]*|\d+|[-–—&])[.,;:!?)\"'”’*_]*){{5,}}",
            ),
        )
    )
)
#: Every kind that a text can be.
KINDS: Final = frozenset({*_MARKS.groupindex, "csv", "fence", "commits", "json", "jsonl"})
#: A label in front of what stands on its line: "Observation: ...", "**Result:** ...".
LABEL: Final = lazy.pattern(r"\s*[*_]{0,4}[^\W\d_][\w ]{0,38}:[*_]{0,4}[ \t]+(?=\S)")
_LONG_VALUE: Final = 160  # characters of a line up to which it is read as a key with its value
_SENTENCE_ENDED: Final = lazy.pattern(r"[.!?]\s")


@remembering  # lines vote, and are asked again one by one
def mark(line: str) -> str:
    """The kind that a single line looks like; "" for none."""
    found = _MARKS.match(line[:LONGEST_LINE])
    kind = (found.lastgroup or "") if found else ""
    if kind in ("yaml", "code") and len(line) > _LONG_VALUE and (label := LABEL.match(line)) and _says_more(line, label.end()):
        return "prose"
    return kind


def _says_more(line: str, start: int) -> bool:
    """Whether several sentences follow the label of a line: what a tool reports ("Observation: ..."), or a person."""
    found = _MARKS.match(line[start : start + LONGEST_LINE])
    return (
        found is not None and found.lastgroup == "prose" and len(_SENTENCE_ENDED.findall(line, start, start + LONGEST_LINE)) > 1
    )
