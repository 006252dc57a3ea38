"""Requests for, or questions about, a whole work: a script, a letter, a table that the conversation made before.

This module tells whether a message asks for such a work, of which kind, and which of its words say which one. It is found in
``recall.wholes.works.held_works``. Requests without words of their own are in ``requests``, single words in
``lexicon/works.txt``.

Whoever wants a script changed, translated or shown once more needs all of it: a few of its lines are of no use. Such a request
names a known kind of work ("the script", "my letter", "sync.py", not "a script") and asks for it again, whole or changed, or has
it judged (``judging``). It may name several ("my CV and the job ad"). Its noun may be a compound ("Kündigungsschreiben"), or in
another language than the work: ``alike`` has the nouns of one kind in all languages. A letter is recognised by its salutation
too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.dialogue.wanted.judging import judging_sentences, speaks_of_judging
from turnfold.compression.text.dialogue.wanted.versions import (
    NEWEST,
    VERSION_WORDS,
    Versions,
    asked_versions,
    compares_versions,
    names_number,
)
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.lower import MARKS
from turnfold.compression.text.words import is_function_word, language

WorkKind = Literal["code", "prose", "either"]

_TABLES: Final = lexicon("works")
_KINDS: Final[tuple[WorkKind, ...]] = ("code", "prose", "either")
#: Nouns that are known ones without an article: "brevet", "kirje".
_DEFINITE_NOUNS: Final = _TABLES["definite code"] | _TABLES["definite prose"]
_PLURALS: Final[dict[str, WorkKind]] = dict.fromkeys(sorted(_TABLES["several"]), "prose")
_KIND_OF: Final = _PLURALS | {
    noun: kind for kind in reversed(_KINDS) for noun in sorted(_TABLES[kind] | _TABLES.get(f"definite {kind}", set()))
}
#: Words that say that a work is wanted, but not which one.
WANTED_WORDS: Final = _TABLES["again"] | _TABLES["changes"] | _TABLES["shows"]
_ALIKE_GROUPS: Final = [frozenset(line.split("=")) for line in _TABLES["alike"]]
_DEFINITE, _INDEFINITE, _COMING = _TABLES["definite"], _TABLES["indefinite"], _TABLES["coming"]
#: Languages that build nouns of nouns: "Rechnungsskript", "arbetsplan".
_SHORT_HEADS: Final = frozenset({"plan", "mail", "brev"})
_HEADS: Final = frozenset(noun for noun in _KIND_OF if len(noun) >= 5 or noun in _SHORT_HEADS) - _TABLES["no heads"]
_HEAD_SIZES: Final = sorted({*map(len, _HEADS)}, reverse=True)
_HEAD_ENDS: Final = frozenset(noun[-3:] for noun in _HEADS)
_LINKS: Final = ("", "s", "n", "en", "es", "e")  # between the nouns of a compound
_SHORTEST_PART: Final = 4  # letters of a noun in front of a head
_WORD: Final = lazy.pattern(rf"[^\W\d_](?:['’-]?[\w{MARKS}])*")
_ELISION: Final = lazy.pattern(r"\b(l|d|qu|dell|nell|all|sull)['’](?=\w)")  # "l'article"
_QUOTED: Final = lazy.pattern(r"[\"“”„«»「『‘]\s?\w[^\n\"“”«»」』]{0,200}[\"“”«»」』]|(?<!\w)'\w[^\n']{0,200}'(?!\w)")
_PHRASES: Final = lazy.pattern(
    r"\b(?:once more|one more time|all of (?:it|them)|from the (?:beginning|start|top)|from start to (?:finish|end)|in full"
    r"|line by line|step by step|(?:unit )?tests? for|type hints|noch (?:ein)?mal|von vorne|von anfang|zeile für zeile"
    r"|encore une fois|en entier|de nouveau|du début|ligne par ligne|otra vez|de nuevo|una vez más|desde el principio"
    r"|línea por línea|de novo|mais uma vez|do início|di nuovo|ancora una volta|dall'inizio|nog een keer|nog eens"
    r"|ещ[её] раз|с начала|مرة (?:أخرى|ثانية)|फिर से|एक बार और|một lần nữa|jeszcze raz|od początku|bir daha|ще раз)\b"
)
#: "Convert it to TypeScript", "pasa el script a Go".
_LANGUAGE: Final = lazy.pattern(rf"(?<![\w.])(?:{one_of('works', 'languages')})(?![\w+#]|\.\w)", re.ASCII)
#: A name that only code has: "convert()", "sync.py".
_CODE_NAME: Final = lazy.pattern(
    r"\b[a-z_][\w.]*\(\)|\b[\w-]+\.(?:py|js|jsx|ts|tsx|sh|sql|css|html?|java|kt|go|rs|rb|php|c|cc|cpp|cs|h|swift|ya?ml|toml|r|lua)\b"
)
#: "tl;dr of what I pasted"
_WHAT_BROUGHT: Final = lazy.pattern(
    r"\b(?:what|whatever|everything|that|the (?:thing|stuff)) (?:i|we)(?:'ve| have| had)? (?:just )?"
    r"(?:pasted|sent|shared|posted|uploaded|attached)\b"
    r"|\bwas (?:ich|wir) (?:dir |euch |ihnen )?(?:vorhin |oben |eben |gerade )?"
    r"(?:eingefügt|geschickt|gepostet|gesendet|reinkopiert)"
    r"|\bce que (?:j'ai|je t'ai|je vous ai|nous avons) (?:collé|envoyé|partagé|posté)"
    r"|\blo que (?:te |os |le )?(?:he |hemos )?(?:pegado|pegué|enviado|envié|mandado|mandé|compartido|compartí)\b"
    r"|\b(?:quello|ciò) che (?:ti |vi )?(?:ho|abbiamo) (?:incollato|mandato|inviato|condiviso)"
    r"|\bo que (?:eu )?(?:te |lhe )?(?:colei|enviei|mandei|compartilhei|partilhei)\b"
    r"|\bwat ik (?:je )?(?:heb )?(?:geplakt|gestuurd)"
)
#: "contract A and contract B"
_PAIR: Final = lazy.pattern(r"\b([^\W\d_]{2,}) (?:a|1)\b[^\n]{1,60}?\b(?:\1 )?(?:b|2)\b")
#: "document B", "contracts 1 and 3".
_LABELLED: Final = lazy.pattern(r"\b([^\W\d_]{4,}) ([a-h]|[1-9])\b(?![.,:%]?\d|['’])")
_NEXT_LABEL: Final = lazy.pattern(
    r"(?:,|\b(?:and|with|or|und|mit|et|y|con|e|i|и|ve)) (?:[^\W\d_]{4,} )?([b-h]|[1-9])\b(?![.,:%]?\d|['’])"
)
#: What only code gets.
_CODE_PARTS: Final = lazy.pattern(r"\b(?:(?:unit ?|unit-)tests?|type (?:hints|annotations)|docstrings?|typehints)\b")
_BROUGHT: Final = (
    (
        "user",
        lazy.pattern(
            r"\b(?:i|we)(?:'ve| have| had)? (?:just )?(?:pasted|sent|shared|gave|given|posted|uploaded|attached|wrote|showed)\b"
            r"|\b(?:ich|wir) (?:dir )?(?:vorhin |oben )?(?:geschickt|gepostet|eingefügt|gegeben|gezeigt)"
            r"|\bque (?:j'ai|he|ho|te|ti) |我(?:贴|发|给)"
        ),
    ),
    (
        "assistant",
        lazy.pattern(
            r"\byou(?:'ve| have| had)? (?:just |once )?(?:wrote|written|gave|given|made|sent|created|drafted|generated|built)\b"
            r"|\bdu (?:mir )?(?:vorhin |oben )?(?:geschrieben|gegeben|erstellt|gemacht|geschickt)"
            r"|\bque (?:tu as|m'as|me has|mi hai|você) |你(?:写|给|做|发)"
        ),
    ),
)
#: "this list: apples, pears"
_PASTED: Final = lazy.pattern(
    r"\b(?:this|these|dies\w{0,2}|ce|cet|cette|ces|est[aeo]s?|quest[aeio]|dit|deze) (?:[\w-]+ ){0,2}[\w-]+ ?: *\n?\S+ \S"
)
#: 'correct the text: "he go home"'
_QUOTED_TEXT: Final = lazy.pattern(
    r"\b(?:text|sentences?|paragraph|passage|satz|sätze|absatz|texte|phrases?|frases?|texto|testo|frasi|tekst|текст|предложение)"
    r" ?: ?[\"“„«‘'「]"
)
#: "Scale the dal down to 5", "halve the pancake recipe".
_SCALED: Final = lazy.pattern(
    rf"\W*(?:\w+[,:]? ){{0,3}}?(?:{one_of('works', 'scales')}) (?:up |down )?"
    r"(?:the|my|our|das|die|den|mein\w*|la|le|les|el|los|las|il|lo|o|a|het|de) ([^\W\d]+(?: [^\W\d]+){0,2}?)"
    r"(?: (?:up|down|to|for|auf|für|pour|à|para|a|per|naar|voor)\b.*)?[\s.!?]*$"
)
#: Letters of languages without articles that write with Latin ones.
_HAVE_NO_ARTICLES: Final = lazy.pattern("[ąćęłńśźżčďěňřšťůžğış]")
#: Languages in which "a" means "the", or does not count as indefinite. Most short Portuguese texts are also valid Spanish.
_HAVE_A: Final = ("portuguese", "spanish")
_OWN_ANSWERS: Final = lazy.pattern(one_of("works", "own answers"))
_POSSESSIVE: Final = ("'s", "’s")  # "Olsen's offer"
_MOST_APART: Final = 4  # words from a noun back to what makes it a known one
_MOST_BEHIND: Final = 6  # words after the request that name the work, if no noun does
_SHORT: Final = 120  # characters of a message that names no kind of work
_SHORT_QUESTION: Final = 10  # words of a question whose subject is the work
_LONGEST: Final = 600  # characters of such a message; a longer one contains its own text
_MOST_LINES: Final = 6
_TELLING_SIGNS: Final = 2  # of a noun in a question; one sign is part of many words
_BEGINNING: Final = 60  # characters of a message that are read for its first words
_FIRST_WORDS: Final = 4
_OPENING: Final = 600  # characters of a text in which a letter begins
_SALUTATION: Final = lazy.pattern(
    rf"^[^\S\n]{{0,4}}(?:(?:{'|'.join(sorted(_TABLES['salutations']))})\b[^\n]{{0,60}}[,:!，：！、]|[^\n]{{1,20}}様)[^\S\n]*\n",
    re.IGNORECASE | re.MULTILINE,
)


class AskedWork(NamedTuple):
    """A work that a message requests.

    Attributes:
        kind: "code" stands in a fence, "prose" is a message, "either" may be both.
        telling: words that identify it: the noun, unless it may name anything, and the words between "the" and the noun.
        alike: other nouns under which it may have been requested.
        by: the role said to have provided it; "" if unknown.
        versions: the requested versions.
        is_several: whether all works made under this name are requested.
        number: the number of works requested; 0: any.
        is_long: whether its noun is for long texts, which people paste without an introduction.
        beside: other works that the message also requests.
        labels: letters or figures that tell it from others of its kind: "document b".
    """

    kind: WorkKind
    telling: frozenset[str]
    alike: frozenset[str] = frozenset()
    by: str = ""
    versions: Versions = NEWEST
    is_several: bool = False
    number: int = 0
    is_long: bool = False
    beside: tuple[AskedWork, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def is_pasted(self) -> bool:
        """Whether its noun is for texts that people paste as a whole, rather than a part of one."""
        return self.is_long or (self.kind == "code" and not _TABLES["pasted code"].isdisjoint(self.telling))


def asked_work(folded: str) -> AskedWork | None:
    """The work that a case-folded message requests, if it is known already."""
    if len(folded) > _LONGEST or folded.strip().count("\n") >= _MOST_LINES:
        return None
    words = _words(folded)
    if _brings_text(folded, words):
        return None
    versions = asked_versions(folded)
    is_wanted = versions or not WANTED_WORDS.isdisjoint(words) or _PHRASES.search(folded) or _is_run_on_wanted(folded)
    found = _own_answers(folded) if is_wanted or judging_sentences(folded) else None
    found = found or (_named_work(words, folded) if is_wanted else _judged_work(folded) or _scaled_work(folded))
    if found is None and _is_port(words, folded):
        return AskedWork("code", frozenset())
    if found is None and compares_versions(folded):
        return AskedWork("either", frozenset(), versions=versions, is_long=True)
    if found is None or (
        found.is_long and not versions and not _TABLES["lookups"].isdisjoint(words[:1])
    ):  # "when did I send the contract?"
        return None
    by = next((role for role, pattern in _BROUGHT if pattern.search(folded)), "")
    return found._replace(by=by, versions=versions or NEWEST)


def asked_again(folded: str, before: str) -> AskedWork | None:
    """The long text or code that a case-folded message requests without naming it: "now correct it", directly after a request for
    it.
    """
    said = frozenset(_words(folded)) if len(folded) <= _SHORT else frozenset()
    if said.isdisjoint(_TABLES["it"]) or (said.isdisjoint(WANTED_WORDS) and not judging_sentences(folded)):
        return None
    found = asked_work(before)
    return found if found and (found.is_long or found.kind == "code") else None


def _scaled_work(folded: str) -> AskedWork | None:
    """Anything that can be scaled to a number: "scale the dal down to 5", "the pancakes for 14, please"."""
    found = _SCALED.match(folded) if len(folded) <= _SHORT else None
    if not found:
        return None
    said = frozenset(found[1].split())
    quantities = next(filter(None, map(work_named, sorted(said & _TABLES["quantities"]))), None)  # those of a recipe
    return quantities or AskedWork("either", said)


def _is_port(words: Sequence[str], folded: str) -> bool:
    """Whether a message requests known code in another programming language: "convert it to TypeScript"."""
    if len(folded) > _SHORT or not (named := _LANGUAGE.search(folded)):
        return False
    if not folded.isascii() and any(word in folded for word in _TABLES["run-on ports"]):
        return True
    known = folded[: named.start()].split()
    begins = not _TABLES["ports"].isdisjoint(words[:_FIRST_WORDS])
    return begins and _INDEFINITE.isdisjoint(known) and not (_DEFINITE | _TABLES["it"]).isdisjoint(known)


def _judged_work(folded: str) -> AskedWork | None:
    """The work that a message wants an opinion on, or wants something made from: "a cover letter from my CV"."""
    judging = judging_sentences(folded)
    found = _named_work(_words(judging), judging) if judging else None
    if found is None and _WHAT_BROUGHT.search(folded) and speaks_of_judging(folded):
        return AskedWork("prose", frozenset(), by="user", is_long=True)
    if found is None and begins_making(folded):
        found = _named_work(_words(folded), folded)
        return found if found and found.is_long else None
    found = found or _subject(_words(folded))
    return found if found and (found.kind != "either" or found.is_long) else None


def _own_answers(folded: str) -> AskedWork | None:
    """The user's own list of answers: "grade my answers"."""
    found = _OWN_ANSWERS.search(folded)
    return AskedWork("prose", frozenset(found[0].split()[-1:]), by="user", is_long=True) if found else None


