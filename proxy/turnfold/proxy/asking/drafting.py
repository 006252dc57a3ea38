"""Drafting a directive outside of a server, for the command line.

This module puts one question to the configured model, from start to end. The rules of directives, and what becomes of the draft,
are not its concern.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from turnfold.compression.state import Engine
from turnfold.compression.state.draft import DirectiveDraft, draft_steps
from turnfold.config.settings import Settings
from turnfold.proxy.asking.asker import Bill, ModelAsker
from turnfold.proxy.asking.own_upstream import Caller
from turnfold.proxy.asking.spending import Payer


def drafter(settings: Settings) -> Callable[[Engine, str], DirectiveDraft | None]:
    """A function that asks the model which directive a message may mean; it returns None if there is no draft for any reason.

    Raises:
        InvalidInput: the model's price is unknown.
    """
    asker = ModelAsker(settings, None)

    async def ask(engine: Engine, message: str) -> DirectiveDraft | None:
        async with asker.running():
            return await asker.drive(draft_steps(engine, message), Payer(""), Caller("", ()), Bill())

    return lambda engine, message: asyncio.run(ask(engine, message))
