"""Handed material that a request needs without naming it: "SQL for revenue by month" needs the tables of the database.

This module decides which of it is quoted. Such a request and the material are recognised in ``text.dialogue.wanted.materials``.

The newest definition of each table is meant, and all lists of routes that are not given again. Nothing is quoted if the request
contains a newer piece unchanged, or if there is no room for all of it; in that case the room goes to passages that bear on the
request's words.
"""

from __future__ import annotations

from turnfold.compression.memo import of_each
from turnfold.compression.recall.fence import quote_tokens
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.request import WholeRequest
from turnfold.compression.text.dialogue.wanted.materials import Material, materials, needed_kinds
from turnfold.compression.text.quotes import Quotable, Quote


def find_materials(asked: WholeRequest) -> FoundWork:
    """The material that a request needs."""
    sources, behind, folded, room, count, memo = asked
    kinds = needed_kinds(folded)
    if not kinds:
        return FoundWork()
    newest: dict[tuple[str, str], Quote] = {}
    for n, found in enumerate(of_each(memo, "materials", [*sources, *behind], _materials_of)):
        newest.update({(one.kind, one.name): Quote(n, *one.place) for one in found if one.kind in kinds})
    quotes = tuple(sorted({quote for quote in newest.values() if quote.source < len(sources)}))
    tokens = quote_tokens(quotes, sources, count)
    return FoundWork(quotes, (), tokens) if tokens <= room else FoundWork()


def _materials_of(source: Quotable) -> tuple[Material, ...]:
    return tuple(materials(source.text)) if source.role in ("user", "assistant") else ()
