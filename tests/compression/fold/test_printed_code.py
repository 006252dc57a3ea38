"""Code that an agent's tools printed long ago is there whole where the user names it, with what edited it since.

These tests cover results of reading tools, plain and numbered, and edits among the calls. They leave out pasted code
(``test_named_code``, ``test_edited_code``).
"""

from __future__ import annotations

import json
from itertools import product
from typing import Any, Final

from tests.support.bodies import encode
from tests.support.cases import each
from tests.support.effort import every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.text.dialogue.wanted.printed_text import printed_definitions

_CODE: Final = (
    "import tides\n\n\nclass Harbour:\n    def moor_boat(self, boat):\n        for pier in self.piers:\n"
    "            if pier.depth - 30 >= boat.draught:\n                return pier\n        raise LookupError(boat.name)\n\n"
    "    def berth_fee(self, boat, days):\n        return boat.metres * days * 135\n"
)
_NUMBERED: Final = "".join(f"{n:6}\t{line}" for n, line in enumerate(_CODE.splitlines(keepends=True), 1))


def _sent(question: str, *, printed: str = _NUMBERED, edit: bool = False) -> str:
    said: list[dict[str, Any]] = [{"role": "user", "content": "Repair the night fees."}]
    for n in range(40):
        arguments, result = {"path": f"src/survey_{n}.py"}, prose(500 + n, "en", 20)
        name = "read_file"
        if n == 2:
            arguments, result = {"path": "src/harbour.py"}, printed
        if n == 9 and edit:
            name, result = "edit_file", "Edited."
            old, new = (f"        return boat.metres * days * {fee}" for fee in (135, 141))
            arguments = {"path": "src/harbour.py", "old_str": old, "new_str": new}
        call = {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        said.append({"role": "assistant", "content": None, "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": f"c{n}", "content": result})
    said += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": question}]
    folded = fold_request(encode(said), FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0)), WARM)
    assert folded.changes
    return str(json.loads(folded.body)["messages"][-1]["content"]).replace(question, "", 1)


_ASKED: Final = (
    "Explain moor_boat to me.",
    'It fails:\n  File "/app/src/harbour.py", line 7, in moor_boat\n    if pier.depth\nValueError: no depth\nRepair it.',
)


@each(
    ("printed", "question"),
    every(2, [*product([_CODE, _NUMBERED], _ASKED)], 1),
)
def test_a_function_that_the_user_names_is_there_whole(printed: str, question: str) -> None:
    sent = _sent(question, printed=printed)
    for line in ("for pier in self.piers:", "if pier.depth - 30 >= boat.draught:", "raise LookupError(boat.name)"):
        assert line in sent
    assert "days * 135" not in sent


def test_what_edited_it_since_is_there_too() -> None:
    sent = _sent("Show me berth_fee as it is now.", edit=True)
    assert "days * 135" in sent
    assert "days * 141" in sent


def test_places_of_numbered_code_are_those_of_the_text() -> None:
    for text in (_CODE, _NUMBERED, _NUMBERED.replace("\t", "→")):
        found = {one.name: text[slice(*one.place)] for one in printed_definitions(text)}
        assert found["moor_boat"].startswith(text.splitlines()[4])
        assert found["moor_boat"].endswith("raise LookupError(boat.name)\n")
        assert found["berth_fee"].endswith("days * 135\n")
