"""Stack traces: the error, the first and last frames, frames of the user's own code.

This module says what frames are worth in Python, JavaScript, Java, Go and Rust. Nothing is unwound or symbolised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.shorten.kinds.plain import template
from turnfold.compression.shorten.lines import WeighedLine, short_lines

_FRAME: Final = lazy.pattern(r"\s+(?:File \"|at |\d+: )|\S[^\s(]*+\(.*\)(?:\n|$)|\t\S+\.go:\d+")
_FOREIGN: Final = lazy.pattern(
    r"site-packages|dist-packages|node_modules|/lib/python|<frozen |node:internal|/rustc/|/usr/|(?:java|javax|sun|jdk"
    r"|org\.springframework|org\.junit)\.|\bruntime[./]|^\s+\d+: (?:core|std|alloc|rust_begin|__rust)|/go/src/"
)
_OPENS: Final = lazy.pattern(r"Traceback|goroutine |During handling|The above exception|stack backtrace|note: |Stack trace")
_GO_PLACE: Final = lazy.pattern(r"\t\S+\.(?:go|s):\d+")
_RUST: Final = lazy.pattern(r"\s+\d+: ")
_RUST_PLACE: Final = lazy.pattern(r"\s+at \S+:\d+:\d+$")
_CARETS: Final = lazy.pattern(r"[\s^~]*$")


def _row(line: str, foreign: bool, end: bool) -> WeighedLine:
    if _OPENS.match(line):
        return WeighedLine(line, weight=0.5, like=template(line), unmarked=True)
    if line[:1].isspace() or _FRAME.match(line):
        return WeighedLine(
            line,
            weight=(0.3 if end else -0.6) if foreign else 1.5,
            scale=0.2 if foreign else 1.0,
            like="foreign" if foreign else "",
            lines=1 + line.count("\n"),
            unmarked=True,
        )
    return WeighedLine(line, weight=3, evidence=3, unmarked=True)


def _belongs(line: str, before: str) -> bool:
    """Whether a line continues the one before it: a frame's location or source, or the message of a Rust panic."""
    if before.startswith("thread '"):
        return before.endswith(":")
    if before.lstrip().startswith('File "'):
        return line.startswith("    ")
    return bool(_GO_PLACE.match(line) or (_RUST_PLACE.match(line) and _RUST.match(before)))


def _pair_lines(lines: Sequence[str]) -> list[str]:
    """Lines joined with their continuations, without caret lines."""
    out: list[str] = []
    for line in lines:
        if _CARETS.match(line):
            continue
        if out and "\n" not in out[-1] and _belongs(line, out[-1]):
            out[-1] += "\n" + line
        else:
            out.append(line)
    return out


def rows(text: str) -> list[WeighedLine]:
    """One line per frame, with its source; frames in libraries are worth little."""
    lines = _pair_lines(short_lines(text))
    frames = [i for i, line in enumerate(lines) if _FRAME.match(line)]
    ends = {frames[0], frames[-1]} if frames else set()
    return [_row(line, foreign=bool(_FOREIGN.search(line)), end=i in ends) for i, line in enumerate(lines)]
