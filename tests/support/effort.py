"""How many examples a costly test draws, and whether a failing one is made smaller.

It gives settings and shares of cases in proportion to the profile's (see ``tests/conftest.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from hypothesis import Phase, Verbosity, settings

T = TypeVar("T")

#: Examples of a test that says nothing, in the profiles "quick" and "ci".
USUAL: Final = 20


def costly(examples: int) -> settings:
    """Settings for a test of which an example takes long: so many examples, more in the profile "thorough".

    A failing example is neither made smaller (that takes hundreds of runs, and pytest's timeout would hide the failure) nor shown
    (it is hundreds of kilobytes long): the report has the decorator that reproduces it. In the profile "thorough", which wants a
    longer timeout anyway, it is made smaller and shown.
    """
    profile, effort = _profile(), _effort()
    if effort > 1:
        return settings(max_examples=examples * effort)
    phases = [phase for phase in profile.phases if phase not in {Phase.shrink, Phase.explain}]
    return settings(max_examples=min(examples, profile.max_examples), phases=phases, verbosity=Verbosity.quiet)


def draws(examples: int) -> settings:
    """Settings for a test that wants another number of examples than the profile's; in proportion to it in "thorough"."""
    return settings(max_examples=examples * max(1, _effort()))


def every(step: int, cases: Sequence[T], start: int = 0) -> Sequence[T]:
    """Each `step`-th case from `start` on, all of them in the profile "thorough".

    For cases of which each stands for many others; a test may take with another `start` what one has left out.
    """
    return cases if is_thorough() else cases[start % step :: step]


def crosswise(pairs: Iterable[T], inner: int) -> Sequence[T]:
    """Of pairs of two tables, the inner one with `inner` rows: each row of the longer table, with one of the other in turn.

    For tables whose rows do not depend on each other; all pairs in the profile "thorough".
    """
    every_pair = list(pairs)
    shorter = min(inner, len(every_pair) // inner)
    assert shorter * max(inner, len(every_pair) // inner) == len(every_pair), "no pairs of two tables"
    return every_pair if is_thorough() else [one for i, one in enumerate(every_pair) if (i // inner + i % inner) % shorter == 0]


def is_thorough() -> bool:
    """Whether the profile is "thorough", which leaves nothing out."""
    return _effort() > 1


def _profile() -> settings:
    return settings.get_profile(settings.get_current_profile_name())


def _effort() -> int:
    return _profile().max_examples // USUAL
