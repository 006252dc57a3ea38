"""Many small cases in one test.

It runs them and tells which fail.

A test of its own costs pytest some six milliseconds in all its processes, which is more than most cases take. So a table whose
cases need no fixtures is one test here. A table of two cases, or one whose cases use fixtures, is pytest's `parametrize`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def each(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Make a function of a case a test of all cases, which fails with an exception for each case that does.

    Args:
        names: of the function's arguments that a case gives, as for `parametrize`; with one name a case is its value.
    """
    of_one = isinstance(names, str)
    every = [(case,) if of_one else tuple(case) for case in cases]
    arguments = (names,) if isinstance(names, str) else names

    def decorate(function: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            assert every, "there are no cases"
            failures: list[Exception] = []
            for case in every:
                try:
                    function(**dict(zip(arguments, case, strict=True)))
                except Exception as exc:
                    exc.add_note(f"with {case!r:.500}")
                    failures.append(exc)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(every)} cases fail", failures)

        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(test, name, getattr(function, name))
        return test

    return decorate
