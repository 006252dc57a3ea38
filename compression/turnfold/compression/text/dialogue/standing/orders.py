"""Standing orders: what a user wants done from now on, in every turn.

This module finds such sentences in languages that put blanks between words. Other signals are in ``signals``, scripts without
blanks in ``run_on_orders``, the words and phrases in ``lexicon/orders.txt``.

Orders are recognised by form: an imperative verb together with a rule word ("Use pnpm, never npm"), a rule word or a prohibition
where a command begins ("Never sign", but not "I never sign" nor "Never been there") or behind the words that say where it holds
("In this project always use tabs"), in German and Dutch with an infinitive at the end ("Nie auf main pushen"), a phrase about
the future in a sentence that is not about the speaker, or a clause of nothing but manners of answering (``manner``). For each
language the table lists the phrases of each part (a blank is written as ``_``), and verbs in full or as stems and endings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.dialogue.standing.constraints import is_constraint, may_constrain
from turnfold.compression.text.dialogue.standing.languages import (
    BEFORE_VERBS,
    BY_TRIGGER,
    LAST_WORDS,
    LEADING,
    LEADING_WORDS,
    ORDER_CUES,
    ORDER_TABLE,
    RULE_CUES,
    SPACED,
    VERBS,
    OrderLanguage,
    is_form,
    split_elision,
    without_accents,
)
from turnfold.compression.text.dialogue.standing.manner import MANNER_CUES, tells_manner
from turnfold.compression.text.dialogue.standing.once import is_for_once
from turnfold.compression.text.dialogue.standing.run_on_orders import run_on_orders
from turnfold.compression.text.heard import HeardWords
from turnfold.compression.text.lower import lower_text, words
from turnfold.compression.text.sentences import LONGEST, rough_sentences, sentences
from turnfold.compression.text.spans import Span

# A clause begins where the sentence does, behind a sign that opens a new thought, or (weaker) behind a comma.
_PIECE: Final = lazy.pattern(r"\w+(?:'[^\W\d_]+)?|[:;,—–()\"“”«»„]|(?<=\s)-(?=\s)")
_QUOTED_WORD: Final = lazy.pattern(r"[\"“„«]([^\W_]{1,20})[\"”“»]")  # "Immer „Sie“ verwenden": a word of the clause
_REACH: Final = 12  # words after a command within which its word of rule must be
RUN_ON_WORDS: Final = 30  # words without punctuation that make several sentences
_SCOPE: Final = 7  # words of a phrase that limits the scope of an order
_NEAR: Final = 3  # words within which a "you must" has its verb or its "never"
_ELIDED: Final = lazy.pattern("(?<![A-Za-z])[nN]'")
#: A text that contains no end of a sentence, and no script with other ends.
_ONE_LINE: Final = lazy.pattern(r"[^\n\"()\[\]{}<>`\u2018\u201c-\u201e\u00ab\u00bb\u0370-\u1fff\u2e80-\uffee]*\Z")
_ASKS: Final = lazy.pattern(r"[?？؟]\s*\Z")
_ASKS_YOU: Final = lazy.pattern(r"\b(?:can|could|would|will) you\b|\bplease\b|\bbitte\b|por favor|s'il (?:te|vous)")
_RUN_ON: Final = run_on_orders(ORDER_TABLE)
#: Covers all letters of these scripts; more than two ranges would take milliseconds to compile.
_RUN_ON_SIGN: Final = lazy.pattern("[\u0600-\u097f\u3040-\ud7af]")
#: Characters after which another clause may begin.
MARKS: Final = ":;,()\"'-"


def is_standing_order(sentence: str, known: Sequence[str] | None = None) -> bool:
    """Whether a sentence tells the reader how to behave beyond this turn.

    A question is not an order unless it is a polite request, and neither is a request for one thing or one time (``once``).
    """
    return _orders_something(sentence, known) and not is_for_once(sentence)


def _orders_something(sentence: str, known: Sequence[str] | None) -> bool:
    if not sentence.isascii() and _RUN_ON_SIGN.search(sentence) and _RUN_ON.search(sentence):
        return not _ASKS.search(sentence)
    if tells_manner(sentence, known) or is_constraint(sentence, known):
        return True
    if known is not None and ORDER_CUES.isdisjoint(known) and not _may_elide(sentence, known):
        return False
    if known and _commands_nothing(sentence, known):
        return False
    low = lower_text(sentence)
    if (known is None and not may_order(words(low), low)) or (_ASKS.search(low) and not _ASKS_YOU.search(low)):
        return False
    plain = without_accents(low)
    if '"' in plain or not plain.isascii():
        plain = _QUOTED_WORD.sub(r"\1", plain)
    pieces = _PIECE.findall(plain)
    if "'" in low:
        pieces = [part for piece in pieces for part in split_elision(piece)]
    said = frozenset(pieces)
    likely = {number for word in BY_TRIGGER.keys() & said for number in BY_TRIGGER[word]}
    return any(_orders(SPACED[number], _clauses(SPACED[number], pieces), said) for number in likely)


def _commands_nothing(sentence: str, known: Sequence[str]) -> bool:
    """Whether a single-clause sentence is certainly no order: it begins with no command, and has no phrase that orders without
    one.
    """
    if len(known) >= RUN_ON_WORDS or may_begin_command(known[0]) or not LAST_WORDS.isdisjoint(known):
        return False
    if not sentence.isascii() or any(map(sentence.__contains__, MARKS)):
        return False
    said = frozenset(known)
    return True not in [words <= said for word in LEADING_WORDS & said for words in LEADING[word]]


@lru_cache(maxsize=1024)
def may_begin_command(word: str) -> bool:
    """Whether a sentence that begins with this word may begin with a command. Cached, since few words begin most sentences."""
    return word in BEFORE_VERBS or is_form(word, VERBS)


def begins_with_command(sentence: str) -> bool:
    """Whether a sentence begins with an imperative or a prohibition ("don't use"), for now or for good."""
    plain = without_accents(lower_text(sentence))
    begin = next((m.group() for m in _PIECE.finditer(plain) if m.group()[0].isalnum() or m.group()[0] == "_"), "")
    first = next(iter(split_elision(begin)))
    if first not in BEFORE_VERBS:  # most sentences need no closer look in any language
        return is_form(first, VERBS)
    runs: list[list[str]] = [[]]  # of words between two punctuation marks
    for piece in _PIECE.findall(plain):
        if piece[0].isalnum() or piece[0] == "_":
            runs[-1] += split_elision(piece)
        elif runs[-1]:
            runs.append([])
    return any(_begins_with_command(language, runs) for language in SPACED)


def _begins_with_command(language: OrderLanguage, runs: Sequence[Sequence[str]]) -> bool:
    """The same in one language, for the first run of words that is not only an introduction ("please")."""
    for said in runs:
        begin = language.past("please", said, 0)
        if begin == len(said) >= RUN_ON_WORDS:
            begin = next(_joints(language, said), begin)
        if begin < len(said):
            return language.commands(said, language.past("not", said, begin))
    return False


def may_order(known: Sequence[str], text: str = "") -> bool:
    """Whether a text, or a sentence of it, may be an order, judged by its words. In scripts with spaces, False is certain."""
    if not RULE_CUES.isdisjoint(known) or ("n'" in " ".join(known) and any(word.startswith("n'") for word in known)):
        return True
    # Words of manner are common, but sentences about nothing else are recognised at once.
    return not MANNER_CUES.isdisjoint(known) and any(tells_manner(text[start:end]) for start, end in rough_sentences(text))


def orders_nothing(text: str) -> bool:
    """Whether a text certainly has no standing order: its words make none, or it is a single line that is split the same way in
    any part, and no sentence is one.
    """
    if _words_order_nothing(text):
        return True
    return len(text) <= LONGEST and _ONE_LINE.match(text) is not None and not standing_orders(text)


def _words_order_nothing(text: str) -> bool:
    """Whether there is no order in a text wherever its sentences end, since it lacks the words for one.

    Only of ASCII, in which sentences end between words, without quotation marks, which may stand within a word.
    """
    if not text.isascii() or '"' in text:
        return False
    said = frozenset(words(lower_text(text)))
    parts = said.union(*map(split_elision, said)) if "'" in text else said
    return MANNER_CUES.isdisjoint(said) and BY_TRIGGER.keys().isdisjoint(parts) and not may_constrain(said)


def may_be_orders(text: str, heard: HeardWords) -> Sequence[int]:
    """Indices of the pieces of a text, given by their words, that may be or contain a standing order; others certainly don't."""
    if text.isascii() and not ("'" in text and any(word.startswith("n'") for word in heard.distinct)):
        return heard.holding(ORDER_CUES)
    return range(len(heard.said))


