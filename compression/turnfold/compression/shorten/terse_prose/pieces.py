"""A text as a sequence of words that may be rewritten, and parts that may not.

This module cuts a text into such parts, and recognises lines of English prose. The rules are in ``rules``, the rewriting is in
``compress``.

These stay byte for byte: `protected_spans`, quoted text, lines that look like code, table rows, quoted lines, words attached to a
mark (``*really*``, ``(the``), and every line in another language.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, compress
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.shorten.terse_prose.rules import BULLET, COLON, COMMA, LINE, OPAQUE, OPAQUE_STOP, STOP
from turnfold.compression.text.blocks import disjoint, line_end
from turnfold.compression.text.protect import protected_spans
from turnfold.compression.text.words import FUNCTION_WORDS

# Takes the place of each character that must stay: no letter, no blank.
_MASKED: Final = "\0"

# Quoted text by its opening mark. Within a paragraph for the straight and the English double ones, else within a line; where
# nobody closes it, it reaches to the end of that. A straight mark opens in front of a character, unless it is an inch ("5\"") or
# closes: behind a character and in front of a blank or punctuation. What else stands before it (a backtick, a star, a character
# that nobody sees) does not matter.
_MARK: Final = lazy.pattern(r"[\"“«„‘'$\\]")
_QUOTED: Final = {
    '"': lazy.pattern(r"(?!(?<=\S)\"(?:[\s.,;:!?)\]}]|\Z))(?<!\d)\"(?=\S)(?:[^\"\n]|\n(?![ \t]*\n))*+\"?"),
    "“": lazy.pattern(r"“(?:[^”\n]|\n(?![ \t]*\n))*+”?"),
    "«": lazy.pattern(r"«[^»\n]*+»?"),
    "„": lazy.pattern(r"„[^“”\n]*+[“”]?"),
    "‘": lazy.pattern(r"‘[^’\n]{1,400}(?:’[^\W\d_][^’\n]{0,400}){0,20}’(?![^\W\d_])"),
    "$": lazy.pattern(r"(?<![\w$\\])\$(?=[^\s\d$])[^$\n]{1,300}(?<=\S)\$(?![\w$])"),  # a formula, as is the next
    "\\": lazy.pattern(r"\\\([^\n]{1,300}?\\\)"),
    "'": lazy.pattern(r"(?<![^\W_])'(?=\S)[^'\n]{1,400}(?:'[^\W\d_][^'\n]{0,400}){0,20}'(?![^\W\d_])"),
}
# Lines that are no prose though no block finder took them. By their beginning: quotations, rows, and statements of a program that
# end as such; by their end; by an operator in them. Each pattern begins with what the regex engine finds fast.
_LINE_BEGINS: Final = lazy.pattern(
    r"\n[ \t]*+(?:[>|]|(?:def|class|import|from|return|for|while|if|elif|else|try|except|finally|with|async|await|raise|function"
    r"|const|let|var|public|private|static|fn|func|struct|enum|interface|package|using)\b[^\n]*+(?<=[:{}();,\[\]=]))"
)
_LINE_ENDS: Final = lazy.pattern(r"[{};\[=](?=[ \t]*+(?:\n|\Z))")
_OPERATOR: Final = lazy.pattern(r"[=!+*/&|:()>-](?:(?<=[=!+*/-])=|(?<=[=-])>|(?<=:):|(?<=&)&|(?<=\|)\||(?<=\()\))")
#: Keys with values below a key of their own: YAML.
_NESTED_KEYS: Final = lazy.pattern(r"\n([ \t]*+)[\w.-]++:[ \t]*+(?:\n\1[ \t]++(?:- )?[\w.\"'-]++:(?:[ \t][^\n]*+)?(?=\n|\Z))++")
_CELLS: Final = lazy.pattern(r"[^|]*+\|[^|]*+\||[ \t]*+\||[^\S\t]*+[^\s][^\t]*+\t[ \t]*+[^\s]")
_ATOMS: Final = lazy.pattern(
    r"[ \t]*+\n\s*+"
    r"|(?:[ \t]++|(?<!\S))[A-Za-z]++(?:['’][A-Za-z]+)?(?=[.,;:!?…]*+(?:\s|\Z))"
    r"|(?<=[A-Za-z])[.,;:!?…]++(?=\s|\Z)"
    r"|[ \t]*+[^\s]++"
    r"|[ \t]++|\s"
)
_WORD: Final = lazy.pattern(r"[ \t]*([A-Za-z]+(?:['’][A-Za-z]+)?)")
_SENTENCE_END: Final = lazy.pattern(r"[.!?…][\"'”’)\]*_]*\Z")
_BULLET: Final = lazy.pattern(r"\s*(?:[-*+•–—>]|\d{1,3}[.)]|\0{1,3}[.)])\Z")
_NOT_LATIN: Final = lazy.pattern(r"[^\W\d_a-zA-Z]")


class Atoms(NamedTuple):
    """A text in parts that tile it, the key of each part, and which parts are in prose lines of the lexicon's language."""

    texts: list[str]
    keys: list[str]
    open: list[bool]


