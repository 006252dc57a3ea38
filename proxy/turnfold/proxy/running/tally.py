"""What one run saved.

Sums over the receipts of one process, and the lines at the end. What counts as saved is decided in ``books``.
"""

from __future__ import annotations

from typing import Any

from turnfold.proxy.books import rollups
from turnfold.proxy.books.figures import figures
from turnfold.proxy.books.rollups import RequestCost
from turnfold.proxy.chat.receipts import Receipt


class Tally:
    """Adds up every receipt, by the same rules as the report.

    Attributes:
        failures: requests that the upstream did not serve, or that went out as they came because Turnfold failed.
    """

    def __init__(self) -> None:
        self.failures = 0
        self._sums: dict[str, int] = {}
        self._wires: dict[str, int] = {}

    def observe(self, receipt: Receipt, priced: RequestCost) -> None:
        """Add a receipt."""
        self._sums = rollups.total([self._sums, dict(_summed(receipt, priced))])
        if receipt.status == "own":
            return
        self.failures += receipt.status == "failed-open" or not (rollups.is_served(receipt) or receipt.status == "answered")
        self._wires[receipt.wire] = self._wires.get(receipt.wire, 0) + 1

    def tick(self) -> None:
        """Nothing to do between receipts."""

    def lines(self) -> tuple[str, str]:
        """Two lines for the user: tokens, then dollars."""
        if not self._wires:
            return (
                "no requests to a model came through: the command sent none, or it uses another address",
                "docs/clients.md says where clients read their address from",
            )
        found = figures(self._sums)
        return self._token_line(found), _dollar_line(found)

    def _token_line(self, found: dict[str, Any]) -> str:
        tokens = found["tokens"]
        by_wire = ", ".join(f"{number:,} on {wire}" for wire, number in sorted(self._wires.items()))
        failed = f", {found['failed']} failed" if found["failed"] else ""
        line = f"{_count(found['requests'], 'request')} ({by_wire}{failed}): {tokens['before']:,} tokens in"
        if tokens["observed_before"]:
            return f"{line} and out, {tokens['observed_after']:,} if folded (observed only)"
        share = f" ({tokens['saved_share']:.1%} saved)" if tokens["saved_share"] is not None else ""
        return f"{line}, {tokens['after']:,} out{share}"


def _summed(receipt: Receipt, priced: RequestCost) -> dict[str, int]:
    sums: dict[str, int] = {}
    for measure, number in rollups.measures(receipt, priced):
        sums[measure] = sums.get(measure, 0) + number
    return sums


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _dollar_line(found: dict[str, Any]) -> str:
    dollars = found["dollars"]
    unknown = dollars["unknown_requests"]
    if dollars["paid"] is None:
        return "dollars unknown: no request of a known price reported its usage" if unknown else "nothing was paid"
    saved, share = dollars["saved"], dollars["saved_share"]
    line = f"${dollars['paid']:.4f} paid, ${dollars['without_turnfold']:.4f} without Turnfold: ${saved:.4f} saved"
    line += f" ({share:.1%})" if share is not None else ""
    return f"{line}; {_count(unknown, 'request')} of unknown price" if unknown else line
