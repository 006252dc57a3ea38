"""Material that is handed over once and needed later: the tables of a database, the routes of an API.

This module tells which kind of it a request needs, and where a text holds it. Which of it is quoted is decided in
``recall.wholes.materials``. Texts that are asked for themselves are in ``works``, single words in ``lexicon/materials.txt``.

"SQL for revenue by month" shares no word with ``CREATE TABLE order_lines``, and without the tables the answer makes up columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.words import is_function_word, words

_LONGEST: Final = 600  # characters of a request; a longer one contains what it needs
_MOST_STATEMENT: Final = 6_000  # characters of the definition of a table


class Material(NamedTuple):
    """A piece of handed-over material: its kind, the name it defines, and its range. A newer piece with the same name replaces
    it.
    """

    kind: str
    name: str
    place: Range


_ASKS: Final = {
    kind: lazy.pattern(rf"\b(?:{one_of('materials', kind)})\b|{one_of('materials', f'{kind} run-on')}")
    for kind in ("tables", "routes")
}
_CODE: Final = lazy.pattern(rf"\b(?:{one_of('materials', 'code')})\b|{one_of('materials', 'code run-on')}")
_ALL_CODE: Final = lazy.pattern(rf"\b(?:{one_of('materials', 'all code')})\b|{one_of('materials', 'all code run-on')}")
_GENERAL: Final = frozenset(
    word for section in ("code", "general") for phrase in lexicon("materials")[section] for word in phrase.split("_")
)
_TABLE: Final = lazy.pattern(
    r"^[^\S\n]*(?:create\s+(?:temp(?:orary)?\s+)?(?:table|view|materialized view|type)\s+(?:if\s+not\s+exists\s+)?"
    r"|(?:model|table)\s+(?=\w+\s*\{)|alter\s+table\s+(?:only\s+)?)([\w.\"`\[\]]{1,80})",
    re.IGNORECASE | re.MULTILINE,
)
_STATEMENT_END: Final = lazy.pattern(r";|^[^\S\n]*[)}]|\n[^\S\n]*\n|^```", re.MULTILINE)
_ROUTE: Final = lazy.pattern(
    r"^[^\S\n]*(?:(?:[-*•]|\d+[.)]|[|`])[^\S\n]*+)*+"
    r"(?:GET|POST|PUT|PATCH|DELETE|HEAD)\b[`|*\s]{1,6}(/[^\s`|]{0,200})",
    re.MULTILINE,
)
_FEWEST_ROUTES: Final = 2


def needed_kinds(folded: str) -> list[str]:
    """The kinds of material that a case-folded request needs."""
    return [kind for kind, asks in _ASKS.items() if asks.search(folded)] if len(folded) <= _LONGEST else []


def needs_code(folded: str) -> bool:
    """Whether a case-folded request is about code handed over earlier, without containing code."""
    return len(folded) <= _LONGEST and "```" not in folded and _CODE.search(folded) is not None


def names_all_code(folded: str) -> bool:
    """Whether such a request is about all code: "write tests for everything"."""
    return _ALL_CODE.search(folded) is not None


def is_about_all_code(folded: str) -> bool:
    """Whether such a request is about no specific part: "review the code", "how do the modules depend on each other?"."""
    return names_all_code(folded) or all(word in _GENERAL or is_function_word(word) for word in words(folded))


def materials(text: str) -> Iterator[Material]:
    """The material in a text."""
    low = text.lower()
    if "table" in low or "model" in low:
        for found in _TABLE.finditer(text):
            end = _STATEMENT_END.search(text, found.end(), found.end() + _MOST_STATEMENT)
            name = found[1].strip('"`[]').lower()
            alters = "alter" in found[0][:20].lower()
            begin = found.end() - len(found[0].lstrip())
            yield Material("tables", f"{name} {begin}" if alters else name, (begin, end.end() if end else found.end()))
    routes = [*_ROUTE.finditer(text)] if " /" in text or "`/" in text or "|/" in text else []
    if len(routes) >= _FEWEST_ROUTES:
        yield Material(
            "routes", " ".join(sorted({route[1] for route in routes})), _around(text, routes[0].start(), routes[-1].end())
        )


def _around(text: str, start: int, end: int) -> Range:
    """The paragraphs around a range."""
    begin, stop = text.rfind("\n\n", 0, start), text.find("\n\n", end)
    return (0 if begin < 0 else begin + 2), (len(text) if stop < 0 else stop)
