"""Layers of texts that are data alone, or in which no sentence ends: never all of it where less was asked for, never nothing."""

from __future__ import annotations

import json
import random
import re

import pytest

from turnfold.compression.layers import CompressedResult, Compressor, CompressRequest


def compress(text: str, ratio: float) -> CompressedResult:
    return Compressor().compress(CompressRequest(text, l1_ratio=ratio))


CLAUSE = "我们昨天讨论了码头上的起重机，第三号泵的压力太低了，需要在十月九日之前更换，"
SPOKEN = "so the crane at pier nine was checked by the crew and the report names forty parts and then we looked at the pump "
ENDLESS = {
    "speech without full stops": SPOKEN * 60,
    "words": " ".join(random.Random(7).choices(["crane", "pump", "valve", "rope", "anchor", "deck", "tide"], k=1200)),
    "Chinese without full stops": CLAUSE * 30,
    "Japanese without full stops": "昨日は港のクレーンについて三番のポンプの圧力が低すぎるので十月九日までに交換する、" * 25,
}


@pytest.mark.parametrize("ratio", [0.5, 0.3, 0.1, 0.05, 0.02])
@pytest.mark.parametrize("name", ENDLESS)
def test_a_text_in_which_no_sentence_ends_has_layers_at_every_ratio(name: str, ratio: float) -> None:
    raw, facts, summary = compress(ENDLESS[name], ratio).layers
    assert facts.text.strip()
    assert summary.text.strip()
    assert summary.tokens <= facts.tokens <= 0.6 * raw.tokens


@pytest.mark.parametrize("ratio", [0.3, 0.1, 0.05])
@pytest.mark.parametrize("rows", [120, 400])
def test_a_long_table_is_one_table_under_its_header(rows: int, ratio: float) -> None:
    table = "| id | pier | load |\n|---|---|---|\n" + "\n".join(f"| {i} | north-{i % 7} | {i * 31 % 97} |" for i in range(rows))
    raw, facts, summary = compress(table, ratio).layers
    for layer in (facts, summary):
        lines = layer.text.split("\n")
        assert re.sub(r"\s", "", lines[0]) == "|id|pier|load|"
        assert lines[-1] == f"[{len(lines) - 1} of {rows + 2} lines]"
    assert facts.tokens >= 0.7 * ratio * raw.tokens


def test_two_tables_are_two_things() -> None:
    first = "| id | load |\n|---|---|\n" + "\n".join(f"| {i} | {i * 7} |" for i in range(60))
    second = "| name | city |\n|---|---|\n" + "\n".join(f"| crew {i} | Porto |" for i in range(60))
    facts = compress(f"{first}\n\n{second}", 0.3).layers[1].text
    heads = ["|id|load|", "|name|city|"]
    assert [head for line in facts.split("\n") if (head := re.sub(r"\s", "", line)) in heads] == heads


DEEP = {"level": {"level": {"level": {"level": {"level": {"level": {"note": "checked twice", "answer": "HX-4471"}}}}}}}
SETTINGS = {"server": {"host": "db-7.intern", "port": 8420, "tls": {"min": "1.2"}}, "limits": {"rps": 50}}
SHAPE = {"type": "Polygon", "coordinates": [[[i / 7, i / 3] for i in range(20)]]}


@pytest.mark.parametrize("ratio", [0.3, 0.1, 0.02])
@pytest.mark.parametrize("value", [DEEP, SETTINGS, SHAPE])
def test_data_is_never_shown_as_braces_alone(value: object, ratio: float) -> None:
    for layer in compress(json.dumps(value, indent=1), ratio).layers:
        assert re.search(r"\w", layer.text)


def test_data_that_does_not_fit_is_shown_in_as_few_tokens_as_say_something() -> None:
    text = json.dumps({f"level{i}": {"note": "The crane was checked by the crew.", "n": i} for i in range(40)} | DEEP, indent=1)
    raw, facts, _ = compress(text, 0.001).layers
    assert facts.tokens < raw.tokens / 5


@pytest.mark.parametrize("between", ["", " ", "\n"])
@pytest.mark.parametrize(
    "said",
    [
        "ቀን {} የውሃው መጠን {} ሜትር ነበር።",
        "နေ့ {} တွင် ရေအမြင့် {} မီတာ ရှိသည်။",
        "ថ្ងៃទី {} កម្ពស់ទឹក {} ម៉ែត្រ។",
        "Օր {}-ին ջրի մակարդակը {} մետր էր։",
        "ཉིན་ {} ལ་ཆུའི་ཚད་ {} རེད།",
        "দিন {} এ জলের স্তর ছিল {} মিটার।",
    ],
)
def test_every_script_has_its_full_stop(said: str, between: str) -> None:
    sentences = [said.format(day, 3 * day) for day in range(40)]
    facts = compress(between.join(sentences), 0.3)
    assert facts.metadata.sentences == len(sentences)
    assert 0.2 < facts.layers[1].tokens / facts.layers[0].tokens <= 0.3
    told = [one for one in sentences if one in facts.text]
    assert "".join("".join(told).split()) == "".join(facts.text.split())


