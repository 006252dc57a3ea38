"""What a message asks to have as a whole: a script, a letter, a table that the conversation made before.

Lives here: whether a message asks for such a work, of which kind, and which of its words tell which one. Does not belong here:
finding it (``recall.works``), requests without words of their own (``requests``), single words (``lexicon/works.txt``).

Whoever wants a script changed, translated or shown once more needs all of it: a few of its lines are of no use. Such a request
names a kind of work that is known already ("the script", "my letter", "sync.py", not "a script"), and says that it is wanted
again, whole, or otherwise than it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from turnfold.compression.text.dialogue.versions import NEWEST, VERSION_WORDS, Versions, asked_versions
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.words import is_function_word

WorkKind = Literal["code", "prose", "either"]

_TABLES: Final = lexicon("works")
_KINDS: Final[tuple[WorkKind, ...]] = ("code", "prose", "either")
_KIND_OF: Final = {noun: kind for kind in reversed(_KINDS) for noun in _TABLES[kind]}
#: What says that a work is wanted, and nothing of which one.
WANTED_WORDS: Final = _TABLES["again"] | _TABLES["changes"] | _TABLES["shows"]
_ALIKE_GROUPS: Final = [frozenset(line.split("=")) for line in _TABLES["alike"]]
_DEFINITE, _INDEFINITE = _TABLES["definite"], _TABLES["indefinite"]
#: Languages that build nouns of nouns: "Rechnungsskript", "arbetsplan".
_HEAD: Final = re.compile(rf"(?:{'|'.join(sorted((noun for noun in _KIND_OF if len(noun) >= 5), key=len, reverse=True))})\Z")
_WORD: Final = re.compile(r"[^\W\d_](?:['’-]?\w)*")
_PHRASES: Final = re.compile(
    r"\b(?:once more|one more time|from the (?:beginning|start|top)|from start to (?:finish|end)|in full|line by line"
    r"|step by step|(?:unit )?tests? for|type hints|noch (?:ein)?mal|von vorne|von anfang|zeile für zeile"
    r"|encore une fois|en entier|de nouveau|du début|ligne par ligne|otra vez|de nuevo|una vez más|desde el principio"
    r"|línea por línea|de novo|mais uma vez|do início|di nuovo|ancora una volta|dall'inizio|nog een keer|nog eens"
    r"|ещ[её] раз|с начала|jeszcze raz|od początku|bir daha|ще раз)\b"
)
#: A name that only code has: "convert()", "sync.py".
_CODE_NAME: Final = re.compile(
    r"\b[a-z_][\w.]*\(\)|\b[\w-]+\.(?:py|js|jsx|ts|tsx|sh|sql|css|html?|java|kt|go|rs|rb|php|c|cc|cpp|cs|h|swift|ya?ml|toml|r|lua)\b"
)
_BROUGHT: Final = (
    (
        "user",
        re.compile(
            r"\b(?:i|we)(?:'ve| have| had)? (?:just )?(?:pasted|sent|shared|gave|given|posted|uploaded|attached|wrote|showed)\b"
            r"|\b(?:ich|wir) (?:dir )?(?:vorhin |oben )?(?:geschickt|gepostet|eingefügt|gegeben|gezeigt)"
            r"|\bque (?:j'ai|he|ho|te|ti) |我(?:贴|发|给)"
        ),
    ),
    (
        "assistant",
        re.compile(
            r"\byou(?:'ve| have| had)? (?:just |once )?(?:wrote|written|gave|given|made|sent|created|drafted|generated|built)\b"
            r"|\bdu (?:mir )?(?:vorhin |oben )?(?:geschrieben|gegeben|erstellt|gemacht|geschickt)"
            r"|\bque (?:tu as|m'as|me has|mi hai|você) |你(?:写|给|做|发)"
        ),
    ),
)
_MOST_APART: Final = 4  # words from a noun back to what makes it a known one
_MOST_BEHIND: Final = 6  # words that name it, where no noun does
_SHORT: Final = 120  # characters of one that names no kind of work
_LONGEST: Final = 600  # characters of a message that asks so; a longer one brings its own text
_MOST_LINES: Final = 6


class AskedWork(NamedTuple):
    """A work that a message asks for.

    Attributes:
        kind: "code" stands in a fence, "prose" is a message, "either" may be both.
        telling: words that say which one is meant: the noun, unless it may name anything, and those between "the" and it.
        alike: other nouns that it may have been asked for by.
        by: role of whoever is said to have brought it; "" where nobody is.
        versions: which of its versions are wanted.
    """

    kind: WorkKind
    telling: frozenset[str]
    alike: frozenset[str] = frozenset()
    by: str = ""
    versions: Versions = NEWEST


def asked_work(folded: str) -> AskedWork | None:
    """The work that a case-folded message asks for, if it asks for one that is known already."""
    if len(folded) > _LONGEST or folded.strip().count("\n") >= _MOST_LINES:
        return None
    words = _WORD.findall(folded)
    versions = asked_versions(folded)
    is_wanted = versions or not WANTED_WORDS.isdisjoint(words) or _PHRASES.search(folded) or _is_run_on_wanted(folded)
    found = _named_work(words, folded) if is_wanted else None
    if found is None:
        return None
    by = next((role for role, pattern in _BROUGHT if pattern.search(folded)), "")
    return found._replace(by=by, versions=versions or NEWEST)


def _named_work(words: list[str], folded: str) -> AskedWork | None:
    if _CODE_NAME.search(folded):
        return AskedWork("code", frozenset(_WORD.findall(" ".join(_CODE_NAME.findall(folded)))))
    known = [found for at in range(len(words)) if (found := _known(words, at)) is not None]
    for kind in _KINDS:  # "the first version of the letter" is a letter
        if named := next((found for found in known if found.kind == kind), None):
            return named
    return _any_thing(words, folded) or _run_on(folded)


def _any_thing(words: list[str], folded: str) -> AskedWork | None:
    """What is wanted once more, or all of it, whatever it is: "the cancellation again"."""
    is_again = not _TABLES["again"].isdisjoint(words) or _PHRASES.search(folded)
    is_shown = bool(is_again) and not _TABLES["shows"].isdisjoint(words)
    if not (is_shown or asked_versions(folded)) or len(folded) > _SHORT:
        return None
    at = next((at for at, word in enumerate(words) if word in _DEFINITE - WANTED_WORDS), len(words))
    behind = frozenset(words[at + 1 : at + 1 + _MOST_BEHIND]) - WANTED_WORDS - _DEFINITE - VERSION_WORDS
    telling = frozenset(word for word in behind if not is_function_word(word))
    return AskedWork("either", telling) if telling else None


def _known(words: list[str], at: int) -> AskedWork | None:
    """The work that a word names, where the words in front of it make it a known one."""
    noun = words[at]
    head = _HEAD.search(noun)
    kind = _KIND_OF.get(noun) or (_KIND_OF[head[0]] if head else None)
    if kind is None:
        return None
    for behind in range(at - 1, max(-1, at - 1 - _MOST_APART), -1):
        if words[behind] in _INDEFINITE:
            return None
        if words[behind] in _DEFINITE:
            return _named(kind, noun, words[behind + 1 : at])
    return None if noun.isascii() else _named(kind, noun, ())  # languages without articles write the noun alone


def _named(kind: WorkKind, noun: str, between: Sequence[str]) -> AskedWork:
    telling = {word for word in between if word not in WANTED_WORDS and word not in VERSION_WORDS}
    alike = frozenset().union(*(group for group in _ALIKE_GROUPS if noun in group))
    return AskedWork(kind, frozenset(telling if kind == "either" else telling | {noun}), alike)


def _is_run_on_wanted(folded: str) -> bool:
    return not folded.isascii() and any(word in folded for word in _TABLES["run-on again"])


def _run_on(folded: str) -> AskedWork | None:
    """The same in scripts without blanks between words."""
    if not _is_run_on_wanted(folded):
        return None
    kinds = (kind for kind in _KINDS if any(word in folded for word in _TABLES[f"run-on {kind}"]))
    return next((AskedWork(kind, frozenset()) for kind in kinds), None)
