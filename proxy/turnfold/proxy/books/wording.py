"""What happened, in words: the report's headline, and a sentence for every status and reason of a request.

Only the wording is here. The figures come from ``figures``; statuses and reasons are decided where requests are served.

The headline is in dollars where prices are known, else in tokens; the two are never mixed into one figure. If Turnfold cost
money, it says so first, and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

#: What the dollars of a report are, for whoever holds them against a bill. Folding changes no fee.
DOLLARS_ARE: Final = (
    "Dollars are what the upstream says that a request cost, else for tokens at list prices. Fees for searches, tools, containers"
    " and storage, discounts and taxes are only included if the upstream says so. If a request is too short to show whether the"
    " provider's cache was warm, it counts as the conversation's others after a similar pause, or as warm if there are none. So"
    " what a single conversation saved may be off by a few percent."
)
_WHAT_TO_DO: Final = "`turnfold report --group-by conversation` shows where; TURNFOLD_MODE=observe stops folding while you look"

_CONTRADICTS: Final = 0.02  # difference between reported dollars and list prices that is worth a line
_PLACES: Final = 3  # a sum has two or four
_MOST_PLACES: Final = 6  # of sums in a report


def headline(totals: Mapping[str, Any]) -> str:
    """The line, from a report's totals."""
    if not totals["served"]:
        return f"No request was served yet; {totals['failed']:,} failed." if totals["requests"] else "No requests yet."
    requests = f"over {_requests(totals['served'])}"
    observed = totals["observed"]
    if not observed["requests"]:
        return _saved(totals, requests)
    if observed["requests"] == totals["served"]:
        return _observed(observed)
    # What holds for most of them comes first.
    told = [_observed(observed), _saved(totals, requests)]
    return " ".join(told if 2 * observed["requests"] > totals["served"] else reversed(told))


def reported_dollars(dollars: Mapping[str, Any]) -> list[str]:
    """Which dollars the upstream has said itself, and where these and list prices contradict each other."""
    told = dollars.get("reported")
    if not told:
        return []
    lines = [f"{_money(told['paid'])} of what was paid is as the upstream reported it, over {_requests(told['requests'])}."]
    apart = told["above_list_prices"]
    if apart is not None and abs(apart) >= _CONTRADICTS:
        way = "more" if apart > 0 else "less"
        lines.append(
            f"The upstream reported {_share(abs(apart))} {way} than list prices come to ({_money(told['at_list_prices'])}): a"
            " margin, a discount or fees, or the prices that Turnfold has are not those of this upstream."
        )
    return lines


def uncounted(queued: int, problem: str = "") -> str:
    """What is said behind it of requests that no report counts yet, and why the store does not take them."""
    why = f" Why: {problem.rstrip('.')}." if problem else ""
    return f"Not counted, because the store does not accept receipts now: {_requests(queued)}.{why}"


def _saved(totals: Mapping[str, Any], requests: str) -> str:
    dollars, tokens = totals["dollars"], totals["tokens"]
    if dollars["saved"] is None:
        return f"{_saved_tokens(tokens)}, {requests}; {_why_unpriced(totals)}."
    unknown = dollars["unknown_requests"]
    known = f"; {unknown:,} of them {'has' if unknown == 1 else 'have'} no known price or usage" if unknown else ""
    if _money(dollars["saved"]).startswith("-"):
        more = _money(-dollars["saved"])
        share = "" if dollars["saved_share"] is None else f" ({_share(-dollars['saved_share'])})"
        return f"Turnfold cost you {more} more than without it{share}, {requests}{known}: {_WHAT_TO_DO}."
    if not tokens["saved"] and _money(dollars["saved"]) == _money(0):
        return f"Nothing saved yet: {_money(dollars['paid'])} paid, {requests}{known}."
    share = dollars["saved_share"]
    part = _part(dollars["saved"], dollars["without_turnfold"], all_of_it=share is None or share >= 1)
    saved = f"{_short(tokens['saved'])} tokens, " if tokens["saved"] >= 0 else ""
    return f"You saved {part} ({_share(share)}), {saved}{requests}{known}."


