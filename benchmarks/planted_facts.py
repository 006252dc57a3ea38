"""Facts that users state once in a long conversation: how many of 40 a context still tells, by budget.

    python -m benchmarks.planted_facts [--held-out] [--rounds N] [--missed]

A round is 40 facts in conversations of 60 messages, 1 to 8 of them in each, at any place but the newest five messages; the talk
around them is small talk and answers of an assistant. ``--held-out`` takes sentences and talk that nothing was tuned on. A fact
is kept where its needle (a code, a name, a word of its own) is in the context.

It makes up the conversations and counts.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Final

from benchmarks.support.planted_sentences import HELD_OUT, TUNED, Sentences
from turnfold.compression.budgeted import History, HistoryMessage, HistorySettings, add, context

#: Budget in tokens -> facts of 40 that must be kept.
WANTED: Final = {2000: 36, 1000: 34, 300: 28}
MESSAGES: Final = 60
FACTS: Final = 40
KEEP_RECENT: Final = 5
_PER_CONVERSATION: Final = (1, 2, 4, 5, 8, 10)


@dataclass(frozen=True)
class Planted:
    """A conversation and the needles of the facts in it."""

    messages: list[HistoryMessage]
    facts: list[tuple[str, str]]


def conversation(sentences: Sentences, facts: int, seed: int) -> Planted:
    """A conversation with so many facts; the same for the same seed."""
    draw = random.Random(seed)
    old = range(0, MESSAGES - KEEP_RECENT - 1, 2)  # users speak first, and every other time
    places = dict(zip(draw.sample(old, facts), draw.sample(sentences.facts, facts), strict=True))
    messages: list[HistoryMessage] = []
    planted: list[tuple[str, str]] = []
    for i in range(MESSAGES):
        role = "user" if i % 2 == 0 else "assistant"
        longest = 2 if role == "user" else 2 + 4 * (seed % 2)  # every other conversation has a talkative assistant
        said = draw.sample(sentences.talk if role == "user" else sentences.answers, draw.randint(1, longest))
        if i in places:
            fact, needle = _filled(places[i], draw)
            planted.append((fact, needle))
            alone = draw.random() < 0.4
            said = [fact] if alone else draw.sample([fact, *said], len(said) + 1)
        messages.append(HistoryMessage(role, " ".join(_filled((text, ""), draw)[0] for text in said)))
    return Planted(messages, planted)


def _filled(sentence: tuple[str, str], draw: random.Random) -> tuple[str, str]:
    """A template with its code, number and day drawn."""
    values = {
        "code": f"{draw.choice('ABCDEHKMPQRTVX')}{draw.choice('ABCDEHKMPQRTVX')}-{draw.randint(1000, 9999)}",
        "n": str(draw.randint(11, 97)),
        "big": f"{draw.randint(11, 97)},{draw.randint(100, 999)}",
    }
    text, needle = sentence
    for name, value in values.items():
        text, needle = text.replace(f"<{name}>", value), needle.replace(f"<{name}>", value)
    return text, needle


def kept(planted: Planted, budget: int) -> list[bool]:
    """Which needles the last context tells."""
    settings = HistorySettings(budget, KEEP_RECENT)
    state = History()
    for message in planted.messages:
        state, _ = add(state, message, settings)
    told = context(state, settings)
    return [needle in told.text for _, needle in planted.facts]


def rounds(sentences: Sentences, number: int) -> list[list[Planted]]:
    """So many rounds of 40 facts."""
    return [
        [conversation(sentences, size, 1000 * r + i) for i in range(FACTS // size)]
        for r in range(number)
        for size in (_PER_CONVERSATION[r % len(_PER_CONVERSATION)],)
    ]


def figures(sentences: Sentences, number: int) -> dict[int, list[int]]:
    """Facts kept of 40, by budget, for each round."""
    made = rounds(sentences, number)
    return {budget: [sum(sum(kept(one, budget)) for one in planted) for planted in made] for budget in WANTED}


def missed(sentences: Sentences, number: int, budget: int) -> Sequence[str]:
    """The facts that are not told, for reading."""
    found = [(one, kept(one, budget)) for planted in rounds(sentences, number) for one in planted]
    return [fact for one, told in found for (fact, _), is_told in zip(one.facts, told, strict=True) if not is_told]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--held-out", action="store_true", help="sentences that nothing was tuned on")
    parser.add_argument("--rounds", type=int, default=6, help="rounds of 40 facts")
    parser.add_argument("--missed", action="store_true", help="print what is not told")
    options = parser.parse_args()
    sentences = HELD_OUT if options.held_out else TUNED
    for budget, counts in figures(sentences, options.rounds).items():
        line = f"{budget:>5} tokens: {mean(counts):5.1f} of {FACTS} kept (worst round {min(counts)}; wanted {WANTED[budget]})"
        print(line)
        if options.missed:
            print(*(f"    {fact}" for fact in missed(sentences, options.rounds, budget)), sep="\n")


if __name__ == "__main__":
    main()
