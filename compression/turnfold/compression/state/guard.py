"""The certainty that a message is a directive. In the proxy, this comes before the engine.

Pure questions about a text, and the words that decide them. The guard does not change what the engine accepts: that stays exact,
and whoever speaks to it directly (command line, admin routes) is not guarded.

Three answers. *Ordinary*: the engine never sees it. *Doubtful*: it may be a directive and it may be a request to the model, so it
goes upstream whatever else it does; an update is made, a question is not asked. *Certain*: it may be answered here. A request
that is answered here is lost, while a directive that goes upstream is in force all the same, so certain is a closed list: what
stands in quotes, what contradicts the state, the premise, and the tools and conventions of ``lexicon/directives.txt``.
"""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from typing import Final, Literal

from turnfold.compression import lazy
from turnfold.compression.state.grammar import Directive, Malformed, Parsed, parse
from turnfold.compression.state.machine import State
from turnfold.compression.state.wording import item_key, tame
from turnfold.compression.text.lexicon import lexicon

Certainty = Literal["ordinary", "doubtful", "certain"]

#: An item is a name: the longest that people lay down have about six words.
MAX_ITEM_WORDS: Final = 6
MAX_ITEM_CHARS: Final = 64
#: A premise may be a sentence, not a document.
MAX_PREMISE_CHARS: Final = 500

_WORDS: Final = lexicon("directives")
# Function words that do not occur inside a name but do occur in a request: who, where, when, why, what for, and finite verbs.
_SENTENCE_WORDS: Final = _WORDS["sentence"]
# After "use the ...": things at hand in this conversation, not lasting choices.
_AT_HAND: Final = _WORDS["at hand"]
_ORDINALS: Final = _WORDS["ordinals"]
# Followed by a number, a letter or a name, they refer to something said: "option 2", "plan b", "word serendipity".
_POINTERS: Final = _WORDS["pointers"]
_COUNTS: Final = _WORDS["counts"]
# Of these a ban may name one: "prohibit the word synergy".
_NAMED: Final = frozenset({"word", "words", "phrase", "term"})
# What an answer has so many of: "3 sentences", "two short paragraphs".
_AMOUNTS: Final = _WORDS["amounts"]
# Moves of a game or a quiz.
_MOVES: Final = _WORDS["moves"]
# "use of force", "use cases for ...": the noun.
_NOUN_FOLLOWERS: Final = _WORDS["noun"]
_ARTICLES: Final = ("a", "an", "the")
# A sentence that begins with one of these neither orders nor asks; one that begins with another word may ("derive").
_OPENINGS: Final = _WORDS["openings"]
_ASKING: Final = frozenset({"how", "what", "who", "whose", "why"})
_WHOLE: Final = ("all", "any", "every")
# Tasks: after "and" they make the text a request; those that can't be part of a name do so anywhere.
_TASKS: Final = _WORDS["tasks"]
_PURE_TASKS: Final = _WORDS["pure tasks"]
# Kinds of texts that people write, and ways to ask about a word: "prohibit alcohol essay", "prohibit synonym".
_WORKS: Final = _WORDS["works"]
# After "set premise" and "change premise to", these show that it is the premise of a story or argument, or a comparison.
_NO_PREMISE: Final = _WORDS["about a premise"] | _WORDS["comparatives"]
# Within a rule, they say where, when or for what it applies: "network calls in tests", "tabs for indentation".
_JOINTS: Final = {"use": frozenset({"for", "in"}), "prohibit": _WORDS["joints"]}
# Programs whose next words are a command, with those words; and programs that are never a choice.
_PROGRAMS: Final = _WORDS["programs"]
_ORDERED: Final = _WORDS["ordered"]
_ALWAYS_COMMANDS: Final = _WORDS["always commands"]

