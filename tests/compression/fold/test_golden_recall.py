"""Recall from fixed conversations, byte for byte (``tests.support.golden`` says when to write them anew)."""

from __future__ import annotations

from random import Random

from tests.compression.fold.test_golden import FILES, MEMO
from tests.support import golden, odd_texts
from tests.support.recalled import recall
from turnfold.compression.memo import digest
from turnfold.compression.recall.fence import render
from turnfold.compression.recall.question import Question
from turnfold.compression.text.passages import passages
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import count

# ---------------------------------------------------------------- recall

QUESTIONS = (
    "How many tapes are there, and when does the lease end?",
    "Who may handle reels?",
    "What was the budget for the website?",
    "Summarise everything so far.",
    "Summarise what was said about the cassette decks.",
    "continue",
    "And the second one?",
    "Question: what does the Fund want on 15 May?",
    "Where did we put tape R-0417?",
    "Wie hoch ist die Miete?",
    "Who is Mr Okafor, and what did he say about the consent forms?",
    "What is the capital of Mongolia?",
    "why?",
)


def sources(name: str) -> list[Source]:
    return [
        Source(m["role"], m["content"], digest(m["role"], m["content"]))
        for m in golden.conversations()[name]
        if isinstance(m["content"], str) and m["role"] != "system"
    ]


def test_recall() -> None:
    lines = []
    said = sources("radio_en")
    present = said[20].text
    for number, text in enumerate(QUESTIONS):
        for budget, fill in ((250, False), (1200, False), (500, True)):
            before = tuple(said[30 + number : 32 + number]) if number % 2 == 0 else ()
            found = recall(said, Question(text, before), budget, (present,) if fill else (), count, MEMO, fill=fill)
            places = " ".join(f"{one.source}:{one.start}-{one.end}" for one in found)
            lines.append(f"{text!r} {budget} {'fill' if fill else 'bears'}: {places} {golden.name_of(render(said, found))}")
    golden.agrees(FILES / "recall.txt", lines)


def test_recall_in_seven_languages_and_with_vectors() -> None:
    lines = []
    for name in sorted(golden.conversations()):
        said = sources(name)
        for i in golden.some(range(3, len(said), 13), 2):
            likeness = tuple(bytes([(37 * k) % 100]) for k in range(i)) if i % 2 else ()
            asked = Question(said[i].text, tuple(said[i - 2 : i]), likeness if name != "radio_en" else ())
            found = recall(said[:i], asked, 300 + 10 * i, (), count, MEMO, fill=i % 3 == 0)
            lines.append(f"{name} {i}: " + " ".join(f"{one.source}:{one.start}-{one.end}" for one in found))
    golden.agrees_in(FILES / "recall.languages.txt", lines)


def test_recall_from_odd_texts() -> None:
    """Questions that repeat, ask for everything or for nothing, about texts of any kind, some said twice."""
    lines = []
    for seed in golden.some(range(40)):
        random = Random(seed)
        known = [text for text in golden.texts().values() if "\n" in text][:5]
        numbers = range(9 * seed, 9 * seed + 4 + seed % 20)
        said = [odd_texts.output(i, known) if i % 4 == 3 else odd_texts.text(i) for i in numbers]
        said += said[:1] * (seed % 2)
        held = [Source(random.choice(("user", "assistant", "tool")), text, digest(text, str(i))) for i, text in enumerate(said)]
        text = random.choice((*QUESTIONS, *odd_texts.PIECES, odd_texts.text(seed)))
        asked = Question(text, tuple(held[-2:]) if seed % 3 == 0 else ())
        found = recall(held, asked, (60, 200, 700)[seed % 3], tuple(said[1:2]) * (seed % 4 == 1), count, MEMO, fill=seed % 5 == 0)
        places = " ".join(f"{one.source}:{one.start}-{one.end}" for one in found)
        lines.append(f"{seed} {text[:40]!r}: {places} {golden.name_of(render(held, found))}")
    golden.agrees_in(FILES / "recall.odd.txt", lines)


WHO = ("Anna Berg", "Ben", "Captain Marta Okafor", "Cy")
ASKED_OF_MEETINGS = (
    "What did Anna say about the pump?",
    "What did Marta decide, and when does the lease end?",
    "Who mentioned the code of the bay?",
    "Is Bay 7 larger than Pier 3?",
    "What happened on 3 May?",
    "Summarise what Ben said.",
    "And Cy?",
)


def meeting(seed: int) -> list[Source]:
    """Short messages that say who speaks, paragraphs under titles, or both; stamps of several days, and private parts."""
    random, found = Random(seed), list[Source]()
    number = (14, 40, 130)[seed % 3]
    for i in range(number):
        said = odd_texts.text(4 * (number * seed + i) + 1).splitlines()[0]
        who, title = random.choice(WHO), random.choice(("Bay 7", "**Pier 3**", "# The pump", "Costs:"))
        match seed % 4:
            case 0:
                text = f"{who}: {said}"
            case 1:
                text = f"{title}\n{said} {who} was there.\n\n{random.choice(WHO)}\n{said[::2]}"
            case 2:
                text = f"[2026-05-0{1 + i * 8 // number} 10:{i % 60:02}] {who}: {said}"
            case _:
                text = said if i % 2 else f"{who}: {said}\n\n{title}\n{said}"
        found.append(Source(("user", "assistant")[i % 2], text, digest(text, str(i))))
    return found


def test_recall_of_meetings() -> None:
    lines = []
    for seed in golden.some(range(24)):
        said, random = meeting(seed), Random(seed)
        text = ASKED_OF_MEETINGS[seed % len(ASKED_OF_MEETINGS)]
        shares = [random.randrange(-90, 90) % 256 for _ in range(99)]
        like = tuple(bytes(shares[i % 90 : i % 90 + len(passages(one.text))]) for i, one in enumerate(said)) if seed % 2 else ()
        found = recall(said, Question(text, tuple(said[-1:]) * (seed % 5 == 0), like), (80, 300)[seed % 2], (), count, MEMO)
        places = " ".join(f"{one.source}:{one.start}-{one.end}" for one in found)
        lines.append(f"{seed} {text!r}: {places} {golden.name_of(render(said, found))}")
    golden.agrees_in(FILES / "recall.meetings.txt", lines)


def test_recall_at_every_budget() -> None:
    said, lines = meeting(1)[:30], list[str]()
    for number, text in enumerate(ASKED_OF_MEETINGS[:3]):
        for budget in golden.some(range(30, 260, 5), 2):
            found = recall(said, Question(text, tuple(said[-1:]) * (number % 2)), budget, (), count, MEMO, fill=number == 2)
            lines.append(f"{number} {budget}: " + " ".join(f"{one.source}:{one.start}-{one.end}" for one in found))
    golden.agrees_in(FILES / "recall.budgets.txt", lines)
