"""Which lines use what another one binds at import: they say which tests are worth running over a change of it."""

from __future__ import annotations

from benchmarks.support.import_uses import Place, uses
from tests.support.cases import each

SOURCES = {
    "a/limits.py": "MOST = 3\nLEAST = 1\n_BOTH = (LEAST, MOST)\nclass Sizes:\n    deep: int = 4\n    wide: int = 5\n",
    "a/cut.py": "from a.limits import MOST\n\n\ndef cut(text):\n    return text[:MOST]\n",
    "a/count.py": "from a import limits\n\nTWICE = 2 * limits.MOST\n\n\ndef count(n, most=TWICE):\n    return n < TWICE\n",
    "a/read.py": "from a.limits import Sizes\n\n\ndef read(sizes: Sizes):\n    return sizes.deep\n",
    "a/other.py": "MOST = 7\n\n\ndef other():\n    return MOST\n",
}


@each(
    ("line", "found"),
    [
        (1, {("a/cut.py", 5), ("a/count.py", 7)}),
        (2, set()),
        (5, {("a/read.py", 5)}),
        (6, set()),
    ],
)
def test_lines_that_use_what_another_binds(line: int, found: set[Place]) -> None:
    assert uses("a/limits.py", line, SOURCES) == found


def test_a_default_is_used_where_its_function_runs() -> None:
    sources = {"a/cut.py": "def cut(text, most=3):\n    return text[:most]\n\n\ndef all_of(text):\n    return cut(text)\n"}
    assert uses("a/cut.py", 1, sources) == {("a/cut.py", 6)}
