"""Prose in fewer words.

These tests cover the laws of ``shorten.terse``, a golden sentence for each phrase of the lexicon, and what must never change.
Golden sentences are files under ``terse_cases``, one per stage: ``level | phrase``, the sentence, what becomes of it. Sentences
in which a phrase carries the meaning are in ``terse_misuse.txt``: ``phrase | sentence``; there it stays at every level.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Final, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.effort import crosswise, draws, every
from tests.support.growth import assert_linear
from turnfold.compression import tokens
from turnfold.compression.errors import InvalidInput
from turnfold.compression.shorten.terse_prose import compress as terse
from turnfold.compression.shorten.terse_prose.compress import compress, expand
from turnfold.compression.shorten.terse_prose.rules import INTENSITIES, PHRASED, lexicon, saving
from turnfold.compression.text.protect import protected_spans

T = TypeVar("T")

CASES: Final = Path(__file__).parent / "terse_cases"
MISUSE: Final = Path(__file__).parent / "terse_misuse.txt"
VOCABULARIES: Final[tuple[tokens.EncodingName, ...]] = ("o200k_base", "cl100k_base")


def _cases() -> list[tuple[str, str, str, str]]:
    found: list[tuple[str, str, str, str]] = []
    for file in sorted(CASES.glob("*.txt")):
        lines = file.read_text("utf-8").splitlines()
        for head, said, expected in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
            level, _, phrase = head.partition(" | ")
            found.append((level, phrase, said.strip(), expected.strip()))
    return found


def test_golden_sentences() -> None:
    wrong = [(said, compress(said, level).text) for level, _, said, new in _cases() if compress(said, level).text != new]
    assert not wrong


def test_every_phrase_has_a_golden_sentence() -> None:
    tables = tomllib.loads((files("turnfold.compression.text.lexicon") / "terse_en.toml").read_text("utf-8"))["rule"]
    phrases = [p for t in tables for p in (*t.get("drop", ()), *t.get("keep", ()), *t.get("replace", {}))]
    shown = [phrase for _, phrase, _, _ in _cases()]
    assert sorted(phrases) == sorted(shown)


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_every_rule_saves_tokens(vocabulary: tokens.EncodingName) -> None:
    rules = [rule for rule in lexicon().rules if rule.stage != "keep"]
    assert len(rules) > 500
    assert not [rule.phrase for rule in rules if saving(rule, vocabulary) <= 0]


def test_levels_do_what_they_say() -> None:
    said = (
        "Basically, I think the session data is stored in the cache. "
        "Please note that we want to add a pull request for the teams."
    )
    assert compress(said, "lite").text == (
        "Basically, I think the session data is stored in the cache. We want to add a pull request for the teams."
    )
    assert compress(said, "full").text == ("I think session data is stored in cache. We want to add PR for the teams.")
    assert compress(said, "ultra").text == "I think session data is stored in cache. We want add PR for teams."


@each(
    ("said", "short"),
    [
        *((said, said) for said in ("Report the sign.", "Close the gate and open the window.", "Simply put, stir, and serve.")),
        *(
            (said, said)
            for said in ("They elected the mayor chairman.", "In fact, not fiction, they won.", "Hello, world is in.")
        ),
        ("We report on the sign.", "We report on sign."),
        ("They keep the mayor of a town here.", "They keep mayor of a town here."),
    ],
)
def test_an_order_stays_an_order(said: str, short: str) -> None:
    assert compress(said, "full").text == short


@pytest.mark.parametrize("word", ["UK", "BBC"])
def test_an_article_goes_before_an_acronym_and_stays_before_a_name(word: str) -> None:
    said = "We met with the {} about the plan."
    assert compress(said.format(word), "full").text == f"We met with {word} about plan."
    for name in ("X", "Congo", f"{word} Board"):
        assert f"with the {name} about" in compress(said.format(name), "full").text


def test_a_receipt_stands_beside_the_text() -> None:
    made = compress("The pull request is in the queue of the team.", "full")
    receipt = made.receipt
    assert receipt.tokens_before == tokens.count("The pull request is in the queue of the team.")
    assert receipt.tokens_after == tokens.count(made.text)
    assert receipt.saved_tokens == receipt.tokens_before - receipt.tokens_after > 0
    assert receipt.saved_ratio == receipt.saved_tokens / receipt.tokens_before
    assert receipt.compression_intensity == "full"
    assert "tokens" not in made.text


def test_expand_takes_back_our_abbreviations_and_no_others() -> None:
    said = "Each PR needs review. Your pull request, like every Pull request of a virtual machine owner, waits for QA."
    made = compress(said, "full")
    assert made.text.count("PR") == 3
    full = expand(made.text, made.receipt)
    assert full.startswith("Each PR needs review.")
    assert "Your pull request, like every Pull request of virtual machine owner" in full
    assert full.endswith("waits for QA.")


def test_expand_refuses_a_receipt_of_another_text() -> None:
    receipt = compress("This pull request is in the queue.", "full").receipt
    with pytest.raises(InvalidInput, match="receipt"):
        expand("Something else altogether.", receipt)


@each("intensity", ["", "FULL", "off"])
def test_an_unknown_intensity_is_named(intensity: str) -> None:
    with pytest.raises(InvalidInput, match="intensity"):
        compress("The cat.", intensity)
    with pytest.raises(InvalidInput, match="text"):
        compress(b"The cat.")  # type: ignore[arg-type]


UNTOUCHED: Final = [
    'She said "the cat is really on the mat" and “please, the dog too”.',
    "> The quoted line of the mail is really there.",
    "| the cat | the dog |\n| --- | --- |\n| is the | of the |",
    "the cat | the dog | the bird",
    "the\tcat\tis the dog",
    '{"the": "really the cat", "a": ["the"]}',
    "```\nthe cat is really here\n```",
    "    the cat = the dog;",
    "if the_cat is not None and the dog is here:",
    "for a in the cats:",
    "The *really* important (the best) _the end_ is `the code`.",
    "Le chat est dans la maison et il dit que la voiture est verte, la dame aussi.",
    "Voy a casa de Maria, no a la playa. El gato es de la casa, y la puerta es verde.",
    "Der Hund war in the Haus und die Katze ist auch da, aber sie will nicht an den Strand.",
    "Кот сидит на окне, the best кот из всех, и он не хочет идти домой.",
    "猫は the best です。",
    "Thanks!",
]


BESIDE: Final = ["{}", "It is what we have and you know it:\n\n{}\n\nThat is all that we have of it."]


@each(("text", "frame"), product(UNTOUCHED[:10] + UNTOUCHED[11:], BESIDE))
def test_what_is_no_english_prose_stays(text: str, frame: str) -> None:
    if text == "Thanks!" or frame == "{}" or text not in UNTOUCHED[:2]:
        assert text in compress(frame.format(text), "full").text
    for quoted in re.findall(r'"[^"]+"|“[^”]+”', text):
        assert quoted in compress(frame.format(text), "ultra").text


KEPT: Final = [
    ("Please let $x = the + a$ and \\(the = a\\) be what we have.", ["$x = the + a$", "\\(the = a\\)"]),
    ("It is what we have:\n\nnote:\n  a: please note the\n  b: the one\n", ["note:\n  a: please note the\n  b: the one"]),
    (
        "You must not use the cache, and you may never do so unless the lead should ask.",
        ["must not", "may never", "unless", "should"],
    ),
    ("It is not really safe, not just slow, and never quite done.", ["not really", "not just", "never quite"]),
    ("We do not just want the speed.", ["not just"]),
    ("The variable a is set, and option A is the best of a few.", ["ariable a", "option A", "a few"]),
    ("Go from a to b, then the value is a.", ["from a to b", " a."]),
    ("Alexander the Great met Ivan the Terrible in The Hague.", ["Alexander the Great", "Ivan the Terrible", "The Hague"]),
    ("The Director of the Board at Bank of the West is new.", ["Bank of the West"]),
    (
        "He earns 5 dollars an hour, once a day, and $4.2 million a year on 2026-11-22.",
        ["once a day", "$4.2 million", "2026-11-22"],
    ),
    ("He can only come if the train is not late, except on Sunday.", ["can only", "if", "not late", "except"]),
    ("They could probably fail, and she is probably the one.", ["probably fail", "probably"]),
    ("The more the better, and the one that stays is the other.", ["the better"]),
    ("At this point in time and space, nothing moves.", ["At this point in time and space"]),
    ("At the present time or place it is forbidden.", ["At the present time or place"]),
]


@each(("text", "parts", "intensity"), [(*kept, intensity) for kept in KEPT for intensity in INTENSITIES])
def test_meaning_stays(text: str, parts: list[str], intensity: str) -> None:
    short = compress(text, intensity).text
    assert [part for part in parts if part not in short] == []


def _occurrences(phrase: str, text: str) -> int:
    """How often a phrase stands in a text; articles inside a phrase of several words do not count."""
    if phrase == ",":
        return text.count(",")
    if " " in phrase and phrase.rsplit(maxsplit=1)[-1] not in {"the", "a", "an"}:
        phrase, text = (re.sub(r"(?i)\b(?:the|an|a) ", "", one) for one in (phrase, text))
    return len(re.findall(rf"(?<![\w'])(?i:{re.escape(phrase)})(?![\w'])", text))


@each("intensity", INTENSITIES)
def test_a_phrase_that_carries_the_meaning_stays(intensity: str) -> None:
    pairs = [line.split(" | ", 1) for line in MISUSE.read_text("utf-8").splitlines()]
    assert len(pairs) > 300
    assert [said for phrase, said in pairs if not _occurrences(phrase, said)] == []
    changed = [
        (said, short)
        for phrase, said in pairs
        if _occurrences(phrase, short := compress(said, intensity).text) != _occurrences(phrase, said)
    ]
    assert changed == []


SPOKEN: Final = sorted({rule.phrase for rule in lexicon().rules if rule.stage in PHRASED and rule.phrase[0].isalpha()})


SPOKEN_OF: Final = [
    'They use the word "{}" there.',
    "They use the word {} there.",
    "It is called {} there.",
    "The keyword {} is here.",
]
TITLES: Final = ["We saw {} there.", "{} Syndication is here.", "He sang {} to them.", "It was {} Tonight."]


def share(cases: Sequence[T], frame: int, intensity: str) -> Sequence[T]:
    """A third of the cases: with all frames and intensities each stands in every frame, and is tried at every intensity."""
    return every(3, cases, frame + list(INTENSITIES).index(intensity))


@each(("intensity", "frame"), crosswise(product(INTENSITIES, SPOKEN_OF), 4))
def test_a_phrase_that_is_spoken_of_stays(frame: str, intensity: str) -> None:
    said = [(phrase, frame.format(phrase)) for phrase in share(SPOKEN, SPOKEN_OF.index(frame), intensity)]
    assert [s for phrase, s in said if not _occurrences(phrase, compress(s, intensity).text)] == []


@each(("intensity", "frame"), crosswise(product(INTENSITIES, TITLES), 4))
def test_a_title_stays(frame: str, intensity: str) -> None:
    titles = [" ".join(word[:1].upper() + word[1:] for word in phrase.split()) for phrase in SPOKEN if "," not in phrase]
    fit = [title for title in titles if " " in title or frame[0] != "{"]
    said = [(title, frame.format(title)) for title in share(fit, TITLES.index(frame), intensity)]
    assert [one for title, one in said if title not in compress(one, intensity).text] == []


TENSES: Final = [
    "is {}",
    "was {}",
    "are {}",
    "were {}",
    "has been {}",
    "have been {}",
    "had been {}",
    "will be {}",
    "{}",
    "has {}",
    "is being {}",
]
RESTS: Final = ["", " by the user", " to an archive", " and the dogs bark"]
PARTICIPLES: Final = [
    "moved",
    "written",
    "deleted",
    "stored",
    "sent",
    "closed",
    "reporting",
    "open",
    "down",
    "the owner",
    "a set",
]


@each(("intensity", "rest"), crosswise(product(INTENSITIES, RESTS), 4))
def test_tense_and_voice_stay_apart(rest: str, intensity: str) -> None:
    for subject in ("The job", "The user", "Our new service", "The nodes that we know"):
        for participle in share(PARTICIPLES, RESTS.index(rest), intensity):
            said = [f"{subject} {tense.format(participle)}{rest}." for tense in TENSES]
            assert len({compress(one, intensity).text for one in said}) == len(said)


@each(
    ("intensity", "doubt"),
    product(
        INTENSITIES,
        [
            "I think",
            "I believe",
            "I guess",
            "I assume that",
            "It seems that",
            "It looks like",
            "Perhaps",
            "As far as I know,",
            "In my opinion,",
            "He claims that",
            "Nobody says that",
            "If",
            "Unless",
            "More or less,",
        ],
    ),
)
def test_doubt_condition_and_source_stay(doubt: str, intensity: str) -> None:
    for claim in ("our pump is dry", "we sold 5 boats to him", "they may go"):
        short = compress(f"{doubt} {claim}.", intensity).text
        assert short.startswith(doubt.removesuffix(" that"))
        assert short.endswith(f"{claim}.")


@each(
    ("said", "intensity"),
    product(
        ["The dogs are dangerous.", "Delete the old backups.", "The water is bad.", "The people left.", "It feeds the wolves."],
        ["lite", "full"],
    ),
)
def test_the_stays_where_without_it_all_of_a_kind_are_meant(said: str, intensity: str) -> None:
    assert compress(said, intensity).text == said


APPROVALS: Final = [
    "Sounds good.",
    "No problem.",
    "Sure.",
    "Yes please.",
    "Great!",
    "Perfect.",
    "Looks good to me.",
    "Okay.",
    "Of course.",
    "Go ahead.",
    "Fine.",
    "Cool!",
    "Absolutely.",
    "Certainly.",
    "Awesome.",
    "Not yet.",
    "Sorry.",
    "That is great.",
    "How about you?",
    "Thanks, but no.",
    "No, thank you.",
]


FRAMES: Final = ["{}", "{} We start on Monday.", "We start on Monday. {}", "{}\n\nWe start on Monday."]


@each(("approval", "frame"), product(APPROVALS, FRAMES))
def test_an_answer_stays(approval: str, frame: str) -> None:
    assert approval in compress(frame.format(approval), "ultra").text


@each(
    ("before", "quoted"),
    product(
        ["`", "a stray ` then ", "*", "_", "~", "#", "\u200b", "\u2060", "say", "(", "[", "-", "->", "\\"],
        ['"the cat is really on the mat, in fact"', "“please note that the dog is out”", '"it is really\nthe cat of a man"'],
    ),
)
def test_no_mark_in_front_opens_a_quotation(before: str, quoted: str) -> None:
    said = f"We know that the harbour is {before}{quoted} and the crew of the boat."
    for intensity in INTENSITIES:
        assert quoted in compress(said, intensity).text


def test_an_inch_opens_no_quotation() -> None:
    assert '"the best of the boats"' in compress('The 5" pipe is "the best of the boats" and the 6" one too.', "ultra").text


def test_nothing_but_pleasantries_is_left_as_it_is() -> None:
    for said in ("Thank you so much!", "I hope this helps.", "Hi there. Thanks.", "Good morning!"):
        assert compress(said, "ultra").text == said
    assert compress("Thank you so much! I hope this helps.", "ultra").text == "Thank you so much!"


def test_a_line_that_says_nothing_goes_with_its_break() -> None:
    said = "The build is green now.\n\nI hope this helps!\n\nThe tests are in the folder."
    assert compress(said, "lite").text == "The build is green now.\n\nThe tests are in the folder."


EXTENSION: Final = """
language = "en"
remove = ["prior to"]
[[rule]]
stage = "abbreviations"
level = "lite"
[rule.replace]
"round trip time" = "RTT"
"database" = "DB"
[[rule]]
stage = "fillers"
drop = ["as everybody here knows"]
"""


def test_users_extend_the_lexicon() -> None:
    said = "The round trip time of the database was high prior to the fix, as everybody here knows by now."
    made = compress(said, "lite", extension=EXTENSION)
    assert made.text == "The RTT of the database was high prior to the fix, by now."
    assert expand(made.text, made.receipt) == said.replace(" as everybody here knows", "")
    assert lexicon(EXTENSION).idle == ("database",)


@each(
    ("text", "field"),
    [
        ("[[rule]", "lexicon"),
        ("[[rules]]\na = 1", "lexicon.rules"),
        ('[[rule]]\nstage = "fillers"\nwhat = 1', r"lexicon.rule\[0\].what"),
        ('[[rule]]\nstage = "nothing"\ndrop = ["x y"]', r"lexicon.rule\[0\].stage"),
        ('[[rule]]\nstage = "fillers"\ndrop = ["must not"]', r"lexicon.rule\[0\]"),
        ('[[rule]]\nstage = "fillers"\nafter = ["@nobody"]\ndrop = ["x y"]', "@nobody"),
        ('[[rule]]\nstage = "fillers"\ndrop = ["(x)"]', "stands for no words"),
        ('language = "de"', "lexicon.language"),
        ("language = 3", "lexicon.language"),
        ('remove = "prior to"', "lexicon.remove"),
        ("remove = [1]", "lexicon.remove"),
        ("rule = 5", "lexicon.rule"),
        ("rule = [5]", "lexicon.rule"),
        ('[rule]\nstage = "fillers"', "lexicon.rule"),
        ("sets = []", "lexicon.sets"),
        ('[sets]\nmine = "word"', "lexicon.sets.mine"),
        ("[sets]\nmine = [true]", "lexicon.sets.mine"),
        ('[sets]\nmine = ["@other"]\nother = ["@mine"]', "lexicon.sets.mine"),
        ('[[rule]]\nstage = ["fillers"]', r"lexicon.rule\[0\].stage"),
        ('[[rule]]\nstage = "fillers"\ndrop = "so to say"', r"lexicon.rule\[0\].drop"),
        ('[[rule]]\nstage = "fillers"\ndrop = [7]', r"lexicon.rule\[0\].drop"),
        ('[[rule]]\nstage = "fillers"\ndrop = [" "]', r"lexicon.rule\[0\].drop"),
        ('[[rule]]\nstage = "fillers"\nreplace = ["a"]', r"lexicon.rule\[0\].replace"),
        ('[[rule]]\nstage = "fillers"\nreplace = {"as of now" = 1}', r"lexicon.rule\[0\].replace"),
        ('[[rule]]\nstage = "fillers"\ntail = "long"', r"lexicon.rule\[0\].tail"),
        ('[[rule]]\nstage = "fillers"\ncomma = "yes"', r"lexicon.rule\[0\].comma"),
        ('[[rule]]\nstage = "fillers"\nafter = 1979-05-27', r"lexicon.rule\[0\].after"),
    ],
)
def test_a_wrong_lexicon_names_the_field(text: str, field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        lexicon(text)


# --- laws -----------------------------------------------------------------------------------------------------------

PROTECTED: Final = [
    "`the code`",
    "https://example.com/the/a?b=the",
    "/src/the/index.ts:42",
    "~/the/notes.md",
    r"C:\the\file.txt",
    "2026-11-22",
    "v1.2.3",
    "3.14159",
    "1,024",
    "the_name",
    "theName",
    "the-name",
    "git commit -m 'the fix'",
    "feature/the-branch",
    "#1234",
    "owner/repo#77",
    "REQ-0042",
    "the@example.com",
    "--the-flag",
    "$HOME/the",
    "42%",
    '{"the": "a"}',
    "npm run the:build",
]
BLOCKS: Final = [
    "```py\nthe = a\n```",
    "# The heading",
    "| the | a |\n|---|---|\n| is | the |",
    "~~~\nthe open fence",
    "$ ls the",
]
_WORDS: Final = sorted({word for rule in lexicon().rules[::7] for word in (*rule.words, *rule.new) if word.strip("\n\0.,:-")})
_PLAIN: Final = """the a an is are was were not never must may please really just that which , . ! ? : … The A An I It Paris cat
dogs installed running updated x Not Please Basically, Thanks! naïve 日本 don't"""
words = st.one_of(
    st.sampled_from(_WORDS),
    st.sampled_from(_PLAIN.split()),
    st.sampled_from([rule.phrase for rule in lexicon().rules[::3]]),
    st.sampled_from(PROTECTED),
)
gaps = st.sampled_from([" "] * 12 + ["  ", "\n", "\n\n", "\t", " \n", "\n  ", "\n- ", "\n1. ", "", ". ", ", ", " (", ") "])
prose = st.lists(st.tuples(words, gaps), min_size=1, max_size=40).map(lambda pairs: "".join(w + g for w, g in pairs))
mixtures = st.lists(st.one_of(prose, prose, st.sampled_from(BLOCKS)), min_size=1, max_size=4).map("\n\n".join)


