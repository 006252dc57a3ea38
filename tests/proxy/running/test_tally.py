"""The lines at the end of a run, for runs of every sort (``tests.support.golden`` says when to write the file anew)."""

from __future__ import annotations

from pathlib import Path

from tests.proxy.receipts import receipt, requests
from tests.support import golden
from turnfold.proxy.books.rollups import UNPRICED, RequestCost
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.running.tally import Tally

FILES = Path(__file__).parent / "golden"
PAID = RequestCost(0.75, 1.0)


def test_the_last_lines_say_what_a_run_saved() -> None:
    observed = receipt(status="observed", wire="chat")
    runs: dict[str, list[tuple[Receipt, RequestCost]]] = {
        "nothing": [],
        "own calls alone": [(receipt(status="own"), PAID)],
        "one": [(receipt(wire="chat"), PAID)],
        "one for nothing": [(receipt(wire="chat"), RequestCost(0.0, 0.0))],
        "one of unknown price": [(receipt(wire="chat"), UNPRICED)],
        "uncounted": [(receipt(wire="chat", tokens_before=0), PAID)],
        "observed": [(observed, RequestCost(0.5, 0.5, folded=0.25))] * 2,
        "failed": [
            (receipt(wire="messages", upstream_status=None), UNPRICED),
            (receipt(wire="chat", upstream_status=500), UNPRICED),
        ],
        "answered, failed open": [
            (receipt(wire="chat", status="answered", upstream_status=None), UNPRICED),
            (receipt(wire="chat", status="failed-open"), PAID),
        ],
        "many": [(one, RequestCost(0.25 * n, 0.5 * n)) for n, (one, _) in enumerate(requests(3))],
    }
    lines = []
    for name, run in runs.items():
        tally = Tally()
        for one, cost in run:
            tally.observe(one, cost)
        lines += [f"{name}: {tally.failures} failures", *(f"  {line}" for line in tally.lines())]
    golden.agrees(FILES / "tally.txt", lines)
