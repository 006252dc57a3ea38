"""Folds under smaller and smaller budgets (``tests.support.golden`` says when to write the file anew).

These tests cover each step of what gives way under a budget: recall's room, the share for what stands, attachments. They leave
out one budget of many conversations (``test_golden.py``).
"""

from __future__ import annotations

from tests.compression.fold.test_golden import CLAUDE, FILES, HALF, MEMO, chat_body, tool_run
from tests.support import golden
from tests.support.three_wires import WIRES
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fold import fold
from turnfold.compression.options import FoldOptions


def _told(body: bytes, options: FoldOptions) -> str:
    try:
        folded = fold(WIRES["chat"].wire.read(body, MEMO), options, MEMO)
    except FoldRejected as rejected:
        return rejected.reason
    return f"{folded.tokens_before} -> {folded.tokens_after} {folded.reason} {golden.name_of((folded.body, folded.outlook))}"


def test_smaller_and_smaller_budgets() -> None:
    """From all that there is to a tenth of it."""
    bodies = {"oncall": chat_body(golden.conversations()["oncall_en"]), "tools": chat_body(tool_run(3))}
    pictures = [dict(one) for one in golden.conversations()["tenants_de"]]
    for i in [i for i, one in enumerate(pictures) if one["role"] == "user"][2:12:3]:
        url = f"data:image/png;base64,{'iVBORw0KGgo' * 9}{i}"
        pictures[i]["content"] = [
            {"type": "text", "text": pictures[i]["content"]},
            {"type": "image_url", "image_url": {"url": url}},
        ]
    bodies["pictures"] = chat_body(pictures)
    lines = []
    for name, body in bodies.items():
        whole = sum(one.tokens for one in WIRES["chat"].wire.read(body, MEMO).messages)
        for percent in golden.some(range(92, 6, -9), 2):
            options = FoldOptions(
                prices=(HALF, CLAUDE)[percent % 2], budget=whole * percent // 100, recall_stays=percent % 3 == 0
            )
            lines.append(f"{name} {options.budget}: {_told(body, options)}")
    golden.agrees_in(FILES / "budgets.txt", lines)
