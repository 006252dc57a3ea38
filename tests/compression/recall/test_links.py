"""Identifiers that lead from one message to another: from an order to its customer, from the customer to an address.

These tests show what folds quote for questions whose answer stands one or two identifiers away, and for questions of which the
chat knows one word. They leave out names that lead on, and the other scores (``test_ranking``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.options import FoldOptions


def _sent(told: Sequence[str], question: str, share: float | None) -> str:
    messages: list[Message] = []
    for number, one in enumerate(told):
        for turn in range(24):
            seed = 100 * number + turn
            messages.append({"role": "user", "content": prose(seed, "en", 3)})
            said = prose(seed + 50, "en", 6)
            messages.append({"role": "assistant", "content": f"{said}\n\n{one}" if turn == 2 else said})
    body = encode([*messages, {"role": "user", "content": question}])
    folded = fold_request(body, FoldOptions(), WARM)
    if share:
        folded = fold_request(body, FoldOptions(budget=int(folded.tokens_before * share)), WARM)
    return "\n".join(message.text for message in folded.forwarded.messages)


_CHAINS: Final = (
    (
        ("The parcel to Oslo has the number NO88213.", "NO88213 lies in the depot behind the harbour."),
        "Where is the parcel to Oslo?",
    ),
    (
        ("fetch_rates retries forever on a 503.", "The importer crashes in load_rates.", "load_rates calls fetch_rates first."),
        "Why does the importer crash?",
    ),
    (
        ("Le dossier de madame Roux est le D-5521.", "D-5521 part aux archives mardi."),
        "Que devient le dossier de madame Roux ?",
    ),
    (("Die Heizung im Bad meldet F4471.", "F4471 heißt, dass der Fühler defekt ist."), "Was hat die Heizung im Bad?"),
    (("冷蔵庫の部品番号は KX9921 です。", "KX9921 は火曜日に届きます。"), "冷蔵庫の部品はいつ届きますか？"),
    (
        ("Ask kim@harbour.example about the mooring.", "kim@harbour.example is away until June."),
        "Whom can I ask about the mooring?",
    ),
    (
        (
            "VAR QHTRB = 40817.",
            "VAR LMZED = VAR QHTRB.",
            "VAR PWKAF = VAR LMZED.",
            "VAR CNUSG = VAR PWKAF.",
            "VAR BOXIJ = VAR CNUSG.",
        ),
        "Which variables have the value 40817?",
    ),
    (("The cabin is heated by THOR.", "THOR is driven by FREYA.", "FREYA broke last winter."), "What heats the cabin?"),
)


@each(("told", "question", "share"), every(3, crosswise([(*chain, share) for chain in _CHAINS for share in (None, 0.1)], 2), 2))
def test_what_an_identifier_leads_to_is_quoted(told: Sequence[str], question: str, share: float | None) -> None:
    sent = _sent(told, question, share)
    assert [one for one in told if one not in sent] == []


@each("figure", every(2, ["2024", "10:30", "3.5", "12th", "20km"], 1))
def test_a_figure_that_tells_of_nothing_leads_nowhere(figure: str) -> None:
    told = (f"Our mooring in Lund was for {figure}.", f"The opera had {figure} on its poster.")
    sent = _sent(told, "What was our mooring in Lund?", None)
    assert told[0] in sent
    assert told[1] not in sent


def test_a_shouted_word_leads_to_no_word() -> None:
    told = ("Our mooring in Lund is GORGEOUS.", "The opera was gorgeous.")
    sent = _sent(told, "What was our mooring in Lund?", None)
    assert told[0] in sent
    assert told[1] not in sent


def test_a_part_of_an_identifier_leads_nowhere() -> None:
    told = ("Our mooring in Lund has the number D-0009.", "The opera has box Y-0009.")
    sent = _sent(told, "What was our mooring in Lund?", None)
    assert told[0] in sent
    assert told[1] not in sent


def test_what_holds_the_number_that_is_asked_for_comes_before_what_shares_other_words_with_the_question() -> None:
    others = [f"Find the text above: variables of {thing} are assigned a value." for thing in ("lamps", "ropes", "sails")]
    told = ("MEPXB = 39260", *others)
    assert told[0] in _sent(told, "Find all variables that are assigned the value 39260 in the text above.", 0.1)


def test_a_question_with_one_known_word_gets_what_holds_it() -> None:
    told = ("The deposit was 180 euros.", "The opera is closed.")
    assert told[0] in _sent(told, "Has the landlady transferred the deposit to my bank?", None)


def test_a_message_that_only_tells_something_with_one_known_word_gets_nothing() -> None:
    told = ("The deposit was 180 euros.", "The opera is closed.")
    assert told[0] not in _sent(told, "My landlady never transfers a deposit to a bank.", None)
