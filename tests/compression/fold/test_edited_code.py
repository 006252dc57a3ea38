"""Code that was pasted and edited since: its newest form is there, what the edits took away, and the last change of all.

These tests cover edits in the forms that assistants write, and what users ask about them. They leave out code that nobody edited
(``test_named_code``).
"""

from __future__ import annotations

from itertools import product
from typing import Final

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.effort import crosswise
from tests.support.quoted_talk import forwarded
from tests.support.words import prose
from turnfold.compression.text.dialogue.wanted.code_edits import code_edits
from turnfold.compression.text.dialogue.wanted.code_parts import named_parts

_CODE: Final = '''TIDE_CM = 30


class Harbour:
    def moor(self, boat):
        """Finds a pier."""
        for pier in self.piers:
            if pier.depth - TIDE_CM >= boat.draught:
                return pier
        raise LookupError(boat.name)

    def fee(self, boat, days):
        return boat.metres * days * 135


def pilot_of(boat):
    return ROSTER[boat.flag]
'''
_FILLING: Final = "\n\n".join(
    f"def survey_{n}(pier):\n    row = load(pier, {n * 7 + 3})\n    return row.depth * {n + 2}" for n in range(70)
)
_OLD: Final = "            if pier.depth - TIDE_CM >= boat.draught:"
_NEW: Final = "            if pier.depth - TIDE_CM - 12 >= boat.draught and pier.open:"
_FORMS: Final = {
    "search and replace": "src/harbour.py\n```python\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n```",
    "diff": "```diff\n--- a/src/harbour.py\n+++ b/src/harbour.py\n@@ -7,2 +7,2 @@\n-{old}\n+{new}\n```",
    "patch": "*** Begin Patch\n*** Update File: src/harbour.py\n@@ def moor(self, boat):\n-{old}\n+{new}\n*** End Patch",
    "bare diff": "In `src/harbour.py`:\n\n```diff\n-{old}\n+{new}\n```",
    "with its rest left out": (
        "```python\n    def moor(self, boat):\n# ... existing code ...\n{new}\n                return pier\n# ... the rest\n```"
    ),
}


def _sent(question: str, edits: dict[int, str]) -> str:
    said: list[Message] = []
    for n in range(60):
        paste = f"My files:\n\nsrc/harbour.py\n```python\n{_CODE}```\n\nsrc/surveys.py\n```python\n{_FILLING}\n```"
        said.append({"role": "user", "content": paste if n == 2 else prose(n, "en", 3)})
        said.append({"role": "assistant", "content": edits.get(n, prose(500 + n, "en", 12))})
    return forwarded(said, question)


@each(
    ("form", "question"),
    crosswise(product(_FORMS, ["Show me the method moor as it is now.", "Show me the whole harbour.py as it is now."]), 2),
)
def test_what_is_named_is_there_with_what_edited_it(form: str, question: str) -> None:
    sent = _sent(question, {20: f"I widen the margin:\n\n{_FORMS[form].format(old=_OLD, new=_NEW)}"})
    assert "raise LookupError(boat.name)" in sent
    assert _NEW.strip() in sent


@each(
    ("form", "question"),
    crosswise(product(_FORMS, ["Undo your last change.", "Write a commit message for the last edit, please"]), 2),
)
def test_the_last_change_is_there_with_what_it_replaced(form: str, question: str) -> None:
    other = _FORMS["diff"].format(old="        return boat.metres * days * 135", new="        return boat.metres * days * 141")
    sent = _sent(question, {12: other, 30: f"Here:\n\n{_FORMS[form].format(old=_OLD, new=_NEW)}"})
    assert _OLD.strip() in sent
    assert _NEW.strip() in sent
    assert "days * 141" not in sent


def test_other_code_that_uses_a_name_again_is_no_change_of_this_one() -> None:
    edit = _FORMS["diff"].format(old=_OLD, new=_NEW)
    other = "For example:\n```python\ndef pilot_of(plane):\n    seat = plane.seats[0]\n    return seat.holder or None\n```"
    sent = _sent("Undo your last change.", {20: edit, 30: other})
    assert _NEW.strip() in sent


def test_an_edit_of_its_first_line_is_there() -> None:
    form, head = _FORMS["search and replace"], "class Harbour:\n    def moor(self, boat):"
    other = form.format(old="        return boat.metres * days * 135", new="        return boat.metres * days * 141")
    sent = _sent("Show me the method moor as it is now.", {20: form.format(old=head, new=f"{head[:-2]}, flag=None):"), 24: other})
    assert "flag=None" in sent


def test_an_edit_of_an_edit_is_there_too() -> None:
    first = _FORMS["search and replace"].format(old=_OLD, new=_NEW)
    second = _FORMS["search and replace"].format(old=_NEW, new=_NEW.replace("12", "19"))
    sent = _sent("Refactor the method moor", {20: first, 30: second})
    assert "TIDE_CM - 12" in sent
    assert "TIDE_CM - 19" in sent


def test_a_file_that_was_sent_again_is_there_in_its_newest_form() -> None:
    newer = _CODE.replace("* 135", "* 141")
    edit = _FORMS["diff"].format(old=_OLD, new=_NEW)
    sent = _sent("Review harbour.py", {12: edit, 30: f"src/harbour.py\n```python\n{newer}```"})
    assert "* 141" in sent
    assert "* 135" not in sent


def test_edits_with_their_files_and_lines() -> None:
    call = 'edit {"path": "a.py", "old_str": "x = 1\\n  y", "new_str": "x = 2"}'
    text = f"{_FORMS['search and replace'].format(old=_OLD, new=_NEW)}\n\n{_FORMS['diff'].format(old=_OLD, new=_NEW)}\n{call}"
    assert [(one.path, one.old[-1], one.new[-1]) for one in code_edits(text)] == [
        ("src/harbour.py", _OLD.strip(), _NEW.strip()),
        ("src/harbour.py", _OLD.strip(), _NEW.strip()),
        ("a.py", "y", "x = 2"),
    ]
    assert code_edits('edit {"edits": 7, "old_str": null}\nedit {"old_str": ' + "[" * 9000) == []
    assert code_edits("<<<<<<< SEARCH\nx\n======= and no more\n" * 3) == []


def test_requests_about_the_last_change() -> None:
    asks = ("undo that", "What was your last change?", "Mach deine letzte Änderung rückgängig", "annule la dernière modification")
    assert all(named_parts(one).changed for one in asks)
    assert not any(named_parts(one).changed for one in ("Change the loop", "How do I undo a commit in git?", "what else changes"))
