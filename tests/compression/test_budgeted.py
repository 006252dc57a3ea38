"""Stateful conversations: the budget holds, nothing is compressed twice, planted facts are found, export and import."""

from __future__ import annotations

import contextlib
import json
import random
import sys
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import planted_facts
from benchmarks.support.planted_sentences import HELD_OUT, TUNED
from tests.support.cases import each
from tests.support.effort import crosswise, every
from turnfold.compression.budgeted import (
    History,
    HistoryMessage,
    HistorySettings,
    StatementIndex,
    add,
    context,
    drill_down,
    export_history,
    read_export,
    search,
)
from turnfold.compression.budgeted.sentences import told_sentences
from turnfold.compression.errors import InvalidInput, SectionUnknown
from turnfold.compression.tokens import count

TOPICS = [
    "the garden",
    "a film",
    "the weather",
    "dinner plans",
    "an old friend",
    "the train",
    "a recipe",
    "the match",
    "some book",
]


def talk(n: int) -> list[HistoryMessage]:
    """Chatter in which every tenth message plants a fact."""
    draw = random.Random(7)
    out = []
    for i in range(n):
        role = "user" if i % 2 == 0 else "assistant"
        chat = " ".join(
            f"We spoke about {draw.choice(TOPICS)} for {draw.randint(2, 90)} minutes." for _ in range(draw.randint(1, 4))
        )
        fact = f" The access code of locker K{i} is zebra-{i * 37}." if i % 10 == 0 else ""
        out.append(HistoryMessage(role, f"Turn {i}. {chat}{fact}"))
    return out


def played(messages: list[HistoryMessage], chosen: HistorySettings) -> History:
    state = History()
    for message in messages:
        state, _ = add(state, message, chosen)
    return state


@each(("n", "threshold"), every(2, [(50, 300), (50, 1000), (120, 1000)], 1))
def test_the_budget_holds_after_every_message(n: int, threshold: int) -> None:
    chosen = HistorySettings(compress_threshold=threshold, keep_recent=3)
    state = History()
    for i, message in enumerate(talk(n)):
        state, _ = add(state, message, chosen)
        told = context(state, chosen)
        recent = sum(count(f"{m.role}: {m.content}") + 1 for m in state.recent)
        assert told.tokens <= max(threshold, recent + 20), i
        assert told.tokens == count(told.text)
        assert told.text.endswith(message.content)
    assert threshold - told.tokens < 0.1 * threshold  # what may be used is used
    assert told.raw_tokens > 1.5 * told.tokens


