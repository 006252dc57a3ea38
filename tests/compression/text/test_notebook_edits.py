"""A notebook's cell that is written again (``text.file_edits``): what it held before no longer stands there."""

from __future__ import annotations

import json

from tests.support.cases import each
from turnfold.compression.memo import Memo
from turnfold.compression.text.dialogue.replaced_lines import ReplacedLines
from turnfold.compression.text.quotes import Source

_KEYS = ["cell_id", "cellNumber", "cell_index"]


def _writes(key: str, cell: int, *lines: str) -> Source:
    given = {"notebook_path": "tides/model.ipynb", key: f"c{cell}", "new_source": "\n".join(lines)}
    text = f"notebook_edit_cell {json.dumps(given)}"
    return Source("assistant", text, text.encode())


@each("key", _KEYS)
def test_a_line_that_a_cell_no_longer_has_is_replaced(key: str) -> None:
    first = _writes(key, 3, "import tides", "BERTH_LIMIT = 4712", "tides.load()")
    again = _writes(key, 3, "import tides", "BERTH_LIMIT = 9031", "tides.load()")
    replaced = ReplacedLines([first, again], Memo())
    assert replaced.is_shown_in(0, "BERTH_LIMIT = 4712")
    assert not replaced.is_shown_in(0, "import tides")
    assert not replaced.is_shown_in(1, "BERTH_LIMIT = 9031")


@each("key", _KEYS)
def test_other_cells_keep_their_lines(key: str) -> None:
    first = _writes(key, 3, "BERTH_LIMIT = 4712")
    other = _writes(key, 4, "CRANE_LIMIT = 9031")
    assert not ReplacedLines([first, other], Memo()).is_shown_in(0, "BERTH_LIMIT = 4712")
