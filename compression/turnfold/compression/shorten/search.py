"""Results of a search: hits grouped under their file, every file named, hits that say something new first.

Lives here: reading `path:line:text`, `path-line-text`, `path:text` and `line:text`. Must not: the meaning of a hit.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final

from turnfold.compression.shorten.lines import Row, short_lines

_HIT: Final = re.compile(r"((?:[\w.@+-]+:)?[\w./@+-]*[\w/]):(\d+)[:-](.*)|()(\d+)[:-](.*)|([\w./@+-]*[/.][\w./@+-]+):()(.*)")


def _split(line: str) -> tuple[str, str]:
    """A line's file and the rest of it, number included; ("", line) where there is no file."""
    hit = _HIT.match(line)
    if hit is None or hit[4] is not None:
        return "", line
    if hit[1] is not None:
        return hit[1], f"{hit[2]}:{hit[3]}"
    return hit[7], hit[9]


def rows(text: str) -> list[Row]:
    """Per file a heading with the number of its hits, and the hits under it without the repeated path."""
    split = [_split(line) for line in short_lines(text)]
    out: list[Row] = []
    for path, run in groupby(split, key=lambda pair: pair[0]):
        hits = [rest for _, rest in run]
        if len(hits) == 1 or not path:
            numbered = bool(path) or hits[0][:1].isdigit()
            out.extend(Row(f"{path}:{hit}" if path else hit, weight=0.8, unmarked=numbered) for hit in hits)
            continue
        out.append(Row(f"{path} ({len(hits)})", weight=1.0, lines=0, unmarked=True))
        out.extend(Row(f" {hit}", weight=1.0 if i == 1 else 0.3, unmarked=True, under=i) for i, hit in enumerate(hits, 1))
    return out
