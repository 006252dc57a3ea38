"""Folds whose forwarded bytes are on file, so that a test that looks at a part of one notices any change of it.

It folds a request and compares what is forwarded with what it was. Outputs that are written out whole are in ``golden``; requests
that are drawn at random have no file.

A test of recall says what a question must get, and nothing of the rest: which other passages stand beside it, in which order, cut
where. The file has a line for every such request: a short name of it, one of what is forwarded. A request that it does not have
is not compared. As for the files of ``golden``, where a change of the output is meant, write the lines anew with

    TURNFOLD_ACCEPT=1 python -m pytest -n 2 tests/compression/fold tests/compression/recall

after reading what has changed in the outputs that are written out. Delete the file before that to drop what no test folds any
more.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final

from tests.support.golden import name_of
from turnfold.compression.fold import Folded
from turnfold.compression.fold import fold_request as fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions

_FILE: Final = Path(__file__).parents[1] / "compression" / "golden" / "folds.txt"
#: Read here, since tests of the command line empty the environment.
_ACCEPTS: Final = bool(os.environ.get("TURNFOLD_ACCEPT"))


def fold_request(body: bytes, options: FoldOptions, memo: Memo) -> Folded:
    """`turnfold.compression.fold.fold_request`; fails where what is forwarded is on file and differs."""
    folded = fold(body, options, memo)
    name, now = name_of(f"{name_of(body)} {options}"), name_of(folded.body)
    known = _known().get(name)
    if _ACCEPTS and known != now:
        with _FILE.open("ab", buffering=0) as lines:  # several processes write it: the last line for a request counts
            lines.write(f"{name} {now}\n".encode())
        _known()[name] = now
    else:
        assert known in (None, now), f"what is forwarded differs from what {_FILE.name} has of it (see {__name__})"
    return folded


@cache
def _known() -> dict[str, str]:
    lines = _FILE.read_text("ascii").splitlines() if _FILE.exists() else []
    return dict(line.split(" ", 1) for line in lines)