def _saved_tokens(tokens: Mapping[str, Any]) -> str:
    saved, share = tokens["saved"], tokens["saved_share"] or 0.0
    if saved < 0:  # the block of a conversation's state is more than nothing
        return f"Turnfold added {_short(-saved)} tokens to {_short(tokens['before'])} ({_share(-share)})"
    if not saved:
        return f"No tokens saved yet of {_short(tokens['before'])}"
    return f"You saved {_tokens(saved, tokens['before'])} ({_share(share)})"


def _why_unpriced(totals: Mapping[str, Any]) -> str:
    """Why there are no dollars: prices are one reason, an upstream that reports no usage another."""
    silent = totals["usage"]["unknown_requests"]
    if not silent:
        return "no price is known"
    return (
        "the upstream reported no usage" if silent == totals["dollars"]["unknown_requests"] else "no price or no usage is known"
    )


def _observed(observed: Mapping[str, Any]) -> str:
    """What folding would have saved."""
    start = f"Only observed: over {_requests(observed['requests'])} folding would have"
    before, fewer = observed["tokens_before"], observed["tokens_before"] - observed["tokens_after"]
    if observed["paid"] is None:
        told = f"saved {_tokens(fewer, before)}" if fewer >= 0 else f"added {_short(-fewer)} tokens to {_short(before)}"
        return f"{start} {told}; no price or no usage is known."
    saved = observed["paid"] - observed["paid_folded"]
    share = _share(abs(saved) / observed["paid"] if observed["paid"] else 0.0)
    if _money(saved).startswith("-"):
        return f"{start} cost {_money(-saved)} more than {_money(observed['paid'])} ({share})."
    tokens = f", {_short(fewer)} tokens" if fewer >= 0 else ""
    part = _part(saved, observed["paid"], all_of_it=not observed["paid_folded"])
    return f"{start} saved {part} ({share}){tokens}."


def _part(dollars: float, whole: float, *, all_of_it: bool) -> str:
    """A sum and what it is part of, with as many more places as it takes to tell them apart where they are not the same."""
    part, total = _money(dollars), _money(whole)
    places, all_of_it = _PLACES, all_of_it or dollars <= 0
    while not all_of_it and _sum(part) == _sum(total) and places < _MOST_PLACES:
        places += 1
        part, total = (f"${value:,.{places}f}" for value in (dollars, whole))
    if not all_of_it and _sum(part) == _sum(total):  # a report has no more places than these
        part = f"${max(0.0, whole - 10**-_MOST_PLACES):,.{_MOST_PLACES}f}"
    return f"{part} of {total}"


def _sum(text: str) -> float:
    return float(text.replace(",", "").replace("$", ""))


def _tokens(part: int, whole: int) -> str:
    """Tokens and what they are part of: in full where they would read the same, and are not."""
    if part != whole and _short(part) == _short(whole):
        return f"{part:,} tokens of {whole:,}"
    return f"{_short(part)} tokens of {_short(whole)}"


def _money(dollars: float) -> str:
    """With cents; small sums with more places, and what rounds to nothing without a sign."""
    text = f"{abs(dollars):,.2f}" if abs(dollars) >= 1 else f"{abs(dollars):.4f}"
    return f"-${text}" if dollars < 0 and float(text.replace(",", "")) else f"${text}"


def _requests(number: int) -> str:
    return "1 request" if number == 1 else f"{number:,} requests"


def _share(share: float | None) -> str:
    """In whole percent; something is never nothing, and a part is never the whole."""
    share = share or 0.0
    if 0 < share < 0.005:
        return "<1%"
    if -0.005 <= share < 0:  # "-0%"
        return "0%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def _short(number: int) -> str:
    """1,234 as it is, 56 k, 1.9 M."""
    if abs(number) < 10_000:
        return f"{number:,}"
    return f"{number / 1e3:,.0f} k" if abs(number) < 1_000_000 else f"{number / 1e6:,.1f} M"


_STATUSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "folded": "Folded: a smaller request was sent.",
        "shaped": "Nothing is folded yet; tool results were sent in a smaller form with the same values.",
        "passthrough": "Not folded: the request was sent unchanged.",
        "observed": "Observed: the original was sent, and the fold was only computed.",
        "bypassed": "Not folded, because the mode is off.",
        "failed-open": "Not folded because Turnfold failed: the original was sent.",
        "recovered": "The context was full: a smaller request was sent, once.",
        "own": "Turnfold's own calls to a model, for summaries or sentence vectors; not a client's request.",
        "answered": "Answered by Turnfold itself, because of the conversation's state; nothing was sent upstream.",
    }
)
_REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "short": "The conversation is short.",
        "waiting": "At these prices a fold would not yet save more than it costs.",
        "unfoldable": "Most of it is instructions, worked examples or attachments, which are never folded.",
        "braked": "Earlier folds of this conversation have not paid off yet, so there are no more until they have.",
        "asks-for-all": "It asks for a summary that replaces the conversation, so all of it was sent.",
        "not-smaller": "The fold was not smaller.",
        "over-budget": "The parts that are never folded exceed the budget.",
        "results-cut": "The budget left no room for all of the newest tool results: they were cut to what the request asks for.",
        "attachments-left-out": "The budget or window left no room for the oldest attachments: markers name what was left out.",
        "unparsable": "The body is not a JSON object with a list of messages.",
        "content-encoding": "Turnfold cannot decode its content-encoding.",
        "signed-body": "Its headers sign the body or give its digest, so another body would be refused.",
        "window": "It was made to fit the context window that Turnfold learned for this model.",
        "slow": "The fold took longer than TURNFOLD_FOLD_TIMEOUT.",
        "slow-before": "An earlier fold of it took longer than TURNFOLD_FOLD_TIMEOUT, so it stays unchanged until its next fold.",
        "as-before": "A new fold took longer than TURNFOLD_FOLD_TIMEOUT, so the previous fold was sent with the new messages.",
        "busy": "Other folds of the same client took longer than TURNFOLD_FOLD_TIMEOUT and were still running.",
        "too-large": "It is larger than 8 MB, the largest request that is folded.",
        "client-left": "The client left before it was sent.",
        "observer-busy": "Too many observed requests were waiting to be folded.",
        "stopped": "The process ended before the observed request was folded.",
        "server-history": "Its history, or a part of it, is stored by the provider, so nothing before that may be left out.",
        "background": "It is a background request; these are passed on unchanged.",
        "overflow-late": "The upstream found its context full in the middle of the answer; later requests are made to fit.",
        "upstream-truncated": "The upstream read fewer tokens than were sent: it cuts prompts off silently.",
    }
)


#: Reasons that say by themselves what happened.
_WHOLE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "held-out": "Not folded: the conversation is in the hold-out group, for comparison.",
        "thinking-refused": "The provider refused its thinking blocks: it was sent without them.",
    }
)


#: Reasons behind which it is said at how many tokens that changes.
_UNTIL: Final = frozenset({"short", "waiting", "unfoldable"})


def in_words(status: str, reason: str, folds_at: int | None = None) -> str:
    """Status and reason of a receipt as sentences; an unknown reason is shown in brackets.

    Args:
        folds_at: tokens at which the conversation's next fold comes, where that is known.
    """
    said = _sentence(status, reason)
    if folds_at is None or not (reason in _UNTIL or status == "shaped"):
        return said
    return f"{said} It will be folded at about {folds_at:,} tokens."


def _sentence(status: str, reason: str) -> str:
    if reason in _WHOLE:
        return _WHOLE[reason]
    said = _STATUSES.get(status, status)
    if not reason:
        return said
    return f"{said} {_REASONS[reason]}" if reason in _REASONS else f"{said} ({reason})"
