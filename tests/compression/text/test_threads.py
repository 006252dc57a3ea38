"""Posts and comments as they are copied from a page: who wrote them is told in a line of its own, with how long ago.

These tests cover threads in the forms of several sites, and texts that only look alike. They leave out chats with a time of day
(``test_layout.py``, ``test_golden_dialogues.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tests.support.cases import each
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.shorten.facts import facts
from turnfold.compression.text.statements import statements
from turnfold.compression.tokens import count

POSTS: Final = (
    ("maltandhops", 3, "Is it safe to pitch Nottingham at 30 degrees? My wort won't cool down and I'm impatient."),
    ("bittersweet_ale", 3, "Depends on the strain. Kveik loves it. US-05 gives you headaches in a bottle."),
    ("old.still", 2, "Don't. Nottingham is fine from 14 to 21. I did it at 29 once and dumped 20 litres."),
    ("maltandhops", 2, "The packet says 25 on the back though."),
    ("Ines-K", 1, "The packet is for rehydration. You have to wait overnight with the lid on."),
)
FORMS: Final = {
    "reddit": lambda name, days, said: f"u/{name}\n{days} days ago\n{said}\nReply\nShare\n\n",
    "reddit in a line": lambda name, days, said: f"u/{name} • {days}d ago\n{said}\n\nUpvote\nReply\n\n",
    "hacker news": lambda name, days, said: f"{name} {days} days ago | parent | next [–]\n\n{said}\n\nreply\n\n",
    "videos": lambda name, days, said: f"@{name}\n{days} days ago (edited)\n{said}\nReply\n",
    "german": lambda name, days, said: f"{name}\nvor {days} Tagen\n{said}\nAntworten\n\n",
    "french": lambda name, days, said: f"@{name}\nil y a {days} jours\n{said}\nRépondre\n\n",
}


def _outputs(text: str) -> Iterator[str]:
    for role in ("user", "assistant", "tool"):
        yield facts(text, role=role, words=frozenset(), known=frozenset(), count=count)
    for ratio in (0.15, 0.3, 0.45, 0.6):
        yield from (layer.text for layer in Compressor().compress(CompressRequest(text, l1_ratio=ratio)).layers[1:])


@each("form", FORMS)
def test_every_comment_stands_below_its_writer(form: str) -> None:
    text = "".join(FORMS[form](name, days, said) for name, days, said in POSTS)
    names = re.compile("|".join(re.escape(name) for name, _, _ in POSTS))
    for shown in _outputs(text):
        for name, _, said in POSTS:
            for sentence in re.split(r"(?<=[.?]) ", said):
                if (at := shown.find(sentence)) >= 0:
                    above = names.findall(shown, 0, at)
                    assert above[-1:] == [name], (sentence, shown)
        assert re.search(r"[a-z]{4,} [a-z]{2,}", shown.replace("ago", "")), shown


@each(
    "text",
    [
        "The pump failed 3 days ago\nand it was mended by Ines.\nThe crane failed 2 days ago\nand nobody came.\n" * 3,
        "README.md 3 days ago\nsetup.py 2 weeks ago\ntests 5 months ago\ndocs 1 year ago\n" * 3,
    ],
)
def test_what_happened_some_days_ago_is_no_writer(text: str) -> None:
    assert all(span.kind != "label" for span in statements(text).spans)