def _subject(words: list[str]) -> AskedWork | None:
    """The work that is the subject of a short question about its quality, rather than its contents: "is my speech funny?"."""
    if len(words) > _SHORT_QUESTION or _TABLES["copulas"].isdisjoint(words[:1]) or not _TABLES["telling"].isdisjoint(words):
        return None
    known = (_known_work(words, at) for at in range(2, min(len(words) - 1, _MOST_APART + 1)))
    return next((one for one in known if one is not None and one.is_long), None)


def _brings_text(folded: str, words: Sequence[str]) -> bool:
    """Whether a message contains the text to translate, in quotation marks before any noun for a work, or after "this list:".

    It does in 'translate "de stadhouder" in the caption', but not in 'translate the poem "Erlkönig"'.
    """
    if ":" in folded and (_PASTED.search(folded) or _QUOTED_TEXT.search(folded)):
        return True
    quoted = None if _TABLES["translates"].isdisjoint(words) else _QUOTED.search(folded)
    return quoted is not None and not any(word in _KIND_OF or _head(word) for word in _words(folded[: quoted.start()]))


def is_code(noun: str) -> bool:
    """Whether a noun names code."""
    return _KIND_OF.get(noun) == "code"


def work_named(noun: str) -> AskedWork | None:
    """The work that a noun names, without regard to the words before it."""
    head = noun if noun in _KIND_OF else _head(noun)
    return _named(noun, head, ()) if head else None


