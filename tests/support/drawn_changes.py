"""Changes to a conversation's messages, drawn at random: whatever a fold could ask for.

Tests of the formats apply them and judge the written body.
"""

from __future__ import annotations

from hypothesis import strategies as st

from turnfold.compression.wire.changes import Beside, Changes
from turnfold.compression.wire.conversation import Conversation

_TEXTS = st.text(st.sampled_from('ab "\\\n\u2028\u00e9\U0001f600\x00'), max_size=12)
_BESIDE = st.lists(_TEXTS.filter(str.strip), max_size=2).map(tuple)


@st.composite
def drawn_changes(draw: st.DrawFn, read: Conversation) -> Changes:
    """Runs of left-out messages in any order, next to each other, at either end, or all of it; and new texts for what stays."""
    inside = [i for i, (at, _) in enumerate(read.spans) if read.history[0] <= at < read.history[1]]
    gone = draw(st.sets(st.sampled_from(inside))) if inside else set[int]()
    end = draw(st.sampled_from(["", "first", "last", "all"]))
    gone |= {"": set(), "first": {inside[0]}, "last": {inside[-1]}, "all": set(inside)}[end] if inside else set()
    kept = [i for i in inside if i not in gone]
    texts = {}
    for i in draw(st.sets(st.sampled_from(kept))) if kept else ():
        places = [t.path for t in (*read.messages[i].texts, *read.messages[i].arguments)]
        texts[i] = {path: draw(_TEXTS) for path in places if draw(st.booleans())}
    users = [i for i in kept if read.messages[i].role == "user" and read.messages[i].holds]
    some = st.sets(st.sampled_from(users)) if users else st.just(set[int]())
    apart = draw(some)
    return Changes(
        dropped=tuple(draw(st.permutations([(i, i + 1) for i in gone]))),
        texts=texts,
        beside={i: Beside(draw(_BESIDE), draw(_BESIDE)) for i in draw(some)},
        apart=frozenset(apart),
        breakpoint=draw(st.sampled_from(sorted(apart))) if apart else None,
    )