def atoms(text: str) -> Atoms:
    """Cut a text; linear in its length."""
    masked = _mask(text)
    texts = _ATOMS.findall(masked)
    known = _Keys()
    keys = [known[atom] for atom in texts]
    scores = list(map(known.scores.__getitem__, texts))
    if masked is not text:
        _unmask(text, texts)
    return Atoms(texts, keys, _open(keys, scores))


def _mask(text: str) -> str:
    """The text with protected parts masked; the text itself if there are none."""
    ranges = [(span.start, span.end) for span in protected_spans(text)]
    ranges += _quoted_ranges(text)
    ranges += _unspoken(text)
    if not ranges:
        return text
    pieces: list[str] = []
    at = 0
    for start, end in disjoint(ranges):
        pieces += (text[at:start], _MASKED * (end - start))
        at = end
    pieces.append(text[at:])
    return "".join(pieces)


def _unspoken(text: str) -> Iterator[tuple[int, int]]:
    """Lines that look like code, rows or quotations."""
    lined = "\n" + text
    yield from ((m.start(), m.end() - 1) for m in _NESTED_KEYS.finditer(lined))
    for m in _LINE_BEGINS.finditer(lined):
        yield m.start(), line_end(text, m.end() - 1)
    for pattern in (_LINE_ENDS, _OPERATOR):
        done = 0
        for m in pattern.finditer(text):
            if m.start() >= done:
                done = line_end(text, m.end())
                yield text.rfind("\n", 0, m.start()) + 1, done
    for mark in "|\t":
        at = text.find(mark)
        while at >= 0:
            start, end = text.rfind("\n", 0, at) + 1, line_end(text, at)
            if _CELLS.match(text, start, end):
                yield start, end
            at = text.find(mark, end)


def _quoted_ranges(text: str) -> Iterator[tuple[int, int]]:
    """Text between quotation marks, the marks included."""
    done = 0
    for m in _MARK.finditer(text):
        if m.start() >= done:
            found = _QUOTED[m.group()].match(text, m.start())
            if found:
                done = found.end()
                yield found.span()


def _unmask(text: str, texts: list[str]) -> None:
    """Restores the original characters of masked parts."""
    ends = list(accumulate(map(len, texts)))
    for i in [i for i, atom in enumerate(texts) if _MASKED in atom]:
        texts[i] = text[ends[i] - len(texts[i]) : ends[i]]


# What speaks for English and what speaks against it: function words that are those of one side alone.
_OTHERS: Final = frozenset().union(*(words for name, words in FUNCTION_WORDS.items() if name != "english"))
_FOR: Final = FUNCTION_WORDS["english"] - _OTHERS | {
    "to",
    "of",
    "is",
    "are",
    "it",
    "and",
    "for",
    "have",
    "was",
    "you",
    "this",
    "has",
}
_AGAINST: Final = _OTHERS - FUNCTION_WORDS["english"] - {"also", "really", "like", "well", "just", "actually", "please"}


class _Keys(dict[str, str]):
    """Keys of parts, each computed once, and how much each one indicates English."""

    def __init__(self) -> None:
        super().__init__()
        self.scores: dict[str, int] = {}

    def __missing__(self, atom: str) -> str:
        key, score = _key(atom)
        self[atom] = key
        self.scores[atom] = score
        return key


def key_of(atom: str) -> str:
    """The key of a part."""
    return _key(atom)[0]


def _key(atom: str) -> tuple[str, int]:
    word = _WORD.fullmatch(atom)
    if word:
        key = word.group(1).lower().replace("’", "'")
        return key, 1 if key in _FOR else -1 if key in _AGAINST else 0
    if atom.isspace():
        return (LINE if "\n" in atom else OPAQUE), 0
    if atom.strip(".,;:!?…") == "":
        return (STOP if any(c in ".!?…" for c in atom) else COMMA if atom == "," else COLON), 0
    against = -1 if _NOT_LATIN.search(atom) and atom.strip(".,;:!?…\"'()").lower() not in _FOR else 0
    if _BULLET.match(atom):
        return BULLET, 0
    return (OPAQUE_STOP if _SENTENCE_END.search(atom) else OPAQUE), against * (1 + len(atom) // 8)


def _open(keys: list[str], scores: list[int]) -> list[bool]:
    """Which parts are in English lines: lines with more words for it than against it, and undecided lines if the text as a whole
    is English."""
    total = sum(scores)
    if total <= 0 and max(scores, default=0) <= 0:
        return [False] * len(keys)
    sums = [0, *accumulate(scores)]
    out: list[bool] = []
    start = 0
    for end in (*_line_ends(keys), len(keys)):
        score = sums[end] - sums[start]
        yes = score > 0 or (score == 0 and total > 0 and min(scores[start:end], default=0) >= 0)
        out += [yes] * (end - start)
        start = end
    return out


def _line_ends(keys: list[str]) -> Iterator[int]:
    return compress(range(1, len(keys) + 1), (key == LINE for key in keys))