_SENTENCE_MARKS: Final = lazy.pattern(r"[,;:?…]|[.!](?:\s|$)|\s[-–—]\s|\s[({]")
# Assignments, code, paths, addresses, options of a command.
_CODE: Final = lazy.pattern(r"[=<>|{}\[\]^~$\\@%]|\(\)|\w\(|&&|//|(?:^|\s)(?:--?\w|\.{0,2}/)|/\w+/")
_FILE: Final = lazy.pattern(
    r"\.(?:bak|bmp|c|cfg|conf|cpp|css|csv|docx?|env|exe|gif|go|gz|h|html?|ini|ipynb|java|jpe?g|json|log|md|mp[34]|parquet|pdf|png"
    r"|pptx?|py|rb|rs|rst|sh|sql|svg|tex|toml|tsv?|tsx|txt|wav|xlsx?|xml|ya?ml|zip)$"
)
_LINE_BREAKS: Final = lazy.pattern(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_QUOTED: Final = lazy.pattern(r'"[^"]+"|“[^”]+”|`[^`]+`')
_EDGES: Final = "\"'“”‘’`().,!#*_"
_NUMBER: Final = lazy.pattern(r"\d[\d.,:/%-]*")
_SETTLED: Final = {
    section: frozenset(name.replace("_", " ") for name in _WORDS[section]) for section in ("tools", "conventions", "banned")
}
_NEXT_ORDER: Final = lazy.pattern(r"(?:\band\b|\bthen\b|[.,;:!–—]|\s-)\s+(?:(?:and|then|please|now)\s+)*([a-z]+)")
_NEXT_SENTENCE: Final = lazy.pattern(r"(?:[.;:!–—]|\s-)\s+([^\W\d_]+(?:'\w+)?)")


def certainty(text: str, state: State) -> Certainty:
    """How certain it is that a message is a directive and nothing else, given the conversation's state."""
    parsed = parse(text)
    if isinstance(parsed, Directive) and parsed.kind == "remove policy" and item_key(parsed.value) in state.policies:
        return "certain"  # any item in the state can be removed
    if _why_ordinary(text, parsed):
        return "ordinary"
    if isinstance(parsed, Directive):
        return "certain" if _is_certain(parsed, state) else "doubtful"
    # A slip ("set premise to ...", "use") is corrected if it can't be meant for the model.
    return "certain" if isinstance(parsed, Malformed) and text.strip() == "set premise" else "doubtful"


def _is_certain(directive: Directive, state: State) -> bool:
    match directive.kind:
        case "clear premise" | "reset policies" | "clear state" | "remove policy":
            return directive.kind != "remove policy" or _is_settled(directive.value, "prohibit")
        case "set premise":
            return not _follows(directive.value)
        case "change premise":
            return state.premise is not None and not _follows(directive.value)
        case "replace":
            sides = (directive.value, directive.old)
            if all(_QUOTED.fullmatch(item) and item_key(item) not in state.policies for item in sides):
                return False  # ``use "affect" instead of "effect"`` is about the wording of a text
            settled = [item for item in sides if _is_settled(item, "use")]
            held = [item for item in sides if item_key(item) in state.policies]
            return bool(settled) and {*settled, *held} == {*sides}
        case kind:
            return _is_settled(directive.value, kind) or _contradicts(directive, state)


def _contradicts(directive: Directive, state: State) -> bool:
    held = state.policies.get(item_key(directive.value))
    return held is not None and held != directive.kind


def _follows(premise: str) -> bool:
    """Whether a request follows the premise: "we use uv. write the Dockerfile"."""
    said = premise.lower()
    return (
        "?" in said
        or any(found.group(1) in _TASKS | _ASKING for found in _NEXT_ORDER.finditer(said))
        or any(found.group(1) not in _OPENINGS for found in _NEXT_SENTENCE.finditer(said))
    )


def _is_settled(item: str, kind: str) -> bool:
    key = item_key(item)
    if _QUOTED.fullmatch(item) or key in _SETTLED["tools"]:
        return True
    return key in _SETTLED["conventions"] or (kind != "use" and key in _SETTLED["banned"])


def why_ordinary(text: str) -> str:
    """Why a message must not be treated as a directive, as a slug; "" if it may go to the engine.

    Slugs: "none" (the grammar sees no directive), "lines", "long", "sentence".
    """
    return "long" if len(text) > 2 * MAX_PREMISE_CHARS else _why_ordinary(text, parse(text))


def _why_ordinary(text: str, parsed: Parsed) -> str:
    if parsed is None:
        return "none"
    if len(text) > 2 * MAX_PREMISE_CHARS:
        return "long"
    if _LINE_BREAKS.search(text.strip()):
        return "lines"
    if text.startswith(("set premise", "change premise")):
        return _why_no_premise(text.split(maxsplit=2)[2:])
    if isinstance(parsed, Directive):
        replaced = _why_no_item(parsed.old)
        return _why_no_item(parsed.value, parsed.kind) or replaced
    return ""


def _why_no_premise(rest: list[str]) -> str:
    if not rest:
        return ""
    value = rest[0].removeprefix("to ").strip()
    if len(value) > MAX_PREMISE_CHARS:
        return "long"
    first = value.split(maxsplit=1)[0].lower().strip(_EDGES) if value else ""
    ordinary = first in _NO_PREMISE or first.isdigit() or value.endswith(("?", "？"))
    return "sentence" if ordinary else ""


def _why_no_item(item: str, kind: str = "use") -> str:
    if len(item) > MAX_ITEM_CHARS or not tame(item):
        return "long"
    plain = " ".join(unicodedata.normalize("NFKC", item).replace("’", "'").lower().split())
    if not plain or _QUOTED.fullmatch(item) or any(plain in names for names in _SETTLED.values()):
        return ""
    if plain.count(" ") >= MAX_ITEM_WORDS:
        return "long"
    if any(marks.search(plain) for marks in (_SENTENCE_MARKS, _CODE, _FILE)):
        return "sentence"
    words = [bare for word in plain.split() if (bare := word.strip(_EDGES))]
    if (
        kind == "prohibit" and words[1:] and words[0] in _WHOLE and words[1] not in _JOINTS[kind]
    ):  # "any external dependencies": a ban of all of them
        words = words[1:]
    words = _without_joints(words, kind)
    return "sentence" if not words or _reads_as_request(words, kind) else ""


def _without_joints(words: list[str], kind: str) -> list[str]:
    """The words of an item without the preposition that joins two parts of it; in a ban also without "the" after one."""
    at = [place for place in range(1, len(words) - 1) if words[place] in _JOINTS.get(kind, ())]
    if not at or (kind == "use" and (len(at) > 1 or len(words) - at[0] > 3)):
        return words
    the = (
        {at[0] + 1} if kind == "prohibit" and len(at) == 1 and words[at[0] + 1] == "the" and words[-1] not in _AT_HAND else set()
    )
    return [word for place, word in enumerate(words) if place not in {*at, *the}]


def _reads_as_request(words: list[str], kind: str) -> bool:
    return (
        _is_sentence(words)
        or (not _names_words(words, kind) and _points(words))
        or _is_command(words)
        or (kind != "use" and any(word in _WORKS for word in words))
        or any(word == "and" and after in _TASKS for word, after in pairwise(words))
    )


def _is_sentence(words: list[str]) -> bool:
    if words[0] in _NOUN_FOLLOWERS or words[-1] in ("and", "of", "not"):
        return True
    if words[0] == "the" and (words[-1] in _AT_HAND or "of" in words or any(word in _ORDINALS for word in words)):
        return True
    if words[0] in ("last", "next") or any(word in _ARTICLES for word in words[1:]):
        return True
    return any(word in _SENTENCE_WORDS for word in words) or any(word in _PURE_TASKS for word in words[1:])


def _names_words(words: list[str], kind: str) -> bool:
    """Whether a ban is of words that it names: "the word synergy"."""
    return kind == "prohibit" and len(words) > 2 and words[0] == "the" and words[1] in _NAMED


def _points(words: list[str]) -> bool:
    """Whether the words refer to something said before, by number, letter or name: "5", "b", "option 2", "word serendipity"."""
    named = words[1:] if words[0] in _ARTICLES and len(words) > 1 else words
    if all(_is_count(word) or word in _MOVES for word in named):
        return True
    if _is_count(named[0]) and named[-1] in _AMOUNTS:
        return True
    if named[0] in _POINTERS and (len(named) > 1 or words[0] == "the"):
        return True
    return any(before in _POINTERS and _is_count(after) for before, after in pairwise(named))


def _is_count(word: str) -> bool:
    return len(word) == 1 or word in _COUNTS or word in _ORDINALS or _NUMBER.fullmatch(word) is not None


def _is_command(words: list[str]) -> bool:
    """Whether the words are a shell command: a program with its arguments."""
    if len(words) < 2 or words[0] not in _PROGRAMS:
        return False
    return words[0] in _ALWAYS_COMMANDS or any(word in _ORDERED for word in words[1:3])
