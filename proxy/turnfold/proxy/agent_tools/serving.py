"""The tools over the Model Context Protocol, by the official SDK.

The names, descriptions, arguments and errors of the tools; what they do is up to ``toolbox``. No other module imports the SDK.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable
from importlib.metadata import version
from typing import Annotated, Final, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from turnfold.compression.errors import TurnfoldError
from turnfold.config.settings import Settings
from turnfold.proxy.agent_tools.toolbox import Savings, SectionText, ShortText, Toolbox
from turnfold.proxy.store import StoreError

T = TypeVar("T")

_INSTRUCTIONS: Final = (
    "Turnfold makes long texts shorter in their own words and keeps the originals. Use compress on a long text (a log, a page, a"
    " file, minutes) before you keep it in the conversation, and drill_down with a section's id when you need its exact words."
)
_KEEPS: Final = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)


def server(settings: Settings) -> MCPServer:
    """The server; its caller gives it a transport."""
    toolbox = Toolbox(settings)

    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        async with toolbox:
            yield

    made = MCPServer("turnfold", instructions=_INSTRUCTIONS, version=version("turnfold"), log_level="WARNING", lifespan=lifespan)

    @made.tool(annotations=_KEEPS)
    async def compress(
        text: Annotated[str, Field(description="The text, not blank.")],
        query: Annotated[str | None, Field(description="A question that the short text should answer.")] = None,
        ratio: Annotated[float, Field(gt=0, le=1, description="Size of layer 1 relative to the text.")] = 0.3,
        layer: Annotated[int, Field(ge=1, le=2, description="1: its facts; 2: a summary of a few sentences.")] = 1,
    ) -> ShortText:
        """Make a long text shorter, in its own sentences. The original is kept: each section's id reads it back by drill_down."""
        return await _tool_result(toolbox.compress(text, query, ratio, layer))

    @made.tool(annotations=_READS)
    async def drill_down(
        section_id: Annotated[str, Field(min_length=1, max_length=200, description="From compress.")],
        layer: Annotated[int, Field(ge=0, le=2, description="0: the original, word for word; 1: facts; 2: summary.")] = 0,
    ) -> SectionText:
        """Read a section of a text that was compressed before, by default word for word."""
        return await _tool_result(toolbox.drill_down(section_id, layer))

    @made.tool(annotations=_READS)
    async def savings(
        since: Annotated[str, Field(description="Of the proxy's figures: 24h, 7d, a date.")] = "30d",
    ) -> Savings:
        """How many tokens compress has saved in this session, and what the Turnfold proxy on the same store has saved."""
        return await _tool_result(toolbox.savings(since))

    return made


async def _tool_result(work: Awaitable[T]) -> T:
    """A tool's result; an expected failure is reported to the agent in one line."""
    try:
        return await work
    except (TurnfoldError, StoreError) as exc:
        raise ToolError(str(exc)) from exc