@each(
    ("said", "threshold"),
    crosswise(product(["Вчера была хорошая погода, и мы долго гуляли", "Yes, number", "はい"], [100, 500]), 2),
)
def test_the_budget_holds_for_short_lines_that_end_without_a_full_stop(said: str, threshold: int) -> None:
    state, settings = History(), HistorySettings(threshold, 2)
    for n in range(threshold // 4):
        state, _ = add(state, HistoryMessage(("user", "assistant")[n % 2], f"{said} {n}"), settings)
        assert context(state, settings).tokens <= threshold


def test_hundreds_of_messages_stay_within_the_budget() -> None:
    chosen = HistorySettings(compress_threshold=1500, keep_recent=5)
    state = played(talk(400), chosen)
    assert context(state, chosen).tokens <= 1500
    for i in range(0, 400, 40):
        assert any(f"zebra-{i * 37}" in f.message.content for f in search(state, f"What is the access code of locker K{i}?")), i


def test_planted_facts_are_found_by_search_and_by_drill_down() -> None:
    chosen = HistorySettings(compress_threshold=400, keep_recent=3)
    state = played(talk(120), chosen)
    raw = "\n".join(drill_down(state, block.id) for block in state.blocks)
    for i in range(0, 110, 10):
        assert f"zebra-{i * 37}" in raw
        best = search(state, f"access code of locker K{i}", limit=3)
        assert any(f"zebra-{i * 37}" in found.message.content for found in best)


def test_nothing_is_compressed_twice_and_nothing_is_lost() -> None:
    chosen = HistorySettings(compress_threshold=300, keep_recent=2)
    state = History()
    messages = talk(120)
    for message in messages:
        before = state.blocks
        state, action = add(state, message, chosen)
        assert state.blocks[: len(before)] == before
        assert (action == "compressed") == (len(state.blocks) > len(before))
    assert [m for block in state.blocks for m in block.messages] + list(state.recent) == messages
    assert len({block.id for block in state.blocks}) == len(state.blocks)


def test_system_messages_and_standing_orders_are_told_word_for_word() -> None:
    chosen = HistorySettings(compress_threshold=300, keep_recent=2)
    first = [
        HistoryMessage("system", "You are Ada. Rule 7: never discount."),
        HistoryMessage("user", "From now on, always answer in French."),
    ]
    state = played(first + talk(60), chosen)
    told = context(state, chosen).text
    assert "system: You are Ada. Rule 7: never discount." in told
    assert "From now on, always answer in French." in told


def test_the_form_of_the_context() -> None:
    chosen = HistorySettings(compress_threshold=200, keep_recent=2)
    state = played(talk(30), chosen)
    lines = context(state, chosen).text.splitlines()
    assert lines[0] == "[Prior context summary]"
    at = lines.index("[Recent messages]")
    assert lines[at + 1 :] == [f"{m.role}: {m.content}" for m in state.recent]
    short = played(talk(2), chosen)
    assert context(short, chosen).text == "\n".join(f"{m.role}: {m.content}" for m in short.recent)


LONG = "Please tell me once more how the export of the ledger is started."


def test_only_what_was_said_just_before_is_a_duplicate() -> None:
    chosen = HistorySettings(keep_recent=1, compress_threshold=60)
    question = HistoryMessage("user", LONG)
    state, _ = add(played(talk(10), chosen), question, chosen)
    same, action = add(state, question, chosen)
    assert action == "duplicate"
    assert (same.messages, same.duplicates, same.version) == (state.messages, state.duplicates + 1, state.version + 1)
    assert add(state, HistoryMessage("assistant", LONG), chosen)[1] != "duplicate"


@each(
    ("text", "between", "keep"),
    product(
        [LONG, "Yes.", "go on", "どうやって台帳を書き出すのか、もう一度教えてください。" * 2, "```\ncode\n```"],
        [1, 2, 9],
        [0, 1, 50],
    ),
)
def test_what_is_asked_again_is_kept(text: str, between: int, keep: int) -> None:
    chosen = HistorySettings(keep_recent=keep, compress_threshold=100)
    question = HistoryMessage("user", text)
    state = played([question, *talk(between + 1)[1:]], chosen)
    state, action = add(state, question, chosen)
    assert action != "duplicate"
    assert state.messages == between + 2
    assert text.rsplit("\n", maxsplit=1)[-1] in context(state, chosen).text.splitlines()[-1] or keep == 0


def test_a_repeat_is_told_from_a_new_message_when_nothing_is_kept_raw() -> None:
    chosen = HistorySettings(keep_recent=0, compress_threshold=1)
    state, first = add(History(), HistoryMessage("user", LONG), chosen)
    assert (first, state.recent) == ("compressed", ())
    assert add(state, HistoryMessage("user", LONG), chosen)[1] == "duplicate"


def test_system_messages_repeat_only_the_last_one_of_their_role_and_are_told_once() -> None:
    chosen = HistorySettings(compress_threshold=200, keep_recent=2)
    first, second = HistoryMessage("system", "Answer in French."), HistoryMessage("system", "Answer in German.")
    state = played([first, HistoryMessage("user", "Hello?")], chosen)
    state, again = add(state, first, chosen)
    state, other = add(state, second, chosen)
    state, back = add(state, first, chosen)
    assert (again, other, back) == ("duplicate", "appended", "appended")
    told = context(state, chosen).text
    assert told.count("French") == 1
    assert told.index("German") < told.index("French")


contents = st.one_of(
    st.sampled_from([m.content for m in talk(12)] + ["Yes.", "", "Never mind.", "```\ncode\n```", "好的。"]), st.text(max_size=20)
)
conversations = st.lists(
    st.builds(HistoryMessage, st.sampled_from(["user", "assistant", "system", "tool"]), contents), max_size=25
)


@given(conversations, st.integers(1, 200), st.integers(0, 4))
def test_a_context_keeps_its_budget_and_survives_an_export(messages: list[HistoryMessage], threshold: int, keep: int) -> None:
    chosen = HistorySettings(compress_threshold=threshold, keep_recent=keep)
    state = played(messages, chosen)
    told = context(state, chosen)
    raw = sum(count(f"{m.role}: {m.content}") + 1 for m in (*state.pinned, *state.recent))
    assert told.tokens <= max(threshold, raw + 20)
    assert read_export(export_history(state)).history == state
    assert context(read_export(export_history(state)).history, chosen) == told
    kept = [m for block in state.blocks for m in block.messages] + list(state.recent)
    assert len(kept) + len(state.pinned) + state.duplicates == len(messages)
    for block in state.blocks:
        assert block.tokens[2] <= block.tokens[1]
        assert drill_down(state, block.id, 1) == block.texts[0]


@given(conversations, st.integers(1, 200), st.integers(0, 4), st.integers(0, 24))
def test_an_import_elsewhere_goes_on_alike(messages: list[HistoryMessage], threshold: int, keep: int, moved: int) -> None:
    chosen = HistorySettings(compress_threshold=threshold, keep_recent=keep)
    here = played(messages[:moved], chosen)
    there = read_export(export_history(here, chosen)).history
    for message in messages[moved:]:
        (here, one), (there, other) = add(here, message, chosen), add(there, message, chosen)
        assert one == other
    assert here == there
    assert context(here, chosen) == context(there, chosen)


def test_standing_orders_are_told_once() -> None:
    chosen = HistorySettings(compress_threshold=400, keep_recent=2)
    order = "Never use tabs in any file."
    first, again = HistoryMessage("user", f"Hi there. {order}"), HistoryMessage("user", f"As I said. {order}")
    state = played([first, *talk(40), again, *talk(41)[1:]], chosen)
    assert context(state, chosen).text.count(order) == 1
    state = played([*talk(30), HistoryMessage("user", order)], chosen)
    assert context(state, chosen).text.count(order) == 1


@pytest.mark.parametrize("budget", every(2, [300, 1000, 2000], 1))
def test_what_users_state_outlives_small_talk(budget: int) -> None:
    wanted = planted_facts.WANTED[budget]
    for sentences in (TUNED, HELD_OUT):
        made = [planted_facts.conversation(sentences, 5, seed) for seed in range(8)]
        assert sum(sum(planted_facts.kept(one, budget)) for one in made) >= wanted


#: What a user states of themselves, an order and a budget, each with what it is found by; then small talk of both sides.
ABROAD = {
    "Turkish": (
        {"Adım Şebnem Ökten ve fıstığa alerjim var.": "Ökten", "Sipariş numaram TR-4418.": "TR-4418", "Bütçem 120 lira.": "120"},
        "Dün hava güzeldi ve uzun uzun yürüdük.",
        "Kulağa hoş geliyor, anlattığın için sağ ol.",
    ),
    "Hindi": (
        {
            "मेरा नाम कविता जोशी है और मुझे मूंगफली से एलर्जी है।": "मूंगफली",
            "मेरा ऑर्डर नंबर HI-2208 है।": "HI-2208",
            "मेरा बजट ज़्यादा से ज़्यादा 5000 रुपये है।": "5000",
        },
        "कल मौसम अच्छा था और हम देर तक टहले।",
        "अच्छा लगता है, बताने के लिए धन्यवाद।",
    ),
    "Greek": (
        {
            "Με λένε Δάφνη Ρουσσάκη και έχω αλλεργία στα φιστίκια.": "φιστίκια",
            "Ο αριθμός της παραγγελίας μου είναι EL-3390.": "3390",
        },
        "Χθες ο καιρός ήταν καλός και περπατήσαμε πολύ.",
        "Ακούγεται ωραίο, ευχαριστώ που το είπες.",
    ),
    "Hebrew": (
        {"קוראים לי נועה ברזילי ויש לי אלרגיה לבוטנים.": "לבוטנים", "התקציב שלי הוא לכל היותר 1500 שקל.": "1500"},
        "אתמול היה מזג אוויר נעים והלכנו הרבה.",
        "נשמע נחמד, תודה שסיפרת.",
    ),
    "Thai": (
        {"ฉันชื่อกมลา ศรีสุข และแพ้ถั่วลิสง": "ถั่วลิสง", "งบประมาณของฉันไม่เกิน 4000 บาท": "4000"},
        "เมื่อวานอากาศดีและเราเดินเล่นนานมาก",
        "ฟังดูดี ขอบคุณที่เล่าให้ฟัง",
    ),
}


@each(("language", "places"), every(2, crosswise(product(ABROAD, [(0, 5, 9), (3, 4, 14)]), 2), 1))
def test_what_users_state_outlives_small_talk_in_other_languages(language: str, places: tuple[int, ...]) -> None:
    facts, talked, answered = ABROAD[language]
    stated = dict(zip(places, facts, strict=False))
    state, settings = History(), HistorySettings(300, 5)
    for n in range(30):
        state, _ = add(state, HistoryMessage("user", f"{stated.get(n, '')} {talked} {n}".strip()), settings)
        state, _ = add(state, HistoryMessage("assistant", f"{answered} {n}"), settings)
    told = context(state, settings).text
    assert [needle for needle in facts.values() if needle not in told] == []


#: Said in passing: conditions and habits of the speaker's; small talk and an answer, which take the rest of the room; a budget.
IN_PASSING = {
    "Turkish": (
        "Perşembe günleri diyaliz tedavim var.",
        "Dün pazara gittim ve çok yürüdüm.",
        "Güzel bir fikir, acele etme.",
        240,
    ),
    "Japanese": (
        "木曜日は透析があるので無理です。",
        "昨日は市場へ行って、たくさん歩きました。",
        "いい考えですね、ゆっくりどうぞ。",
        200,
    ),
    "Russian": ("Живу на улице Садовой, дом 9.", "Вчера я ходил на рынок и видел море.", "Хорошая мысль, не торопитесь.", 200),
}


@each("language", IN_PASSING)
def test_what_is_said_in_passing_is_told_before_other_statements(language: str) -> None:
    fact, talked, answered, budget = IN_PASSING[language]
    state, settings = History(), HistorySettings(budget, 3)
    for n in range(60):
        said = fact if n == 20 else f"My bag {n} weighs {n} kg." if n % 6 == 0 else f"{n}?"
        state, _ = add(state, HistoryMessage("user", f"{talked} {said}"), settings)
        offer = f"The Corvane {n} costs {n * 37} euros and weighs {n} kg since 4 May."
        state, _ = add(state, HistoryMessage("assistant", f"{answered} {offer}"), settings)
    assert fact in context(state, settings).text


@pytest.mark.parametrize(
    ("correction", "plain"),
    [
        ("Scratch that, make it 31 chairs.", "With that, make it 31 chairs."),
        ("Poprawka: będzie nas 17.", "Zobacz: będzie nas 17."),
        ("Anzi, saremo in 27.", "Poi, saremo in 27."),
        ("Düzeltiyorum, 16 kişiyiz.", "Biliyorum, 16 kişiyiz."),
        ("Точнее, будет 12 стульев.", "Видимо, будет 12 стульев."),
    ],
)
def test_a_correction_is_worth_more_than_what_it_says(correction: str, plain: str) -> None:
    (corrected,), (said,) = (told_sentences([("user", text)], count) for text in (correction, plain))
    assert corrected.worth > said.worth


def test_the_first_of_sixty_messages_is_told() -> None:
    first = HistoryMessage("user", "My name is Ada Quist, order HX-4471, I am allergic to peanuts. Nice weather, isn't it?")
    chosen = HistorySettings(compress_threshold=300, keep_recent=5)
    told = context(played([first, *talk(61)[1:]], chosen), chosen).text
    assert "My name is Ada Quist, order HX-4471, I am allergic to peanuts." in told


def test_every_line_that_is_told_was_said() -> None:
    chosen = HistorySettings(compress_threshold=300, keep_recent=2)
    messages = talk(80)
    head = context(played(messages, chosen), chosen).text.split("[Recent messages]")[0]
    for line in head.splitlines()[1:]:
        if not line.startswith("("):
            role, _, said = line.partition(": ")
            for sentence in said.split(" … "):
                assert any(sentence in m.content and m.role == role for m in messages), sentence


EXPORTED = export_history(played([HistoryMessage("system", "Be brief."), *talk(30)], HistorySettings(compress_threshold=200)))


def damaged(path: str, value: object) -> str:
    data = json.loads(EXPORTED)
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place = data
    for part in way:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(data)


DAMAGES: list[tuple[str, object, str]] = [
    ("recent_tokens", [], "recent_tokens"),
    ("recent_tokens", [1] * 40, "recent_tokens"),
    ("recent_tokens", "12", "recent_tokens"),
    ("recent_tokens.0", -1, "recent_tokens.0"),
    ("recent_tokens.0", 1.5, "recent_tokens.0"),
    ("recent_tokens.0", True, "recent_tokens.0"),
    ("recent_tokens.0", 2**60, "recent_tokens.0"),
    ("recent", {}, "recent"),
    ("recent", None, "recent"),
    ("recent.0", "hello", "recent.0"),
    ("recent.0.role", " ", "recent.0.role"),
    ("recent.0.role", "u" * 65, "recent.0.role"),
    ("recent.0.content", None, "recent.0.content"),
    ("recent.0.content", ..., "recent.0.content"),
    ("recent.0.role", "system", "recent"),
    ("pinned.0.role", "user", "pinned"),
    ("pinned", ..., "pinned"),
    ("orders", [1], "orders.0"),
    ("blocks.0", [], "blocks.0"),
    ("blocks.0.id", 7, "blocks.0.id"),
    ("blocks.0.id", "", "blocks.0.id"),
    ("blocks.0.messages", [], "blocks.0.messages"),
    ("blocks.0.messages.0.role", ..., "blocks.0.messages.0.role"),
    ("blocks.0.messages.0.role", "developer", "blocks"),
    ("blocks.0.texts", ["one"], "blocks.0.texts"),
    ("blocks.0.texts.1", None, "blocks.0.texts.1"),
    ("blocks.0.tokens", [1, 2], "blocks.0.tokens"),
    ("blocks.0.tokens", [9, 1, 2], "blocks.0.tokens"),
    ("blocks.0.tokens.0", "9", "blocks.0.tokens.0"),
    ("messages", 3, "messages"),
    ("messages", 31.0, "messages"),
    ("raw_tokens", 0, "raw_tokens"),
    ("version", 0, "version"),
    ("duplicates", None, "duplicates"),
    ("settings", [], "settings"),
    ("settings", {"keep_recent": 1}, "settings.compress_threshold"),
    ("settings", {"keep_recent": 1, "compress_threshold": 0}, "settings.compress_threshold"),
]


@each(("path", "value", "field"), DAMAGES)
def test_an_export_that_does_not_hold_together_is_refused_by_field(path: str, value: object, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_export(damaged(path, value))
    assert caught.value.field == f"history.{field}"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "role", "content"]), inner, max_size=3),
    max_leaves=4,
)
EVERYWHERE = [
    *(name for name in json.loads(EXPORTED) if name != "settings"),
    *("recent.0", "recent.1.role", "blocks.0", "blocks.1.messages", "blocks.0.tokens", "blocks.0.texts", "recent_tokens.1"),
]


