"""How many examples a costly test draws, and whether a failing one is made smaller.

Lives here: settings in proportion to the profile's (see ``tests/conftest.py``). Must not: settings of single tests.
"""

from __future__ import annotations

from typing import Final

from hypothesis import Phase, settings

#: Examples of a test that says nothing, in the profiles "quick" and "ci".
USUAL: Final = 100


def costly(examples: int) -> settings:
    """Settings for a test of which an example takes long: so many examples, more in the profile "thorough".

    A failing example is shown as it was drawn: making it smaller takes hundreds of runs, and pytest's timeout would hide it.
    In the profile "thorough", which wants a longer timeout anyway, it is made smaller.
    """
    effort = max(1, settings.default.max_examples // USUAL)
    phases = [phase for phase in settings.default.phases if effort > 1 or phase not in {Phase.shrink, Phase.explain}]
    return settings(max_examples=examples * effort, phases=phases)
