"""Which Claude a model's name means: its family and version, in the spellings of Anthropic, its resellers and gateways.

What follows from them is decided where it matters: bound thinking in ``fold.thinking``, prices in ``config``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from turnfold.compression import lazy

# claude-opus-5-5-20260801, anthropic/claude-sonnet-5.5, eu.anthropic.claude-haiku-5-5-v1:0, claude-3-5-sonnet. A date is no
# version.
_NAME: Final = lazy.pattern(r"claude-(?:(?P<family>[a-z]+)(?:-|$))?(?:(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2}))?(?!\d))?")


class ClaudeName(NamedTuple):
    """A family, "" if it comes behind the version, and a version, of which numbers that the name lacks are 0."""

    family: str
    version: tuple[int, int]


def claude_name(model: str) -> ClaudeName | None:
    """What a model's name says; None if it is no Claude's."""
    found = _NAME.search(model.lower())
    return found and ClaudeName(found["family"] or "", (int(found["major"] or 0), int(found["minor"] or 0)))
