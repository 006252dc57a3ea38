"""What is read out of fixed texts, span by span (``tests.support.golden`` says when to write the files anew)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

from tests.support import golden, odd_texts
from tests.support.cases import each
from turnfold.compression.fit.middle import cut_middle
from turnfold.compression.text import lower, words
from turnfold.compression.text.data_blocks import data_blocks
from turnfold.compression.text.dialogue import requests
from turnfold.compression.text.dialogue.own_words import asks, own_words
from turnfold.compression.text.dialogue.self_statements import statement_weight
from turnfold.compression.text.dialogue.signals import signal_weight, signals
from turnfold.compression.text.dialogue.standing.orders import begins_with_command, is_standing_order, may_order, standing_orders
from turnfold.compression.text.duplicates import duplicates, near_duplicates
from turnfold.compression.text.figures import figures
from turnfold.compression.text.inline import tokens
from turnfold.compression.text.kinds import kind_of, parts
from turnfold.compression.text.names.amounts import amounts, sure_amounts
from turnfold.compression.text.names.dense_names import dense_names
from turnfold.compression.text.names.entities import entities
from turnfold.compression.text.passages import estimate, passages
from turnfold.compression.text.private import Redactor, is_private, redact, redact_json
from turnfold.compression.text.protect import block_spans, inline_joints, protected_spans
from turnfold.compression.text.sections import section_starts
from turnfold.compression.text.sentences import language as sentence_language
from turnfold.compression.text.sentences import sentences
from turnfold.compression.text.statements import statements
from turnfold.compression.tokens import count

FILES = Path(__file__).parent / "golden"


def _judged(text: str) -> list[Any]:
    pieces = [span.of(text) for span in sentences(text)]
    return [(statement_weight(p), signals(p), signal_weight(p), is_standing_order(p), figures(p)) for p in pieces]


STAGES: dict[str, Callable[[str], Any]] = {
    "statements": statements,
    "sentences": sentences,
    "judged": _judged,
    "blocks": block_spans,
    "protected": protected_spans,
    "kinds": lambda text: (kind_of(text), parts(text)),
    "entities": entities,
    "orders": standing_orders,
    "passages": lambda text: (round(estimate(text), 6), passages(text)),
    "sections": lambda text: section_starts(text, sentences(text)),
    "data": data_blocks,
    "amounts": lambda text: [*(sure := list(sure_amounts(text))), *amounts(text, sure)],
    "own words": lambda text: sorted(own_words(text.splitlines())),
    "middle": lambda text: [cut_middle(text, cap, count(text)) for cap in (12, 60)] if len(text) < 900 else [],
}
CASES = Path(__file__).parents[1] / "shorten" / "cases"


def _inputs() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, text in golden.texts().items():
        found.setdefault(name.partition("/")[0], []).append(text)
    for path in sorted(CASES.glob("*/*.txt")):
        text = path.read_bytes().decode().partition("\n==========\n")[0].partition("\n")[2]
        found.setdefault(path.parent.name, []).append(text[:6000])
    return found


@each("stage", STAGES)
def test_stage(stage: str) -> None:
    lines = [f"{name}: {golden.name_of([STAGES[stage](text) for text in some])}" for name, some in _inputs().items()]
    golden.agrees(FILES / f"{stage.replace(' ', '_')}.txt", lines)


def _words_of(text: str) -> list[Any]:
    low, folded = lower.lower_text(text), words.fold(text)
    found = words.words(folded)
    grams, sources = words.grams(text.split("\n"))
    return [
        (lower.words(low), lower.joined_words(low), lower.words_within(text)(3, 40), lower.joined_words_within(text)(2, 50)),
        (found, words.language(set(found)), [words.content(found, name) for name in ("en", "de", "")], words.has_pairs(folded)),
        (sorted(words.stem_table(set(found), "en").items()), words.run_on_terms(folded).tolist(), words.codes(text).tolist()),
        (grams.tolist(), sources.tolist(), sentence_language(text)),
        (requests.asks_for_cover(folded), requests.without_cover_words(folded), requests.without_empty_phrases(folded)),
    ]


def _redacted(text: str) -> list[Any]:
    """A text in which a word opens and another closes what is private, alone, over its lines, and inside JSON."""
    tagged = text.replace(" the ", " <private> ").replace(" a ", " </private> ").replace("pump", "<PRIVATE x>")
    value = {"id": tagged[:40], "role": "user", "content": [tagged, {"text": f"x</private>{tagged[:30]}", "type": text[:9]}]}
    return [redact(tagged), list(map(Redactor(), tagged.splitlines())), redact_json(json.dumps(value)), is_private(tagged)]


#: What is read in texts of odd pieces beside that.
ODD_STAGES: dict[str, Callable[[str], Any]] = {
    **STAGES,
    "statements": lambda text: [
        (found := statements(text)),
        [sorted(found.with_needs(i)) for i in range(len(found.spans))],
        [sorted(found.complete({i})) for i in range(len(found.spans))],
    ],
    "middle": lambda text: [cut_middle(text, cap, count(text)) for cap in (12, 30, 60)],
    "joints": lambda text: [inline_joints(line) for line in text.splitlines()],
    "tokens": tokens,
    "dense names": lambda text: list(dense_names(text)),
    "words": _words_of,
    "asked": lambda text: [(asks(line), may_order(line.split())) for line in text.splitlines()],
    "private": _redacted,
    "duplicates": lambda text: (duplicates(text.splitlines()), near_duplicates([*text.split(". "), f"{text}. x"], 0.7)),
}


def test_texts_of_odd_pieces() -> None:
    groups = [(i, [odd_texts.text(seed) for seed in range(40 * i, 40 * i + 40)]) for i in golden.some(range(6))]
    lines = []
    for stage, read in ODD_STAGES.items():
        lines += [f"{stage} {i}: {golden.name_of([read(text) for text in some])}" for i, some in groups]
    golden.agrees_in(FILES / "odd.txt", lines)


def test_texts_whose_pieces_touch() -> None:
    firsts = golden.some(enumerate(range(0, 100, 20)), 2)
    groups = [(i, [odd_texts.glued(seed) for seed in range(first, first + 20)]) for i, first in firsts]
    lines = []
    for stage, read in ODD_STAGES.items():
        lines += [f"{stage} {i}: {golden.name_of([read(text) for text in some])}" for i, some in groups]
    golden.agrees_in(FILES / "glued.txt", lines)


def test_texts_that_few_rules_are_for() -> None:
    groups = [[odd_texts.rare(seed) for seed in range(first, odd_texts.RARE, 8)] for first in range(8)]
    lines = []
    for stage, read in ODD_STAGES.items():
        lines += [f"{stage} {i}: {golden.name_of([read(text) for text in some])}" for i, some in enumerate(groups)]
    golden.agrees(FILES / "rare.txt", lines)


def test_texts_of_every_length_and_share() -> None:
    texts = [*odd_texts.of_every_length(), *odd_texts.of_every_share()]
    groups = golden.some([*enumerate(texts[i : i + 100] for i in range(0, len(texts), 100))])
    lines = []
    for stage, read in ODD_STAGES.items():
        if stage not in ("middle", "duplicates"):
            lines += [f"{stage} {i}: {golden.name_of([read(text) for text in some])}" for i, some in groups]
    golden.agrees_in(FILES / "lengths.txt", lines)


def test_texts_of_long_lengths() -> None:
    texts, lines = odd_texts.of_long_lengths(), list[str]()
    for stage, read in ODD_STAGES.items():
        if stage not in ("middle", "duplicates"):
            lines += [f"{stage} {i}: {golden.name_of([read(text) for text in texts[i::4]])}" for i in range(4)]
    golden.agrees(FILES / "long_lengths.txt", lines)


def test_kinds_in_a_very_long_text() -> None:
    """So long that the windows grow in which lines vote."""
    rows = [row for text in odd_texts.of_every_share() for row in text.splitlines()]
    lines = [f"{size}: {golden.name_of(parts(chr(10).join((rows * 8)[:size])))}" for size in (3199, 3200, 3201, 3300, 7000)]
    golden.agrees(FILES / "long_kinds.txt", lines)


def test_rows_with_a_column_of_figures() -> None:
    """Of ten rows so many have a figure where the others say something: from seven on they are data."""
    lines = []
    for share, delimiter in product(range(11), ",;\t"):
        cells = [str(17 * i) if i < share else f"and nobody was there {i}." for i in range(10)]
        rows = [delimiter.join(("it was said", f" that they had seen the boats {i} times", cell)) for i, cell in enumerate(cells)]
        text = "\n".join([delimiter.join(("what", "it", "says")), *rows])
        lines.append(f"{share} {delimiter!r} {kind_of(text)} {data_blocks(text)}")
    golden.agrees(FILES / "columns.txt", lines)


def test_near_duplicates() -> None:
    said = [line for some in _inputs().values() for text in some for line in text.split("\n\n")]
    said += [f"{text} And so on." for text in said[::9]] + said[::31]
    lines = [f"{threshold} {golden.name_of(near_duplicates(said, threshold))}" for threshold in (0.6, 0.85, 1.0)]
    golden.agrees(FILES / "near_duplicates.txt", lines)


#: Texts at the borders of the rules that tie sentences together: one word or character more or less decides.
TIED = (
    "The valve failed in May. It did that again yesterday. Pumps ran on.",
    "The valve failed in May. It did that again. Pumps ran on.",
    "The valve failed in May. It did that to Anna. Pumps ran on.",
    "The valve failed in May. It did that quite often again. Pumps ran on.",
    "The valve failed in May. Berlin again. Pumps ran on.",
    "The valve failed in May. Never in Berlin. Pumps ran on.",
    "The valve failed in May. Why that? Pumps ran on.",
    "The valve failed in May. Rather old. Rather new. Rather red. Rather big. Rather thin. Rather odd. Rather wet. Pumps ran on.",
    "Alpha one. Beta two. Gamma three. Delta four. Epsilon five. Zeta six. Eta seven. Theta eight.",
    "Did it fail? No it was never the pump. Pumps ran on.",
    "Did it fail? No it was never really the pump. Pumps ran on.",
    "Did it fail? No, it was never really the pump that failed us. Pumps ran on.",
    "Did it fail? Far from it, the pump never failed us at all. Pumps ran on.",
    "Did it fail? Far from the sea the pump never failed us at all. Pumps ran on.",
    "The audit passed in June. This was never true of it at all. Pumps ran on.",
    "The audit passed in June. This was never quite true of it at all. Pumps ran on.",
    "The audit passed in June. This report was written by Anna. Pumps ran on.",
    "The audit passed in June. But only for the two small pumps. Pumps ran on.",
    "We pay on Friday. If the second audit of the northern pumps passes on Monday morning. Pumps ran on.",
    "We pay on Friday. If the second audit of the two northern pumps passes on Monday morning. Pumps ran on.",
    "We pay on Friday. If the audit passes, the pumps stay. Pumps ran on.",
    "We pay on Friday. If the audit passes? Pumps ran on.",
    "The pump is new. None of this is true. The valve is old.",
    "The pump is new. So the valve is old. Pumps ran on.",
    "The following is not true. The pump is new. The valve is old.",
    "The following is not true.\nThe pump is new.\nThe valve is old.",
    "Suppose that the pump fails. The valve is new. The hose holds.",
    "Suppose that it fails. We stay. Suppose that it rains. We go. Imagine a storm. Nobody sails.",
    "Suppose that the northern pump fails in the night. The second valve closes at once. Suppose that the southern pump fails "
    "as well. The third valve closes at once. Nobody opens the hatch.",
    "- Suppose that the northern pump fails in the night. The second valve closes at once. Suppose that the southern pump fails "
    "as well. The third valve closes at once.\n  - Nobody opens the hatch.\nPumps ran on.",
    "- Suppose that it fails. We stay. Suppose that it rains. We go.\n- Stay.\nPumps ran on.",
    "The following is false: pumps run. See below: valves hold. Hoses hold.\nPumps ran on.",
    "Suppose that it fails.\n```\nx = 1\n```\nPumps ran on.",
    "Suppose that it fails:\n# Valves\nThe valve is old.",
    "Never do: open the valve. Close the hose. Paint the pump.",
    "Never do:\n- open the valve\n- close the hose\n  - while it runs\n  - while it rests\n- paint the pump\nPumps ran on.",
    "Remember.\n- open the valve. It is red.\n- close the hose\nPumps ran on.",
    "- Allowed:\n  open the valve.\n- Forbidden: close the hose. Paint the pump.\nPumps ran on.",
    "1. Open the valve.\n2. Never:\n   a) close the hose\n   b) paint the pump\n3. Go home.",
    "# Pumps\nThe pump is new. It runs.\n\n# Valves\nThe valve is old.\nThis is wrong.",
    "Anna: The pump is new. It runs.\nBob: No.\nIt never did.\nAnna: Then sell it.",
    "Anna: The pump is new. It runs.\nNo.\nIt never did.",
    "[10:14] Anna B. Berg Jr: The pump is new.\n[10:15] Bob: That is wrong. Sell it.",
    "**Anna:** The pump is new.\n**Bob of the very long name:** Never.\nPumps ran on.",
    'He said: "The pump is new. The valve is old. Sell both." Pumps ran on. "One" was sold.',
    "He said “the pump is new. The valve (an old one. Red.) is sold.” Pumps ran on.",
    "He said “the pump is new. The valve is old.\nSell both.” Pumps ran on. ( One. Two. )",
    "«Eins. Zwei.» und „drei. vier.“ und 「五。六。」 und（七。八。）und fünf. Sechs.",
    "It fails:\n```\nx = 1\n```\nThis is wrong. Pumps ran on.\n```\ny = 2\n```\nPumps ran on.",
    "```\nx = 1\n```\nNot that one.\n\n| a | b |\n|---|---|\n| 1 | 2 |\nThe above is false. Pumps ran on.",
    "Three things matter. First, the pump. Then the hose. Second, the valve. Third, the roof. Pumps ran on.",
    "First, the pump.\nSecond, the valve.",
    "The pump is new.\n# Valves\nFirst, the pump. Second, the valve.",
    "泵是新的。但阀门是旧的。软管很好。",
    "泵是新的。不是这样的一二三四五六七。软管很好。",
    "泵是新的。一二三四五六七八九十一。软管很好。",
    "泵是新的。一二三四五六七八九十一二三。软管很好。",
    "ポンプは新しい。しかし弁は古い。これはパイプです。ホースは良い。",
    "是的。泵坏了吗？不，泵没有坏。以下是错的：泵坏了。阀门坏了。",
    "Насос новый. Но клапан старый. Это не так. Шланг цел.",
    "word " * 250 + "end. But not so. " + "word " * 40 + "end.",
    "".join(f"But the pump of bay {n} was not sold to anybody in that long and rainy year. " for n in range(45)),
    "a" * 1300 + " " + "b" * 1300 + " " + "c" * 1300 + " d. It ends.",
    "word " * 1100 + "end. It ends.",
)


def test_borders_of_statements() -> None:
    lines = []
    for text in TIED:
        found = statements(text)
        shown = [span.of(text) if len(text) < 400 else f"{span.start}-{span.end}" for span in found.spans]
        lines += [
            repr(text[:60]),
            *(f"  {piece!r} {size} {list(needs)}" for piece, needs, size in zip(shown, found.needs, found.sizes, strict=True)),
        ]
    golden.agrees(FILES / "tied.txt", lines)


FACTS = (
    "",
    "R-0417",
    "R-0417 and B-12",
    "40",
    "40 and 50",
    "40, 50 and 60",
    "to Anna",
    "to Anna and Bob",
    "to Anna, Bob and Carl",
    "to Anna, R-1, 40",
    "R-1, 40, to Anna and Bob",
)


def _sentences() -> Iterator[str]:
    for own, lasting, limit, task, passing, social in product(
        ("", "My"), ("", "prefer"), ("", "limit"), ("", "project"), ("", "today"), ("", "thanks")
    ):
        yield " ".join(word for word in (own, lasting, limit, task, passing, social, "xx") if word)
    for fact in FACTS:
        yield from (
            f"{word} {fact}".strip() for word in ("xx", "My xx", "xx limit", "My project limit", "thanks, xx", "I'm xx I'd")
        )
    yield from (
        "我叫小林，对花生过敏。",
        "预算不超过 3000。",
        "天气不错。",
        "プロジェクトの締め切りは 5 月。",
        "내 예산은 300 만원입니다.",
        "”Harbour“ xx 「港」 “port” ミナト https://a.b/c `x` a@b.cd",
    )


def test_what_users_say_of_themselves() -> None:
    lines = [f"{statement_weight(said):.3f} {statement_weight(f'{said}?'):.3f} {said}" for said in _sentences()]
    golden.agrees(FILES / "weights.txt", lines)


#: Words that orders are made of, by language.
ORDERS = {
    "en": ("please", "always", "never", "don't", "use", "tell", "from now on", "you", "must", "I", "every time", ",", "docker"),
    "de": ("bitte", "immer", "nie", "nutze", "sag", "ab jetzt", "du", "musst", ",", "docker"),
    "fr": ("merci de", "toujours", "ne", "jamais", "utilise", "désormais", "tu dois", ",", "docker"),
    "es": ("por favor", "siempre", "nunca", "usa", "no", "a partir de ahora", "debes", ",", "docker"),
    "tr": ("lütfen", "her zaman", "asla", "kullan", "kullanma", "bundan sonra", ",", "docker"),
}


@each("language", ORDERS)
def test_every_order_of_up_to_three_words(language: str) -> None:
    lines = []
    for size in (1, 2, 3):
        for parts_said in product(ORDERS[language], repeat=size):
            said = " ".join(parts_said).replace(" ,", ",")
            order = is_standing_order(said)
            if order or begins_with_command(said):
                lines.append(f"{'order' if order else 'command'} {said}")
    ends = [f"{len(lines)} {golden.name_of(lines)}"]
    golden.agrees(FILES / f"order_words.{language}.txt", [*(line for line in lines if line.count(" ") < 3), *ends])
