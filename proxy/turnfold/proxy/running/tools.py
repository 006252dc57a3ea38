"""What known commands need besides the environment.

There is a function for each such command, by the name of its program. Variables that many tools read are in ``environment``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Final


def _codex(origin: str) -> list[str]:
    """Codex takes its address from its configuration alone; ``-c`` overrides a value of it for one call. This value is of the
    built-in provider: a provider of the user's own is left as it is."""
    return ["-c", f"openai_base_url={json.dumps(origin + '/v1')}"]


_ARGUMENTS: Final[Mapping[str, Callable[[str], list[str]]]] = {"codex": _codex}


def with_tool_arguments(command: Sequence[str], origin: str) -> list[str]:
    """The command with what its program needs to call the Turnfold at `origin`.

    Turnfold's options stand before the user's own, which win.
    """
    more = _ARGUMENTS.get(PurePath(command[0]).name)
    return [command[0], *(more(origin) if more else ()), *command[1:]]
