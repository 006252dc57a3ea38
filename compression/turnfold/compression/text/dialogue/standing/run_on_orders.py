"""Standing orders in languages whose words are not separated by blanks, or are joined with particles.

This module covers Chinese, Japanese, Korean, Arabic and Hindi. The words and phrases are in ``lexicon/orders.txt``, other
languages in ``orders``.

All but Chinese put the request last: an order has a rule word ("必ず", "항상") and ends a clause with a wish ("ください",
"주세요"), or ends it with a prohibition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from turnfold.compression import lazy


def run_on_orders(table: Mapping[str, frozenset[str]]) -> re.Pattern[str]:
    """A pattern for all these languages, from the sections ``<language> <role>`` of the table."""

    def one_of(section: str) -> str:
        # Longest first, then by their letters: a set has no order of its own.
        return "(?:" + "|".join(sorted(table[section], key=lambda word: (-len(word), word))).replace("_", " ") + ")"

    start = r"(?:\A|[，。、；：！,;:!\s「『“\"（(])"
    chinese = (
        rf"{start}{one_of('zh opener')}{{0,3}}(?:"
        rf"{one_of('zh future')}(?!{one_of('zh narrator')})[^？?]{{0,60}}{one_of('zh demand')}"
        rf"|{one_of('zh rule')}|{one_of('zh when')}[^？?]{{0,60}}{one_of('zh demand')})"
        rf"|[都里中裡]{one_of('zh rule')}|(?:\A|{one_of('zh told')}){one_of('zh ever')}|{one_of('zh told')}{one_of('zh forbid')}"
    )
    wish = rf"{one_of('ja wish')}(?=(?:。|！|!|．|、|，|\s|」|\Z))"
    japanese = rf"{one_of('ja rule')}[^？?]{{0,60}}{wish}|{one_of('ja forbid')}"
    korean = rf"{one_of('ko rule')}.{{0,60}}{one_of('ko wish')}(?=[.!,…~\s]|\Z)|{one_of('ko forbid')}"
    arabic = (
        rf"{one_of('ar future')}|(?:\A|[\s،.]){one_of('ar forbid')}"
        rf"|(?:\A|[\s،.])(?:{one_of('ar verbs')}.{{0,60}}{one_of('ar rule')}|{one_of('ar rule')} {one_of('ar verbs')})"
    )
    hindi = (
        rf"{one_of('hi future')}.{{0,80}}{one_of('hi wish')}|{one_of('hi forbid')}"
        rf"|{one_of('hi rule')}.{{0,60}}(?:{one_of('hi wish')}|मत)"
    )
    return lazy.pattern("|".join((chinese, japanese, korean, arabic, hindi)))
