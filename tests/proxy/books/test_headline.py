"""One line says what was saved: dollars where prices are known, a loss first and with what to do."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.proxy.books.figures import figures
from turnfold.proxy.books.report import with_tenant_names
from turnfold.proxy.books.wording import headline


def totals(**sums: int) -> dict[str, Any]:
    return figures({"requests": 10, "before": 100_000, "after": 40_000, **sums})


def nano(dollars: float) -> int:
    return round(dollars * 1_000_000_000)


@each(
    ("sums", "line"),
    [
        (
            {
                "requests": 1204,
                "priced": 1204,
                "paid": nano(18.62),
                "without": nano(31.02),
                "before": 4_000_000,
                "after": 2_100_000,
            },
            "You saved $12.40 of $31.02 (40%), 1.9 M tokens, over 1,204 requests.",
        ),
        (
            {"priced": 10, "paid": nano(0.0123), "without": nano(0.02)},
            "You saved $0.0077 of $0.0200 (38%), 60 k tokens, over 10 requests.",
        ),
        ({"priced": 10, "paid": nano(1), "without": nano(1)}, "You saved $0.0000 of $1.00 (0%), 60 k tokens, over 10 requests."),
        (
            {"priced": 10, "paid": nano(0.08), "without": nano(0.07996)},
            "You saved $0.0000 of $0.0800 (0%), 60 k tokens, over 10 requests.",
        ),
        (
            {"priced": 10, "paid": nano(1), "without": nano(1), "after": 100_000},
            "Nothing saved yet: $1.00 paid, over 10 requests.",
        ),
        (
            {"priced": 9, "unpriced": 1, "paid": nano(0.0091), "without": nano(0.00912), "after": 100_000},
            "Nothing saved yet: $0.0091 paid, over 10 requests; 1 of them has no known price or usage.",
        ),
        ({"unpriced": 10, "after": 100_000}, "No tokens saved yet of 100 k, over 10 requests; no price is known."),
        ({"unpriced": 10}, "You saved 60 k tokens of 100 k (60%), over 10 requests; no price is known."),
        ({"no_usage": 10}, "You saved 60 k tokens of 100 k (60%), over 10 requests; the upstream reported no usage."),
        (
            {"unpriced": 4, "no_usage": 6},
            "You saved 60 k tokens of 100 k (60%), over 10 requests; no price or no usage is known.",
        ),
        (
            {"unpriced": 10, "after": 100_057},
            "Turnfold added 57 tokens to 100 k (<1%), over 10 requests; no price is known.",
        ),
        (
            {"priced": 9, "unpriced": 1, "paid": nano(1), "without": nano(300)},
            "You saved $299.00 of $300.00 (>99%), 60 k tokens, over 10 requests; 1 of them has no known price or usage.",
        ),
        (
            {"priced": 10, "paid": nano(299), "without": nano(300), "after": 100_057},
            "You saved $1.00 of $300.00 (<1%), over 10 requests.",
        ),
        (
            {"priced": 8, "unpriced": 2, "paid": nano(1), "without": nano(2)},
            "You saved $1.00 of $2.00 (50%), 60 k tokens, over 10 requests; 2 of them have no known price or usage.",
        ),
    ],
)
def test_the_headline_says_what_was_saved(sums: dict[str, int], line: str) -> None:
    assert headline(totals(**sums)) == line


@each(
    ("paid", "without", "told"),
    [
        (0.00004, 1, "$0.99996 of $1.00000 (>99%)"),
        (0.00004, 300, "$299.99996 of $300.00000 (>99%)"),
        (0.001, 300, "$299.9990 of $300.0000 (>99%)"),
        (0.0000004, 1, "$0.999999 of $1.000000 (>99%)"),
        (0.00008, 0.00014, "$0.00006 of $0.00014 (43%)"),
        (0, 1, "$1.00 of $1.00 (100%)"),
        (0, 0.5, "$0.5000 of $0.5000 (100%)"),
        (995.1, 1000, "$4.90 of $1,000.00 (<1%)"),
        (994.9, 1000, "$5.10 of $1,000.00 (1%)"),
        (5.1, 1000, "$994.90 of $1,000.00 (99%)"),
        (4.9, 1000, "$995.10 of $1,000.00 (>99%)"),
    ],
)
def test_a_part_never_reads_as_the_whole(paid: float, without: float, told: str) -> None:
    assert headline(totals(priced=10, paid=nano(paid), without=nano(without))).startswith(f"You saved {told}, ")


def test_part_of_the_tokens_never_reads_as_all_of_them() -> None:
    line = headline(totals(unpriced=10, before=100_000, after=1))
    assert line.startswith("You saved 99,999 tokens of 100,000 (>99%), ")
    seen = {"observed": 10, "observed_before": 100_000, "observed_after": 1}
    assert "saved 99,999 tokens of 100,000;" in headline(totals(**seen, no_usage=10))
    priced = {"priced": 10, "paid": nano(1), "without": nano(1), "observed_priced": 10, "observed_paid": nano(1)}
    assert "saved $0.99996 of $1.00000 (>99%)" in headline(totals(**seen, **priced, observed_folded=nano(0.00004)))


def test_a_loss_comes_first_and_says_what_to_do() -> None:
    line = headline(totals(priced=10, paid=nano(3.5), without=nano(3)))
    assert line.startswith("Turnfold cost you $0.5000 more than without it (17%), over 10 requests")
    assert "report --group-by conversation" in line
    assert "saved" not in line


def test_nothing_was_asked() -> None:
    assert headline(figures({})) == "No requests yet."


def test_nothing_was_served() -> None:
    assert headline(figures({"requests": 3, "failed": 3})) == "No request was served yet; 3 failed."


def test_what_was_only_observed() -> None:
    sums = {"observed": 10, "observed_before": 100_000, "observed_after": 40_000}
    priced = {"priced": 10, "paid": nano(2), "without": nano(2), "observed_priced": 10, "observed_paid": nano(2)}
    line = headline(totals(**sums, **priced, observed_folded=nano(1.5), after=60_000))
    assert line == "Only observed: over 10 requests folding would have saved $0.5000 of $2.00 (25%), 60 k tokens."
    assert "cost $0.5000 more" in headline(totals(**sums, **priced, observed_folded=nano(2.5), after=60_000))
    assert "saved 60 k tokens of 100 k" in headline(totals(**sums, no_usage=10))
    more = {**sums, "observed_after": 100_057}
    assert "added 57 tokens to 100 k" in headline(totals(**more, no_usage=10))
    assert headline(totals(**more, **priced, observed_folded=nano(1.5))).endswith("(25%).")


@pytest.mark.parametrize(("observed", "first"), [(2, "You saved"), (8, "Only observed")])
def test_what_holds_for_most_requests_comes_first(observed: int, first: str) -> None:
    sums = {"observed": observed, "observed_before": 9_000, "observed_after": 4_000}
    priced = {"priced": 10, "paid": nano(1), "without": nano(2), "observed_priced": observed, "observed_paid": nano(0.5)}
    line = headline(totals(**sums, **priced, observed_folded=nano(0.2), after=60_000))
    assert line.startswith(first)
    assert "You saved" in line
    assert "Only observed" in line


@given(st.integers(0, 10**6), st.integers(0, 10**15), st.integers(0, 10**15), st.integers(0, 10**12), st.integers(0, 10**12))
def test_the_sign_is_that_of_the_dollars(served: int, paid: int, without: int, before: int, after: int) -> None:
    line = headline(totals(requests=served, priced=served, paid=paid, without=without, before=before, after=after))
    if served and paid - without > 10**6:
        assert line.startswith("Turnfold cost you $")
    elif served and without >= paid:
        saved, nothing = line.startswith("You saved $"), line.startswith("Nothing saved yet: $")
        assert saved != nothing
        assert saved or before == after
        assert nothing or before != after or without - paid >= 10**4  # dollars have four places
    assert not re.search(r"\$-|-\$-", line)


def test_a_report_by_tenant_has_the_names_that_the_operator_gave() -> None:
    result = {"group_by": "tenant", "groups": [{"tenant": "9f"}, {"tenant": "3c"}]}
    assert [group["name"] for group in with_tenant_names(result, {"9f": "Search team"})["groups"]] == ["Search team", ""]
    other = {"group_by": "model", "groups": [{"model": "9f"}]}
    assert with_tenant_names(other, {"9f": "Search team"}) == other
