"""The exception tree of the engine.

Every exception that the engine raises on purpose, and the checks of fields that raise one of them. The shell renders them for
HTTP. Any exception outside this tree that leaves the engine is a bug.

    TurnfoldError
    ├── InvalidInput        an argument or a field is not what the contract says; carries the field's name
    ├── SectionUnknown      no such section id was ever handed out, as far as this store knows
    └── FoldRejected        our own output failed a check; the caller sends the original instead
"""


class TurnfoldError(Exception):
    """Base class of all exceptions that the engine raises on purpose."""


class InvalidInput(TurnfoldError, ValueError):
    """A field of the input breaks its contract.

    Args:
        field: the name of the field as the user wrote it, dotted where it is nested (``message.role``).
        problem: what is wrong with it, as half a sentence.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


def require(*fields: tuple[str, object, str]) -> None:
    """Check the fields of an input. Each is given as its name, whether it is valid, and the problem if it is not.

    Raises:
        InvalidInput: for the first invalid field.
    """
    for name, holds, problem in fields:
        if not holds:
            raise InvalidInput(name, problem)


def is_whole(value: object, least: int = 0) -> bool:
    """Whether a value is a whole number from `least`; True and False do not count."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def is_within(value: object, least: float, most: float) -> bool:
    """Whether a value is a number from `least` to `most`; True and False do not count."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


class SectionUnknown(TurnfoldError, LookupError):
    """A section id that resolves to nothing: never seen, expired, or another tenant's.

    Attributes:
        section_id: the id.
        field: the field with the id; callers that read it from a field other than ``section_id`` set it.
    """

    def __init__(self, section_id: str) -> None:
        super().__init__(f"unknown section {section_id!r}")
        self.section_id = section_id
        self.field = "section_id"


class FoldRejected(TurnfoldError):
    """The engine's own output violated an invariant (larger, malformed). The reason is a short slug for counting."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