@draws(12)
@given(mixtures)
def test_laws_on_mixtures(text: str) -> None:
    sizes = [[tokens.count(text, name)] for name in VOCABULARIES]
    for intensity in INTENSITIES:
        made = compress(text, intensity)
        assert compress(made.text, intensity).text == made.text
        assert made.receipt.tokens_before == tokens.count(text)
        assert made.receipt.tokens_after == tokens.count(made.text)
        _assert_protected(text, made.text)
        _assert_expands(made)
        for column, name in zip(sizes, VOCABULARIES, strict=True):
            column.append(tokens.count(made.text, name))
    assert all(column == sorted(column, reverse=True) for column in sizes)


def _assert_protected(text: str, short: str) -> None:
    """Every protected span is there, in order."""
    at = 0
    for span in protected_spans(text):
        at = short.find(span.of(text), at)
        assert at >= 0, span.of(text)
        at += span.end - span.start


def _assert_expands(made: terse.Terse) -> None:
    full = expand(made.text, made.receipt)
    lost = made.text
    for one in reversed(made.receipt.abbreviations):
        assert lost[one.start : one.start + len(one.short)] == one.short
        lost = lost[: one.start] + one.long + lost[one.start + len(one.short) :]
    assert full == lost


@draws(12)
@given(st.text(max_size=200))
def test_laws_on_any_text(text: str) -> None:
    for intensity in INTENSITIES:
        made = compress(text, intensity)
        assert compress(made.text, intensity).text == made.text
        assert made.receipt.tokens_before == tokens.count(text)
        assert made.receipt.saved_tokens >= 0


@each("unit", ["of ", "in order ", "the a ", ". ", ", ", "' ", "| ", "\t"])
def test_linear_on_hostile_text(unit: str) -> None:
    assert_linear(lambda text: compress(text, "ultra"), lambda size: "it is the one. " + unit * size, 700)


def test_nested_phrases_are_undone_in_linear_time() -> None:
    assert_linear(lambda text: compress(text, "full"), lambda size: "it is so. we say " + "of " * size + "course " * size, 1_500)
