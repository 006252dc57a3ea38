"""Speech without punctuation is shown in passages, not in lines: what is dictated, and transcripts of videos.

These tests cover talks in three languages as one line, in lines of a width, with times, and texts that only look alike. They
leave out captions and chats whose sentences have ends (``test_layout.py``).
"""

from __future__ import annotations

import re
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.shorten.facts import facts
from turnfold.compression.text.passages import passages
from turnfold.compression.text.statements import statements
from turnfold.compression.text.unmarked_speech import unmarked_speech
from turnfold.compression.tokens import count

PAN, PUMP, ORCHIDS = (
    " ".join(talk.split()) for talk in (Path(__file__).parent / "cases" / "talks.txt").read_text(encoding="utf-8").split("\n\n")
)
#: Those in scripts without blanks, line by line.
POT, FLAT_PAN = (Path(__file__).parent / "cases" / "talks_in_lines.txt").read_text(encoding="utf-8").strip().split("\n\n")
#: A claim, and what it is not to be read without.
LIMITED: Final = {
    PAN: [
        ("use stainless steel", "never use"),
        ("thirty minutes", "no longer than that"),
        ("use electrolysis", "battery charger"),
    ],
    PUMP: [("die pumpe auf keinen", "fall direkt an die grenze"), ("direkt an die grenze", "schriftlich zu")],
    POT: [
        ("用电解的方法", "千万不要用不锈钢"),
        ("泡半个小时", "再久的话"),
        ("用亚麻籽油", "它会掉皮"),
        ("洗洁精没有碱", "不能把它泡"),
    ],
    FLAT_PAN: [("電気分解でもいい", "使わないで"), ("三十分漬けます", "それ以上は"), ("亜麻仁油がいい", "剥がれました")],
    ORCHIDS: [("cerca de una ventana", "nunca al sol"), ("agua de lluvia", "del grifo")],
}


def _forms(talk: str) -> list[str]:
    lines = talk.split("\n") if "\n" in talk else textwrap.wrap(talk, 40)
    stamped = "\n".join(f"{7 * i // 60}:{7 * i % 60:02d}\n{line}" for i, line in enumerate(lines))
    beside = "\n".join(f"[{7 * i // 60:02d}:{7 * i % 60:02d}] {line}" for i, line in enumerate(lines))
    captions = "".join(f"{i}\n00:00:{i:02d},000 --> 00:00:{i + 1:02d},500\n{line}\n\n" for i, line in enumerate(lines, start=1))
    return [talk, "\n".join(lines), stamped, beside, captions.rstrip()]


def _flat(text: str) -> str:
    return " ".join(re.sub(r"(?m)^\d+$|^.* --> .*$|\[?\b\d{1,2}:\d\d\b\]?", " ", text).split())


@each("talk", LIMITED)
def test_no_output_shows_half_of_what_is_said(talk: str) -> None:
    for text in _forms(talk):
        outputs = [facts(text, role=role, words=frozenset(), known=frozenset(), count=count) for role in ("user", "tool")]
        for ratio in (0.15, 0.3, 0.5):
            layers = Compressor().compress(CompressRequest(text, l1_ratio=ratio)).layers
            outputs += [layers[1].text, layers[2].text]
            if "-->" not in text:  # most of a caption is its times
                assert 0.3 * ratio * layers[0].tokens < layers[1].tokens <= max(110, ratio * layers[0].tokens)
        for shown in map(_flat, outputs):
            assert all(limit in shown for claim, limit in LIMITED[talk] if claim in shown), shown


@each("talk", [PAN, PUMP, ORCHIDS])
def test_its_forms_are_cut_at_the_same_words(talk: str) -> None:
    for text in _forms(talk):
        cut = unmarked_speech(text, 0, len(text))
        assert len(cut) == 1
        said = [_flat(text[begin:end]) for begin, end in pairwise(cut[0])]
        assert " ".join(said) == talk
        assert all(18 <= len(passage.split()) <= 50 for passage in said[:-1])
        assert said == [_flat(talk[begin:end]) for begin, end in pairwise(unmarked_speech(talk, 0, len(talk))[0])]
        assert [_flat(span.of(text)) for span in statements(text).spans] == said
        recalled = [_flat(text[begin:end]) for begin, end in passages(text)]
        if "-->" in text:  # with its times a passage may be too long for recall
            assert " ".join(recalled) == talk
        else:
            assert recalled == said or (recalled == [talk] and count(text) < 200)  # a short message is quoted whole


@each(
    "text",
    [
        "buy milk and bread for the weekend\ncall the bank about the new card\nsend the report to anna before noon\n" * 5,
        "the sea is calm tonight\nthe tide is full and slow\na lamp upon the water\na voice we used to know\n" * 5,
        "seo marketing content email funnel landing page audit keyword research backlink outreach local business " * 6,
        "git add readme\nnpm run build\nmake test\ndocker compose up web\nls src\npython manage migrate\n" * 8,
        "The pump was serviced on Monday. " * 30,
        "床前明月光\n疑是地上霜\n举头望明月\n低头思故乡\n" * 15,
        "苹果和香蕉\n牛奶\n鸡蛋十二个\n给妈妈的花\n洗衣粉\n面包一个\n大米十斤\n番茄两斤\n酱油\n白糖一包\n" * 6,
        "Rent, heating, water, power, waste, the lift, the garden, the roof and the stairs are paid by the tenant, " * 6,
    ],
)
def test_lists_verses_commands_and_marked_prose_are_none(text: str) -> None:
    assert unmarked_speech(text, 0, len(text)) == []


def test_what_a_user_writes_above_a_transcript_stays_apart() -> None:
    text = f"What does he say about the anode?\n\n{_forms(PAN)[2]}"
    first = statements(text).spans[0].of(text)
    assert first.strip() == "What does he say about the anode?"


@given(
    st.lists(st.sampled_from([*PAN.split(), "0:03", ".", ",", "[", "```"]), max_size=400), st.sampled_from([" ", "\n", "\n\n"])
)
def test_statements_tile_any_mixture(words: list[str], between: str) -> None:
    text = "".join(word + (between if i % 7 == 6 else " ") for i, word in enumerate(words))
    spans = statements(text).spans
    assert "".join(span.of(text) for span in spans) == text
