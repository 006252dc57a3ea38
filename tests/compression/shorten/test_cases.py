"""Golden cases: a file per case under ``cases/<kind>/``, the text, a line of equal signs, what comes out.

The first line of a case names the function and its settings: ``facts keep=40 words=refund,charge`` or ``shape``. To accept what
the code does now, run with ``TURNFOLD_ACCEPT=1`` and read the diff.
"""

import os
from pathlib import Path

from tests.support.cases import each
from turnfold.compression.shorten.birth import shape
from turnfold.compression.shorten.registry import facts, facts_arguments
from turnfold.compression.tokens import count

CASES = Path(__file__).parent / "cases"
RULE = "\n==========\n"


def _run(head: str, text: str) -> str:
    name, *pairs = head.split()
    settings = dict(pair.split("=", 1) for pair in pairs)
    words = frozenset(filter(None, settings.get("words", "").split(",")))
    if name == "shape":
        return shape(text, count)
    if name == "arguments":
        return facts_arguments(text, int(settings["keep"]), count)
    return facts(text, int(settings["keep"]), words, count)


@each("path", sorted(CASES.glob("*/*.txt")))
def test_case(path: Path) -> None:
    given, _, wanted = path.read_bytes().decode().partition(RULE)
    head, _, text = given.partition("\n")
    got = _run(head, text)
    if os.environ.get("TURNFOLD_ACCEPT"):
        path.write_bytes(f"{head}\n{text}{RULE}{got}\n".encode())
    else:
        assert got + "\n" == wanted
    assert got == text or count(got) < count(text)
