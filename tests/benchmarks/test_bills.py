"""Uses of conversations as bills, in process."""

from __future__ import annotations

from random import Random

from benchmarks.bills import UsePlayer
from benchmarks.support.caches import COLUMNS
from benchmarks.support.growing_chats import Chat, Sent


def test_a_use_is_billed_both_ways_and_beside_the_books() -> None:
    player, chat = UsePlayer(COLUMNS["gpt-4o"], 0.0), Chat("a", says=(120, 120))
    for turn in range(6):
        player.play(Sent(chat.turn(), does="fails" if turn == 2 else "", pause=9000.0 if turn == 4 else 20.0), Random(0))
    assert len(player.found.ends) == 5
    assert player.prompts[0] < 0.8 * player.prompts[1]
    assert player.found.ratio < 0.9
    assert 0.98 < player.dollars[0] / player.dollars[1] < 1.02
