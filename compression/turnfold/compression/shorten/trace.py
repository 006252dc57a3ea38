"""Stack traces: the error, the first and last frames, frames of the user's own code.

Lives here: what a frame is worth in Python, JavaScript, Java, Go and Rust. Must not: unwinding or symbolising anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from turnfold.compression.shorten.lines import Row, short_lines
from turnfold.compression.shorten.plain import template

_FRAME: Final = re.compile(r"\s+(?:File \"|at |\d+: )|\S+\(.*\)$|\t\S+\.go:\d+")
_FOREIGN: Final = re.compile(
    r"site-packages|dist-packages|node_modules|/lib/python|<frozen |node:internal|/rustc/|/usr/|(?:java|javax|sun|jdk"
    r"|org\.springframework|org\.junit)\.|runtime[./]"
)
_OPENS: Final = re.compile(r"Traceback|goroutine |During handling|The above exception|stack backtrace|Stack trace")
_CARETS: Final = re.compile(r"[\s^~]*$")


def _row(line: str, foreign: bool) -> Row:
    if _OPENS.match(line):
        return Row(line, weight=0.5, like=template(line), unmarked=True)
    if line[:1].isspace() or _FRAME.match(line):
        return Row(
            line, weight=-0.6 if foreign else 0.8, like="foreign" if foreign else "", lines=1 + line.count("\n"), unmarked=True
        )
    return Row(line, weight=3, evidence=3, unmarked=True)


def _paired(lines: Sequence[str]) -> list[str]:
    """Lines with the source line of a Python frame put behind its frame, carets taken out."""
    out: list[str] = []
    for line in lines:
        if _CARETS.match(line):
            continue
        if out and out[-1].startswith("thread '") and out[-1].endswith(":") and "\n" not in out[-1]:
            out[-1] += "\n" + line  # what a Rust panic said
        elif out and out[-1].lstrip().startswith('File "') and "\n" not in out[-1] and line.startswith("    "):
            out[-1] += "\n" + line
        else:
            out.append(line)
    return out


def rows(text: str) -> list[Row]:
    """A row per frame, its source line with it; frames of libraries are worth little, except the last."""
    lines = _paired(short_lines(text))
    frames = [i for i, line in enumerate(lines) if _FRAME.match(line)]
    ends = {frames[0], frames[-1]} if frames else set()
    return [_row(line, foreign=bool(_FOREIGN.search(line)) and i not in ends) for i, line in enumerate(lines)]