def named_work(folded: str) -> AskedWork | None:
    """The letter, plan or list that a case-folded message asks about: "what did I demand in the letter?"."""
    if len(folded) > _LONGEST or folded.strip().count("\n") >= _MOST_LINES:
        return None
    words = _words(folded)
    if _brings_text(folded, words):
        return None
    known = (_known_work(words, at) for at in range(len(words)))
    found = next((one for one in known if one is not None and one.kind == "prose"), None)
    return found or _run_on(folded, ("prose",), _TELLING_SIGNS)


class MakingRequest(NamedTuple):
    """A message that asks for something to be made: the possible names of it; in a script without spaces, the whole text."""

    names: frozenset[str]
    text: str = ""

    def asks_for(self, work: AskedWork) -> bool:
        """Whether it requests a work of this name."""
        names = work.telling | work.alike
        return any(name in self.text for name in names) if self.text else not names.isdisjoint(self.names)


def making_request(folded: str) -> MakingRequest | None:
    """What a case-folded message asks to have made; None if it doesn't."""
    if not folded.isascii() and any(word in folded for word in _TABLES["run-on makes"]):
        return MakingRequest(frozenset(), folded)
    words = set(_words(folded))
    if words.isdisjoint(_TABLES["makes"]):
        return None
    return MakingRequest(frozenset(words).union(filter(None, map(_head, words))))


