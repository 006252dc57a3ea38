"""Applying rules to a sequence of words until none applies.

The row as a linked list, finding the rule that fits a place, and editing. Rules are read in ``rules``, texts split in ``pieces``.

One pass from left to right. Everything before the current word is final; after an edit, each place whose rules looked as far as
the edit is checked again. So in the end no rule fits anywhere. Time is linear in the row, because an edit shortens the text and
no rule looks further than a few words.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Set
from functools import lru_cache
from itertools import accumulate, compress
from typing import Final

from turnfold.compression import tokens
from turnfold.compression.shorten.terse_prose.pieces import Atoms, key_of
from turnfold.compression.shorten.terse_prose.rules import (
    ARTICLES,
    BULLET,
    COLON,
    COMMA,
    ENDS,
    FARTHEST,
    INTENSITIES,
    LINE,
    OPAQUE,
    OPAQUE_STOP,
    PHRASED,
    STOP,
    Bounds,
    Node,
    TerseRule,
)

_DEAD: Final = ""
_SENTENCE: Final = frozenset({LINE, STOP, OPAQUE_STOP})
_START: Final = _SENTENCE | {COLON, BULLET}
_CLAUSE: Final = _START | {COMMA, "and", "but", "so", "because", "though", "although"}
_FRONTS: Final[Mapping[str, Container[str]]] = {"clause": _CLAUSE, "start": _START, "sentence": _SENTENCE}
_PAUSES: Final = frozenset({STOP, COLON, COMMA})
_BARRIERS: Final = frozenset({LINE, STOP})
_LABEL: Final = 3  # words of a name at most
_MARKS: Final = frozenset({LINE, STOP, COLON, COMMA, BULLET, OPAQUE, OPAQUE_STOP, _DEAD})
_SPEAKERS: Final = frozenset({"i", "i'm", "i'd", "i've", "i'll"})
_VOCABULARIES: Final[tuple[tokens.EncodingName, ...]] = ("o200k_base", "cl100k_base")
_AHEAD: Final = 2  # places behind an edit that look back across it


_SPOKEN: Final = TerseRule(stage="keep", level=0, words=())
_TELEGRAM: Final = INTENSITIES.index("ultra")
_SUBJECTS: Final = _CLAUSE | {"that", "if", "when", "while", "whether", "where", "which", "what", "how", "then", "or", "as"}
_OBJECTS: Final = ENDS | {
    "the", "a", "an", "this", "that", "these", "those", "my", "your", "his", "her", "its", "our", "their", "it", "them", "him",
    "me", "us", "you", "to", "when", "if", "because", "how", "no", "not", "only", "every", "each", "all",
}  # fmt: skip
_SINGULAR: Final = ("ss", "us", "is", "ous")


def _is_plural_form(key: str) -> bool:
    return key.endswith("s") and len(key) > 3 and not key.endswith(_SINGULAR)


@lru_cache(maxsize=65536)
def _pays(old: str, new: str) -> bool:
    """Whether `new` takes fewer tokens than `old` in both vocabularies."""
    return all(tokens.count(new, name) < tokens.count(old, name) for name in _VOCABULARIES)


@lru_cache(maxsize=65536)
def _capital(word: str) -> str:
    """A word with a capital if that costs no token in either vocabulary; else unchanged."""
    blank = len(word) - len(word.lstrip())
    raised = word[:blank] + word[blank : blank + 1].upper() + word[blank + 1 :]
    return raised if all(tokens.count(raised, name) <= tokens.count(word, name) for name in _VOCABULARIES) else word


class Rewriter:
    """A row of parts that rules remove or replace; used for one text."""

    def __init__(self, row: Atoms, bounds: Bounds) -> None:
        self._texts = ["", *row.texts, ""]
        self._keys = [LINE, *row.keys, LINE]
        self._open = [False, *row.open, False]
        self._look = [1] * len(self._texts)  # how many places ahead each place has looked
        self._long = dict[int, str]()  # place of an abbreviation -> what it stands for
        self._kept = dict[int, int]()  # place inside a kept phrase -> where it begins
        self._bounds = bounds
        self._tree: Mapping[str, Node] = {}
        self._next: list[int] = []
        self._prev: list[int] = []
        self._link()

    def _link(self) -> None:
        size = len(self._texts)
        self._next = [*range(1, size), size - 1]
        self._prev = [0, *range(size - 1)]

    def run(self, tree: Mapping[str, Node], fresh: Set[str]) -> None:
        """Apply rules until none applies.

        Args:
            tree: the rules.
            fresh: first words of the rules that no earlier run had.
        """
        self._tree = tree
        keys, is_open = self._keys, self._open
        # Where a word and the one behind it begin no phrase there is nothing to look for, and most words are such.
        second = {key: tree[key].next for key in fresh if not tree[key].rules}
        hot = [i for i, key in enumerate(keys) if key in fresh and (key not in second or keys[i + 1] in second[key])]
        done = 0
        for at in hot:
            if at > done and keys[at] and is_open[at]:
                done = self._from(at)
        self._compact()

    def _compact(self) -> None:
        """Remove deleted parts."""
        keys = self._keys
        self._kept.clear()
        if _DEAD not in keys:
            return
        if self._long:
            places = dict(zip((i for i, key in enumerate(keys) if key), range(len(keys)), strict=False))
            self._long = {places[at]: long for at, long in self._long.items()}
        self._texts = list(compress(self._texts, keys))
        self._open = list(compress(self._open, keys))
        self._look = list(compress(self._look, keys))
        self._keys = [key for key in keys if key]
        self._link()

    def _from(self, at: int) -> int:
        """Check the part and, after an edit, its neighbours. Returns the last place that was checked."""
        stop = at
        while True:
            found = self._match(at)
            if found is None:
                last = at
                at = self._next[at]
            elif found[0].stage == "keep":
                last = self._keep(at, found[1])
                at = found[1]
            else:
                at, behind = self._edit(found[0], at, found[1])
                for _ in range(_AHEAD):
                    behind = self._next[behind]
                stop = max(stop, behind)
                continue
            if last >= stop or at == last:
                return last

    def _keep(self, at: int, end: int) -> int:
        inner = self._next[at]
        while inner != end:
            self._kept[inner] = at
            inner = self._next[inner]
        return self._prev[end]

    # --- finding ----------------------------------------------------------------------------------------------------

    def _match(self, at: int) -> tuple[TerseRule, int] | None:
        """The longest rule that fits here, and the place after its words."""
        node = self._tree.get(self._keys[at])
        if node is None or not self._open[at]:
            return None
        keys, following = self._keys, self._next
        here = following[at]
        inner = node.next.get(keys[here])
        if inner is None:  # as nearly always: only rules of one word, if any
            return self._choose(at, node.rules, here, 1) if node.rules else None
        ends = [(node.rules, here)]
        node, steps = inner, 1
        while node is not None:
            here = following[here]
            steps += 1
            if node.rules:
                ends.append((node.rules, here))
            node = node.next.get(keys[here])
        self._look[at] = steps
        for rules, end in reversed(ends):
            found = self._choose(at, rules, end, steps)
            if found:
                return found
        return None

    def _choose(self, at: int, rules: list[TerseRule], end: int, steps: int) -> tuple[TerseRule, int] | None:
        """The first rule that fits, and the place after its words; records how far the rules looked."""
        for rule in rules:
            if rule.reach > max(steps, self._look[at]):
                self._look[at] = rule.reach
            behind = self._fits(rule, at, end)
            if behind:
                spoken = rule.stage != "keep" and self._is_mention(rule, at, behind)
                return (_SPOKEN if spoken else rule), behind
        return None

    def _fits(self, rule: TerseRule, at: int, end: int) -> int:
        """The place after a rule's words here; 0 if it does not fit."""
        keys = self._keys
        if not self._stands(rule, at):
            return 0
        if rule.tail:
            end = self._tail(end, rule.tail)
        if rule.comma and keys[end] == COMMA:
            end = self._next[end]
        elif rule.needs_comma:
            return 0
        if rule.at == "sentence":
            if keys[end] == STOP and "?" not in self._texts[end]:
                end = self._next[end]
            elif keys[end] != LINE:
                return 0
        elif not self._allows_next(rule, end):
            return 0
        if rule.stage == "keep" or (self._may_go(rule, at, end) and self._pays_here(rule, at, end)):
            return end
        return 0

    def _is_mention(self, rule: TerseRule, at: int, end: int) -> bool:
        """Whether the phrase is a title, or spoken of rather than used ("the word just", "the please keyword")."""
        front, bounds = self._keys[self._prev[at]], self._bounds
        if rule.stage == "glue":
            return False
        if front in bounds.naming or self._is_title(rule, at, end):
            return True
        return rule.stage in PHRASED and (front in bounds.determiners or self._keys[end] in bounds.named)

    def _is_title(self, rule: TerseRule, at: int, end: int) -> bool:
        """Whether capitals show that the phrase is a name or part of one ("Really Simple Syndication")."""
        words = self._span(at, end)
        high = [self._is_high(place) and self._keys[place] not in _SPEAKERS for place in words]
        if any(high[1:]):
            return True
        if rule.stage in {"articles", "abbreviations"} or not high[0]:
            return False
        if self._keys[self._prev[at]] not in _START:
            return True
        single = len(words) == 1 and not rule.new
        return single and self._is_high(end) and self._keys[end] not in _SPEAKERS

    def _stands(self, rule: TerseRule, at: int) -> bool:
        """Whether the preceding words allow a rule."""
        front = self._keys[self._prev[at]]
        if (rule.after is not None and front not in rule.after) or (rule.not_after is not None and front in rule.not_after):
            return False
        if rule.at == "sentence" and "?" in self._texts[self._prev[at]]:
            return False  # it may be the answer: "What did she say? Thanks."
        if rule.at == "any" or front in _FRONTS[rule.at]:
            return True
        return rule.at == "sentence" and front == COLON and self._is_label(at)

    def _allows_next(self, rule: TerseRule, end: int) -> bool:
        """Whether the following words allow a rule."""
        behind = self._keys[end]
        if rule.before is not None and behind not in rule.before:
            return False
        if rule.not_before is not None and behind in rule.not_before:
            return False
        return rule.then is None or self._keys[self._next[end]] in rule.then

    def _is_label(self, at: int) -> bool:
        """Whether the preceding words are a speaker label at the beginning of a line ("Mara Lind:")."""
        here = self._prev[at]
        for _ in range(_LABEL):
            here = self._prev[here]
            if self._keys[here] in _MARKS:
                return False
            if self._keys[self._prev[here]] == LINE:
                return True
        return False

    def _tail(self, end: int, most: int) -> int:
        """The place after up to `most` plain words."""
        for _ in range(most):
            key = self._keys[end]
            if key in _MARKS or key in self._bounds.guarded or self._texts[end].lstrip()[0].isupper():
                break
            end = self._next[end]
        return end

    def _may_go(self, rule: TerseRule, at: int, end: int) -> bool:
        """Whether the rest is still a line, and no name is split."""
        front, behind = self._keys[self._prev[at]], self._keys[end]
        if rule.words[0] == COMMA:
            return front not in _MARKS
        if rule.new or rule.at == "sentence":
            return True
        if behind in ENDS and front in _START:
            return False
        return rule.stage != "articles" or self._may_bare(rule, at, end)

    def _may_bare(self, rule: TerseRule, at: int, end: int) -> bool:
        """Whether what follows an article says the same without it."""
        if self._keys[end] in self._bounds.begins or self._in_name(at, end) or self._meets_article(at, end):
            return False
        if self._is_behind_name(at) or self._is_ordered(at):
            return False
        return rule.level >= _TELEGRAM or self._keys[at] != "the" or not self._is_plural(at, end)

    def _meets_article(self, at: int, end: int) -> bool:
        """Whether one word separates this article from another: "the dog the cat bit", "give the dog the bone"."""
        return self._keys[self._next[end]] in ARTICLES or self._keys[self._prev[self._prev[at]]] in ARTICLES

    def _is_behind_name(self, at: int) -> bool:
        """Whether an article parts a name from a noun: "According to Ben the plan is fine." does not speak of Ben's plan."""
        name = self._prev[at]
        return self._is_high(name) and self._keys[name] not in _SPEAKERS and self._keys[self._prev[name]] not in _START

    def _is_ordered(self, at: int) -> bool:
        """Whether an article tells an order from a compound: "Report the sign." is no report sign."""
        verb = self._prev[at]
        return self._keys[verb] in self._bounds.verbs and self._keys[self._prev[verb]] in _FRONTS["clause"]

    def _is_plural(self, at: int, end: int) -> bool:
        """Whether a plural may follow "the": "dogs", or "old dogs" unless the second word is the verb of a subject."""
        first, second = self._keys[end], self._keys[self._next[end]]
        if _is_plural_form(first):
            return True
        if not _is_plural_form(second):
            return False
        subject = self._keys[self._prev[at]] in _SUBJECTS
        return not (subject and self._keys[self._next[self._next[end]]] in _OBJECTS)

    def _in_name(self, at: int, end: int) -> bool:
        """Whether an article may be part of a name ("The Hague", "Ivan the Terrible") or stands before a figure."""
        word = self._texts[end].lstrip()
        if word[:1].isdigit():
            return True
        if self._is_high(at) and self._keys[self._prev[at]] not in _START:
            return True
        if not word[:1].isupper():
            return False
        following = self._texts[self._next[end]].lstrip()
        acronym = len(word) > 1 and word.isupper() and not following[:1].isupper()
        return not acronym or self._is_high(at) or self._is_high(self._prev[at])

    def _is_high(self, at: int) -> bool:
        return self._keys[at] not in _MARKS and self._texts[at].lstrip()[:1].isupper()

    def _pays_here(self, rule: TerseRule, at: int, end: int) -> bool:
        """Whether the edit saves tokens here. After a blank every rule does; at the beginning of a line words are other
        tokens."""
        if rule.words[0] == COMMA or (self._texts[at][:1] in (" ", "\t") and self._keys[self._prev[at]] != LINE):
            return True
        before = self._texts[self._prev[at]]
        indent = before[before.rfind("\n") + 1 :]
        old = "".join(self._texts[i] for i in self._span(at, end))
        if rule.new:
            return _pays(indent + old, indent + self._replacement(rule, at))
        return _pays(indent + old + self._texts[end], indent + self._moved_text(at, end))

    def _span(self, at: int, end: int) -> list[int]:
        out: list[int] = []
        while at != end:
            out.append(at)
            at = self._next[at]
        return out

    # --- editing ----------------------------------------------------------------------------------------------------

    def _edit(self, rule: TerseRule, at: int, end: int) -> tuple[int, int]:
        """Apply the edit. Returns where to continue, and the first place after the edit."""
        front = self._prev[at]
        if rule.new:
            self._replace(rule, at, end)
        elif rule.at == "sentence":
            end = self._drop_sentence(at, end)
        else:
            if rule.words[0] != COMMA:
                self._texts[end] = self._moved_text(at, end)
            self._cut(at, end)
        return self._back_to(front, at), end

    def _back_to(self, front: int, at: int) -> int:
        """The first place whose rules looked as far as `at`; `at` itself (or its replacement) if there is none."""
        first = at if self._keys[at] else self._next[front]
        here = front
        keys, look, before = self._keys, self._look, self._prev
        for steps in range(1, FARTHEST):
            if keys[here] in _BARRIERS:
                break
            if look[here] >= steps:
                first = here
            here = before[here]
        begin = self._kept.get(first, first)
        return begin if self._keys[begin] else first

    def _replacement(self, rule: TerseRule, at: int) -> str:
        """A rule's replacement, with the leading blanks and the capital of the old words."""
        old = self._texts[at]
        lead = old[: len(old) - len(old.lstrip())]
        new = lead + " ".join(rule.new)
        high = self._is_high(at) and self._keys[self._prev[at]] in _START and rule.new[0].islower()
        return _capital(new) if high else new

    def _moved_text(self, at: int, end: int) -> str:
        """The next word, moved to the place of the removed words, with their capital if they began a line."""
        old, new = self._texts[at], self._texts[end]
        if self._keys[end] in ENDS:
            return new
        front = self._keys[self._prev[at]]
        if front != LINE and old[:1] == " " and old[1:2].islower():
            return new  # amid a line, as nearly always
        if front == LINE or old[:1] not in (" ", "\t"):
            new = old[: len(old) - len(old.lstrip())] + new.lstrip(" \t")
        word = new.lstrip()
        plain = self._keys[end] not in _MARKS and len(word) > 1 and word.islower() and self._keys[end] not in self._bounds.guarded
        return _capital(new) if plain and front in _START and self._is_high(at) else new

    def _replace(self, rule: TerseRule, at: int, end: int) -> None:
        places = self._span(at, end)
        old = "".join(map(self._whole, places))
        words = self._replacement(rule, at)
        lead = words[: len(words) - len(words.lstrip())]
        new = [f"{' ' if i else lead}{word}" for i, word in enumerate(words.split())]
        for place, text in zip(places, new, strict=False):
            self._long.pop(place, None)
            self._texts[place], self._keys[place] = text, key_of(text)
        if len(new) < len(places):
            self._cut(places[len(new)], end)
        if rule.stage == "abbreviations":
            self._long[at] = old[len(lead) :]

    def _whole(self, at: int) -> str:
        """A part's text, with our abbreviation expanded."""
        text = self._texts[at]
        return text[: len(text) - len(text.lstrip())] + self._long[at] if at in self._long else text

    def _drop_sentence(self, at: int, end: int) -> int:
        """Remove a sentence, and its line if it is alone there. Returns the place after it."""
        front = self._prev[at]
        if self._keys[front] != LINE or self._keys[end] != LINE:
            self._texts[end] = self._moved_text(at, end)
            self._cut(at, end)
            return end
        self._cut(at, end)
        above, below = self._texts[front], self._texts[end]
        if end == len(self._texts) - 1:  # the last line of all
            if front:
                self._cut(front, end)
        elif front == 0:
            self._texts[end] = below[below.rfind("\n") + 1 :]
        else:
            breaks = above if above.count("\n") > below.count("\n") else below
            self._texts[end] = breaks[: breaks.rfind("\n") + 1] + below[below.rfind("\n") + 1 :]
            self._cut(front, end)
        return end

    def _cut(self, at: int, end: int) -> None:
        for place in self._span(at, end):
            self._keys[place] = _DEAD
            self._long.pop(place, None)
        front = self._prev[at]
        self._next[front], self._prev[end] = end, front

    # --- writing ----------------------------------------------------------------------------------------------------

    def close_gaps(self) -> None:
        """Leave one blank after a punctuation mark instead of several."""
        texts, keys = self._texts, self._keys
        for at in [i for i, text in enumerate(texts) if text[:2] == "  "]:
            if self._open[at] and keys[at - 1] in _PAUSES and texts[at].strip():
                texts[at] = " " + texts[at].lstrip(" ")

    def result(self) -> tuple[str, list[tuple[int, str, str]]]:
        """The text, and its abbreviations: position, short form and long form of each."""
        texts, made = self._texts, list[tuple[int, str, str]]()
        starts = [0, *accumulate(map(len, texts))] if self._long else []
        for at in sorted(self._long):
            short = texts[at].lstrip()
            made.append((starts[at + 1] - len(short), short, self._long[at]))
        return "".join(texts), made
