"""References by a word inside a sentence: object pronouns, comparisons, persons, contradicting figures.

This module pairs a sentence with one that it needs, judging by closed classes of words after its first one. Ties by a sentence's
first words are in ``near``, by its form in ``following``.

Each rule first checks the words of the whole text, then looks back a bounded number of sentences: all are linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.ties.cues import CUES, FRONTS, POSSESSIVES, SUBJECTS
from turnfold.compression.text.ties.pieces import StatementPiece, before_in_line

Pair = tuple[int, int]
_Rule = Callable[[Sequence[StatementPiece], int], Iterable[Pair]]

_TIES: Final = lexicon("ties")
_OBJECTS: Final = _TIES["object-pronouns"]
_POINTERS: Final = _TIES["object-pointers"]  # pronouns where no noun stands behind them
_ALL_OBJECTS: Final = _OBJECTS | _POINTERS
_JOINING: Final = _TIES["joining"]
_DETERMINERS: Final = _TIES["determiners"]
_BEHIND_POINTERS: Final = _TIES["behind-pointers"]
#: Words by which it is told whether a sentence has such an object.
_TELLING_OBJECTS: Final = _ALL_OBJECTS | _JOINING | _DETERMINERS
_OBLIGING: Final = _TIES["obliging"]
_REACTING: Final = _TIES["reacting"]
_STOPPING: Final = _TIES["stopping"]
_GOVERNING: Final = frozenset(("only", "never"))
_PLACES: Final = _TIES["places-in-order"]
_OUTCOMES: Final = _TIES["outcomes"]
_QUANTITIES: Final = _TIES["quantities"]
_COMPARED: Final = _TIES["compared"]
_REST: Final = _TIES["rest-of-all"]
_TELLING: Final = _TIES["telling-figures"]
_NUMBERS: Final = _TIES["numbers"]
_MEANWHILE: Final = _TIES["meanwhile"]
_DROPPED: Final = _TIES["dropped-subjects"]
_CLITICS: Final = frozenset(("la", "lo", "las", "los", "le", "les"))
_BEHIND_NE: Final = frozenset(("le", "la", "les", "lui", "leur", "en", "y"))
_CLAUSE: Final = lazy.pattern(
    r"\w (?:(?:do|does|did|done|doing) (?:so|this|that)\b|in (?:this|that) (?:sense|case|respect|way|manner|regard)\b)"
)
_DOING: Final = frozenset(("do", "does", "did", "done", "doing"))
_NEGATIVE: Final = _TIES["negative"]
_STANDARDS: Final = frozenset(("than", "als", "que", "di", "dan", "niż"))
_LONGEST: Final = 14  # words of a sentence that is asked for an object
_WITHIN: Final = 8  # words within which the object stands
_LITTLE: Final = 5  # words of a sentence that an object may skip
_TELLING_WORDS: Final = 8
_TELLING_DENSE: Final = 24  # characters, in scripts without blanks
_NEAR: Final = 3
_FAR: Final = 4
_PERSON_NEAR: Final = 4
_BEGIN: Final = 2  # words within which a comparison is the subject
_OWNING: Final = frozenset(("'s", "’s"))
_FIGURE: Final = lazy.pattern(r"\d")
_SETS_FIGURE: Final = lazy.pattern(r"\b(?:it|them|this|that|these|those) (?:to|by) \W?\d")
_FIGURES: Final = lazy.pattern(r"[\d一二两三四五六七八九十百千万]")
_NAME: Final = lazy.pattern(r"[A-ZÀ-ÖØ-ÞĀ-Ž](?<=[\w,;:] .)[^\W\d_]+")
_VERB: Final = lazy.pattern(r"\w(?:ó|é|í|á|aron|ieron|arán|erán)\Z")
#: A verb that tells by its ending that a subject is left out: Polish "Kazał", Spanish "Cambió", Portuguese "Mudou".
_BEGUN_BY_VERB: Final = lazy.pattern(r"\w{2}(?:ał|ała|ył|yła|ił|iła|ali|yli|ili|ó|ou)\Z")
_TURKISH: Final = lazy.pattern(r"[ğışİ]")
#: Negation inside a Turkish verb: "gelmezse", "çalışmayacak", "yaramadı", "açmayın".
_TURKISH_NOT: Final = lazy.pattern(
    r"\w(?:m[ae]z(?:s[ae]\w*|l[ae]r)?|m[ae]dik[çc]e|m[ae]d[ae]n|m[ae]y(?:acak|ecek|ın|in|ınız|iniz)\w*|m[ae]d[ıi](?:k|m|n|l[ae]r)?|m[ıiuü]yor\w*|m[ae]m[ıi]ş)\Z"
)
_TURKISH_UNLESS: Final = lazy.pattern(r"\wm[ae]zs[ae]|\wm[ae]dik[çc]e|\wm[ae]d[ae]n\Z")
_TURKISH_POINTS: Final = frozenset(("bu", "bunu", "bunun", "buna", "onu", "onun", "ona", "o"))
_DENSE_POINTS: Final = lazy.pattern(r"それ|これ|その|この|あれ|这|這|那|它|此")
_DENSE_NOT: Final = lazy.pattern(r"ません|ない|なかった|ず、|不|没|沒|未|无|無|否")
_DENSE_TELLS: Final = lazy.pattern(r"说|說|写|寫|显示|顯示|標|とある|と書|あります|示し|言っ|言い")
_TIMES: Final = _TIES["times"]


def pointing_ties(text: str, pieces: Sequence[StatementPiece]) -> list[Pair]:
    """Pairs of a sentence and one that it needs."""
    found: list[Pair] = []
    hints = pieces[0].hints
    others = _unlisted_rules(text, pieces)
    for i, piece in enumerate(pieces) if others or hints.held & _LISTED_RULES else ():
        said = piece.said
        if piece.starts_line or piece.kind or not said or pieces[i - 1].kind:
            continue
        rules = hints.cues[i] & _LISTED_RULES
        for rule in _called(rules) if rules else ():
            found += rule(pieces, i)
        for rule in others:
            found += rule(pieces, i)
    if len(hints.meaning) > 1 and not hints.dense:
        found += _persons(pieces)
    return found


def _unlisted_rules(text: str, pieces: Sequence[StatementPiece]) -> list[_Rule]:
    """Rules that apply to this text and whose cues are not whole words."""
    hints = pieces[0].hints
    found: list[_Rule] = [_belongs] if "'s " in text or "’s " in text else []
    if not hints.ascii:
        found += [_drops_subject, _holds_clitic]
        found += [_denied_in_turkish] if _TURKISH.search(text) else []
        found += [_denied_dense, _told_dense] if hints.dense else []
    return found


# ---------------------------------------------------------------- pronouns


def _holds_object(pieces: Sequence[StatementPiece], i: int) -> Sequence[Pair]:
    """ "I expect it on the 9th.", "Legal changed that to 60.": the referent comes before, perhaps a short sentence away."""
    said = pieces[i].said
    if len(said) > _LONGEST:
        said = said[:_NEAR]
    if _ALL_OBJECTS.isdisjoint(said[:_WITHIN]):  # most
        return ()
    if not _has_object(said, begins="pronouns" not in pieces[i].opens) or pieces[i].asks:
        return ()
    found = [(i, i - 1)]
    # The first of all starts a line, so there is one before a piece that does not.
    if len(pieces[i - 1].said) <= _LITTLE and not (pieces[i - 1].starts_line or pieces[i - 2].kind):
        found.append((i, i - 2))
    stops = not _STOPPING.isdisjoint(said)
    if stops or not _OBLIGING.isdisjoint(said) or _sets_figure(pieces[i].body):
        found.append((i - 1, i))
    if stops or not _GOVERNING.isdisjoint(said[:1]):
        found += [(k, i) for k in before_in_line(pieces, i, _NEAR)]
    return found


def _sets_figure(body: str) -> bool:
    """Whether a figure is what something is to be set to, or changed by: "Set it to 5."."""
    return (" to " in body or " by " in body) and _SETS_FIGURE.search(body) is not None


def _has_object(said: Sequence[str], *, begins: bool) -> bool:
    """Whether it has a pronoun with at most a subject before it; `begins`: the pronoun may be the first word."""
    determined = 0
    for k, word in enumerate(said[:_WITHIN]):
        if word not in _TELLING_OBJECTS:  # most
            continue
        if (k or begins) and said[k - 1] != "about" and (word in _OBJECTS or (k and word in _POINTERS and _is_pronoun(said, k))):
            return True
        if word in _JOINING and (k or said[1:2] == []):
            return False
        determined += word in _DETERMINERS
        if determined > 1:
            return False
    return False


def _fronted(pieces: Sequence[StatementPiece], i: int) -> Sequence[Pair]:
    """ "Should it rise, ...", "According to their numbers ...", "In a cold kitchen this takes two."."""
    said = pieces[i].said
    begins = not SUBJECTS.isdisjoint(said[1:2]) or not POSSESSIVES.isdisjoint(said[1:_NEAR])
    if begins or (len(said) <= _LONGEST and not _POINTERS.isdisjoint(said[2:_WITHIN]) and _points_behind(said)):
        return ((i, i - 1),)
    return ()


def _points_behind(said: Sequence[str]) -> bool:
    """Whether a verb follows "this" or "that": "... this takes", with no preposition before it."""
    return any(
        word in _POINTERS and behind[-1] == "s" and before not in FRONTS
        for before, word, behind in zip(said[1:], said[2:_WITHIN], said[3:], strict=False)
    )


def _stands_for_clause(pieces: Sequence[StatementPiece], i: int) -> Sequence[Pair]:
    """ "Only the client may do so.", "Karl does this, except for flat 9."."""
    piece = pieces[i]
    said = piece.said
    if len(said) > _LONGEST or (_DOING.isdisjoint(said) and piece.is_heard_whole and " in th" not in piece.body):  # most
        return ()
    if not _CLAUSE.search(piece.body):
        return ()
    return ((i, i - 1),) if _NEGATIVE.isdisjoint(said) else ((i, i - 1), (i - 1, i))


def _is_pronoun(said: Sequence[str], k: int) -> bool:
    return k + 1 == len(said) or said[k + 1] in _BEHIND_POINTERS


def _belongs(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "We agreed on Amir's date.", and the sentence shortly before that says what is Amir's."""
    said = pieces[i].said
    if len(said) > _LONGEST:
        return
    for owner in dict.fromkeys(word[:-2] for word in said if word[-2:] in _OWNING and len(word) > _LITTLE - 1):
        named = next((k for k in before_in_line(pieces, i, _NEAR) if owner in pieces[k].said), None)
        if named is not None:
            yield i, named


