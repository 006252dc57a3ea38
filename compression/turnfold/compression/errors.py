"""The exception tree of the engine.

Lives here: every exception that the engine raises on purpose. Does not belong here: messages for HTTP (the shell renders those),
catching. Any exception outside this tree that leaves the engine is a bug of ours.

    TurnfoldError
    ├── InvalidInput        an argument or a field is not what the contract says; carries the field's name
    ├── SectionUnknown      no such section id was ever handed out, as far as this store knows
    └── FoldRejected        our own output failed a check; the caller sends the original instead
"""


class TurnfoldError(Exception):
    """Base of everything that the engine raises on purpose."""


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


class SectionUnknown(TurnfoldError, LookupError):
    """A section id that resolves to nothing (never seen, expired, or another tenant's)."""

    def __init__(self, section_id: str) -> None:
        super().__init__(f"unknown section {section_id!r}")
        self.section_id = section_id


class FoldRejected(TurnfoldError):
    """A fold of ours broke a law (larger, malformed); carries the reason as a short slug for counting."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
