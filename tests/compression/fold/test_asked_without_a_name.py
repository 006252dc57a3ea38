"""What a message wants without saying what it is called: JSON by its keys, a recipe by its quantities, a text by who sent it."""

from __future__ import annotations

import json

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression import FoldOptions, fold_request

ORDER = '{"items": [{"sku": "raincoat", "price": 130}, {"sku": "wool cap", "price": 19}, {"sku": "gloves", "price": 25}]}'
OLDER = '{"items": [{"sku": "raincoat", "price": 130}, {"sku": "wool cap", "price": 19}]}'
RECIPE = (
    "Patties for 3\n\n- 180 g red lentils\n- 1 onion\n- 45 g oats\n- 2 tsp cumin\n- 30 ml oil\n\n"
    "Soak the lentils for two hours, blend all of it, fry the patties four minutes a side."
)
NOTICE = "The footbridge closes on 4 June, since divers found a broken pier. A boat runs from six until ten at night. " * 2
TALK: list[Message] = [
    {"role": "user", "content": "My order as JSON, please."},
    {"role": "assistant", "content": OLDER},
    {"role": "user", "content": "Add gloves at 25."},
    {"role": "assistant", "content": ORDER},
    {"role": "user", "content": "A recipe for lentil patties?"},
    {"role": "assistant", "content": RECIPE},
    {"role": "user", "content": f"Look at this:\n\n{NOTICE}"},
    {"role": "assistant", "content": "Thanks."},
    {"role": "user", "content": "For the reunion the music comes from Otto's jukebox."},
    {"role": "assistant", "content": "Fun."},
    {"role": "user", "content": "The jukebox is broken, so Petra plays. Anyway, what does a mooring cost?"},
    {"role": "assistant", "content": "That depends."},
]


def forwarded(ask: str) -> str:
    texts = ((f"Tell me about berth {i}.", prose(i, "en", 6)) for i in range(80))
    noise = [{"role": role, "content": text} for pair in texts for role, text in zip(("user", "assistant"), pair, strict=True)]
    body = encode([*TALK, *noise, {"role": "user", "content": ask}], model="gpt-4o")
    folded = fold_request(body, FoldOptions(), WARM)
    assert folded.tokens_after < 0.8 * folded.tokens_before
    return "\n".join(m["content"] for m in json.loads(folded.body)["messages"])


@each(
    ("ask", "needed"),
    [
        ("Change the third item's price to 99.", ORDER),
        ("remove the second item", ORDER),
        ('Add a field "notes" to the object from before.', ORDER),
        ("Adjust the quantities for eight people.", RECIPE),
        ("tl;dr of what I pasted please", NOTICE.strip()),
        ("Fass zusammen, was ich dir geschickt habe.", NOTICE.strip()),
        ("What's the music for the reunion?", "The jukebox is broken, so Petra plays."),
    ],
)
def test_it_is_there(ask: str, needed: str) -> None:
    assert needed in forwarded(ask)


@each("ask", ["Write a poem about rain.", "Change the tone of my email.", "What is an object in Python?"])
def test_what_is_not_wanted_is_not_there(ask: str) -> None:
    found = forwarded(ask)
    assert f": {ORDER}" not in found
    assert f": {RECIPE}" not in found