def imported_or_none(text: str) -> History | None:
    """The state, None where the text is refused by a field of it."""
    with contextlib.suppress(InvalidInput):
        return read_export(text).history
    return None


@given(st.sampled_from(EVERYWHERE), json_values)
def test_whatever_is_imported_can_be_added_to(path: str, value: object) -> None:
    chosen = HistorySettings(compress_threshold=100, keep_recent=1)
    state = imported_or_none(damaged(path, value))
    if state is None:
        return
    for message in talk(4):
        state, _ = add(state, message, chosen)
        context(state, chosen)
    assert read_export(export_history(state)).history == state


def test_exports_carry_their_settings() -> None:
    chosen = HistorySettings(compress_threshold=321, keep_recent=2)
    state = played(talk(9), chosen)
    assert read_export(export_history(state, chosen)).settings == chosen
    assert read_export(export_history(state)).settings is None
    assert read_export(export_history(state, chosen)).history == state


@each(
    ("text", "field"),
    [("no json", "history"), ("[]", "history.format"), ('{"format": 1}', "history.version"), ('{"format": 2}', "history.format")],
)
def test_a_bad_import_is_named(text: str, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_export(text)
    assert caught.value.field == field


def test_a_damaged_export_is_refused() -> None:
    good = export_history(played(talk(30), HistorySettings(compress_threshold=200)))
    for old, new in (('"recent":[', '"recent":[7,'), ('"role":"user"', '"role":""'), ('"messages":30', '"messages":-1')):
        with pytest.raises(InvalidInput):
            read_export(good.replace(old, new, 1))


@each(
    ("make", "field"),
    [
        (lambda: HistoryMessage("", "x"), "message.role"),
        (lambda: HistoryMessage("user", None), "message.content"),  # type: ignore[arg-type]
        (lambda: HistorySettings(compress_threshold=0), "compress_threshold"),
        (lambda: HistorySettings(keep_recent=-1), "keep_recent"),
    ],
)
def test_bad_values_are_named(make: object, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()  # type: ignore[operator]
    assert caught.value.field == field


def test_unknown_blocks_and_layers_are_named() -> None:
    state = played(talk(30), HistorySettings(compress_threshold=200))
    with pytest.raises(SectionUnknown, match="nope"):
        drill_down(state, "nope")
    with pytest.raises(InvalidInput, match=r"^layer: must be 0, 1 or 2"):
        drill_down(state, state.blocks[0].id, 5)


def test_search_finds_nothing_where_nothing_matches() -> None:
    assert search(History(), "anything") == ()
    state = played(talk(30), HistorySettings(compress_threshold=200))
    assert search(state, "xylophone quartz") == ()


# What is said, and what must be told with it: in the same message, or in one of the next two.
TIED = [
    ([("user", "Notes on gate K9.\nNever do:\n- open valve V-12 of tank 880\n- cut the power of crane C-41 at 07:15")],
     "valve V-12", "Never do:"),
    ([("user", "## Rejected\n\nWe move the ledger of Acme to Kafka 3.7. Nobody has asked Mr. Voss of Norvik.")],
     "Kafka 3.7", "## Rejected"),
    ([("user", "The invoice of Voss AG is 4,812 euros. That is false. The canteen opens at 8:30.")], "4,812", "That is false."),
    ([("assistant", "Order 99120 of Mrs. Lind left Bremen on 4 May 2025."), ("user", "No, it did not.")],
     "99120", "No, it did not."),
]  # fmt: skip


@each(("said", "claim", "governor", "budget"), [(*row, budget) for row in TIED for budget in [150, 200, 300, 500]])
def test_what_is_told_comes_with_what_governs_it(said: list[tuple[str, str]], claim: str, governor: str, budget: int) -> None:
    messages = [*talk(6), *(HistoryMessage(role, text) for role, text in said), *talk(19)[7:]]
    told = context(played(messages, HistorySettings(budget, 2)), HistorySettings(budget, 2)).text
    assert claim not in told or governor in told


def test_no_sentence_is_told_with_very_many_others() -> None:
    """Where each needs the one in front of it, all that they need together grows with the square of the text."""
    content = " ".join(f"But it was {n} and not three, as he said." for n in range(400))
    told = told_sentences([("user", content)], count)
    assert told
    assert max(len(one.needs) for one in told) < 64


REMARKS = [
    "No.",
    "No, that is wrong.",
    "Always cc Ann.",
    "Never mail Bob. Always cc Ann.",
    "Never mail Bob.",
    "OK",
    "Only on weekdays.",
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["user", "user", "assistant", "tool"]),
            st.lists(st.sampled_from(REMARKS), max_size=3),
            st.integers(0, 20),
        ),
        max_size=40,
    ),
    st.sampled_from([(60, 2), (150, 0), (300, 4)]),
)
def test_an_index_that_grew_tells_what_a_new_one_tells(drawn: list[tuple[str, list[str], int]], chosen: tuple[int, int]) -> None:
    """Orders that are repeated in other words, objections to the section before, and what recent messages say once more."""
    state, settings, index = History(), HistorySettings(*chosen), StatementIndex()
    for role, remarks, n in drawn:
        message = HistoryMessage(role, " ".join([*remarks, f"The key of room {n} is K-{n * 37}."]))
        state, _ = add(state, message, settings)
        index = StatementIndex.of(state.blocks, index)
        assert context(state, settings, index=index) == context(state, settings)
    assert context(state, settings, index=StatementIndex.of(played(talk(9), settings).blocks)) == context(state, settings)


def calls(function: Callable[[], object]) -> int:
    """How many functions a function calls."""
    called = 0

    def note(frame: object, event: str, arg: object) -> None:
        nonlocal called
        called += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return called


def test_the_context_of_a_long_history_takes_hardly_more_work_than_that_of_a_short_one() -> None:
    """Given the index of its blocks. A call for every statement would be ten times as many."""
    settings, counts = HistorySettings(300, 3), list[int]()
    for n in (60, 600):
        said = [message.content.split(". ", 1)[1] for message in talk(n)]
        state = played([HistoryMessage("user", f"On day {i} it rained. {text}") for i, text in enumerate(said)], settings)
        index = StatementIndex.of(state.blocks)
        counts.append(calls(lambda state=state, index=index: context(state, settings, index=index)))  # type: ignore[misc]
    assert counts[1] < 2 * counts[0]
