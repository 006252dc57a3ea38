"""Parts of the engine that stand behind others, by themselves (``tests.support.golden`` says when to write the files anew).

These tests show what an index of passages knows, terse sentences of random words, lines that are counted alone, provenance,
choices of lines. Behind a whole fold a wrong figure in one of them seldom shows. They leave out whole folds
(``fold/test_golden.py``).
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

from tests.compression.recall.test_golden import ASKED, sources, talk
from tests.support import golden, odd_texts, small_talk
from turnfold.compression.fold.likeness import cosines, language_of
from turnfold.compression.memo import Memo, common_length, continued
from turnfold.compression.options import Prose
from turnfold.compression.recall import passage_index
from turnfold.compression.recall.fence import escape, unescape
from turnfold.compression.recall.question import Question, read_question
from turnfold.compression.recall.ranking import Terms
from turnfold.compression.recall.tuning import TUNING
from turnfold.compression.roundtrip.provenance import Provenance, bare, copy_json, fingerprint, provenance_of, with_provenance
from turnfold.compression.scorers.bm25 import idf, presence, rarity, scores
from turnfold.compression.shorten import registry
from turnfold.compression.shorten.facts import facts
from turnfold.compression.shorten.lines import WeighedLine, fit_to_limit, within, write_lines
from turnfold.compression.shorten.terse_prose.compress import compress, expand
from turnfold.compression.tokens import ModelCounter, count, count_labelled, count_line, count_tail, count_with_tail

FILES = Path(__file__).parent / "golden"


def _rounded(values: Any) -> list[float]:
    return [round(float(value), 5) + 0.0 for value in values]


def test_what_an_index_knows() -> None:
    lines, memo = list[str](), Memo()
    for seed in range(20):
        said = (
            talk(seed, (5, 12, 30)[seed % 3])
            if seed % 4
            else [f"Pier {seed}\\n\\n{odd_texts.text(300 + seed + i)}" for i in range(9)]
        )
        held = sources(said)
        index = passage_index.build(held, memo)
        known: list[Any] = [index.quotes, index.languages, index.blocks.tolist(), _rounded(index.costs), index.asking.tolist()]
        known += [index.stamped.tolist(), index.days.tolist(), index.is_chat, index.has_speakers, round(index.median_turn, 4)]
        known += [index.block_lengths.tolist(), index.whole.tolist(), index.characters.tolist(), index.size, index.most_lines]
        told = list[Any]()
        for field in (index.words, index.heads, index.grams):
            told += [field.lengths.tolist(), round(field.mean_length, 5), _rounded(field.norms(1.2, 0.75)), field.nbytes]
        for text in (ASKED[seed % 8], ASKED[(seed + 5) % 8]):
            asked = read_question(Question(text, tuple(held[-2:])), index, TUNING)
            terms = Terms.asked(asked, index)
            by = index.words.norms(TUNING.k1, TUNING.b)
            told += [asked.groups, _rounded(asked.weights), asked.text, asked.borrowed, _rounded(idf(terms.hits))]
            told += [_rounded(scores(terms.hits, terms.weights, by, TUNING.k1)), _rounded(presence(terms.heads, terms.weights))]
        told.append(_rounded(rarity(np.arange(12), 11)))
        lines.append(f"{seed}: {len(index.quotes)} passages {golden.name_of(known)} {golden.name_of(told)}")
    golden.agrees(FILES / "indices.txt", lines)


_TERSE: Final = (
    *(
        "the",
        "a",
        "an",
        "the",
        "please",
        "basically",
        "I think that",
        "in order to",
        "really",
        "just",
        "very",
        "probably",
        "Of course,",
    ),
    *(
        "the fact that",
        "as well as",
        "due to the fact that",
        "it is important to note that",
        "you can",
        "there is",
        "of the",
        "to the",
    ),
    *(
        "pump",
        "pumps",
        "Ben",
        "Marta",
        "old",
        "runs",
        "run",
        "database",
        "application",
        "configuration",
        "and",
        "but",
        "not",
        "is",
        "are",
    ),
    *(
        "was",
        "which",
        "that",
        "if",
        "Sure!",
        "Thanks,",
        "however,",
        "7",
        "3.5",
        "R-0417",
        "(also)",
        "“Really”",
        ":",
        "-",
        "word",
        "called",
    ),
    *(
        "they",
        "have been",
        "will",
        "would like to",
        "make sure that",
        "a lot of",
        "Hello",
        "sorry",
        "kindly",
        "for example",
        "because",
    ),
)


def _sentence(random: Random) -> str:
    said = " ".join(random.choice(_TERSE) for _ in range(random.randrange(3, 14)))
    return said[0].upper() + said[1:] + random.choice(".....!?,\n")


def test_terse_sentences_of_random_words() -> None:
    lines = []
    for first in range(0, 240, 20):
        made = []
        for seed in range(first, first + 20):
            random = Random(f"terse {seed}")
            text = random.choice((" ", " ", "\n", "\n- ")).join(_sentence(random) for _ in range(random.randrange(1, 5)))
            short = compress(text, ("lite", "full", "ultra")[seed % 3])
            made.append((short, expand(short.text, short.receipt)))
        lines.append(f"{first}: {sum(len(one.text) for one, _ in made)} {golden.name_of(made)}")
    golden.agrees(FILES / "terse_words.txt", lines)


def test_lines_that_are_counted_alone() -> None:
    counters, lines = (ModelCounter("o200k_base"), ModelCounter("cl100k_base"), ModelCounter(None)), list[str]()
    ends = ("ended.", "ended", "it (now).", 'end."]', "7", "of 7.", "no!?)", "end....", "café.", "x" * 31)
    for begin in ("The", "the boat", "7 boats", "<b>", "[a", "", " The", "É", "x" * 31, "No,", "Is it?"):
        told: list[Any] = []
        for number, end in enumerate(ends):
            text = f"{begin} came in {'late ' * number}{end}"
            told += [count_line(f"{text}\n", counter) for counter in counters]
            told += [
                count_labelled(label, text, count(text), counters[number % 3])
                for label in ("user", "A", "no label", "x" * 32, "ünal")
            ]
        lines.append(f"{begin[:9]!r} {golden.name_of(told)}")
    for size in (1998, 1999, 2000, 2001, 3999, 4000, 4001):
        for sign in ("x", "a b ", " ", "x\n"):
            text = (sign * size)[:size]
            lines.append(f"{size} {sign!r} {count(text)} {count_line(f'The{text}', counters[1])}")
    for size in (498, 499, 500, 501):
        for seam in ("\n", "", "\n\n", " "):
            memo, tail = Memo(), ("Then the boat left. " * 30)[:size]
            count_tail(tail, {"o200k_base": 7}, memo)
            found = [count_with_tail(f"It came.{seam}{tail}", memo, name) for name in ("o200k_base", "cl100k_base")]
            lines.append(f"{size} {seam!r} {found}")
    golden.agrees(FILES / "counted_alone.txt", lines)


def test_lines_that_fit_a_limit() -> None:
    lines = []
    for first in range(0, 240, 20):
        made = []
        for seed in range(first, first + 20):
            random = Random(f"limit {seed}")
            rows = [
                WeighedLine("x " * random.randrange(1, 9), evidence=random.choice((0, 0, 0, 2, 3)), lines=random.randrange(1, 3),
                            unmarked=random.random() < 0.3, under=random.choice((0, 0, min(i, 2))))
                for i in range(random.randrange(1, 60))
            ]  # fmt: skip
            order = random.sample(range(len(rows)), len(rows))
            size = (1, 1, 40)[seed % 3]

            def tokens(some: Any, rows: list[WeighedLine] = rows, size: int = size) -> int:
                return size * sum(len(rows[i].text) // 2 for i in some)

            limit = size * (3, 10, 40, 51, 90, 300)[seed % 6]
            taken = fit_to_limit(order, tokens, limit)
            made.append((taken, within(rows, order, tokens, limit), write_lines(rows, sorted(taken))))
        lines.append(f"{first} {golden.name_of(made)}")
    golden.agrees(FILES / "fit_to_limit.txt", lines)


def test_provenance_of_what_is_no_message() -> None:
    made = Provenance(("a", "b"), "s", "r", 2, ("p",), "w")
    values: list[Any] = [
        None,
        7,
        "x",
        [],
        {},
        {"metadata": None},
        {"metadata": {}},
        {"metadata": {"turnfold": {}}},
        {"a": {1: 2}},
        {"x": (1, 2)},
    ]
    values += [
        {"role": "user", "content": text}
        for text in ("It ran.", "café", "\x7f", "\ud800", "", None, 2**70, 1.0, [1, {"a": None}])
    ]
    told = made.to_json()
    for name in told:
        values += [{"metadata": {"turnfold": {**told, name: value}, "x": 1}} for value in (None, "z", 3, [], ["q"], [1], True)]
        values.append({"metadata": {"turnfold": {key: value for key, value in told.items() if key != name}}})
    deep: Any = 1
    for _ in range(120):
        deep = [deep]
    lines = []
    for value in [*values, *small_talk.talk(2)]:
        found = provenance_of(value)
        written = (
            with_provenance(value, made) if isinstance(value, dict) and isinstance(value.get("metadata", {}), dict) else None
        )
        told_of = golden.name_of((bare(value), written, found and found.was_edited(value)))
        lines.append(f"{str(value)[:50]!a} {fingerprint(value)} {found} {told_of}")
    lines.append(f"{fingerprint(deep)} {copy_json([1, {'a': (2, 3)}])}")
    golden.agrees(FILES / "provenance.txt", [line.replace("\ud800", "?") for line in lines])


def test_sequences_languages_and_vectors() -> None:
    """What two sequences share, where one goes on; in which language a text is; how like two vectors are; marks of a fence."""
    lines = []
    for size in (0, 1, 4, 5, 8, 9, 17, 40):
        base = [object() if i % 3 else i for i in range(size)]
        other = [[*base[:k], "x", *base[k + 1 :]] for k in range(size)]
        lines.append(f"{size} {[common_length(base, one) for one in (base, [*base, 1], base[: size // 2], *other)]}")
    memo, seen = Memo(), list[Any]()
    for items in ([*range(n)] for n in (3, 5, 6, 9, 4, 12, 12, 7, 30)):
        for kept in (1, 2):
            given = [k if n % 5 else -k for n, k in enumerate(items)]
            seen.append(continued(memo, ("k", kept), given, lambda known, same: (same, known and known[0]), lambda _: 1, kept))
    lines.append(str(seen))
    texts = [
        *odd_texts.PIECES[::7],
        *ASKED,
        *(odd_texts.text(seed)[:60] for seed in range(20)),
        "ü",
        "это",
        "漢字かな",
        "ab" * 9 + "é",
    ]
    lines.append(str([language_of(text) for text in texts]))
    for seed in range(6):
        values = bytes(Random(seed).randrange(256) for _ in range(24))
        lines.append(
            f"{seed} {[cosines(values[:size], values).hex() for size in (0, 1, 3, 5, 8, 24)]} {cosines(bytes(4), values).hex()}"
        )
    marks = (
        "[quoted]",
        "[turnfold",
        "\\[turnfold: 3]",
        "[user] x",
        "---",
        "</quoted>",
        "a\n[assistant] b\n\n c",
        "",
        *odd_texts.ODD,
    )
    lines.append(golden.name_of([(escape(mark), unescape(mark), unescape(escape(mark))) for mark in marks]))
    golden.agrees(FILES / "sequences.txt", lines)


def test_how_often_a_hard_limit_is_tried() -> None:
    """By a counter that is never satisfied, or only at last."""
    text = "\n".join(f"reel {i} of bay {i % 3} failed at {i}:30" for i in range(60))
    lines = []
    for patience in (*range(1, 30), 1000):
        asked: list[int] = []

        def stubborn(said: str, asked: list[int] = asked, patience: int = patience) -> int:
            asked.append(len(said))
            return 41 if len(asked) < patience else len(said) // 40

        made = registry.within(text, 40, frozenset(), stubborn)
        lines.append(f"{patience} {len(asked)} {len(made)}")
    golden.agrees(FILES / "tries.txt", lines)


def test_facts_in_fewer_words() -> None:
    """A user's standing orders stay as they were said, whoever else speaks."""
    plain = " ".join(_sentence(Random(f"facts {seed}")).strip() for seed in range(40))
    lines = []
    for name, text in {
        "plain": plain,
        "order": f"Never push to main without a review. {plain}",
        "asked": f"{plain} Is it the old pump?",
    }.items():
        for role in ("user", "assistant", "system", "tool"):
            ways = (("off", ""), ("lite", ""), ("full", ""), ("ultra", ""))
            made = [facts(text, role=role, words=frozenset(), known=(), count=count, prose=Prose(*way)) for way in ways]
            lines.append(f"{name} {role} {[count(one) for one in made]} {golden.name_of(made)}")
    golden.agrees(FILES / "fewer_words.txt", lines)