def _persons(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """Two sentences that refer to somebody with a pronoun, with nobody named between them."""
    for before, i in pairwise(sorted(pieces[0].hints.meaning)):
        if not 1 < i - before <= _PERSON_NEAR or pieces[i].kind or pieces[before].kind:
            continue
        said, between = pieces[i].said, pieces[before + 1 : i]
        fronted = said[0] in FRONTS and not SUBJECTS.isdisjoint(said[1:2])
        if not fronted and False in [_names_nobody(piece) for piece in between]:  # most
            continue
        if not (pieces[i].starts_line or any(piece.starts_line or piece.kind for piece in between)):
            yield i, before


def _names_nobody(piece: StatementPiece) -> bool:
    said = piece.said
    return (
        bool(said)
        and (said[0] in _DETERMINERS or said[0] in _JOINING)
        and all(name.lower() in _TIMES for name in _NAME.findall(piece.body))
    )


def _holds_clitic(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "Marta la cambió al 15."."""
    said = pieces[i].said[:_WITHIN]
    if any((word in _CLITICS and _VERB.search(verb)) or (word == "ne" and verb in _BEHIND_NE) for word, verb in pairwise(said)):
        yield i, i - 1


def _drops_subject(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "Kazał ją sprawdzić.", "Propuso el 16.": the subject is in the sentence before."""
    first = pieces[i].said[0]
    if first in _DROPPED or _BEGUN_BY_VERB.search(first):
        yield i, i - 1


# ---------------------------------------------------------------- reactions, comparisons


def _numbered(pieces: Sequence[StatementPiece], i: int) -> list[Pair]:
    """ "The first of these rights ends if ...", and those among which it is the first."""
    said = pieces[i].said
    found: list[Pair] = []
    if "of" not in said or _PLACES.isdisjoint(said[:_LITTLE]):  # most
        return found
    for k in range(min(len(said) - 2, _LITTLE)):
        if said[k] in _PLACES and said[k + 1] == "of" and (said[k + 2] in _POINTERS or said[k + 2] in _OBJECTS):
            found += [(i, i - 1), *((before, i) for before in before_in_line(pieces, i, _NEAR))]
    return found


def _ends(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "The motion failed.", and the sentences shortly before that tell of the motion."""
    piece = pieces[i]
    if len(piece.said) <= _LITTLE and piece.said[-1] in _OUTCOMES and piece.said[0] in _DETERMINERS:
        yield from ((k, i) for k in before_in_line(pieces, i, _NEAR) if piece.shares_words(pieces[k]))


def _reacts(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "Amir objected because ...", "He refused.": to what is not said."""
    said = pieces[i].said
    ends = len(said) <= _TELLING_WORDS and said[-1] in _REACTING
    if ends or any(word in _REACTING and behind in _JOINING for word, behind in pairwise(said[:_LITTLE])):
        yield i, i - 1
        yield i - 1, i


def _compares(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "A higher sum can be agreed.", without than what."""
    said = pieces[i].said
    if not _COMPARED.isdisjoint(said[:_BEGIN]) and _STANDARDS.isdisjoint(said):
        yield i, i - 1


def _leaves_rest(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "Burn everything else.": besides what."""
    said = pieces[i].said
    if len(said) <= _LONGEST and not _REST.isdisjoint(said[1:]) and _STANDARDS.isdisjoint(said) and "each" not in said:
        yield i, i - 1


# ---------------------------------------------------------------- figures


def _has_figure(piece: StatementPiece) -> bool:
    return _FIGURE.search(piece.text) is not None or not _NUMBERS.isdisjoint(piece.said)


def _figure_pairs(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "The clinic says six. The hospital says seven.": who tells a figure, and the figure told shortly before."""
    piece = pieces[i]
    if len(piece.said) <= _TELLING_WORDS and not _TELLING.isdisjoint(piece.said) and not piece.asks and _has_figure(piece):
        yield from _beside_figure(pieces, i, _has_figure)


def _beside_figure(pieces: Sequence[StatementPiece], i: int, has_figure: Callable[[StatementPiece], bool]) -> Iterator[Pair]:
    earlier = next((k for k in before_in_line(pieces, i, _FAR) if has_figure(pieces[k]) and not pieces[k].asks), None)
    if earlier is not None and pieces[earlier].said != pieces[i].said:  # what a program says again contradicts nothing
        yield earlier, i
        yield i, earlier


def _happened_meanwhile(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "Throughput was 900. Caching was turned off during the test.": under what figures were found."""
    said = pieces[i].said
    if len(said) <= _LONGEST and not _MEANWHILE.isdisjoint(said[-_NEAR:]):
        yield from ((k, i) for k in before_in_line(pieces, i, _FAR) if _has_figure(pieces[k]))


def _speaks_of_figure(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "That date assumes that ...", and the date."""
    said = pieces[i].said
    if len(said) > 1 and said[1] in _QUANTITIES and (said[0] in _POINTERS or said[0] in _QUANTITIES):
        yield from _beside_figure(pieces, i, _has_figure)


# ---------------------------------------------------------------- other scripts and Turkish


def _denied_in_turkish(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """A sentence whose verb is negated and which points back or has a condition, and the sentence that it is about."""
    said = pieces[i].said
    if len(said) > _TELLING_WORDS or not any(map(_TURKISH_NOT.search, said)):
        return
    if not _TURKISH_POINTS.isdisjoint(said):
        yield i, i - 1
        yield i - 1, i
    elif any(map(_TURKISH_UNLESS.search, said)):
        yield i - 1, i


def _denied_dense(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "部長はそれを認めませんでした。" and what it is about."""
    piece = pieces[i]
    if piece.dense and len(piece.body) <= _TELLING_DENSE and _DENSE_POINTS.search(piece.body):
        if not _DENSE_NOT.search(piece.limiting_body):
            return
        yield i, i - 1
        yield i - 1, i


def _told_dense(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "合同金额是八万元。财务说是七万五。"."""
    piece = pieces[i]
    if piece.dense and len(piece.body) <= _TELLING_DENSE and _DENSE_TELLS.search(piece.body) and _has_dense_figure(piece):
        yield from _beside_figure(pieces, i, _has_dense_figure)


def _has_dense_figure(piece: StatementPiece) -> bool:
    return _FIGURES.search(piece.body) is not None


#: Rules, each with the list of words of which a sentence must have one.
_RULES: Final[tuple[tuple[_Rule, str], ...]] = (
    (_holds_object, "objects"),
    (_fronted, "begins-fronted"),
    (_stands_for_clause, "clauses"),
    (_reacts, "reacting"),
    (_compares, "compared"),
    (_leaves_rest, "rest-of-all"),
    (_numbered, "places-in-order"),
    (_ends, "outcomes"),
    (_figure_pairs, "telling-figures"),
    (_speaks_of_figure, "quantities"),
    (_happened_meanwhile, "meanwhile"),
    (_drops_subject, "dropped-subjects"),
)
#: The rules by the cues that call for them, in order.
_RULE_OF: Final = {CUES[name]: rule for rule, name in _RULES}
_LISTED_RULES: Final = sum(_RULE_OF)


@cache
def _called(cues: int) -> tuple[_Rule, ...]:
    return tuple(rule for bit, rule in _RULE_OF.items() if cues & bit)
