"""What belongs together in short dialogues and lists (``tests.support.golden`` says when to write the file anew).

These tests cover pieces that tie sentences, side by side in every order, with and without a speaker. They leave out one phrase in
each place (``test_golden_ties.py``).
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

from tests.support import golden
from turnfold.compression.text.dialogue.own_words import own_words
from turnfold.compression.text.dialogue.standing.orders import standing_orders
from turnfold.compression.text.statements import objection, statements

FILES = Path(__file__).parent / "golden"
_SAID: Final = [
    *"""\
The demo is on Thursday.
Booked.
Sorry, wrong week.
No.
Yes, but only in May.
I meant Ben.
Why?
(unless it rains)
He pays for it.
Marta met Anna in Lisbon.
Only on Mondays.
If it rains, nobody goes.
That is wrong.
Edit: not in May.
The total is 300 euros.
In thousands.
All amounts in euros.
Suppose the pump failed.
Scratch that.
None of this is true.
The second one.
The former is cheap; the latter is not.
These hold:
As follows:
See below.
Then call her.
Also: 5 km.
Is the lease over?
Never on Fridays.
Always answer in French.
Call it the Bay from now on.
It was true until May.
Correction: 12.
Anna is not Ben's boss.
Neither of them came.
On second thoughts, keep it.
The above was a joke.
At first it held.
Later it broke.
Das stimmt nicht.
Aber nur am Montag.
Non, c'est faux.
No es verdad.
不对。
但是周二不行。
Нет, это неправда.
Ist sie da?
| a | 3 |
- oars: 12
- ropes
1. lamps
# Costs
**Costs**
Costs (EUR):
> He said no.
12%
not audited""".splitlines(),
    "```\nx = 1\n```",
]
_WHO: Final = ("lea: ", "max: ", "lea: ", "[10:14] Lea: ", "Dr. Weiß: ", "")


def _dialogue(seed: int) -> str:
    """A few lines or paragraphs; in some each has a speaker, in others some have."""
    random, said = Random(f"dialogue {seed}"), ""
    share = (0.0, 0.5, 1.0)[seed % 3]
    for _ in range(random.randrange(2, 9)):
        who = random.choice(_WHO) if random.random() < share else ""
        line = " ".join(random.choice(_SAID) for _ in range(random.choice((1, 1, 2, 3))))
        said += f"{who}{line}{random.choice((chr(10), chr(10), ' ', chr(10) * 2))}"
    return said


def test_dialogues_and_lists() -> None:
    lines = []
    for first in golden.some(range(0, 600, 20)):
        texts = [_dialogue(seed) for seed in range(first, first + 20)]
        found = [statements(text) for text in texts]
        needs = [[sorted(one.with_needs(i)) for i in range(len(one.spans))] for one in found]
        told = [(objection(text), standing_orders(text), sorted(own_words(text.splitlines()))) for text in texts]
        sizes = sum(len(one) - 1 for some in needs for one in some)
        lines.append(f"{first}: {sizes} {golden.name_of(found)} {golden.name_of(needs)} {golden.name_of(told)}")
    golden.agrees_in(FILES / "dialogues.txt", lines)


def test_a_speaker_who_corrects_what_was_just_said() -> None:
    found = statements("lea: The demo is on Thursday.\nlea: Sorry, wrong week.\nmax: Booked.")
    said = [span.of("lea: The demo is on Thursday.\nlea: Sorry, wrong week.\nmax: Booked.").strip() for span in found.spans]
    first, correction = said.index("The demo is on Thursday."), said.index("Sorry, wrong week.")
    assert correction in found.with_needs(first)
