"""The figures of a group of requests, and the comparison of held-out conversations with the others.

Figures are computed from sums. Choosing the requests of a group is up to ``report``, choosing held-out conversations to
``learning.holdout``, and the sums come from ``rollups``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from turnfold.proxy.books import rollups
from turnfold.proxy.books.rollups import NANO, SumRow
from turnfold.proxy.learning.holdout import HELD_OUT

_ALMOST: Final = 0.9999  # rounding never turns a part into the whole


def figures(sums: Mapping[str, int]) -> dict[str, Any]:
    """The figures of one group, ready for JSON.

    ``folds`` counts requests that were sent folded, and the fold events among them (requests at which the folded sections of a
    labelled conversation changed). ``tokens`` are Turnfold's counts of received and sent tokens of served requests. ``usage`` is
    what the upstream reported. ``dollars`` are None if no request of known price reported its usage; paid dollars include
    Turnfold's own calls, which ``own_calls`` counts.
    """
    served = served_requests(sums)
    return {
        "requests": sums.get("requests", 0),
        "served": served,
        **_picked(sums, failed="failed", incomplete="incomplete", streamed="streamed"),
        "folds": {
            **_picked(sums, requests="folded", events="fold_events"),
            "requests_per_event": _mean(sums.get("folded", 0), sums.get("fold_events", 0)),
        },
        "tokens": _tokens(sums),
        "usage": {
            **_picked(
                sums, prompt_tokens="prompt", completion_tokens="completion", cached_tokens="cached", cache_write_tokens="written"
            ),
            "cached_share": _share(sums.get("cached", 0), sums.get("prompt", 0)),
            "unknown_requests": sums.get("no_usage", 0),
        },
        "dollars": _dollars(sums),
        "observed": _observed(sums),
        **_recall(sums),
        "own_calls": _picked(sums, requests="own_calls", prompt_tokens="own_prompt", completion_tokens="own_completion"),
        "ms": {
            "overhead_mean": _mean(sums.get("overhead_us", 0), sums.get("requests", 0), 1000),
            "first_byte_mean": _mean(sums.get("first_byte_us", 0), sums.get("first_bytes", 0), 1000),
            "total_mean": _mean(sums.get("total_us", 0), served, 1000),
        },
    }


def served_requests(sums: Mapping[str, int]) -> int:
    """The number of requests that the upstream served."""
    return sums.get("requests", 0) - sums.get("failed", 0)


def _picked(sums: Mapping[str, int], **measures: str) -> dict[str, int]:
    return {name: sums.get(measure, 0) for name, measure in measures.items()}


def _tokens(sums: Mapping[str, int]) -> dict[str, Any]:
    before, after = sums.get("before", 0), sums.get("after", 0)
    return {
        "before": before,
        "after": after,
        "saved": before - after,
        "saved_share": _share(before - after, before),
        **_picked(sums, uncounted_requests="uncounted", observed_before="observed_before", observed_after="observed_after"),
    }


def _share(part: float, whole: float) -> float | None:
    if not whole:
        return None
    share = round(part / whole, 4)
    return min(share, _ALMOST) if part < whole else share


def _mean(total: int, number: int, scale: float = 1.0) -> float | None:
    return round(total / number / scale, 3) if number else None


def _dollars(sums: Mapping[str, int]) -> dict[str, Any]:
    def of(measure: str) -> int:
        return sums.get(measure, 0)

    priced = of("priced") > 0
    return {
        "paid": round(of("paid") / NANO, 6) if priced else None,
        "without_turnfold": round(of("without") / NANO, 6) if priced else None,
        "saved": round((of("without") - of("paid")) / NANO, 6) if priced else None,
        "saved_share": _share(of("without") - of("paid"), of("without")) if priced else None,
        "paid_for_own_calls": round(of("paid_own") / NANO, 6) if priced else None,
        "unknown_requests": of("unpriced") + of("no_usage"),
        **_as_reported(sums),
    }


def _as_reported(sums: Mapping[str, int]) -> dict[str, Any]:
    """What the upstream says itself that requests cost, beside list prices where these are known; omitted if it says nothing."""
    if not sums.get("reported"):
        return {}
    told, listed = sums.get("compared_reported", 0), sums.get("compared_listed", 0)
    return {
        "reported": {
            "requests": sums["reported"],
            "paid": round(sums.get("paid_reported", 0) / NANO, 6),
            "at_list_prices": round(listed / NANO, 6) if listed else None,
            "above_list_prices": round(told / listed - 1, 4) if listed else None,
        }
    }


def _recall(sums: Mapping[str, int]) -> dict[str, Any]:
    """Requests by how passages were recalled; omitted if sentence vectors were never used."""
    by = {name: sums.get(f"recall_by_{name}", 0) for name in ("vectors", "words")}
    return {"recall": by} if any(by.values()) else {}


def _observed(sums: Mapping[str, int]) -> dict[str, Any]:
    """Requests sent in observe mode, with the figures that folding would have given."""
    priced = sums.get("observed_priced", 0) > 0
    return {
        "requests": sums.get("observed", 0),
        "tokens_before": sums.get("observed_before", 0),
        "tokens_after": sums.get("observed_after", 0),
        "paid": round(sums.get("observed_paid", 0) / NANO, 6) if priced else None,
        "paid_folded": round(sums.get("observed_folded", 0) / NANO, 6) if priced else None,
    }


#: Compared figures: name -> the measure, the measure to divide by, and the unit.
_COMPARED: Final[Mapping[str, tuple[str, Callable[[Mapping[str, int]], int], float]]] = MappingProxyType(
    {
        "prompt_tokens": ("prompt", lambda sums: served_requests(sums) - sums.get("no_usage", 0), 1.0),
        "completion_tokens": ("completion", lambda sums: served_requests(sums) - sums.get("no_usage", 0), 1.0),
        "dollars": ("paid", lambda sums: sums.get("priced", 0), 1 / NANO),
        "first_byte_ms": ("first_byte_us", lambda sums: sums.get("first_bytes", 0), 1 / 1000),
        "total_ms": ("total_us", served_requests, 1 / 1000),
        "failed_share": ("failed", lambda sums: sums.get("requests", 0), 1.0),
    }
)
#: Statuses of requests that would be folded when it pays off, without the hold-out.
_COMPARABLE: Final = frozenset({"folded", "shaped", "passthrough", "failed-open", "recovered"})


def _interval(clusters: Sequence[Mapping[str, int]], name: str) -> dict[str, float] | None:
    """Mean over requests, and half the width of its 95% confidence interval; None for fewer than two conversations.

    All requests of a conversation are in one group, so the sample consists of conversations: the interval is that of a ratio of
    sums over clusters (Cochran, Sampling Techniques, 3rd ed., 1977, section 6.4), by the normal approximation.
    """
    measure, over, scale = _COMPARED[name]
    pairs = [(sums.get(measure, 0) * scale, number) for sums in clusters if (number := over(sums)) > 0]
    number = sum(count for _, count in pairs)
    if len(pairs) < 2:
        return None
    mean = sum(total for total, _ in pairs) / number
    square = sum((total - mean * count) ** 2 for total, count in pairs)
    width = 1.96 * math.sqrt(square * len(pairs) / (len(pairs) - 1)) / number
    return {"mean": round(mean, 9), "plus_minus": round(width, 9)}


def _side(clusters: Sequence[Mapping[str, int]]) -> dict[str, Any]:
    requests = sum(sums.get("requests", 0) for sums in clusters)
    return {"conversations": len(clusters), "requests": requests, **{name: _interval(clusters, name) for name in _COMPARED}}


def _by_conversation(rows: Iterable[tuple[SumRow, dict[str, int]]], wanted: Callable[[SumRow], bool]) -> list[dict[str, int]]:
    found: dict[tuple[str, str], list[dict[str, int]]] = {}
    for row, sums in rows:
        if wanted(row):
            found.setdefault((row.tenant, row.conversation), []).append(sums)
    return [rollups.total(found[name]) for name in sorted(found)]


def sides(rows: Sequence[tuple[SumRow, dict[str, int]]]) -> dict[str, Any]:
    """The figures of the held-out conversations and of the others.

    Args:
        rows: sums of every conversation.
    """
    return {
        "held_out": _side(_by_conversation(rows, lambda row: row.reason == HELD_OUT)),
        "others": _side(_by_conversation(rows, lambda row: row.status in _COMPARABLE)),
    }
