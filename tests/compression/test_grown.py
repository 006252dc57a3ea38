"""Whatever is remembered of a conversation as it grows, the next request comes out as if nothing were known.

These tests cover one memory for all requests of a conversation beside a new one for each, for conversations with repeated
results, pictures of which the newest stay, questions, headers and titles. They leave out how much is done anew
(``fold/test_golden.py``), one memory for several wires (``fold/test_one_memo.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from tests.compression.fold.test_golden import odd_options, tool_run
from tests.compression.fold.test_golden_recall import ASKED_OF_MEETINGS, meeting
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.recalled import recall
from tests.support.three_wires import WIRES
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.cut import cut
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions, Keep
from turnfold.compression.recall.question import Question
from turnfold.compression.tokens import count

_Message = dict[str, Any]


def _screens(seed: int) -> list[_Message]:
    """An agent that looks at pictures and reads the same files again; some results have both a text and a picture."""
    found: list[_Message] = [{"role": "user", "content": "Find out why bay 7 is shut, and never call Ben."}]
    for i in range(16):
        call = {"id": f"c{i}", "type": "function", "function": {"name": "read", "arguments": json.dumps({"at": i % (3 + seed)})}}
        text = {"type": "text", "text": f"Bay {i % 3} at {i % 3}:30. " + "The tide table of the northern pier. " * 14}
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,iVBORw0KGgo{i}"}}
        content = [[text, picture], [text], [picture]][(i + seed) % 3] if i % 4 else text["text"]
        found += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{i}", "content": content},
        ]
        if i % 6 == 5:
            found += [{"role": "assistant", "content": f"Bay {i} is open."}, {"role": "user", "content": f"And bay {i + 1}?"}]
    return found


_CONVERSATIONS: Final[dict[str, Callable[[int], list[_Message]]]] = {"tools": tool_run, "screens": _screens}


def _folded(body: bytes, options: FoldOptions, memo: Memo) -> Any:
    request = WIRES["chat"].wire.read(body, memo)
    try:
        made = fold(request, options, memo)
    except FoldRejected as rejected:
        return rejected.reason
    shorter = cut(request, 900, options, memo)
    told = made.tokens_after, made.events, made.account, made.outlook, made.decided, made.sections
    return made.body, told, shorter and (shorter.tokens, shorter.forwarded.body)


@each(("kind", "seed"), every(2, crosswise([(kind, seed) for kind in _CONVERSATIONS for seed in range(2)], 2), 1))
def test_folds_as_a_conversation_grows(kind: str, seed: int) -> None:
    """With other settings now and then, as another client's of the same tenant may be."""
    messages, shared = _CONVERSATIONS[kind](seed), Memo()
    for number, end in enumerate(range(3 + seed, len(messages) + 1, 7)):
        body = json.dumps({"model": "gpt-4o", "messages": messages[:end]}).encode()
        options = odd_options(seed + 3 * (kind == "tools") + (11 if number % 3 == 2 else 0))
        options = replace(options, keep=Keep(frozenset({"read"}))) if number % 4 == 3 else options
        assert _folded(body, options, shared) == _folded(body, options, Memo()), end


@each("seed", every(2, [*range(8)]))
def test_recall_as_a_conversation_grows(seed: int) -> None:
    said, shared = meeting(seed)[:48], Memo()
    said = [one if i % 3 else one._replace(text=f"{one.text} Is that right?", key=one.key + b"?") for i, one in enumerate(said)]
    for number, end in enumerate(range(4 + seed % 3, len(said), 7)):
        asked = Question(ASKED_OF_MEETINGS[(seed + number) % len(ASKED_OF_MEETINGS)], tuple(said[end - 1 : end]) * (number % 2))
        found, alone = (recall(said[:end], asked, 120, (), count, memo) for memo in (shared, Memo()))
        assert found == alone, end
