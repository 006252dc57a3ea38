"""Bodies of earlier requests: which one a new text goes on from, how far, and what is kept of them."""

from __future__ import annotations

from itertools import product
from sys import getsizeof

from tests.support.weighed_memo import Weighed
from turnfold.compression.wire.known_bodies import KnownBody, Sample, find_known, keep_known, samples

PLACES = (2048, 2457, 2949, 3538, 4246)


def body(text: bytes, size: int = 100, weight: int = 7) -> KnownBody:
    """A body whose elements are of one size each."""
    return KnownBody(text, list(range(size, len(text) + 1, size)), f"what was read of {len(text)}", weight)


def test_as_many_elements_as_the_texts_share() -> None:
    """Compared with looking at each element in turn, for every place at which another text may differ or end."""
    ends = [3, 4, 9, 10, 15]
    known = KnownBody(b"abcdefghijklmno", ends, None, 0)
    for at, other in product(range(16), (b"", b"X", b"XYZ" * 9)):
        text = known.body[:at] + other
        assert known.common(text) == sum(text[:end] == known.body[:end] for end in ends)
    assert KnownBody(b"", [], None, 0).common(b"abc") == 0


def test_places_lie_ever_farther_apart() -> None:
    text = bytes(33 + i % 90 for i in range(4300))
    for length, number in ((2047, 0), (2048, 1), (2456, 1), (2457, 2), (4245, 4), (4246, 5)):
        expected = [Sample("chat", place, text[:256], text[place - 256 : place]) for place in PLACES[:number]]
        assert samples("chat", text[:length]) == expected[::-1]


def test_the_nearest_body_is_found_and_replaced() -> None:
    """Each is kept under the last place that its fourth last element passes."""
    memo, text = Weighed(), b"x" * 3000 + b"y" * 3000
    bodies, instead = list[KnownBody](), None
    for length in (2000, 2400, 2900, 3300):
        taken, now = samples("chat", text[:length]), body(text[:length])
        found = find_known(taken, text[:length], memo)
        assert (found is None) == (length in (2000, 2400))
        if found is not None:
            assert found[1:] == (bodies[-1], len(bodies[-1].ends))
        instead = None if found is None else found[:2]
        keep_known(taken, now, memo, instead)
        bodies.append(now)
        kept = [memo.find(sample) for sample in samples("chat", text)[::-1]]
        emptied = {2000: None, 2400: 0, 2900: 1, 3300: 2}[length]
        assert kept == ([None] * 6 if emptied is None else [*[()] * emptied, (now,), *[None] * (5 - emptied)])
    weights = [1000 + getsizeof(one.body) + 100 * len(one.ends) + 7 for one in bodies[1:]]
    assert memo.weights == [weights[0], 1000, weights[1], 1000, weights[2]]


def test_a_few_that_begin_alike_are_kept_side_by_side() -> None:
    memo, begin = Weighed(), b"x" * 2500
    bodies = [body(begin + bytes([letter]) * 500) for letter in b"abcde"]
    for one in bodies:
        keep_known(samples("chat", one.body), one, memo, None)
    sample = samples("chat", begin)[0]
    assert memo.find(sample) == tuple(bodies[:0:-1])
    for one in bodies:
        found = find_known(samples("chat", one.body), one.body, memo)
        assert found is not None
        assert found[1:] == ((one, 30) if one is not bodies[0] else (bodies[4], 25))
    keep_known([sample], bodies[2], memo, (sample, bodies[2]))
    assert memo.find(sample) == (bodies[2], bodies[4], bodies[3], bodies[1])
    assert find_known([sample], b"z" * 3000, memo) is None


def test_of_a_few_elements_nothing_is_kept() -> None:
    memo, text = Weighed(), b"x" * 9000
    for ends in ([3000, 6000, 9000], [2047, 3000, 6000, 9000], []):
        keep_known(samples("chat", text), KnownBody(text, ends, None, 0), memo, None)
    assert memo.weights == []
    keep_known(samples("chat", text), KnownBody(text, [2048, 3000, 6000, 9000], None, 0), memo, None)
    assert len(memo.weights) == 1