@pytest.mark.parametrize("said", ["{}일에 수위는 {}미터였습니다.", "დღე {}-ს წყლის დონე {} მეტრი იყო."])
def test_sentences_with_figures_are_no_data_in_scripts_of_few_words(said: str) -> None:
    result = compress("\n".join(said.format(day, 3 * day) for day in range(40)), 0.3)
    assert result.metadata.sentences == 40
    assert "[" not in result.text


FAILING = {
    "logcat": ("01-02 10:11:{0:02d}.812  1200  1300 D Wifi: poll rssi={0}", "01-02 10:12:07.812  1200  1300 E App: FATAL 4711"),
    "events": ("{0}m  Normal  Pulled  pod/web-{0}  Container image present", "17m  Warning  BackOff  pod/pay-4711  OOMKilled"),
    "German": ("2026-01-02 10:{0:02d} INFO Auftrag {0} verarbeitet", "2026-01-02 10:33 FEHLER Auftrag 4711 abgelehnt"),
    "Russian": ("{0}: запрос {0} обработан за {0} мс", "33: ошибка, запрос 4711 отклонён"),
    "Japanese": ("{0} 要求{0}を処理しました", "33 要求4711は失敗しました"),
    "Arabic": ("{0} تمت معالجة الطلب {0}", "33 فشل الطلب 4711"),
    "full": ("copied part {0} of the archive to shelf {0}", "part 4711 was not copied because the disk is full, disk full"),
}


@pytest.mark.parametrize("ratio", [0.3, 0.08])
@pytest.mark.parametrize("name", FAILING)
def test_the_one_line_that_reports_a_failure_is_in_every_layer(name: str, ratio: float) -> None:
    usual, failure = FAILING[name]
    lines = [usual.format(i % 60) for i in range(120)]
    raw, facts, summary = compress("\n".join([*lines[:75], failure, *lines[75:]]), ratio).layers
    assert "4711" in facts.text
    assert "4711" in summary.text
    assert summary.tokens <= facts.tokens <= ratio * raw.tokens


def test_a_listing_of_addresses_is_no_broken_sentence() -> None:
    lines = [f"npm http fetch GET 200 https://registry.example/part-{i} {i}ms" for i in range(100, 300)]
    facts = compress("\n".join(lines), 0.1)
    assert set(facts.text.split("\n")) <= set(lines)


PARTS = ["anchor", "bridge", "crane", "derrick", "engine", "flare", "gantry", "hatch", "winch", "jib", "keel", "ladder"]
ASKED = {
    "YAML": (
        "\n".join(f"service_{name}:\n  port: {8000 + i}\n  replicas: {i}" for i, name in enumerate(PARTS * 3)),
        ("which port does service_gantry use?", "what is the port of gantry"),
        "  port: 8006",
    ),
    "INI": ("\n".join(f"[{name}]\nport={8000 + i}" for i, name in enumerate(PARTS * 3)), ("port of gantry?",), "port=8006"),
    "variables": (
        "\n".join(f"APP_{name.upper()}_{i}={i * 7}" for i in range(10) for name in PARTS),
        ("value of APP_WINCH_7", "app_winch_7?"),
        "APP_WINCH_7=49",
    ),
    "Hindi": (
        " ".join(f"गाँव {i} में {i}0 घर हैं।" for i in range(60))
        + " फ्रांस की राजधानी पेरिस है। "
        + " ".join(f"नगर {i} में {i} पुल हैं।" for i in range(60)),
        ("फ्रांस की राजधानी क्या है?",),
        "पेरिस",
    ),
    "Arabic": (
        " ".join(f"المدينة رقم {i} عدد سكانها {i}000 نسمة." for i in range(60))
        + " عاصمة فرنسا هي باريس ومساحتها كبيرة. "
        + " ".join(f"القرية رقم {i} فيها {i} بيت." for i in range(60)),
        ("ما هي عاصمة فرنسا؟",),
        "باريس",
    ),
}


@pytest.mark.parametrize(("name", "question"), [(name, one) for name, (_, asked, _) in ASKED.items() for one in asked])
def test_what_a_question_asks_for_by_name_is_told(name: str, question: str) -> None:
    text, _, answer = ASKED[name]
    result = Compressor().compress(CompressRequest(text, l1_ratio=0.1, query=question))
    assert answer in result.layers[1].text
    assert answer in result.layers[2].text