def begins_making(folded: str) -> bool:
    """Whether a case-folded message begins by asking for something to be made: "can you write a riddle".

    In conversation, people "make" differences, and plans of their own.
    """
    return making_request(" ".join(folded[:_BEGINNING].split()[:_FIRST_WORDS])) is not None


def has_form(text: str, work: AskedWork) -> bool:
    """Whether a text has the form of the work: a letter begins with its recipient."""
    is_letter = not _TABLES["letter"].isdisjoint(work.telling | work.alike)
    return is_letter and _SALUTATION.search(text, 0, _OPENING) is not None


def _words(folded: str) -> list[str]:
    """The words of a text; both of "montre-moi"."""
    found = _WORD.findall(_ELISION.sub(r"\1' ", folded) if "'" in folded or "’" in folded else folded)
    return [part for word in found for part in ((word,) if word in _KIND_OF else word.split("-"))]


def _head(word: str) -> str | None:
    """The noun for a work at the end of a compound: "letter" in "loveletter"."""
    if word[-3:] not in _HEAD_ENDS:
        return None
    return next((end for size in _HEAD_SIZES if (end := word[-size:]) in _HEADS), None)


def _named_work(words: list[str], folded: str) -> AskedWork | None:
    if _CODE_NAME.search(folded):
        return AskedWork("code", frozenset(_WORD.findall(" ".join(_CODE_NAME.findall(folded)))))
    if (labelled := _LABELLED.search(folded)) and (one := work_named(labelled[1])) and one.is_pasted:
        labels = (labelled[2], *_NEXT_LABEL.findall(folded, labelled.end()))
        return one._replace(labels=labels, is_several=len(labels) > 1, number=len(labels) if len(labels) > 1 else 0)
    pair = _PAIR.search(folded)
    if pair and (both := work_named(pair[1])) and both.is_long:
        return both._replace(is_several=True, number=2)
    known = [found for at in range(len(words)) if (found := _known_work(words, at)) is not None]
    for kind in _KINDS:  # "the first version of the letter" is a letter
        if named := next((found for found in known if found.kind == kind), None):
            is_several = named.is_long and not _TABLES["several"].isdisjoint(named.telling)
            return named._replace(is_several=is_several, beside=_beside(named, known))
    if _CODE_PARTS.search(folded):
        return AskedWork("code", frozenset())
    return _any_thing(words, folded) or (
        _run_on(folded) if _is_run_on_wanted(folded) or judging_sentences(folded) or asked_versions(folded) else None
    )


