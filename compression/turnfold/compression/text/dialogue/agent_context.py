"""Messages in the user's name that a coding agent sends, not written by a user.

This module recognises such texts: a project's instructions, and lists of tools and skills. A message that contains one stays
unchanged (``wire.message``).

Codex puts `AGENTS.md` into the first user message; Claude Code puts `CLAUDE.md` and its lists of tools and skills into reminders.
Everything that the agent does later depends on them, as it does on system messages, and nothing repeats them. Momentary
reminders, such as that a file has changed, are not meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression import lazy

_BEGINS: Final = lazy.pattern(
    r"\s*+(?:# AGENTS\.md instructions\b|<(?:user_instructions|INSTRUCTIONS)>|<system-reminder>\s*+"
    r"(?:As you answer the user's questions, you can use the following context"
    r"|The following (?:skills are available|deferred tools are now available)))"
)
_SHARE: Final = 1 / 3  # share of a message's characters: a message of mostly pasted text is folded like any other


def is_agent_context(parts: Sequence[str]) -> bool:
    """Whether a large part of a user's message, given as parts, is context that an agent always needs."""
    found = sum(len(part) for part in parts if _BEGINS.match(part))
    return bool(found) and found >= _SHARE * sum(map(len, parts))
