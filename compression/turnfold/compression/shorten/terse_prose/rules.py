"""The rules of a lexicon: which words of prose can be removed or replaced.

This module reads a lexicon (TOML) into rules, and builds the tree in which they are looked up by word. Texts are compressed in
``compress`` and split in ``pieces``. No word of any language is here: ``text/lexicon/terse_en.toml`` has them all.

A lexicon has a ``language``, named ``sets`` of words (``*ing``: whatever ends so) and ``[[rule]]`` tables:

- ``stage`` of `STAGES` and ``level`` of `INTENSITIES`, the mildest at which it holds ("keep" holds at all of them);
- ``drop``: phrases to remove; ``replace``: phrases and their replacements; ``keep``: phrases that no rule may touch. In a phrase
  ``(x)`` is optional and ``{x|y z}`` is one of several;
- ``at``: "start" (of a sentence), "clause" (or behind a comma or a conjunction), "sentence" (all of one; with ``tail`` that many
  plain words may follow);
- ``after``, ``before``, ``then`` and ``not_after``, ``not_before``: what the word in front, the next one, and the one behind that
  must be or must not be: words, ``@set``, ``@end`` for punctuation and the end of a line, ``@front`` for these and a list's
  bullet, ``@opaque`` for what stays byte for byte;
- sets that hold for all rules: ``guarded`` (words that no rule takes away), and ``naming``, ``named``, ``determiner``: behind a
  word of the first or the last and in front of one of the second a phrase is spoken of, not used ("the word please");
- ``comma``: a comma behind the phrase goes with it; ``needs_comma``: it must be there; ``idiom``: guarded words (the set
  ``guarded``: negation, modality) may be among those that go.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import files
from itertools import product
from typing import Any, Final

from turnfold.compression import lazy, tokens
from turnfold.compression.errors import InvalidInput
from turnfold.compression.shorten.terse_prose.lexicon_form import check_circles, check_form

#: Mildest first; each does all that the one before it does.
INTENSITIES: Final = ("lite", "full", "ultra")
#: In the order in which rules for one and the same words are tried.
STAGES: Final = ("keep", "pleasantries", "hedges", "fillers", "phrases", "glue", "articles", "abbreviations")
#: Stages whose phrases say something of their own, so that they can be spoken of.
PHRASED: Final = frozenset({"pleasantries", "hedges", "fillers", "phrases"})
ARTICLES: Final = frozenset({"the", "a", "an"})
#: Keys of what is no word: a line's end, the end of a sentence, other punctuation, a list's bullet, anything that stays as it is.
LINE, STOP, COLON, COMMA, BULLET, OPAQUE, OPAQUE_STOP = "\n", ".", ":", ",", "-", "\0", "\0."
ENDS: Final = frozenset({LINE, STOP, COLON, COMMA})
_PLACES: Final = {"@end": ENDS, "@front": ENDS | {BULLET, OPAQUE_STOP}, "@opaque": frozenset({OPAQUE, OPAQUE_STOP})}
PLACES: Final = ("any", "clause", "start", "sentence")

#: No rule looks at more words than these: the longest phrase, the longest tail, and what must follow.
LONGEST_PHRASE, LONGEST_TAIL, FARTHEST = 14, 12, 32

_NOUN: Final = 2  # words behind the next one that tell whether an article may go

_FIELDS: Final = frozenset(
    [
        "stage",
        "level",
        "at",
        "drop",
        "replace",
        "keep",
        "after",
        "before",
        "then",
        "not_after",
        "not_before",
        "comma",
        "needs_comma",
        "idiom",
        "tail",
    ]
)
_PARTS: Final = lazy.pattern(r"\{[^{}]*\}|\([^()]*\)|[^\s{}()]+")
_MOST_FORMS: Final = 1000


@dataclass(frozen=True, slots=True)
class Words:
    """A set of words; some by their endings."""

    words: frozenset[str] = frozenset()
    endings: tuple[str, ...] = ()

    def __contains__(self, key: str) -> bool:
        return key in self.words or (key.endswith(self.endings) if self.endings else False)


Keys = frozenset[str] | Words


@dataclass(frozen=True, slots=True)
class TerseRule:
    """One phrase and its replacement.

    Attributes:
        words: consecutive keys that it matches.
        new: the replacement; empty: the phrase is removed.
        level: index into `INTENSITIES`.
        tail: number of plain words that may follow up to the end of the sentence and are removed too.
        reach: maximum number of places that it looks ahead.
    """

    stage: str
    level: int
    words: tuple[str, ...]
    new: tuple[str, ...] = ()
    at: str = "any"
    after: Keys | None = None
    before: Keys | None = None
    then: Keys | None = None
    not_after: Keys | None = None
    not_before: Keys | None = None
    comma: bool = False
    needs_comma: bool = False
    tail: int = 0
    reach: int = 1

    @property
    def phrase(self) -> str:
        """The words as written in a text."""
        return " ".join(self.words).replace(" ,", ",").replace(" :", ":")


@dataclass(slots=True)
class Node:
    """Rules whose words end here, best first, and the words that may follow."""

    rules: list[TerseRule] = field(default_factory=list)
    next: dict[str, Node] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What holds for all rules of a lexicon.

    Attributes:
        guarded: words that are never removed.
        naming: words that make a phrase behind them one that is spoken of ("the word just").
        named: words that do so in front ("the please keyword").
        determiners: words that make a noun of what stands behind them.
        verbs: nouns that are verbs too: an article between one that opens its sentence and a noun tells an order from a compound.
        begins: first words of all phrases; no article goes in front of one, as its rule would see another neighbour.
    """

    guarded: Words
    naming: Words
    named: Words
    determiners: Words
    verbs: Words
    begins: frozenset[str]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The rules of one language.

    Attributes:
        trees: per intensity, the tree of all rules that hold at it.
        fresh: per intensity, first words of the rules that it adds.
        bounds: what holds for all of them.
        idle: phrases of an extension that would not save tokens in both vocabularies; they are not applied.
    """

    language: str
    rules: tuple[TerseRule, ...]
    trees: tuple[Mapping[str, Node], ...]
    fresh: tuple[frozenset[str], ...]
    bounds: Bounds
    idle: tuple[str, ...] = ()


def forms(phrase: str, where: str = "phrase") -> list[tuple[str, ...]]:
    """All variants of a phrase with ``(optional)`` and ``{one|of several}`` parts, as words.

    Raises:
        InvalidInput: there are none, or far too many.
    """
    choices: list[list[str]] = []
    for part in _PARTS.findall(phrase):
        inner = part[1:-1].split("|")
        choices.append(["", *inner] if part[0] == "(" else inner if part[0] == "{" else [part])
    amount = 1
    for choice in choices:
        amount *= len(choice)
    found = (
        {tuple(" ".join(chosen).lower().replace("’", "'").split()) for chosen in product(*choices)}
        if amount <= _MOST_FORMS
        else set()
    )
    if not found or () in found:
        raise InvalidInput(where, f"{phrase!r} stands for no words, or for more than {_MOST_FORMS} phrases")
    return sorted(found)


@lru_cache(maxsize=8)
def lexicon(extension: str = "") -> Lexicon:
    """The packaged lexicon, extended by a user's own TOML (same form; ``remove = [...]`` removes phrases).

    Raises:
        InvalidInput: the extension is not a lexicon; it names the field.
    """
    language, packaged, packaged_rules = _packaged()
    sets, rules, idle = dict(packaged), list(packaged_rules), list[str]()
    if extension:
        added = _parse(extension)
        sets |= {name: [*sets.get(name, ()), *words] for name, words in added.get("sets", {}).items()}
        check_circles(sets)
        own = list(_rules(added, sets))
        idle = [rule.phrase for rule in own if not _saves(rule)]
        gone = {form for phrase in added.get("remove", ()) for form in forms(phrase, "remove")}
        rules = [rule for rule in rules if rule.words not in gone] + [rule for rule in own if _saves(rule)]
    fresh = tuple(frozenset(r.words[0] for r in rules if _is_fresh(r, level)) for level in range(len(INTENSITIES)))
    trees = tuple(_tree([r for r in rules if r.level <= level]) for level in range(len(INTENSITIES)))
    return Lexicon(language, tuple(rules), trees, fresh, _bounds(rules, sets), tuple(idle))


@lru_cache(maxsize=1)
def _packaged() -> tuple[str, Mapping[str, list[str]], tuple[TerseRule, ...]]:
    """Language, sets and rules of the packaged lexicon."""
    data = tomllib.loads((files("turnfold.compression.text.lexicon") / "terse_en.toml").read_text(encoding="utf-8"))
    return data["language"], data["sets"], tuple(_rules(data, data["sets"]))


def _is_fresh(rule: TerseRule, level: int) -> bool:
    """Whether a level must look for a rule: its own, what is kept, and phrases with an article, which stays where they are
    spoken of."""
    spoken = rule.stage in PHRASED and not ARTICLES.isdisjoint(rule.words)
    return rule.level == level or (rule.level < level and (rule.stage == "keep" or spoken))


def _bounds(rules: Sequence[TerseRule], sets: Mapping[str, Sequence[str]]) -> Bounds:
    named = {name: _words([f"@{name}"], sets, name) for name in ("guarded", "naming", "named", "determiner", "double")}
    begins = frozenset(rule.words[0] for rule in rules if rule.stage in PHRASED)
    return Bounds(named["guarded"], named["naming"], named["named"], named["determiner"], named["double"], begins)


def _parse(text: str) -> dict[str, Any]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise InvalidInput("lexicon", f"is not TOML ({exc})") from exc
    if strange := sorted(set(data) - {"language", "sets", "rule", "remove"}):
        raise InvalidInput(f"lexicon.{strange[0]}", "is no field of a lexicon")
    if data.get("language", "en") != "en":
        raise InvalidInput("lexicon.language", "must be en")
    check_form(data)
    return data


def _rules(data: Mapping[str, Any], sets: Mapping[str, Sequence[str]]) -> Iterator[TerseRule]:
    guarded = _words(["@guarded"], sets, "guarded")
    for number, table in enumerate(data.get("rule", ())):
        where = f"lexicon.rule[{number}]"
        if strange := sorted(set(table) - _FIELDS):
            raise InvalidInput(f"{where}.{strange[0]}", "is no field of a rule")
        common = _common(table, sets, where)
        pairs: list[tuple[str, tuple[str, ...]]] = [(phrase, ()) for phrase in (*table.get("drop", ()), *table.get("keep", ()))]
        pairs += [(phrase, tuple(new.split())) for phrase, new in table.get("replace", {}).items()]
        for phrase, new in pairs:
            for words in forms(phrase, where):
                rule = TerseRule(words=words, new=new, **common)
                beyond = rule.tail + rule.comma + rule.needs_comma + (rule.then is not None) + (rule.at == "sentence")
                beyond += _NOUN if rule.stage == "articles" else rule.stage in PHRASED or rule.stage == "abbreviations"
                rule = replace(rule, reach=len(words) + beyond)
                if problem := _problem(rule, guarded, idiom=bool(table.get("idiom"))):
                    raise InvalidInput(where, f"{phrase!r} {problem}")
                yield rule


def _problem(rule: TerseRule, guarded: Words, *, idiom: bool) -> str:
    """The problem with a rule, as half a sentence; "" if there is none."""
    if len(rule.words) > LONGEST_PHRASE:
        return f"has more than {LONGEST_PHRASE} words"
    if len(rule.new) > len(rule.words):
        return f"has fewer words than {' '.join(rule.new)!r}"
    if rule.stage == "abbreviations" and len(rule.new) != 1:
        return "must stand for one word to be abbreviated"
    lost = sum(word in guarded for word in rule.words) > sum(word in guarded for word in rule.new)
    if lost and rule.stage != "keep" and not idiom:
        return "takes away negation or modality; say idiom = true where it means none"
    return ""


def _common(table: Mapping[str, Any], sets: Mapping[str, Sequence[str]], where: str) -> dict[str, Any]:
    """Attributes that all rules of a table share."""
    checked = (("stage", STAGES, ""), ("level", INTENSITIES, INTENSITIES[0]), ("at", PLACES, PLACES[0]))
    chosen = {name: table.get(name, default) for name, _, default in checked}
    for name, known, _ in checked:
        if chosen[name] not in known:
            raise InvalidInput(f"{where}.{name}", f"must be one of {', '.join(known)}")
    guards = {name: _guard(table.get(name, ()), sets, where) for name in ("after", "before", "then", "not_after", "not_before")}
    flags = {name: bool(table.get(name, False)) for name in ("comma", "needs_comma")}
    return {
        "stage": chosen["stage"],
        "level": INTENSITIES.index(chosen["level"]),
        "at": chosen["at"],
        "tail": min(int(table.get("tail", 0)), LONGEST_TAIL),
        **guards,
        **flags,
    }


def _words(names: Sequence[str], sets: Mapping[str, Sequence[str]], where: str) -> Words:
    found: list[str] = []
    for name in names:
        if name in _PLACES:
            found += sorted(_PLACES[name])
        elif name.startswith("@"):
            if name[1:] not in sets:
                raise InvalidInput(where, f"there is no set {name}")
            inner = _words(sets[name[1:]], sets, where)
            found += [*sorted(inner.words), *(f"*{ending}" for ending in inner.endings)]
        else:
            found.append(name)
    plain = frozenset(word for word in found if not word.startswith("*"))
    return Words(plain, tuple(sorted({word[1:] for word in found if word.startswith("*")})))


def _guard(names: Sequence[str], sets: Mapping[str, Sequence[str]], where: str) -> Keys | None:
    """A set of words for looking up neighbours, in the simplest form that works, because it is queried for each word of a
    text."""
    found = _words(names, sets, where)
    return found if found.endings else found.words or None


def _tree(rules: Sequence[TerseRule]) -> dict[str, Node]:
    roots: dict[str, Node] = {}
    for rule in sorted(rules, key=lambda rule: STAGES.index(rule.stage)):  # stable: within a stage as the lexicon has them
        level = roots
        for word in rule.words[:-1]:
            level = level.setdefault(word, Node()).next
        level.setdefault(rule.words[-1], Node()).rules.append(rule)
    return roots


def _saves(rule: TerseRule) -> bool:
    """Whether a rule saves tokens of both vocabularies in the middle of a line."""
    return rule.stage == "keep" or all(saving(rule, name) > 0 for name in ("o200k_base", "cl100k_base"))


def saving(rule: TerseRule, name: tokens.EncodingName) -> int:
    """Tokens of a vocabulary that a rule saves after a blank."""
    if rule.words[0] == COMMA:
        return tokens.count(rule.phrase, name) - len(rule.new)
    return tokens.count(f" {rule.phrase}", name) - (tokens.count(" " + " ".join(rule.new), name) if rule.new else 0)
