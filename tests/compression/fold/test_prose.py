"""The wording of prose in a fold.

These tests show that the option reaches FACTS, is part of what is memoised, and leaves orders and the law of restoring alone.
They leave out the rules (``tests/compression/shorten/test_terse.py``).
"""

from __future__ import annotations

import json
from dataclasses import replace

from tests.support.bodies import encode
from tests.support.three_wires import WIRES
from turnfold.compression import tokens
from turnfold.compression.fold import fold_request, unfold
from turnfold.compression.fold.shortening import task_words
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions, Prose
from turnfold.compression.shorten.facts import facts
from turnfold.compression.shorten.terse_prose.compress import terse

SAID = " ".join(f"The pump on pier {n} is really serviced in the morning by the crew of the harbour." for n in range(12))
ORDER = "From now on always name the pier in the answer. "


def _facts(text: str, role: str, prose: Prose) -> str:
    return facts(text, role=role, words=frozenset(), known=(), count=tokens.count, prose=prose)


def test_sentences_that_stay_are_worded_as_the_options_say() -> None:
    plain = _facts(SAID, "assistant", Prose())
    assert _facts(SAID, "assistant", Prose("full")) == terse(plain, "full") != plain


def test_a_message_with_a_standing_order_stays_as_it_was_said() -> None:
    assert _facts(ORDER + SAID, "user", Prose("ultra")) == _facts(ORDER + SAID, "user", Prose())


def _body() -> bytes:
    messages = [{"role": "system", "content": "You are the clerk of the harbour."}]
    for turn in range(40):
        messages.append({"role": "user", "content": f"What is the state of the pumps in week {turn}?"})
        messages.append({"role": "assistant", "content": SAID.replace("The pump", f"In week {turn} the pump")})
    return json.dumps({"model": "gpt-4o", "messages": [*messages, {"role": "user", "content": "And now?"}]}).encode()


def test_a_fold_with_fewer_words_is_smaller_and_restores() -> None:
    body, memo = _body(), Memo()
    plain = FoldOptions(recall=False)
    sizes = []
    for intensity in ("off", "full", "ultra", "off"):  # one memo: each finds its own
        options = replace(plain, prose=Prose(intensity))
        folded = fold_request(body, options, memo)
        assert folded.folded
        assert folded == fold_request(body, options, Memo())
        assert unfold(folded) == body
        sizes.append(folded.tokens_after)
    assert sizes[0] == sizes[3] > sizes[1] >= sizes[2]


def test_the_task_is_read_as_far_as_it_is_likely_to_be_told() -> None:
    asked = {"role": "user", "content": f"{'so ' * 1331}edges beyond"}
    called = {"role": "assistant", "content": f"{'so ' * 663}kill_switch pool_limit"}
    body = encode([asked, called], model="gpt-4o")
    user, assistant = WIRES["chat"].wire.read(body, Memo()).messages
    assert {*task_words([user], [assistant])} == {"edges", "kill_switch"}
