"""Text around the content: headers of mails, quoted mails, sources of an article, buttons and counters of a page.

This module finds the statements of this kind. How much less they are worth is up to ``shorten``, who speaks to ``heads``, and
what a quoted line needs to ``ties.layout``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.spans import Span

_HEADERS: Final = (
    r"(?:From|Sent|Date|To|Cc|Bcc|Reply-To|Subject|Von|Gesendet|Datum|An|Betreff|De|Envoyé|À|Objet|Para|Enviado(?: el)?|Asunto|Da"
    r"|Inviato|Oggetto|Assunto|Van|Verzonden|Aan|Onderwerp)[ \u00a0]?:"
)
_HEADER: Final = lazy.pattern(rf"[ \t>*]*{_HEADERS}\*{{0,2}}[ \t]")
_MAIL_LINE: Final = rf"\n[ \t>*]*{_HEADERS}\*{{0,2}}[ \t]\S[^\n]*"
#: In a text with a line feed in front of it.
_MAIL: Final = lazy.pattern(rf"{_MAIL_LINE}(?:{_MAIL_LINE}){{2}}")
#: The line above a mail that is answered or passed on.
_ANSWERED: Final = lazy.pattern(
    r"(?im)^[ \t]*-{2,}[ \t]?(?:original message|forwarded message|ursprüngliche nachricht|weitergeleitete nachricht"
    r"|message d'origine|message transféré|mensaje original|mensaje reenviado|messaggio originale|messaggio inoltrato"
    r"|mensagem original|oorspronkelijk bericht)\b"
)
_HEADER_LINE: Final = lazy.pattern(rf"(?m)^[ \t]*{_HEADERS}[^\n]*")
_OWN_WORDS: Final = 5
_BUTTONS: Final = lexicon("speech")["buttons"]
_BUTTON: Final = 40  # characters
_FIGURE: Final = lazy.pattern(r"\d[\d.,]*")
_NAMED: Final = lazy.pattern(r"[-*+•>|]|\d+[.)]|.*[:=]")  # items and fields, which may come again
_WORD: Final = lazy.pattern(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_FEWEST: Final = 3  # buttons of a page
_SAID: Final = frozenset(".!?:…。！？：")  # with which a sentence ends, and no button
_COUNTER: Final = 8  # characters of a number that a page counts with


def is_mail(text: str) -> bool:
    """Whether a text contains the lines that programs write above a mail."""
    return ":" in text and _MAIL.search("\n" + text) is not None


def beside(text: str, spans: Sequence[Span]) -> frozenset[int]:
    """Indices of the statements of this kind."""
    quoted = _quoted_from(text)
    said = [span.of(text).strip() if not span.kind else "" for span in spans]
    pressed, mail = buttons(said), is_mail(text)
    return frozenset(
        i
        for i, piece in enumerate(said)
        if piece
        and (
            i in pressed
            or spans[i].start >= quoted
            or text.startswith(">", spans[i].start)
            or (mail and _is_header(text, spans, i))
            or _is_source(text, spans[i])
        )
    )


def buttons(said: Sequence[str]) -> frozenset[int]:
    """Indices of buttons and counters, by what each line says; none unless there are several: one such line may be a request
    ("Add comments"). A line that recurs with other figures counts too: "View 41 upvotes".
    """
    short = {i: piece for i, piece in enumerate(said) if 0 < len(piece) <= _BUTTON and piece[-1] not in _SAID}
    found = {i for i, piece in short.items() if _is_button(piece)}
    if len(found) < _FEWEST:
        return frozenset()
    alike = Counter(_FIGURE.sub("#", piece) for piece in short.values())
    found |= {i for i, piece in short.items() if alike[_FIGURE.sub("#", piece)] >= _FEWEST and not _NAMED.match(piece)}
    return frozenset(found | {i for i, piece in short.items() if len(piece) <= _COUNTER and not _WORD.search(piece)})


def _quoted_from(text: str) -> int:
    """Where the mail begins that this one answers or forwards with words of its own; the text's length if there is none."""
    found = _ANSWERED.search(text) if "--" in text else None
    own = _HEADER_LINE.sub("", text[: found.start()]) if found else ""
    return found.start() if found and len(own.split()) >= _OWN_WORDS else len(text)


def _is_button(piece: str) -> bool:
    said = _WORD.findall(piece.lower())
    return bool(said) and _BUTTONS.issuperset(said) and piece[-1] not in _SAID


def _is_header(text: str, spans: Sequence[Span], i: int) -> bool:
    """Whether it is a line above a mail, whose name may be on a separate line."""
    if _HEADER.match(text, spans[i].start):
        return True
    return i > 0 and spans[i - 1].kind == "label" and _HEADER.match(text, spans[i - 1].start) is not None


def _is_source(text: str, span: Span) -> bool:
    """ "^ Nolan, C. (2008). Wars of the age of Louis XIV. ...", as an encyclopedia lists them."""
    return text.startswith("^ ", text.rfind("\n", 0, span.start) + 1)
