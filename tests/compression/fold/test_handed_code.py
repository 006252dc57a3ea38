"""Code that a user pasted is there for requests about it that name none of it, in its newest form.

These tests cover files pasted into a talk, and requests long after. They leave out code that is asked for itself
(``test_works``), files of an agent (``test_handed_files``).
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.quoted_talk import forwarded
from tests.support.words import prose
from turnfold.compression.text.dialogue.wanted.code_blocks import code_blocks

_BERTH: Final = """berth.py:
```python
class Berth:
    def __init__(self, pier, depth_cm):
        self.pier, self.depth_cm = pier, depth_cm

    def fits(self, draught_cm):
        return draught_cm + 30 <= self.depth_cm
```"""
_FEES: Final = """```python
def fee_of(days, metres):
    return round(days * metres * 1.35, 2)

def discount(fee, calls):
    return fee * (0.9 if calls > 12 else 1)
```"""
_NEWER_FEES: Final = (
    _FEES.replace("1.35", "1.42").replace("days, metres):", "days, metres, rate=1.42):").replace("* 1.42, 2", "* rate, 2")
)
_DEPLOY: Final = "service: harbour\nreplicas: 3\nport: 8085\nenv:\n  DB_PATH: /var/lib/harbour.db\n  RETRIES: 5\n  ZONE: north\n"
_PASTED: Final = {6: f"Here is my class:\n\n{_BERTH}", 8: f"and the fees\n{_FEES}", 10: f"```yaml\n{_DEPLOY}```"}


def _sent(question: str, answers: dict[int, str] | None = None) -> str:
    said: list[Message] = []
    for n in range(60):
        said.append({"role": "user", "content": _PASTED.get(n, prose(n, "en", 3))})
        said.append({"role": "assistant", "content": (answers or {}).get(n, prose(500 + n, "en", 6))})
    return forwarded(said, question)


@each(
    "request_of",
    [
        "Write unit tests for everything.",
        "Write a README for the project",
        "Are there any security problems?",
        "Make it async, all files please",
        "Schreib Tests für alle Klassen",
        "Ajoute des docstrings à toutes les fonctions",
    ],
)
def test_a_request_about_code_gets_what_was_pasted(request_of: str) -> None:
    sent = _sent(request_of)
    for line in ("def fits(self, draught_cm)", "return round(days * metres * 1.35, 2)", "DB_PATH: /var/lib/harbour.db"):
        assert line in sent


def test_code_that_was_written_anew_takes_the_place_of_the_old() -> None:
    sent = _sent("Write unit tests for everything.", {20: f"Here it is with a rate:\n\n{_NEWER_FEES}"})
    assert "return round(days * metres * rate, 2)" in sent
    assert "days * metres * 1.35" not in sent
    assert "def fits(self, draught_cm)" in sent


_CART: Final = """```js
export class Cart {
  constructor(store) {
    this.store = store;
    this.items = [];
  }

  add(item, quantity) {
    this.items.push({ item, quantity });
  }

  total() {
    return this.items.reduce((sum, one) => sum + one.item.price * one.quantity, 0);
  }

  async checkout(card) {
    return this.store.charge(card, this.total());
  }
}
```"""
_CART_PARTS: Final = {
    4: "```js\n  add(item, quantity = 1) {\n    this.items.unshift({ item, quantity });\n  }\n```",
    20: "```js\n  async checkout(card, coupon) {\n    return this.store.charge(card, this.total() - coupon.worth);\n  }\n```",
}
_STACK_PARTS: Final = {
    4: "```yaml\nenv:\n  ZONE: south\n```",
    20: "Here you are:\n\n```yaml\nenv:\n  RETRIES: 9\n```\n\nRestart it.",
}


@pytest.mark.parametrize(
    ("pasted", "parts"), [(_CART, _CART_PARTS), (f"```yaml\n{_DEPLOY}```", _STACK_PARTS)], ids=["class", "configuration"]
)
@pytest.mark.parametrize(
    "question", ["Print the whole file as it stands now.", "Give me the complete updated code.", "Zeig mir die ganze Datei."]
)
def test_all_of_it_comes_with_the_parts_that_were_changed_since(pasted: str, parts: dict[int, str], question: str) -> None:
    said: list[Message] = []
    for n in range(50):
        asked = "My file:\n\n" + pasted if n == 2 else "Please improve this part." if n in parts else prose(n, "en", 3)
        said.append({"role": "user", "content": asked})
        said.append({"role": "assistant", "content": parts.get(n, prose(500 + n, "en", 6))})
    sent = forwarded(said, question)
    assert all(line.strip() in sent for text in (pasted, *parts.values()) for line in text.splitlines() if len(line) > 8)


def test_a_request_about_anything_else_gets_no_code() -> None:
    assert "def discount" not in _sent("Write a limerick about the sea.")


@each("text", ["```\n" * 20_000, "def a\n" * 15_000, "class " * 16_000, "public static " * 8_000, "a" * 60_000 + " b {\n"])
def test_hostile_code_is_read(text: str) -> None:
    for block in code_blocks(f"```\n{text}\n```", is_bare=True):
        assert block.place[0] < block.place[1]
