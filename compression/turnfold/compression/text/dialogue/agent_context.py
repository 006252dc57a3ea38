"""Messages in the user's name that a coding agent sends, not written by a user.

This module recognises such texts: a project's instructions, lists of tools, agents and skills, and the summary of everything
before that an agent's own compaction leaves. A message that contains one stays unchanged (``fold.keeping``).

Codex puts `AGENTS.md` into the first user message; Claude Code puts `CLAUDE.md` and its lists of tools and skills into reminders.
After a compaction, that message also has the files read last and the open tasks. Everything that the agent does later depends on
them, as it does on system messages, and nothing repeats them. Momentary reminders, such as that a file has changed, do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression import lazy

_BEGINS: Final = lazy.pattern(
    r"\s*+(?:# AGENTS\.md instructions\b|<(?:user_instructions|INSTRUCTIONS|state_snapshot)>|<system-reminder>\s*+"
    r"(?:As you answer the user's questions, you can use the following context"
    r"|Codebase and user instructions are shown below"
    r"|Available agent types\b|# MCP Server Instructions\b"
    r"|The following (?:skills|deferred tools) are (?:now )?available)"
    r"|This session is being continued from a previous conversation that ran out of context"
    r"|Another language model started to solve this problem and produced a summary"
    r"|Here is a summary of the conversation to date)"
)
_FRAME: Final = lazy.pattern(r"\s*+<([a-z][\w-]*+)>")
_SHARE: Final = 1 / 3  # share of a message's characters: a message of mostly pasted text is folded like any other


def is_agent_context(parts: Sequence[str]) -> bool:
    """Whether a large part of a user's message, given as parts, is context that an agent always needs.

    Other parts in a frame of the agent's own (``<system-reminder>``) do not count: nobody pasted them.
    """
    found = [_BEGINS.match(part) is not None for part in parts]
    if not any(found):
        return False
    sizes = [len(part) for part, is_context in zip(parts, found, strict=True) if is_context or not _is_framed(part)]
    return sum(len(part) for part, is_context in zip(parts, found, strict=True) if is_context) >= _SHARE * sum(sizes)


def _is_framed(part: str) -> bool:
    begun = _FRAME.match(part)
    return begun is not None and part.rstrip().endswith(f"</{begun[1]}>")
