"""What users state about themselves, the task and its limits weighs more than talk, in scripts without blanks too.

These tests cover ``statement_weight``. They leave out which statements a context keeps (``tests/compression/test_budgeted.py``).
"""

from __future__ import annotations

from tests.support.cases import each
from turnfold.compression.text.dialogue.self_statements import statement_weight

LIMITS = (
    "预算不能超过五万元。",
    "我儿子今年六岁。",
    "会议定在九月十二日。",
    "私は京都で小さな旅館を営んでいます。",
    "納期は五月二十日です。",
    "予算は三百万円までです。",
    "犬を二匹飼っています。",
    "보증금은 오백만 원입니다.",
    "회의는 십이월 삼일입니다.",
)
TALK = (
    "三明治真好吃。",
    "万一下雨怎么办?",
    "十分感谢!",
    "大家都笑了。",
    "昨日の散歩は楽しかったです。",
    "いい天気ですね。",
    "일이 많아요.",
    "영화가 재미있었어요.",
)


@each("said", LIMITS)
def test_figures_in_the_numerals_of_a_script_count(said: str) -> None:
    assert statement_weight(said) >= 0.15


@each("said", TALK)
def test_numerals_in_other_words_do_not(said: str) -> None:
    assert statement_weight(said) < 0.15
