"""``turnfold mcp`` as an agent sees it: the official SDK's own client, in this process and over standard input and output.

These tests cover the tools' answers and errors. They leave out compression itself.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.support.words import prose
from turnfold.config.settings import Settings, StoreSettings

TEXT = "\n\n".join(prose(number, "en", 8) for number in range(12))


def settings(url: str = "memory://") -> Settings:
    return Settings(store=StoreSettings(url=url))


def mcp() -> Any:
    """The SDK, which takes most of a second to import: other processes of a run do without it."""
    return import_module("mcp")


def agent(url: str = "memory://") -> Any:
    server = import_module("turnfold.proxy.agent_tools.serving").server  # it imports the SDK
    return mcp().Client(server(settings(url)))


async def call(client: Any, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refusal(client: Any, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return "".join(getattr(part, "text", "") for part in result.content)


async def test_a_text_is_compressed_and_read_back_word_for_word() -> None:
    async with agent() as client:
        short = await call(client, "compress", text=TEXT, query="What happened to the backup keys?")
        back = [await call(client, "drill_down", section_id=section["id"]) for section in short["sections"]]
        for layer in (0, 1, 2):
            told = await call(client, "drill_down", section_id=short["sections"][0]["id"], layer=layer)
            assert told["layer"] == layer
        saved = await call(client, "savings")
    assert 0 < short["tokens"] < short["tokens_before"]
    assert short["kept"]
    assert all(one["text"] in TEXT for one in back)
    assert sum(len(one["text"]) for one in back) > 0.9 * len(TEXT)
    assert (saved["texts"], saved["tokens_saved"]) == (1, short["tokens_before"] - short["tokens"])
    assert saved["proxy"] == "No requests yet."


async def test_tools_say_what_they_are() -> None:
    async with agent() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"compress", "drill_down", "savings"}
    assert all(tool.description and tool.output_schema for tool in tools.values())
    described = [field for tool in tools.values() for field in tool.input_schema["properties"].values()]
    assert all("description" in field for field in described)
    said = {name: tool.annotations.model_dump(exclude_none=True) for name, tool in tools.items() if tool.annotations}
    reads = {"read_only_hint": True, "open_world_hint": False}  # clients ask before a tool that does more
    keeps = {"read_only_hint": False, "destructive_hint": False, "idempotent_hint": True, "open_world_hint": False}
    assert said == {"compress": keeps, "drill_down": reads, "savings": reads}


async def test_what_is_wrong_is_told() -> None:
    async with agent() as client:
        assert "text: must not be blank" in await refusal(client, "compress", text="  ")
        most = settings().limits.max_text_bytes
        assert f"text: must have at most {most:,} bytes" in await refusal(client, "compress", text="é" * (most // 2 + 1))
        assert "ratio" in await refusal(client, "compress", text=TEXT, ratio=2)
        assert "nowhere" in await refusal(client, "drill_down", section_id="nowhere")
        assert "since" in await refusal(client, "savings", since="once")
        assert (await call(client, "savings"))["texts"] == 0  # and the session goes on


async def test_over_standard_input_and_output(tmp_path: Path) -> None:
    command = ["-m", "turnfold.proxy.cli", "mcp", "--store", f"sqlite:///{tmp_path}/t.db"]
    over_pipes = mcp().StdioServerParameters(command=sys.executable, args=command, cwd=tmp_path)
    async with mcp().Client(over_pipes) as client:
        short = await call(client, "compress", text=TEXT)
        section = short["sections"][0]["id"]
    async with agent(f"sqlite:///{tmp_path}/t.db") as again:  # another session finds what was kept
        assert (await call(again, "drill_down", section_id=section))["text"] in TEXT