def may_elide(text: str) -> bool:
    """Whether a word of an ASCII text may begin with a French "n'"."""
    return "'" in text and _ELIDED.search(text) is not None


def _may_elide(sentence: str, known: Sequence[str]) -> bool:
    """Whether a word of a sentence may begin with a French "n'"."""
    return ("'" in sentence or "’" in sentence) and may_order(known, sentence)


def standing_orders(text: str) -> list[Span]:
    """The sentences of a text that are standing orders, including the white space after them; kind ``order``."""
    if text.isascii() and not may_order(words(lower_text(text)), text):
        return []
    return [Span(s.start, s.end, "order") for s in sentences(text) if not s.kind and _is_order(s.of(text))]


def _is_order(sentence: str) -> bool:
    return is_standing_order(sentence, words(lower_text(sentence)))


class _OrderClause(NamedTuple):
    """Words between two punctuation marks; `strong` if a command may begin here (not after just a comma)."""

    said: tuple[str, ...]
    strong: bool


def _clauses(language: OrderLanguage, pieces: Sequence[str]) -> list[_OrderClause]:
    """The clauses of a sentence, without words that introduce a command ("please", "and also")."""
    found: list[_OrderClause] = []
    said: list[str] = []
    strong = True
    asides = language.parts["aside"].keys()
    if "".join(pieces).isalnum():  # no punctuation mark, as in most sentences
        said, pieces = [*pieces], ()
    for piece in (*pieces, ""):
        if piece and (piece[0].isalnum() or piece[0] == "_"):
            said.append(piece)
            continue
        begin = language.past("please", said, 0)
        found.append(_OrderClause(tuple(said[begin:]), strong or begin > 0))
        # "Could you please always ...": a command may begin anew after such a word.
        if not asides.isdisjoint(said):
            found += [_OrderClause(tuple(said[i + 1 :]), True) for i in range(begin, len(said)) if language.at("aside", said, i)]
        if len(said) >= RUN_ON_WORDS:
            found += [_OrderClause(tuple(said[i:]), True) for i in _joints(language, said)]
        # A command may still begin after just "please,".
        said, strong = [], piece != "," or (strong and begin == len(said))
    return [clause for clause in found if clause.said]


