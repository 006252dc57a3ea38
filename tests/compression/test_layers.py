"""Layers: order of sizes, nothing invented, structure whole, sections that can be drilled into, entities kept, linear cost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.effort import every
from tests.support.growth import assert_linear
from turnfold.compression.errors import InvalidInput, SectionUnknown
from turnfold.compression.layers import SCORERS, CompressedResult, Compressor, CompressRequest, drill_down, truncate_to_tokens
from turnfold.compression.scorers.composite import Composite
from turnfold.compression.scorers.textrank import TextRank
from turnfold.compression.tokens import count

STORY = (
    "The payment service failed on March 5, 2024 because the cache held a stale key. It was a strange day for everybody. "
    "Kim Lee restarted pool-b at 09:12, and then we talked about lunch for a while. The weather was nice too. "
    "We decided to pin the image digest v2.4.1 for all workers. Somebody told a joke about penguins. "
    "Acme Corp paid $4,200 for the outage, which nobody had expected at all. The success rate is back at 99.9%."
)
FENCE = "```py\nx = 1\n\ny = 2\n```"
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"
DOCUMENT = (
    f"# Outage\n\n{STORY}\n\n## Fix\n\n{FENCE}\n\nThe fix was to flush the cache twice a day. It works.\n\n"
    f"## Costs\n\n{TABLE}\n\nThe costs were borne by Acme Corp. Nobody complained about the bill of $4,200."
)


def compress(text: str, **options: Any) -> CompressedResult:
    return Compressor().compress(CompressRequest(text, **options))


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def unmarked(text: str) -> str:
    """The text without the marks for what is left out of data."""
    return re.sub(r"\[\d+ (?:of \d+ (?:lines|rows)|like this)[^\]\n]*\]|\[\d+ of \d+ characters\]|…", "", text)


def is_subsequence(short: str, whole: str) -> bool:
    """Whether all characters but white space stand in the other text in the same order."""
    rest = iter(re.sub(r"\s", "", whole))
    return all(c in rest for c in re.sub(r"\s", "", short))


def test_layers_shrink_and_keep_the_facts() -> None:
    result = compress(STORY, l1_ratio=0.65)
    raw, facts, summary = result.layers
    assert summary.tokens <= facts.tokens <= 0.65 * raw.tokens
    assert raw.text == STORY
    for fact in ("March 5, 2024", "v2.4.1", "$4,200"):
        assert fact in facts.text
    assert "The weather" not in facts.text
    assert result.metadata.preservation >= 0.6
    assert {e.text: e.preserved for e in result.entities}["v2.4.1"] is True


def test_sections_follow_headings_and_can_be_drilled_into() -> None:
    result = compress(DOCUMENT)
    assert [s.layers[0].text.splitlines()[0] for s in result.sections] == ["# Outage", "## Fix", "## Costs"]
    assert "".join(s.layers[0].text for s in result.sections) == DOCUMENT
    assert max(s.importance for s in result.sections) == 1.0
    for section in result.sections:
        raw, facts, summary = (drill_down(result.sections, section.id, layer) for layer in (0, 1, 2))
        assert summary.tokens <= facts.tokens <= raw.tokens
        assert is_subsequence(section.summary, raw.text)
        assert raw.text in DOCUMENT


def test_blocks_are_whole_or_gone() -> None:
    for ratio in (0.1, 0.3, 0.5, 0.8, 1.0):
        facts = compress(DOCUMENT, l1_ratio=ratio).layers[1].text
        assert FENCE in facts or "```" not in facts
        assert TABLE in facts or "|" not in facts


@each("ratio", [0.99, 1.0])
def test_a_section_of_which_all_is_told_is_told_whole_its_data_too(ratio: float) -> None:
    """Text that is one block of data is drilled into as it is; once the layer had only its summary."""
    text = f"# Bay\nAnna moors at 9:30 each day. Ben left in May. It rained on Friday and the lamps were out.\n\n{TABLE}\n\nDone."
    (section,) = compress(text, l1_ratio=ratio).sections
    assert TABLE.replace(" ", "") in drill_down((section,), section.id, 1).text.replace(" ", "")
    if ratio == 1:
        assert section.layers[1].text == text


def test_section_ids_of_two_results_do_not_clash() -> None:
    first, second = compress(DOCUMENT), compress(DOCUMENT, l1_ratio=0.5)
    ids = [s.id for r in (first, second) for s in r.sections]
    assert len(set(ids)) == len(ids)
    assert first.result_id != second.result_id
    assert [s.id for s in compress(DOCUMENT).sections] == [s.id for s in first.sections]


def test_a_repeated_section_has_an_id_of_its_own() -> None:
    ids = [s.id for s in compress("# A\n\nSame text of Kim here.\n\n# A\n\nSame text of Kim here.\n\n").sections]
    assert len(set(ids)) == 2


def test_an_unknown_section_is_named() -> None:
    result = compress(STORY)
    with pytest.raises(SectionUnknown, match="nope"):
        Compressor().drill_down(result, "nope")
    with pytest.raises(InvalidInput, match="layer"):
        Compressor().drill_down(result, result.sections[0].id, 3)


def test_a_query_bends_the_layers() -> None:
    words = ["ledger", "cache", "queue", "budget", "region", "schema"]
    text = "\n\n".join(
        f"# Topic {w}\n\nThe {w} was set to {n} units by the team. It has {n + 1} owners." for n, w in enumerate(words, 10)
    )
    asked = compress(text, query="what is the budget set to?", l1_ratio=0.25)
    assert "budget was set to 13 units" in asked.layers[1].text
    assert "budget" in asked.layers[2].text


@pytest.mark.parametrize("query", [None, "What did the crew eat?"])
def test_a_decision_with_its_figures_outlives_filler(query: str | None) -> None:
    text = (
        "The ferry left pier 4 at 06:40 on 3 June 2031 with 212 passengers. It was a rather grey morning by all accounts. "
        "The crew ate rolls. Captain Ines Horta decided to turn back at buoy K-17 because the second pump failed. "
        "Everybody was fairly tired by then, which surprised nobody. The repair cost €18,400 and took nine days."
    )
    facts = compress(text, query=query, l1_ratio=0.75).layers[1].text
    assert "buoy K-17" in facts
    assert "€18,400" in facts
    assert "surprised nobody" not in facts
    assert query is None or "ate rolls" in facts


@each(
    ("field", "value"),
    [
        ("text", 5), ("text", " \n "), ("layer", 3), ("layer", True), ("layer", "1"), ("l1_ratio", 0), ("l1_ratio", 1.5),
        ("l1_ratio", "x"), ("l1_ratio", float("nan")), ("l2_max_sentences", 0), ("l2_max_sentences", 1.5), ("sections", 1),
        ("query", 7), ("scorer", "nope"), ("scorer", ["textrank"]), ("scorer", {"x": 1}),
    ],
)  # fmt: skip
def test_a_bad_field_is_named(field: str, value: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        CompressRequest(**({"text": "x"} | {field: value}))  # type: ignore[arg-type]
    assert caught.value.field == field


@each("scorer", [*SCORERS, None])
def test_every_scorer_works_by_name(scorer: str | None) -> None:
    result = compress(DOCUMENT, scorer=scorer)
    assert result.metadata.scorer == (scorer or "composite")
    assert result.layers[1].tokens < result.layers[0].tokens


class _Answers:
    """A scorer that returns what it was given."""

    def __init__(self, scores: Any, name: Any = "mine") -> None:
        self.name = name
        self._scores = scores

    def score(self, sentences: Sequence[str], query: str | None = None) -> Any:
        return self._scores(len(sentences))


@each(
    ("scores", "query"),
    product(
        [
            lambda n: [0.5] * (n - 1),
            lambda n: [0.5] * (n + 1),
            lambda n: [],
            lambda n: None,
            lambda n: 0.5,
            lambda n: [float("nan")] * n,
            lambda n: [0.5] * (n - 1) + [float("inf")],
            lambda n: ["high"] * n,
            lambda n: [None] * n,
            lambda n: [10**400] * n,
        ],
        [None, "What broke?"],
    ),
)
def test_a_scorer_that_returns_no_scores_is_named(scores: Any, query: str | None) -> None:
    request = CompressRequest(DOCUMENT, query=query)
    for scorer in (_Answers(scores), Composite([(_Answers(scores), 1.0)])):
        with pytest.raises(InvalidInput, match="scorer 'mine' must return one finite number") as raised:
            Compressor(scorer).compress(request)
        assert raised.value.field == "scorer"


@each("scorer", [["x"], "textrank", 5, {}, _Answers(list, name=None), _Answers, TextRank])
def test_what_is_no_scorer_is_refused(scorer: Any) -> None:
    for make in (Compressor, lambda it: Composite([(it, 1.0)])):
        with pytest.raises(InvalidInput, match="scorer"):
            make(scorer)


def test_a_scorer_of_the_user_plugs_in() -> None:
    class Penguins:
        name = "penguins"

        def score(self, sentences: Sequence[str], query: str | None = None) -> list[float]:
            return [float("penguins" in s) for s in sentences]

    result = Compressor(Penguins()).compress(CompressRequest(STORY, l2_max_sentences=1, l1_ratio=0.4))
    assert result.metadata.scorer == "penguins"
    assert result.layers[2].text == "Somebody told a joke about penguins."


@each("text", ["x", "One sentence only.", "word " * 3000, "# T", FENCE, "好的。", "\n\n a", "。" * 50, "..."])
def test_odd_texts_are_safe(text: str) -> None:
    raw, facts, summary = compress(text).layers
    assert summary.tokens <= facts.tokens <= raw.tokens
    assert facts.text.strip()


SAMPLES = [
    *STORY.split(". "),
    FENCE,
    TABLE,
    "# Title",
    '{"a": [1, 2]}',
    "user: Always be brief.",
    "好的，我们决定用它。",
    "- item",
    " ",
]
pieces = st.one_of(st.sampled_from(SAMPLES), st.text(max_size=10))
texts = st.lists(st.tuples(pieces, st.sampled_from([". ", "\n", "\n\n", ""])), min_size=1, max_size=15).map(
    lambda parts: "".join(a + b for a, b in parts)
)


@given(
    texts.filter(lambda t: bool(t.strip())),
    st.floats(0.05, 1),
    st.integers(1, 4),
    st.none() | st.just("what about Kim Lee?"),
)
@example('It was a strange day for everybody\n{"a": [1, 2]}\n| a | b |\n|---|---|\n| 1 | 2 |. {"a": [1, 2]}. ', 0.75, 2, None)
@example('{"a": [1, 2]}\n{"a": [1, 2]}. | a | b |\n|---|---|\n| 1 | 2 |. # Title. ', 0.5, 1, None)
def test_each_layer_is_smaller_and_a_part_of_the_text(text: str, ratio: float, most: int, query: str | None) -> None:
    result = compress(text, l1_ratio=ratio, l2_max_sentences=most, query=query)
    raw, facts, summary = result.layers
    assert raw.text == text
    assert summary.tokens <= facts.tokens <= raw.tokens
    assert facts.tokens == count(facts.text)
    assert is_subsequence(unmarked(facts.text), text)
    assert is_subsequence(unmarked(summary.text), text)
    assert facts.text.strip()
    assert summary.text.strip()
    assert "".join(s.layers[0].text for s in result.sections) == text
    assert 0 <= result.metadata.preservation <= 1
    assert result == compress(text, l1_ratio=ratio, l2_max_sentences=most, query=query)


@given(texts, st.integers(0, 60))
def test_truncation_is_a_beginning_that_fits(text: str, limit: int) -> None:
    short = truncate_to_tokens(text, limit)
    assert text.startswith(short)
    assert count(short) <= limit
    assert short == text or count(text) > limit


@pytest.mark.parametrize("sign", ["👩\u200d👩\u200d👧", "e\u0301", "🇩🇪", "👍🏽", "❤\ufe0f", "กี่"])
def test_truncation_parts_no_character(sign: str) -> None:
    for limit in range(1, 30):
        told = truncate_to_tokens(sign * 40, limit)
        assert count(told) <= limit
        assert told == sign * (len(told) // len(sign))


@pytest.mark.parametrize("limit", range(1, 12))
def test_a_whole_character_takes_no_more_tokens_than_allowed(limit: int) -> None:
    assert count(truncate_to_tokens("क्षत्रिय विद्यार्थी " * 20, limit)) <= limit


def test_truncation_prefers_the_end_of_a_sentence() -> None:
    assert truncate_to_tokens("First one here. Second one is longer than that.", 8) == "First one here."
    with pytest.raises(InvalidInput, match="limit"):
        truncate_to_tokens("x", -1)


def test_labels_of_retrieval_stay_where_there_is_room() -> None:
    text = "".join(
        f"[Retrieved Chunk {i}] Source: notes/{i}.md\nNode n{i} lost {i} % of its 40 disks in May.\n\n" for i in range(1, 5)
    )
    assert compress(text, l1_ratio=1).layers[1].text == text
    assert "[Retrieved Chunk 1] Source: notes/1.md" in compress(text, l1_ratio=0.9).layers[1].text


def test_short_sentences_without_blanks_are_chosen_one_by_one() -> None:
    text = (
        "我们昨天开会讨论了新的预算。大家都吃了午饭。李雷负责联系供应商。我们决定下周二发布新版本。"
        "产品名称是飞鸟。负责人是王芳。测试由赵强完成。"
    )
    result = Compressor().compress(CompressRequest(text, l1_ratio=0.45))
    assert result.layers[1].tokens <= 0.45 * result.layers[0].tokens
    assert len(result.text.split("\n")) > 1


def test_repeated_sentences_do_not_fill_a_layer() -> None:
    text = "The disk is full again. " * 8 + STORY
    summary = compress(text, l1_ratio=0.7).layers[2].text
    assert summary.count("The disk is full again.") <= 1


def test_cost_is_linear() -> None:
    def document(parts: int) -> str:
        return "\n\n".join(f"# Part {i}\n\n" + DOCUMENT.replace("Kim", f"Kim{i}") for i in range(parts))

    assert_linear(compress, document, 5)


def test_a_section_of_headings_alone_is_told_by_them() -> None:
    for text in ("# Alpha\n", "# Alpha\n## Beta\n"):
        assert all("Alpha" in layer.text for layer in Compressor().compress(CompressRequest(text=text)).layers)


def test_small_sections_that_need_each_other_are_one() -> None:
    talk = "Jens: Kuchen am Samstag bei uns im Garten\nJens: Oma ist krank geworden, alles abgesagt\nUlla: gute Besserung"
    sections = Compressor().compress(CompressRequest(talk)).sections
    assert all("abgesagt" in section.summary for section in sections if "Samstag" in section.summary)
    assert any("Samstag" in section.layers[0].text for section in sections)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "周末我们去爬山，风景特别美。项目预算定为六十五万元，九月底前交付。下山以后大家都睡得特别香。照片也拍了不少，回家慢慢看。",
            "六十五万",
        ),
        ("주말에 바다에 갔습니다. 노을이 예뻤습니다. 계약 금액은 삼백이십만 원입니다. 점심은 카레였습니다.", "삼백이십만 원"),
    ],
)
def test_small_talk_without_blanks_does_not_outweigh_a_figure(text: str, told: str) -> None:
    assert told in Compressor().compress(CompressRequest(text, l1_ratio=0.4)).layers[1].text


def test_a_section_is_given_whole_unless_another_layer_is_asked_for() -> None:
    result = compress(DOCUMENT)
    section = result.sections[0].id
    whole = drill_down(result.sections, section, 0)
    assert Compressor().drill_down(result, section) == drill_down(result.sections, section) == whole
    assert whole != drill_down(result.sections, section, 1)


@pytest.mark.parametrize(
    "line",
    every(
        2,
        [
            "Anna: so it is {n}\n",
            "[28.11.26, 10:14:11] Ben: No, it is {n}\n",
            "term {n}: what it is and not what it was\n",
            "But it was {n} and not three, as he said. ",
        ],
    ),
)
def test_a_section_reads_no_more_of_a_text_than_it_may_show(line: str) -> None:
    """Where each section needs all in front of it, its parts were written out and counted, to be found longer than itself."""

    def counted(lines: int) -> int:
        sizes: list[int] = []

        def count(text: str) -> int:
            sizes.append(len(text))
            return len(text.split())

        Compressor(count=count).compress(CompressRequest("".join(line.format(n=n) for n in range(lines))))
        return sum(sizes)

    assert counted(800) < 3 * counted(400)


def test_of_a_section_that_needs_far_more_than_itself_the_whole_is_told() -> None:
    text = "# Plan\n\n" + "It was agreed with Ben that pump 3 is shut. " * 30 + "\n\n" + "But not it.\n\n" * 3
    for section in Compressor().compress(CompressRequest(text)).sections:
        raw, facts, summary = section.layers
        assert facts.tokens <= raw.tokens
        assert summary.tokens <= facts.tokens


def test_where_nothing_fits_a_short_statement_is_shown() -> None:
    note = (
        "The dam at Lund was opened at 6:40 by Ada Falk. It was not the storm, as first said, but a loose bolt in gate K-17. "
        "Nils closed it. The page was updated. The crew needs coffee."
    )
    result = compress(note, l1_ratio=0.05)
    assert result.layers[1].tokens <= count(note) / 3
    assert result.layers[1].text in note


@each("ratio", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_no_layer_ends_in_white_space(ratio: float) -> None:
    page = "Rain fell on Lund all day. Ada Falk opened the dam at 6:40. The mill stood still. Nobody was hurt. Two roofs leak. \n"
    for layer in compress(page, l1_ratio=ratio).layers[1:]:
        assert layer.text == layer.text.rstrip()


@each(
    ("rule", "talk"),
    [
        ("The cellar door must stay locked at night.", "The garden behind the house smells of roses."),
        ("Visitors may not feed the donkeys or goats.", "Children laugh about the donkeys and the goats."),
        ("Die Leiter darf nicht ohne Helfer benutzt werden.", "Auf der Leiter sitzt am Abend oft eine Amsel."),
        ("Il ne faut pas ouvrir la vanne.", "La vanne brille au soleil de midi."),
        ("No se debe mezclar la cal con agua caliente.", "La cal blanca brilla bajo el agua de la fuente."),
        ("Нельзя открывать окно без разрешения мастера.", "За окном поют птицы и цветут яблони."),
        ("水泵运行时不能打开盖子。", "水泵旁边开着一朵小红花。"),
        ("作業中はふたを開けてはいけません。", "作業場の窓から海がよく見えます。"),
    ],
)
def test_a_rule_is_shown_before_a_description(rule: str, talk: str) -> None:
    between = "Nils painted the fence." if rule.isascii() else ""
    text = " ".join(filter(None, (talk, between, rule, talk.replace(".", " again.") if rule.isascii() else "", talk)))
    room = (count(rule) + 1) / count(text)
    assert rule in compress(text, l1_ratio=room).layers[1].text


@each("between", range(3))
def test_a_summary_says_the_same_facts_once(between: int) -> None:
    said = ["On 3 May 480 euros came from Anna Berg.", "The 480 euros that Anna Berg paid came on 3 May."]
    others = ["Nobody sailed because of the wind.", "The crew slept in the cabin."][:between]
    for first, last in (said, said[::-1]):
        text = " ".join(["The boats lay in the harbour all night long.", first, *others, last, "The crew slept in the cabin."])
        assert compress(text, l1_ratio=0.9).layers[2].text.count("480") == 1