def _beside(named: AskedWork, known: Sequence[AskedWork]) -> tuple[AskedWork, ...]:
    """The long texts that a message names beside another one, without duplicates: "the essay and the article"."""
    found = [named]
    for one in known if named.is_long else ():
        if one.is_long and not any(_is_same(one, other) for other in found):
            found.append(one)
    return tuple(found[1:])


def _is_same(some: AskedWork, other: AskedWork) -> bool:
    """Whether two may be the same work; a document may be any."""
    ours, theirs = some.telling | some.alike, other.telling | other.alike
    return not (ours and theirs) or not ours.isdisjoint(theirs)


def _any_thing(words: list[str], folded: str) -> AskedWork | None:
    """Anything that a message wants again or completely: "the cancellation again"."""
    versions = asked_versions(folded)
    is_again = not _TABLES["again"].isdisjoint(words) or _PHRASES.search(folded)
    is_shown = bool(is_again) and not _TABLES["shows"].isdisjoint(words)
    if not (is_shown or versions) or len(folded) > _SHORT:
        return None
    at = next((at for at, word in enumerate(words) if word in _DEFINITE - WANTED_WORDS), len(words))
    behind = frozenset(words[at + 1 : at + 1 + _MOST_BEHIND]) - WANTED_WORDS - _DEFINITE - VERSION_WORDS
    telling = frozenset(word for word in behind if not is_function_word(word))
    return AskedWork("either", telling) if telling or names_number(folded) else None


