"""Pieces of running text that no shortening may change.

This module has the kinds of block that stay byte for byte, and tells whether a piece of a line holds a secret, JSON or SQL, with
cheap looks that spare most pieces the costly one. They are found in ``text.protect`` and ``text.inline``; what is kept for what
it says is chosen in ``reading``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression.text import inline
from turnfold.compression.text.lower import lower_text, words
from turnfold.compression.text.protect import protected_spans

#: Blocks that stay byte for byte.
EXACT: Final = frozenset({"fence", "code", "json", "math", "sql", "table", "trace", "key"})
# Inline spans that no shortening may lose.
_EXACT_INLINE: Final = frozenset({"secret", "inline-json", "inline-sql"})

# Every secret, inline JSON or SQL has a long token, a bracket, or one of these words; most sentences need no closer look.
_TELLING_WORDS: Final = (
    "password passwd passphrase secret token apikey api accesskey access accountkey privatekey key bearer authorization"
)
TELLING: Final = frozenset(_TELLING_WORDS.split())
_SQL_WORDS: Final = ("SELECT", "INSERT", "DELETE", "UPDATE", "CREATE", "ALTER", "DROP")
LONG_TOKEN: Final = 12  # characters of the shortest token that looks like a secret
_SOLID: Final = bytes(32 if chr(byte).isspace() else 120 for byte in range(256))
_LONG_RUN: Final = b"x" * LONG_TOKEN
_MARKS: Final = ".,;:!?\"'()*"


def holds_exact(piece: str, said: Sequence[str] | None = None) -> bool:
    """Whether a piece of a line contains something like a secret, JSON or SQL; `said` are its words, if known."""
    tells = not TELLING.isdisjoint(words(lower_text(piece)) if said is None else said)
    return may_hold_exact(piece, tells=tells) and _looks_exact(piece)


def may_hold_exact(text: str, *, tells: bool, runs: bool = True) -> bool:
    """A cheap check for a text and thus all of its pieces: False is certain.

    `tells`: whether it has one of the telling words; `runs`: whether it may have a long one.
    """
    return tells or "{" in text or "[" in text or _has_sql_word(text) or (runs and _has_long_token(text))


def _has_sql_word(text: str) -> bool:
    return ("E" in text or "P" in text) and any(word in text for word in _SQL_WORDS)  # every SQL statement has one of these


def _looks_exact(piece: str) -> bool:
    """The costly check after a cheaper one: long words of plain letters are not secrets."""
    if (
        "{" in piece
        or "[" in piece
        or ("@" in piece and "://" in piece)
        or _has_sql_word(piece)
        or inline.SECRET_WORDS.search(piece)
    ):
        return any(span.kind in _EXACT_INLINE for span in protected_spans(piece))
    if not _has_long_token(piece):
        return False
    if piece.isascii():  # tokens are words there, and no shorter one is a secret
        piece = " ".join([word for word in piece.split() if len(word) >= LONG_TOKEN])
    return any(span.kind in _EXACT_INLINE for span in inline.tokens(piece))


def _has_long_token(text: str) -> bool:
    """Whether a word is as long as a secret and has more than letters."""
    if text.isascii() and _LONG_RUN not in text.encode().translate(_SOLID):
        return False
    return any(len(word) >= LONG_TOKEN and not word.strip(_MARKS).isalpha() for word in text.split())