def _joints(language: OrderLanguage, said: Sequence[str]) -> Iterator[int]:
    """Places where a command may begin without punctuation: at a rule word after "and", "also" and similar words."""
    for i in range(len(said)):
        behind = language.past("please", said, i)
        if behind > i and (language.at("always", said, behind) or language.at("not", said, behind)):
            yield behind


def _orders(language: OrderLanguage, clauses: Sequence[_OrderClause], spoken: Set[str]) -> bool:
    if any(_commands_always(language, clause) or _is_instruction(language, clause) for clause in clauses):
        return True
    if any(clause.strong and _commands_in_scope(language, clause.said) for clause in clauses):
        return True
    if any(language.at("always", two.said, 0) and language.commands(one.said, 0) for one, two in pairwise(clauses)):
        return True  # "Use pnpm, never npm"
    if any(_is_scope(language, one) and _forbids(language, two.said) for one, two in pairwise(clauses)):
        return True  # "Dans ce projet, ne jamais supprimer de fichiers"
    return _chooses_for_place(language, clauses, spoken) or _is_about_time_to_come(language, clauses, spoken)


def _commands_always(language: OrderLanguage, clause: _OrderClause) -> bool:
    """Whether a clause begins with a command that holds beyond this turn."""
    said = clause.said
    opens = said[0] in language.openers
    if opens and language.at("talk", said, 0):
        return False
    if (said[-1] in language.last and language.has("bound", said)) or (  # Turkish commands at the end
        opens and clause.strong and language.at("ensure", said, 0)
    ):
        return True
    if not opens:
        return language.has("bound", said, 1, 1 + _REACH) and language.commands(said, 0)  # few sentences have such a word
    if opening := language.at("always", said, 0) or language.at("not", said, 0):
        forbids = not language.at("always", said, 0)
        verb = language.past("fill", said, opening)
        if language.commands(said, verb):
            return clause.strong or not forbids
        return clause.strong and (language.may_command(said, verb) or language.ends_with_command(said))
    return language.commands(said, 0) and language.has("bound", said, 1, 1 + _REACH)


