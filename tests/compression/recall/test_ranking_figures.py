"""What each figure of the ranking decides: thresholds, floors, covers, stretches of short messages, leads, labels.

These tests cover one figure at a time, at values on both sides. They leave out the laws and what is found (``test_ranking``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from benchmarks import recall_offline
from tests.compression.recall.test_ranking import FILLER, figures, quoted, source
from tests.support.recalled import recall
from turnfold.compression import tokens
from turnfold.compression.memo import Memo
from turnfold.compression.recall import fence, passage_index
from turnfold.compression.recall.question import Question, read_question
from turnfold.compression.recall.tuning import TUNING, Tuning
from turnfold.compression.text import words
from turnfold.compression.text.dialogue import requests
from turnfold.compression.text.quotes import Quote, Source

BOATS = [*FILLER, source("The winter berth in Hoorn ends on 15 April."), source("Noted.", "assistant")]
SAID = (source("Which berth do we have in Hoorn?"), source("The winter berth.", "assistant"))


@pytest.mark.parametrize(
    ("question", "none", "some"),
    [
        ("When does the berth in Hoorn end?", figures(covered=2.0, hinted=2.0), figures(covered=0.0)),
        ("ok", figures(covered_borrowed=2.0), figures(covered_borrowed=0.0)),
        (
            "Write about a zeppelin over the garden of Kyoto, as a friendly poem.",
            figures(hinted=2.0, covered=2.0),
            figures(hinted=0.0),
        ),
    ],
)
def test_a_threshold_decides_whether_anything_is_quoted(question: str, none: Tuning, some: Tuning) -> None:
    def quotes(tuning: Tuning) -> tuple[Quote, ...]:
        return recall(BOATS, Question(question, SAID), 400, (), tokens.count, Memo(), tuning=tuning)

    assert quotes(none) == ()
    assert quotes(some)


@pytest.mark.parametrize(
    ("question", "few", "many"),
    [
        ("When does the berth in Hoorn end?", figures(bearing=0.99), figures(bearing=0.0)),
        ("ok", figures(bearing_borrowed=0.99), figures(bearing_borrowed=0.0)),
        (
            "When does the berth in Hoorn end?",
            figures(covered=2.0, bearing_hinted=0.99),
            figures(covered=2.0, bearing_hinted=0.0),
        ),
    ],
)
def test_a_floor_decides_how_much_is_quoted(question: str, few: Tuning, many: Tuning) -> None:
    def quotes(tuning: Tuning) -> tuple[Quote, ...]:
        return recall(BOATS, Question(question, SAID), 600, (), tokens.count, Memo(), tuning=tuning)

    assert set(quotes(few)) < set(quotes(many))


def test_a_cover_of_everything_takes_a_quote_from_each_of_its_parts() -> None:
    def tens(tuning: Tuning) -> int:
        quotes = recall(BOATS, Question("Summarise all of it."), 150, (), tokens.count, Memo(), tuning=tuning)
        return len({q.source // 10 for q in quotes})

    assert tens(figures(cover_least=9999, cover_tokens=9999)) < tens(TUNING)


@pytest.mark.parametrize(
    "text",
    [
        "The lock keeper retires in June. His boat is for sale.",
        "Die Schleuse schließt um neun! Danach wartet man bis früh",
        "水门在九点关闭。之后只能等到早上。",
    ],
)
def test_a_cover_takes_short_messages_through_their_last_sentence(text: str) -> None:
    sources = [source(text)]
    budget = tokens.count(fence.render(sources, [Quote(0, 0, len(text))])) + 1  # no room to quote it a second time
    assert recall(sources, Question("Summarise all of it."), budget, (), tokens.count, Memo()) == (Quote(0, 0, len(text)),)


STRETCH = [
    "Back to the casing.", "Rubber or plastic?", "Rubber feels warm.", "It tears, though.", "Could it glow?",
    "The remote itself?", "Yes, in the dark.", "Nobody steps on it then.", "What would that add?", "Four cents a unit.",
    "Can the battery stand it?", "For a year, they said.", "Then we do it.", "Agreed, all of us.", "Write that down.",
]  # fmt: skip
ELSEWHERE = [
    "My remote broke.",
    "The dark roast, please.",
    "A remote office, then.",
    "Her cheeks glow.",
    "It got dark early.",
    "Remote work again.",
]


def _talk(length: int) -> list[Source]:
    """Short messages, one in fifty of which shares a word with the question."""
    return [source(ELSEWHERE[i // 50 % 6] if i % 50 == 9 else f"So it goes, item {i}.") for i in range(length)]


def _of_the_stretch(sources: list[Source], tuning: Tuning) -> int:
    quotes = recall(
        sources, Question("Should the remote glow in the dark?"), 120, [], tokens.count, Memo(), fill=True, tuning=tuning
    )
    return len(set(STRETCH) & set(quoted(sources, quotes)))


def test_a_stretch_of_short_messages_is_recalled_as_one() -> None:
    """What answers stands around what shares words with the question; single matches elsewhere do not lead away from it."""
    talk = _talk(700)
    sources = [*talk[:350], *map(source, STRETCH), *talk[350:]]
    none = replace(TUNING, region_short=0.0, region_long=1.0)
    assert _of_the_stretch(sources, TUNING) > _of_the_stretch(sources, none)


def test_a_stretch_ends_where_another_day_begins() -> None:
    talk = _talk(700)
    kept = []
    for stamp in ("[{} March 2024]\n", ""):
        first, last = (source(f"{stamp.format(day)}Morning, item {day}.") for day in (3, 9))
        sources = [*talk[:350], *map(source, STRETCH[:8]), first, *map(source, STRETCH[8:]), last, *talk[350:]]
        kept.append(_of_the_stretch(sources, TUNING))
    assert kept[0] < kept[1]


_WORDS: Final = ["The magnet came loose.", "Was it?", "It was the hinge.", "By a hair.", "A drop of varnish helps.", "So be it."]
_ONE_WORD: Final = [f"Varnish {one}." for one in ("again", "smells", "dries", "drips", "costs")]


def test_a_stretch_with_several_words_of_a_question_comes_before_one_with_one_word_again_and_again() -> None:
    talk = _talk(300)
    sources = [*talk[:100], *map(source, _ONE_WORD), *talk[100:200], *map(source, _WORDS), *talk[200:]]
    question = Question("Does varnish on the hinge hold a magnet?")
    found = [
        set(quoted(sources, recall(sources, question, 115, [], tokens.count, Memo(), fill=True, tuning=tuning)))
        for tuning in (TUNING, replace(TUNING, region_words=0.0))
    ]
    assert len(found[0] & set(_WORDS)) > len(found[1] & set(_WORDS))


def test_a_few_long_answers_make_no_side_of_a_pasted_transcript() -> None:
    pasted = source("\n".join(f"{('Ines', 'Marek')[i % 2]}: {one.text}" for i, one in enumerate(_talk(120))))
    answers = [source("They spoke at length about remotes and offices. " * 8, "assistant") for _ in range(3)]
    assert passage_index.build([pasted, *answers], Memo()).median_turn < TUNING.region_short


@pytest.mark.parametrize("question", ["What was mentioned in the discussion about the hinge?", "Opinions on the hinge?"])
def test_words_that_report_talk_weigh_little_where_several_speak(question: str) -> None:
    index = passage_index.build([source(f"Ines: the hinge {i}", "user") for i in range(8)], Memo())
    read = read_question(Question(question), index, TUNING)
    heavy = [word for word, weight in zip(read.text.split(), read.weights.tolist(), strict=False) if weight >= 1]
    assert heavy == ["hinge"]


def test_a_full_name_leads_from_one_document_to_another() -> None:
    """One is called Otto in many, and Otto Brandis in few."""
    others = [f"{name}: Otto of {name} wound the Brandis clock." for name in ("Elm", "Ash", "Fir", "Oak", "Yew", "Box", "Bay")]
    parts = ["The Lamp: The Lamp is a film in which Otto Brandis plays the keeper.", *(one.text for one in FILLER), *others]
    parts.insert(30, "Harbour days, which was never printed, is what Otto Brandis wrote in Graz with Vera Quist and a goat.")
    article = source("\n\n".join(parts))
    question = Question("Who plays the keeper in The Lamp?")
    one, other = (
        " ".join(quoted([article], recall([article], question, 90, (), tokens.count, Memo(), fill=True, tuning=tuning)))
        for tuning in (TUNING, replace(TUNING, full_name=0.0))
    )
    assert "Vera Quist" in one
    assert "Vera Quist" not in other


def test_a_label_that_all_passages_have_leads_nowhere() -> None:
    long = [source(f"資料 [SEP] 梅雨の雨量は第{i}回の調査で多めと推定された。" * 3, "assistant") for i in range(20)]
    told = [source("今は札幌に住んでいます。"), source("転勤で福岡に移り住んだばかりです。")]
    sources = [*long[:10], told[0], *long[10:], told[1]]
    question = Question("どこに住んでいますか？ [SEP]")
    quotes = recall(sources, question, 80, (), tokens.count, Memo(), fill=True)
    assert {one.text for one in told} <= set(quoted(sources, quotes))


def test_what_is_written_in_hiragana_weighs_less() -> None:
    index = passage_index.build([source("今は札幌に住んでいます。")], Memo())
    read = read_question(Question("どこに住んでいましたか"), index, TUNING)
    weights = {group[0]: weight for group, weight in zip(read.groups, read.weights.tolist(), strict=True)}
    assert [weights[int(words.run_on_terms(two)[-1])] for two in ("住ん", "まし")] == [1.0, TUNING.kana]


@pytest.mark.parametrize(
    ("now", "before"),
    [
        ("Where do I moor the boat?", "Where did I moor the boat before that?"),
        ("Wo liegt das Boot?", "Wo lag das Boot davor?"),
        ("船はどこにありますか？", "船の前の場所はどこですか？"),
        ("船现在停在哪里？", "船之前停在哪里？"),
    ],
)
def test_a_question_over_time_is_told_from_one_about_now(now: str, before: str) -> None:
    assert [requests.asks_over_time(words.fold(one)) for one in (now, before)] == [False, True]


def test_the_benchmark_takes_every_figure_by_its_name() -> None:
    assert recall_offline.tuned([]) == TUNING
    changed = recall_offline.tuned(["covered=0.3", "chat=0.4,0.2", "hop_names=2"])
    assert changed == replace(TUNING, covered=0.3, chat=(0.4, 0.2), hop_names=2)
    with pytest.raises(SystemExit, match="no such figure: unheard_of"):
        recall_offline.tuned(["unheard_of=1"])
