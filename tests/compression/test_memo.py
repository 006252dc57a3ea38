"""The memory of pure results: what is kept saves time and changes nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.weighed_memo import Weighed
from turnfold.compression.memo import FEW, Grown, Memo, begin_alike, common_length, continued, digest, remembering

words = st.lists(st.sampled_from(["a", "bb", "ccc"]), max_size=24).map(tuple)


def test_the_least_recently_used_go_first() -> None:
    memo = Memo(capacity=3)
    for key in "abc":
        memo.get(key, lambda key=key: key, lambda _: 1)  # type: ignore[misc]  # bound now
    assert memo.find("a") == "a"
    memo.get("d", lambda: "d", lambda _: 1)
    assert [memo.find(key) for key in "abcd"] == ["a", None, "c", "d"]


def test_what_is_too_large_is_given_and_not_kept() -> None:
    memo = Memo(capacity=3)
    assert memo.get("a", lambda: "x", lambda _: 4) == "x"
    assert memo.find("a") is None


def test_what_passes_is_made_of_what_is_kept_and_not_kept_itself() -> None:
    memo = Memo()
    memo.get("a", lambda: "kept")
    passing = memo.passing()
    assert [passing.get(key, lambda: "made") for key in "aa"] == ["kept", "kept"]
    assert [passing.get("b", lambda: "made"), memo.find("b")] == ["made", None]
    passing.put("c", "put", lambda _: 1)
    assert [memo.find("c"), passing.find("c")] == ["put", "put"]


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_a_digest_tells_texts_apart_and_where_they_end(one: list[str], other: list[str]) -> None:
    assert (digest(*one) == digest(*other)) == (one == other)


class Lengths:
    """Lengths of words summed up as they come, gone on from an earlier request; counts the words that it looked at."""

    def __init__(self) -> None:
        self.seen = 0

    def sums(self, given: tuple[str, ...], memo: Memo | None) -> list[int]:
        def run(known: list[int] | None, same: int) -> list[int]:
            out = known[:same] if known is not None else []
            for word in given[len(out) :]:
                self.seen += 1
                out.append((out[-1] if out else 0) + len(word))
            return out

        return continued(memo, "sums", given, run, len)


@given(words, st.lists(words, max_size=6))
def test_a_resumed_result_is_that_of_a_fresh_one(given: tuple[str, ...], grown: list[tuple[str, ...]]) -> None:
    memo, work = Memo(), Lengths()
    for more in [(), *grown]:
        given = given + more[:5]
        assert work.sums(given, memo) == Lengths().sums(given, None)
    assert work.sums(given[:3], memo) == Lengths().sums(given[:3], Memo())


def test_only_what_is_new_is_looked_at() -> None:
    memo, work = Memo(), Lengths()
    given: tuple[str, ...] = ()
    for _ in range(40):
        given = (*given, "bb", "a", "ccc")
        work.sums(given, memo)
    assert work.seen <= 7 * 40
    assert work.sums(("ccc", *given[1:]), memo)[-1] == work.sums(given, memo)[-1] + 1


@each("capacity", [0, 5, 1000])
def test_what_was_thrown_away_is_made_again(capacity: int) -> None:
    memo, work = Memo(capacity), Lengths()
    for end in (4, 8, 9, 12):
        assert work.sums(("a",) * end, memo) == list(range(1, end + 1))


def test_what_is_forgotten_makes_room() -> None:
    memo = Memo(capacity=3)
    memo.put("a", "a", lambda _: 3)
    memo.clear()
    assert memo.find("a") is None
    memo.put("b", "b", lambda _: 1)
    memo.put("c", "c", lambda _: 2)
    memo.put("b", "d", lambda _: 1)
    assert [memo.find(key) for key in "abc"] == [None, "d", "c"]
    memo.put("b", "too large", lambda _: 4)
    assert [memo.find(key) for key in "bc"] == [None, "c"]
    memo.put("e", "e", lambda _: 1)
    assert [memo.find(key) for key in "ce"] == ["c", "e"]


def test_what_was_made_twice_at_once_is_kept_once() -> None:
    memo = Memo(capacity=3)

    def make() -> str:
        memo.get("a", lambda: "first", lambda _: 2)
        return "second"

    assert memo.get("a", make, lambda _: 2) == "second"
    assert memo.find("a") == "first"
    memo.get("b", lambda: "b", lambda _: 1)
    assert memo.find("a") == "first"


def test_a_sequence_goes_on_from_what_it_shares_with_the_one_before() -> None:
    memo, asked = Weighed(), list[tuple[object, int]]()

    def run(known: list[str] | None, same: int) -> list[str]:
        asked.append((known, same))
        return ["made"]

    def go_on(items: str, key: str = "k") -> None:
        continued(memo, key, list(items), run, lambda made: 10 * len(made))

    for items in ("abcd", "abcde", "abcdef", "abXdef", "Xbcdef", "Xbcd", "Xbcdef"):
        go_on(items)
    go_on("Xbcdef", "other")
    assert FEW == 4
    nothing, made = (None, 0), ["made"]
    assert asked == [nothing, nothing, (made, 5), (made, 2), nothing, nothing, (made, 6), nothing]
    assert memo.weights == [250, 258, 258, 258, 258, 258]
    assert continued(None, "k", list("Xbcdef"), run, len) == made
    assert asked[-1] == nothing


@each(("one", "other", "same"), [("", "", 0), ("a", "", 0), ("ab", "abc", 2), ("abx", "aby", 2), ("x", "y", 0)])
def test_how_much_two_sequences_share(one: str, other: str, same: int) -> None:
    assert common_length(one, other) == common_length(other, one) == same


def test_equal_items_are_shared_though_they_are_not_the_same_object() -> None:
    one, other = ([(name, 1) for name in names] for names in ("abx", "aby"))
    assert one[0] is not other[0]
    assert common_length(one, other) == common_length(other, one) == 2


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30), words), max_size=12))
def test_of_one_line_are_only_tuples_of_which_one_begins_the_other(steps: list[tuple[int, int, tuple[str, ...]]]) -> None:
    """Conversations that go on, go back and part, each from any that came before."""
    made: list[Grown[str]] = [Grown()]
    for chosen, cut, more in steps:
        known = made[chosen % len(made)]
        kept = max(0, len(known) - cut)
        items = tuple(known[:kept]) + more
        same = common_length(tuple(known), items)
        made.append(Grown(items, known, same - cut % (same + 1)))
    for one in made:
        for other in made:
            assert common_length(one, other) == common_length(tuple(one), tuple(other))
            for length in (0, 1, len(one), len(one) + 1):
                assert begin_alike(one, other, length) == (one[:length] == other[:length])


def test_what_goes_on_is_of_the_same_line() -> None:
    stem = Grown("abc")
    longer, other = (Grown(("a", "b", "c", last), stem, 3) for last in "de")
    assert stem.line is longer.line
    assert longer.line is not other.line  # it goes on otherwise, so the two have to be compared


def test_results_of_the_newest_texts_are_kept_of_long_ones_of_few() -> None:
    asked: list[tuple[str, int]] = []

    @remembering
    def first(text: str, at: int) -> str:
        asked.append((text[:1], at))
        return text[at]

    short, long = ["a" * 9, "b" * 9, "c" * 9], ["d" * 200_000, "e" * 200_000, "f" * 200_000]
    for text in (*short, *long, *short, *long[1:], long[0]):
        assert first(text, 1) == text[0]
    assert asked == [*((text[0], 1) for text in (*short, *long)), ("d", 1)]
    assert first(short[0], 2) == "a"
    assert asked[-1] == ("a", 2)


def test_a_text_beyond_all_bounds_is_not_kept() -> None:
    asked: list[int] = []

    @remembering
    def size(text: str) -> int:
        asked.append(len(text))
        return len(text)

    assert size("a" * 5_000_000) == size("a" * 5_000_000) == 5_000_000
    assert asked == [5_000_000] * 2
