"""Lexicons of users: what is refused, in full, and what each field of a rule does.

``tests.support.golden`` says when to write the file anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.support import golden
from turnfold.compression.errors import InvalidInput
from turnfold.compression.shorten.terse_prose.compress import compress, expand
from turnfold.compression.shorten.terse_prose.rules import forms, lexicon

FILES = Path(__file__).parent / "golden"
_RULE: Final = '[[rule]]\nstage = "{stage}"\nlevel = "{level}"\n{more}'
_STAGES: Final = ("fillers", "pleasantries", "hedges", "articles", "abbreviations", "keep", "phrases", "leads", "nothing")
_MORE: Final = (
    *(
        'drop = ["so to say"]',
        'drop = ["so (to|they) say"]',
        'drop = ["{in|at} {bay|pier} seven"]',
        'keep = ["the pump"]',
        'drop = ["the"]',
    ),
    *(
        'drop = ["as of late"]\nat = "sentence"',
        'drop = ["as of late"]\nat = "line"',
        'drop = ["as of late"]\nat = "any"',
        'drop = ["x"]\nat = "no"',
    ),
    *('drop = ["as of late"]\ncomma = true', 'drop = ["as of late"]\nneeds_comma = true', 'drop = ["as of late"]\ntail = 2'),
    *(
        'drop = ["as of late"]\nafter = ["pump"]',
        'drop = ["as of late"]\nbefore = ["it"]',
        'drop = ["as of late"]\nthen = ["ran"]',
    ),
    *(
        'drop = ["as of late"]\nnot_after = ["pump"]',
        'drop = ["as of late"]\nnot_before = ["it", "*ing"]',
        'drop = ["as of late"]\ntail = 0',
    ),
    *(
        '[rule.replace]\n"harbour master of bay seven" = "master"',
        '[rule.replace]\n"pump" = "old pump"',
        '[rule.replace]\n"so to say" = ""',
    ),
    *(
        '[rule.replace]\n"round trip time" = "RTT"',
        '[rule.replace]\n"did not fail" = "failed"',
        '[rule.replace]\n"in order to" = "to go"',
    ),
    *(
        'drop = ["did not fail"]',
        'drop = ["did not fail"]\nidiom = true',
        'drop = ["one two three four five six seven eight nine ten"]',
    ),
    *(
        'drop = ["(x)"]',
        'drop = ["so @nobody"]',
        'drop = ["@guarded"]',
        'drop = ["' + "{a|b} " * 11 + '"]',
        'after = ["@nobody"]\ndrop = ["x y"]',
    ),
    *(
        "drop = 3",
        "drop = [3]",
        "tail = -1",
        "tail = true",
        "comma = 1",
        "what = 1",
        "at = 3",
        'drop = [" "]',
        "replace = 3",
        "level = 1",
    ),
)
_WHOLE: Final = (
    *(
        "[[rule]",
        'language = "de"',
        "language = 3",
        "remove = 3",
        'remove = [" "]',
        "rule = 5",
        "rule = [5]",
        "sets = []",
        "mine = 3",
    ),
    *(
        '[sets]\nmine = "word"',
        '[sets]\nmine = ["@other"]\nother = ["@mine"]',
        '[sets]\nmine = ["@mine"]',
        '[sets]\nmine = ["@none"]',
    ),
    *(
        '[sets]\na = ["@b", "@c"]\nb = ["@c", "x"]\nc = ["y"]',
        '[sets]\na = ["@b"]\nb = ["@c"]\nc = ["@b"]',
        '[sets]\nguarded = ["lately"]',
    ),
    *(
        'remove = ["prior to"]',
        'remove = ["{prior|up} to", "nothing at all"]',
        "",
        '[[rule]]\nstage = "fillers"',
        '[[rule]]\ndrop = ["x y"]',
    ),
)
_SAID: Final = (
    "As of late, the pump ran, so to say. The pump as of late it ran in bay seven. As of late the pump of the harbour master "
    "of bay seven did not fail again.",
    "It ran as of late. It ran, as of late, in order to fail at pier seven as of late running. So they say the round trip time "
    "was high.",
    "- as of late ran the pump\n- The pump: as of late\nAs of late it is as of late a pump prior to the fix, as of late and so "
    "to say.",
)


def _told(text: str) -> str:
    try:
        made = lexicon(text)
    except InvalidInput as refused:
        return str(refused)[:160]
    found = [compress(said, level, extension=text) for said in _SAID for level in ("lite", "ultra")]
    back = [expand(one.text, one.receipt) for one in found]
    return f"{len(made.rules)} {made.idle} {golden.name_of((found, back))}"


def test_lexicons_of_users() -> None:
    lines = []
    for number, more in golden.some(enumerate(_MORE)):
        for stage in _STAGES if number == 0 else ("fillers", _STAGES[number % 9])[number % 2 :][:1]:
            level = ("lite", "full", "ultra", "none")[number % 4 if number % 11 == 3 else number % 3]
            lines.append(f"{stage} {more[:60]!r}: {_told(_RULE.format(stage=stage, level=level, more=more))}")
    lines += [f"{text!r}: {_told(text)}" for text in _WHOLE]
    for phrase in ("a", "(a)", "{a|b} (c)", "A’b c", "{a|}", "(a|b) c", "{a} {b}", "", "{a|b|c} " * 6, "{a|b} " * 10):
        try:
            lines.append(f"{phrase!r}: {golden.name_of(forms(phrase))} {len(forms(phrase))}")
        except InvalidInput as refused:
            lines.append(f"{phrase!r}: {refused}"[:120])
    golden.agrees_in(FILES / "lexicons.txt", lines)


def test_lines_that_are_hardly_english() -> None:
    """Few English words and more and more of something else beside them, alone and among lines that are English."""
    lines = []
    for said in ("the boat of the harbour", "please note that the boat basically came", "the"):
        for other in ("привет", "x_y-", "泵", "c++/", "naïve", "«да»", "Ü7"):
            texts = [f"{said} {(other * 30)[:size]} it actually rained" for size in range(1, 26)]
            texts += ["\n".join([text, "It is actually just the tide.", "привет мир"]) for text in texts[::5]]
            made = [compress(text, ("lite", "full", "ultra")[i % 3]) for i, text in enumerate(texts)]
            lines.append(f"{said[:9]} {other}: {[len(one.text) for one in made[:6]]} {golden.name_of(made)}")
    golden.agrees(FILES / "hardly.txt", lines)
