"""German nouns: capitalised words that are not names.

This module tells whether a text is German, and which of its single capitalised words are common nouns. Names of several words,
and other languages, are handled in ``entities``.

German capitalises every noun. A common noun usually follows an article, a pronoun or a number, or has the ending of a derived
noun; a one-word name has neither ("in Berlin", "von Siemens"), except for rivers and some countries ("der Rhein").
"""

from __future__ import annotations

from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon

_GERMAN: Final = lexicon("function_words")["german"] - lexicon("function_words")["english"]
_COMMONEST: Final = (" der ", " die ", " das ", " und ", " ist ", " ein ", " nicht ", " wir ", " ich ", " mit ", " zu ", " im ")
_WORD: Final = lazy.pattern(r"[^\W\d_]+")
_READ: Final = 4000  # characters from which the language is determined
_LEAST: Final = 3  # different function words at least
_SHARE: Final = 0.12  # share of a text's words
#: Beginnings of articles, pronouns and quantifiers, with their endings; "im", "am", "zum" contain an article.
_ARTICLE: Final = (
    r"(?:d(?:er|ie|as|en|em|es)|k?ein(?:e[rnms]?)?|dies(?:e[rnms]?)|jed(?:e[rnms]?)|jen(?:e[rnms]?)|welch(?:e[rnms]?)|manch(?:e[rnms]?)"
    r"|all(?:e[rnms]?)|viel(?:e[rn]?)?|wenig(?:e[rn]?)?|mehr(?:ere[rn]?)?|beid(?:e[rn]?)|(?:m|d|s)ein(?:e[rnms]?)?|ihr(?:e[rnms]?)?"
    r"|uns(?:e?re?[rnms]?)|euer|eure[rnms]?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|zwölf|\d+|i[mn]s?|am|ans?|zu[mr]?|vom|beim|aufs|fürs|durchs|pro|ohne|per|als|gegen|bis)"
)
_BEFORE: Final = lazy.pattern(rf"(?i:\b{_ARTICLE}) (?:[a-zäöüß]+(?:e|en|er|es|em|te|ten) ){{0,2}}\Z")
_BARE_PREPOSITIONS: Final = frozenset(("in", "an", "zu", "bis", "gegen", "ohne", "als", "per", "pro"))
_DERIVED: Final = lazy.pattern(
    r"\w{2,}(?:ung|heit|keit|schaft|tion|tät|nis|tum|ment|ismus|ling|chen|erei|enz|anz|ur|eur|ion)(?:e?[ns]|se[ns]?)?\Z"
)
_LOOKED_BACK: Final = 60  # characters


def is_german(text: str) -> bool:
    """Whether a text is in German, by its function words."""
    if not any(map(text.__contains__, _COMMONEST)):  # decides for most texts
        return False
    words = [word.lower() for word in _WORD.findall(text, 0, _READ)]
    own = [word for word in words if word in _GERMAN]
    return len(set(own)) >= _LEAST and len(own) >= _SHARE * len(words)


def is_common_noun(text: str, start: int, end: int) -> bool:
    """Whether a single capitalized word of a German text, ``text[start:end]``, is not a name."""
    word = text[start:end]
    if _DERIVED.fullmatch(word):
        return True
    front = text[max(0, start - _LOOKED_BACK) : start]
    found = _BEFORE.search(front)
    return found is not None and found[0].strip().lower() not in _BARE_PREPOSITIONS
