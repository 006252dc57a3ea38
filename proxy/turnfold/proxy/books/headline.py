"""What was saved, in one line.

Lives here: the sentence that opens every report. Does not belong here: the figures in it (``report``).

Dollars where prices are known, else tokens; the two are never mixed into one figure. Where Turnfold cost money, it says so first,
and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_WHAT_TO_DO: Final = "`turnfold report --group-by conversation` shows where; TURNFOLD_MODE=observe stops folding while you look"


def headline(totals: Mapping[str, Any]) -> str:
    """The line, from a report's totals."""
    requests = f"over {_requests(totals['served'])}"
    if not totals["served"]:
        return "No requests yet."
    observed = totals["observed"]
    if observed["requests"]:
        return " ".join([_observed(observed), *([] if observed["requests"] == totals["served"] else [_saved(totals, requests)])])
    return _saved(totals, requests)


def _saved(totals: Mapping[str, Any], requests: str) -> str:
    dollars, tokens = totals["dollars"], totals["tokens"]
    saved_tokens = f"{_short(tokens['saved'])} tokens"
    if dollars["saved"] is None:
        share = _share(tokens["saved_share"])
        return f"You saved {saved_tokens} of {_short(tokens['before'])} ({share}), {requests}; no price is known."
    unknown = dollars["unknown_requests"]
    known = f"; {unknown:,} of them have no known price or usage" if unknown else ""
    if _money(dollars["saved"]).startswith("-"):
        more = _money(-dollars["saved"])
        share = _share(-(dollars["saved_share"] or 0.0))
        return f"Turnfold cost you {more} more than without it ({share}), {requests}{known}: {_WHAT_TO_DO}."
    whole, share = _money(dollars["without_turnfold"]), _share(dollars["saved_share"])
    return f"You saved {_money(dollars['saved'])} of {whole} ({share}), {saved_tokens}, {requests}{known}."


def _observed(observed: Mapping[str, Any]) -> str:
    """What folding would have saved."""
    start = f"Only observed: over {_requests(observed['requests'])} folding would have"
    tokens = f"{_short(observed['tokens_before'] - observed['tokens_after'])} tokens"
    if observed["paid"] is None:
        return f"{start} saved {tokens} of {_short(observed['tokens_before'])}; no price is known."
    saved = observed["paid"] - observed["paid_folded"]
    share = _share(abs(saved) / observed["paid"] if observed["paid"] else 0.0)
    if _money(saved).startswith("-"):
        return f"{start} cost {_money(-saved)} more than {_money(observed['paid'])} ({share})."
    return f"{start} saved {_money(saved)} of {_money(observed['paid'])} ({share}), {tokens}."


def _money(dollars: float) -> str:
    """With cents; small sums with more places, and what rounds to nothing without a sign."""
    text = f"{abs(dollars):,.2f}" if abs(dollars) >= 1 else f"{abs(dollars):.4f}"
    return f"-${text}" if dollars < 0 and float(text.replace(",", "")) else f"${text}"


def _requests(number: int) -> str:
    return "1 request" if number == 1 else f"{number:,} requests"


def _share(share: float | None) -> str:
    return f"{share or 0.0:.0%}"


def _short(number: int) -> str:
    """1,234 as it is, 56 k, 1.9 M."""
    if abs(number) < 10_000:
        return f"{number:,}"
    return f"{number / 1e3:,.0f} k" if abs(number) < 1_000_000 else f"{number / 1e6:,.1f} M"
