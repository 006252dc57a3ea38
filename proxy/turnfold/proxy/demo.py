"""``turnfold demo``: the proxy at work on this machine, without a key or a network.

Lives here: the demonstration. Must not: parts of the proxy that anything else uses.
"""

from __future__ import annotations


class DemoMissing(RuntimeError):
    """The demonstration is not part of this build."""


def run_demo() -> None:
    """Play a long conversation turn by turn through a proxy and a small local upstream, and print what was saved.

    Raises:
        DemoMissing: there is none yet.
    """
    raise DemoMissing("the demo is not part of this build yet")
