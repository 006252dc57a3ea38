"""The laws where a request needs all of something, or what was said of a thing later, in talk and in agents' work."""

from __future__ import annotations

import json
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from tests.support.effort import costly
from tests.support.structure import structure_faults
from tests.support.words import prose
from turnfold.compression.fold import Folded, fold_request, unfold
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions

Message = dict[str, Any]

_PLACES: Final = ("church hall", "boat shed", "old mill", "annex", "garage")
_ASKED: Final = (
    "Where do we rehearse now?",
    "What does the {place} cost us?",
    "What is the average rent?",
    "Which city has the highest rent, and how many rows are from Lyon?",
    "Show me record R-{n} once more.",
    "What was the second stanza?",
    "What comes after step {n}?",
    "Give me both riddles again.",
    "Where do we stand with the plan?",
    "How was it that you told me about the {place}?",
    "Everything is fine, go on.",
)
_LIMITS: Final = (
    "Nothing may be sent before I have seen it.",
    "No file outside src may be changed.",
    "Laisse le schéma en l'état.",
    "Finger weg von den Migrationen.",
)


def _table(draw: st.DrawFn) -> str:
    rows = draw(st.lists(st.tuples(st.sampled_from(["Lyon", "Porto", "Ghent"]), st.integers(300, 2900)), min_size=8, max_size=60))
    return "\n".join(
        ["| id | city | rent |", "|---|---|---|", *(f"| {n} | {city} | {rent} |" for n, (city, rent) in enumerate(rows))]
    )


def _told(draw: st.DrawFn, n: int) -> tuple[str, str]:
    """A message of the user's, and what answers it."""
    place, other = draw(st.sampled_from(_PLACES)), draw(st.sampled_from(_PLACES))
    filler = prose(n, "en", draw(st.sampled_from([10, 60, 200])))
    lines = [f"{at}. {prose(50 * n + at, 'en', 12)}" for at in range(1, draw(st.integers(4, 20)))]
    records = json.dumps(
        [{"id": f"R-{at}", "place": place, "rent": 100 + at, "note": prose(at, "en", 8)} for at in range(12)], indent=1
    )
    kinds = {
        "place": (f"We rehearse at the {place}. {filler}", "Good to know."),
        "later": (f"The {place} has mould, so it is the {other} for {n} euros. {filler}", f"The {other} it is. {filler}"),
        "table": (f"Our rents:\n\n{_table(draw)}", "Thank you for the table."),
        "records": (f"The bookings:\n\n{records}", "I have read them."),
        "steps": (f"How is the {place} cleaned?", "\n".join(lines)),
        "poem": (f"Write a poem on the {place}.", "\n\n".join("\n".join([prose(n + 7 * at, "en", 6)] * 4) for at in range(4))),
        "riddle": ("Write a riddle.", f"What has {n} doors? {filler}"),
        "example": (f"Input: {prose(n, 'en', 20)}", json.dumps({"label": draw(st.sampled_from(["pos", "neg"]))})),
        "limit": (f"{draw(st.sampled_from(_LIMITS))} {filler}", "Understood."),
        "plain": (filler, prose(n + 1000, "en", 60)),
    }
    return kinds[draw(st.sampled_from(sorted(kinds)))]


def _plan(n: int) -> list[Message]:
    """A call that writes a plan, and its result."""
    steps = [{"content": prose(at, "en", 6), "status": "completed" if at < n % 5 else "pending"} for at in range(5)]
    call = {"id": f"p{n}", "type": "function", "function": {"name": "todo_write", "arguments": json.dumps({"todos": steps})}}
    result = {"role": "tool", "tool_call_id": f"p{n}", "content": f"ok {prose(n, 'en', 120)}"}
    return [{"role": "assistant", "content": None, "tool_calls": [call]}, result]


@st.composite
def _histories(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = []
    for n in range(draw(st.integers(8, 30))):
        asked, answer = _told(draw, n)
        if n and draw(st.integers(0, 3)) == 0:
            asked = draw(st.sampled_from(_ASKED)).format(place=draw(st.sampled_from(_PLACES)), n=draw(st.integers(1, 14)))
        messages.append({"role": "user", "content": asked})
        messages += _plan(n) if draw(st.integers(0, 9)) == 0 else []
        messages.append({"role": "assistant", "content": answer})
    asked = draw(st.sampled_from(_ASKED)).format(place=draw(st.sampled_from(_PLACES)), n=draw(st.integers(1, 14)))
    return [*messages, {"role": "user", "content": asked}]


_options = st.builds(
    FoldOptions,
    model=st.just("gpt-4o"),
    prices=st.sampled_from([CachePrices(1.0, 1.0), CachePrices(0.5, 1.0), CachePrices(0.1, 1.25)]),
    budget=st.one_of(st.none(), st.integers(600, 6000)),
)


@costly(2)
@given(_histories(), _options)
def test_each_request_of_a_growing_conversation_keeps_the_laws(messages: list[Message], chosen: FoldOptions) -> None:
    memo = Memo()
    before: Folded | None = None
    ends = [n for n, one in enumerate(messages, 1) if one["role"] in ("user", "tool")]
    for end in ends[-6:]:
        body = json.dumps({"model": chosen.model, "messages": messages[:end]}, ensure_ascii=False).encode()
        folded = fold_request(body, chosen, memo)
        assert unfold(folded) == body
        assert end != ends[-1] or folded == fold_request(body, chosen, Memo())
        if folded.folded:
            assert folded.tokens_after < folded.tokens_before
            assert structure_faults(body, folded.body, frozenset({"type", "text"})) == []
        else:
            assert folded.body == body
        if chosen.budget is not None and folded.tokens_after > chosen.budget:
            assert not folded.folded or folded.reason == "over-budget"
        if before is not None and before.events == folded.events and not (before.fitting or folded.fitting):
            old, new = (json.loads(one.body)["messages"] for one in (before, folded))
            user = max(n for n, one in enumerate(old) if one["role"] == "user")
            assert old[:user] == new[:user]
        before = folded
