"""Sentences of a long pasted text that only look like standing orders: "would never give in", "must use every means".

This module tells them from what a user asks of the reader. What an order is, is defined in ``text.dialogue.standing.orders``;
which lines of a message are the user's own, in ``text.dialogue.own_words``.

In doubt a sentence is an order: one kept too many costs its tokens, a lost one is no longer followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.dialogue.standing.orders import begins_with_command, standing_orders
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.spans import Span

_PASTED: Final = 350  # estimated tokens of a message that may be mostly pasted
_TYPED: Final = 95  # estimated tokens of a line that somebody types: 400 characters of ASCII, as in ``text.dialogue.own_words``
_SHORT: Final = 25  # estimated tokens of a sentence that is usually an order anywhere; statements of another kind are longer
_ORDERING: Final = 10  # a text with orders in a tenth of its statements is a set of rules
# Words for the speaker or the person addressed, which articles contain only in quotations.
_SPOKEN: Final = (
    "i i'm i'd i've i'll me my we we're we'd our us you your you're yours yourself please bitte ich mir mich mein wir uns "
    "unser du dir dich dein deine euch je moi nous notre vous votre vos tu toi te svp yo mi mis nosotros usted ustedes tú ti "
    "eu meu minha nós você vocês io mio noi ik mij mijn wij jij je jouw u uw alstublieft я мне меня мой мы нам нас вы вам вас "
    "ваш ваши ты тебе пожалуйста mnie mój my nas ty wy proszę ben bana benim biz sen sana siz size lütfen أنا نحن أنت أنتم "
    "فضلك मैं मुझे हम आप आपको कृपया तुम"
)
_ADDRESS: Final = frozenset(_SPOKEN.split())
_OTHER_ADDRESS: Final = lazy.pattern(
    "por favor|请|請|你|您|我|ください|下さい|あなた|私|僕|俺|주세요|당신|저는|제가|กรุณา|คุณ|ฉัน|ผม"
)
_WORD: Final = lazy.pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def without_told_in_passing(text: str, spans: Sequence[Span], orders: set[int]) -> set[int]:
    """The orders among the statements of a user's message, without those mentioned in passing in a long paragraph."""
    if not orders or len(orders) * _ORDERING >= len(spans) or estimate(text) < _PASTED:
        return orders
    pieces = {i: spans[i].of(text) for i in orders}
    return {i for i, piece in pieces.items() if _is_short(piece) or not _in_long_line(text, spans[i]) or _addresses(piece)}


def _is_short(piece: str) -> bool:
    """Whether a statement of one or several sentences contains a short order."""
    return any(estimate(order.of(piece).strip()) <= _SHORT for order in standing_orders(piece))


def _in_long_line(text: str, span: Span) -> bool:
    start = span.end - len(span.of(text).lstrip())
    begin, end = text.rfind("\n", 0, start) + 1, text.find("\n", start)
    return estimate(text[begin : end if end >= 0 else len(text)]) > _TYPED


def _addresses(piece: str) -> bool:
    said = (word.replace("’", "'") for word in _WORD.findall(piece.lower()))
    return not _ADDRESS.isdisjoint(said) or _OTHER_ADDRESS.search(piece) is not None or begins_with_command(piece)