def _commands_in_scope(language: OrderLanguage, said: Sequence[str]) -> bool:
    """Whether a clause states the scope of an order, and then the order: "in this project always use tabs"."""
    if not language.at("scope", said, 0):
        return False
    for i in range(2, min(_SCOPE, len(said) - 1)):
        if language.at("narrators", said, i - 1):
            continue
        if opening := language.at("always", said, i) or language.at("not", said, i):
            verb = language.past("fill", said, i + opening)
            return language.commands(said, verb) or (verb < len(said) - 1 and language.ends_with_command(said))
        if language.commands(said, i) and language.at("always", said, i + 1):
            return True
    return False


def _forbids(language: OrderLanguage, said: Sequence[str]) -> bool:
    """Whether a clause begins with a command not to do something."""
    return (opening := language.at("not", said, 0)) > 0 and language.commands(said, language.past("fill", said, opening))


def _is_scope(language: OrderLanguage, clause: _OrderClause) -> bool:
    """Whether a clause only states the scope of an order."""
    return clause.strong and len(clause.said) <= _SCOPE and language.at("scope", clause.said, 0) > 0


def _is_instruction(language: OrderLanguage, clause: _OrderClause) -> bool:
    """Whether a clause says what the reader must do: "you must not", "I want you to always"."""
    said = clause.said
    if not language.parts["told"].keys().isdisjoint(said) and language.has("told", said):
        return True
    if language.parts["must"].keys().isdisjoint(said):
        return False
    for i in range(len(said)):
        if step := language.at("must", said, i):
            near = range(i + step, min(i + step + _NEAR, len(said)))
            if any(language.at("bound", said, j) or language.at("not", said, j) for j in near):
                return True
    return False


def _is_about_time_to_come(language: OrderLanguage, clauses: Sequence[_OrderClause], spoken: Set[str]) -> bool:
    """Whether a phrase such as "from now on" or "every time I" belongs to a command.

    For "from now on", it is enough that there is no other subject. `spoken` are the words of all clauses.
    """
    parts_named = [part for part in ("future", "someday", "when") if not language.parts[part].keys().isdisjoint(spoken)]
    if not any(language.has(part, c.said) for part in parts_named for c in clauses):
        return False
    commanded = False
    for clause in reversed(clauses):
        said = clause.said
        commanded = commanded or _commands(language, said)
        for i in range(len(said)):
            if step := language.at("future", said, i):
                if commanded or not _narrates(language, clauses, clause, i + step):
                    return True
            elif commanded and (language.at("someday", said, i) or (i == 0 and language.at("when", said, i))):
                return True
    return False


def _chooses_for_place(language: OrderLanguage, clauses: Sequence[_OrderClause], spoken: Set[str]) -> bool:
    """Whether the sentence chooses one of two things for a place where work will continue: "use pnpm, not npm, in this
    repository".
    """
    if language.parts["place"].keys().isdisjoint(spoken) or language.parts["against"].keys().isdisjoint(spoken):
        return False
    said = [clause.said for clause in clauses]
    placed, chosen = (any(language.has(part, one) for one in said) for part in ("place", "against"))
    return placed and chosen and any(_commands(language, one) for one in said)


def _commands(language: OrderLanguage, said: Sequence[str]) -> bool:
    """Whether there is a command where one may be: at the start, or after a phrase about the future."""
    if language.commands(said, 0) or (language.at("not", said, 0) and language.commands(said, language.past("fill", said, 1))):
        return True
    bound = language.parts["bound"]
    return any(
        said[i + 1] in bound and language.commands(said, i) and language.has("bound", said, i + 1, i + 2)
        for i in range(1, len(said) - 1)
    )


def _narrates(language: OrderLanguage, clauses: Sequence[_OrderClause], clause: _OrderClause, behind: int) -> bool:
    """Whether the sentence is a narration: it begins with a subject, or one follows the phrase."""
    at = clauses.index(clause)
    follows = clause.said[behind : behind + 2] or (clauses[at + 1].said[:2] if at + 1 < len(clauses) else ())
    return any(language.at("narrators", words, i) > 0 for words in (clauses[0].said[:1], follows) for i in range(len(words)))
