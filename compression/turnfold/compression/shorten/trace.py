"""Stack traces: the error, the first and last frames, frames of the user's own code.

Lives here: what a frame is worth in Python, JavaScript, Java, Go and Rust. Must not: unwinding or symbolising anything.
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression.shorten.lines import Row
from turnfold.compression.shorten.plain import template

_FRAME: Final = re.compile(r"\s+(?:File \"|at |\d+: )|\S+\(.*\)$|\t\S+\.go:\d+")
_FOREIGN: Final = re.compile(
    r"site-packages|dist-packages|node_modules|/lib/python|<frozen |node:internal|/rustc/|/usr/|(?:java|javax|sun|jdk|org\.springframework|org\.junit)\.|runtime[./]"
)
_OPENS: Final = re.compile(r"Traceback|goroutine |thread '|Exception in|During handling|The above exception|stack backtrace|Stack trace")
_CARETS: Final = re.compile(r"[\s^~]*$")


def _row(line: str, foreign: bool) -> Row:
    if _CARETS.match(line):
        return Row(line, weight=-1)
    if _OPENS.match(line):
        return Row(line, weight=1.0, evidence=1, like=template(line))
    if line[:1].isspace() or _FRAME.match(line):
        return Row(line, weight=-0.6 if foreign else 0.8, like="foreign" if foreign else "")
    return Row(line, weight=3, evidence=3)


def rows(text: str) -> list[Row]:
    """Every line; a source line shares the worth of the frame above it."""
    out: list[Row] = []
    foreign = False
    lines = text.rstrip("\n").split("\n")
    frames = [i for i, line in enumerate(lines) if _FRAME.match(line)]
    ends = {frames[0], frames[-1]} if frames else set()
    for i, line in enumerate(lines):
        if _FRAME.match(line):
            foreign = bool(_FOREIGN.search(line)) and i not in ends
        out.append(_row(line, foreign))
    return out
