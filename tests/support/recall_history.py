"""A conversation that says once, in other words, what is asked later.

It has the messages, the questions, and the tool loop under one of them. Servers and expectations are up to the tests.
"""

from __future__ import annotations

from typing import Any, Final

Messages = list[dict[str, Any]]

ANSWER: Final = "On Sundays she goes skiing beyond the ridge."
#: Tokens of a forwarded request, so that most of it is folded.
BUDGET: Final = 700
#: An upstream's answer without usage, of which a proxy would learn.
UNCOUNTED: Final = b'{"id": "c", "model": "gpt-4o", "choices": []}'


def history() -> Messages:
    """A conversation of about 2,800 tokens that says once, in other words, what is asked later."""
    messages: Messages = [{"role": "system", "content": "Be brief."}]
    for i in range(56):
        said = f"Pallet {i * 7} left the depot by gate {i % 9}, and the driver signed for it."
        asked = f"Crate {i} is at gate {i * 3 % 11}, as Maria wrote to the depot on the {i % 28 + 1}th; was it sealed?"
        if 17 < i < 23:  # neighbours lend to each other, and must not have the question's words either
            said, asked = ANSWER if i == 20 else f"It rained {i} times.", f"Monday {i} was mild."
        messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]
    return messages


def question(number: int) -> dict[str, Any]:
    """Another one each time: what was recalled for one is decided once."""
    return {"role": "user", "content": f"Which hobbies, number {number + 5000}?"}


def tool_loop(messages: Messages) -> Messages:
    """The request that follows in a tool loop."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "c1", "content": "Nothing was found."}
    return [*messages, {"role": "assistant", "content": None, "tool_calls": [call]}, result]