def _known_work(words: list[str], at: int) -> AskedWork | None:
    """The work that a word names, if the words before it make it a known one."""
    noun = words[at]
    head = noun if noun in _KIND_OF else _head(noun)
    if head is None:
        return None
    if words[at + 1 : at + 2] and words[at + 1] in _COMING:  # "la légende suivante"
        return None
    if head in _DEFINITE_NOUNS:
        return _named(noun, head, ())
    for behind in range(at - 1, max(-1, at - 1 - _MOST_APART), -1):
        is_known = words[behind] in _DEFINITE or words[behind].endswith(_POSSESSIVE)
        is_new = words[behind] in _INDEFINITE and not (behind and words[behind - 1] in _DEFINITE)  # "the new contract" is known
        if words[behind] in _COMING or (is_new and not (is_known and language(words) in _HAVE_A)):
            return None
        if is_known:
            return _named(noun, head, words[behind + 1 : at])
    has_articles = noun.isascii() and not any(map(_HAVE_NO_ARTICLES.search, words))
    return None if has_articles else _named(noun, head, ())  # languages without articles write the noun alone


def _named(noun: str, head: str, between: Sequence[str]) -> AskedWork:
    kind = _KIND_OF[head]
    telling = {word for word in between if word not in WANTED_WORDS and word not in VERSION_WORDS}
    alike = _alike(noun, head, *between)
    is_long = kind != "code" and _is_long(noun, head, *alike)
    is_any = kind == "either" and not is_long
    return AskedWork(kind, frozenset(telling if is_any else telling | {noun, *_parts(noun, head)}), alike, is_long=is_long)


def _is_long(*nouns: str) -> bool:
    return not _TABLES["long"].isdisjoint(nouns)


def _parts(noun: str, head: str) -> list[str]:
    """The first parts of a compound with this head: "kündigung" in "kündigungsschreiben"."""
    first = noun[: len(noun) - len(head)]
    parts = [first[: len(first) - len(link)] for link in _LINKS if first.endswith(link)]
    return [part for part in parts if len(part) >= _SHORTEST_PART]


def _alike(*nouns: str) -> frozenset[str]:
    """Other nouns for a work, in any language."""
    return frozenset().union(*(group for group in _ALIKE_GROUPS if not group.isdisjoint(nouns)))


def _is_run_on_wanted(folded: str) -> bool:
    return not folded.isascii() and any(word in folded for word in _TABLES["run-on again"])


def _run_on(folded: str, kinds: Sequence[WorkKind] = _KINDS, signs: int = 1) -> AskedWork | None:
    """The same in scripts without spaces."""
    if folded.isascii():
        return None
    named = (
        (kind, sorted(word for word in _TABLES[f"run-on {kind}"] if len(word) >= signs and word in folded)) for kind in kinds
    )
    found = ((kind, frozenset(nouns) | _alike(*nouns)) for kind, nouns in named if nouns)
    return next((AskedWork(kind, frozenset(), alike, is_long=_is_long(*alike)) for kind, alike in found), None)
