"""Signals of a conversation: what was decided, promised, asked, found out.

Lives here: one pattern for each, and their weights. Must not: standing orders (``orders``), scores of whole texts (``scorers``).
"""

from __future__ import annotations

import re
from typing import Final

_PATTERNS: Final = {
    "decision": (
        r"\b(?:decid|decision|agreed|agree to|settled on|let'?s (?:go|use|do|keep|take|stick)|we(?:'ll| will) (?:go"
        r"|use|keep|take|ship)|going with"
        r"|chose|choose|opted|approved|confirmed|final(?:ly|ised|ized)?\b|conclu|recommend|the plan is|entschieden"
        r"|beschlossen|einigen|décid"
        r"|convenu|decidimos|decidido|acordamos|решил|договорились)|决定|确定|同意|就用|決め|決定|合意|결정"
    ),
    "commitment": (
        r"\b(?:i'?ll|i will|we'?ll|we will|going to|by (?:mon|tues|wednes|thurs|fri|satur|sun)day|by (?:tomorrow|next"
        r"|end of)|deadline|due (?:by|on)"
        r"|to-?do|action items?|next steps?|promise|owner|will send|assigned|ich werde|wir werden|je vais|nous allons"
        r"|voy a|vamos a|я сделаю)\b"
        r"|我会|我们会|将会|します|予定|할게"
    ),
    "finding": (
        r"\b(?:root cause|cause[ds]?|because|fix(?:ed|es)?|resolv|turn(?:s|ed) out|found|discover|due to|therefore"
        r"|so that|result|error|fail|issue is"
        r"|problem (?:is|was)|solution|works? now|prevent|requires?|limit|threshold|weil|ursache|parce que|cause|porque|потому)"
        r"|因为|原因|解决|发现|なぜなら|原因|解決"
    ),
    "fact": (
        r"\b(?:my name is|i am|i'm|i live|i work|i have|we have|my (?:wife|husband|son|daughter|dog|cat|job|birthday)"
        r"|called|named|favou?rite)\b|我叫|我是|私は"
    ),
}
_RULES: Final = tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _PATTERNS.items())
_WEIGHTS: Final = {"decision": 0.6, "commitment": 0.4, "finding": 0.35, "fact": 0.25, "question": 0.3}
_QUESTION: Final = re.compile(r"[?？؟]\s*[\"'”’)]*\s*\Z")


def signals(sentence: str) -> tuple[str, ...]:
    """Which signals a sentence carries, in a fixed order: decision, commitment, finding, fact, question."""
    found = tuple(name for name, rule in _RULES if rule.search(sentence))
    return (*found, "question") if _QUESTION.search(sentence) else found


def signal_weight(sentence: str) -> float:
    """How much the signals of a sentence speak for it, 0 to 1."""
    return min(1.0, sum(_WEIGHTS[name] for name in signals(sentence)))
