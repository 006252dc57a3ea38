"""The grammar of directives: from raw text to one directive, or none.

This module matches text patterns; `machine` decides what a directive does. Nothing is guessed: the match is exact, lower case,
from the first character; "Use docker" and "clear state." are not directives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from turnfold.compression.state import prompts
from turnfold.compression.state.wording import item_key, tame

Kind = Literal[
    "set premise",
    "change premise",
    "clear premise",
    "reset policies",
    "clear state",
    "use",
    "prohibit",
    "remove policy",
    "replace",
]


@dataclass(frozen=True, slots=True)
class Directive:
    """One directive of the user.

    Attributes:
        value: the premise or the item as written, outer blanks removed; of a replacement the new item.
        old: the item that a replacement replaces, as written.
    """

    kind: Kind
    value: str = ""
    old: str = ""


@dataclass(frozen=True, slots=True)
class Malformed:
    """Text that begins like a directive but is not one; `prompt` says what is wrong."""

    prompt: str


_WHOLE: Final[dict[str, Directive]] = {
    "clear premise": Directive("clear premise"),
    "reset policies": Directive("reset policies"),
    "clear state": Directive("clear state"),
}
_INSTEAD_OF: Final = " instead of "

Parsed = Directive | Malformed | None


def parse(text: str) -> Parsed:
    """Parse a whole message. None: not a directive (nor is a text that is too long)."""
    if text in _WHOLE:
        return _WHOLE[text]
    for word, read in _READERS.items():
        if text.startswith(word):
            rest = text[len(word) :]
            return read(rest) if not rest or (rest[0] == " " and tame(text)) else None
    return None


def _set_premise(rest: str) -> Parsed:
    value = rest.strip()
    if not value:
        return Malformed(prompts.premise_blank("set premise"))
    if (meant := _behind_to(rest)) and meant.strip():
        return Malformed(prompts.did_you_mean(f"set premise {meant.strip()}"))
    return Directive("set premise", value)


def _change_premise(rest: str) -> Parsed:
    if not rest.strip():
        return None
    meant = _behind_to(rest)
    if meant is None:
        return Malformed(prompts.did_you_mean(f"change premise to {rest.strip()}"))
    if not meant.strip():
        return Malformed(prompts.premise_blank("change premise to"))
    return Directive("change premise", meant.strip())


def _behind_to(rest: str) -> str | None:
    """The text after a separate word " to"; None if there is none."""
    behind = rest.removeprefix(" to")
    return behind if behind != rest and not behind[:1].strip() else None


def _use(rest: str) -> Parsed:
    at = rest.find(_INSTEAD_OF)
    if at >= 0:
        return _replace(rest[:at].strip(), rest[at + len(_INSTEAD_OF) :].strip())
    if rest.endswith(_INSTEAD_OF.rstrip()):
        return Malformed(prompts.REPLACEMENT_HALF)
    return _item("use", rest)


def _replace(new: str, old: str) -> Parsed:
    if not item_key(new) or not item_key(old):
        return Malformed(prompts.REPLACEMENT_HALF)
    return Directive("replace", new, old)


def _item(kind: Literal["use", "prohibit", "remove policy"], rest: str) -> Parsed:
    value = rest.strip()
    return Directive(kind, value) if item_key(value) else Malformed(prompts.item_blank(kind))


_READERS: Final[dict[str, Callable[[str], Parsed]]] = {
    "set premise": _set_premise,
    "change premise": _change_premise,
    "use": _use,
    "prohibit": lambda rest: _item("prohibit", rest),
    "remove policy": lambda rest: _item("remove policy", rest),
}
