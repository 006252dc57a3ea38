"""What an agent without a proxy can do with Turnfold: compress a text, read what was left out of it, see what was saved.

The three tools work on a store and return plain values. They know no protocol: ``serving`` speaks it.

Everything belongs to a tenant of its own, "mcp": an agent reads back what it has compressed itself, and nobody else's text.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Annotated, Final, Self

from pydantic import BaseModel, Field

from turnfold.compression.errors import InvalidInput
from turnfold.compression.layers import CompressRequest
from turnfold.config.fold import fold_options
from turnfold.config.settings import Settings
from turnfold.proxy.api.cache import CompressionCache
from turnfold.proxy.api.compressions import Compressions
from turnfold.proxy.api.section_layers import section_layer, section_size
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.books.report import Query, moment, report
from turnfold.proxy.books.section_records import find_section
from turnfold.proxy.store import open_store

TENANT: Final = "mcp"


class SectionLine(BaseModel):
    """A section that `drill_down` reads."""

    id: str
    summary: str
    tokens: Annotated[int, Field(description="Of the original.")]


class ShortText(BaseModel):
    """A text, shorter."""

    text: str
    tokens: int
    tokens_before: int
    sections: Annotated[list[SectionLine], Field(description="Pass an id to drill_down to read the original.")]
    kept: Annotated[bool, Field(description="Whether the originals can be read back.")]


class SectionText(BaseModel):
    """A section's text."""

    section_id: str
    layer: int
    text: str
    tokens: int


class Savings(BaseModel):
    """What was saved."""

    texts: Annotated[int, Field(description="Texts that were compressed in this session.")]
    tokens_before: int
    tokens_after: int
    tokens_saved: int
    proxy: Annotated[str, Field(description="What the Turnfold proxy on the same store has saved, in one line.")]


class Toolbox:
    """The tools of one session; an async context manager around its store."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._texts = self._before = self._after = 0

    async def __aenter__(self) -> Self:
        self._store = open_store(self._settings.store)
        self._workshop = Workshop(self._settings.limits.max_fold_workers)
        cache = CompressionCache(self._store, self._settings.cache)
        self._compressions = Compressions(self._store.patient, self._settings.store, cache, self._workshop)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._workshop.close()
        await self._store.close()

    async def compress(self, text: str, query: str | None, ratio: float, layer: int) -> ShortText:
        """A layer of a text; its sections are kept.

        Raises:
            InvalidInput: names the argument.
        """
        limit = self._settings.limits.max_text_bytes
        if not text.strip():
            raise InvalidInput("text", "must not be blank")
        if len(text.encode("utf-8", "replace")) > limit:
            raise InvalidInput("text", f"must have at most {limit:,} bytes (TURNFOLD_MAX_TEXT_BYTES)")
        made = await self._compressions.compress(TENANT, CompressRequest(text, layer=layer, l1_ratio=ratio, query=query))
        chosen, raw = made.result.layers[layer], made.result.layers[0]
        self._texts += 1
        self._before += raw.tokens
        self._after += chosen.tokens
        sections = [SectionLine(id=one.id, summary=one.summary, tokens=one.tokens) for one in made.result.sections]
        return ShortText(text=chosen.text, tokens=chosen.tokens, tokens_before=raw.tokens, sections=sections, kept=made.stored)

    async def drill_down(self, section_id: str, layer: int) -> SectionText:
        """A layer of a section that was compressed here.

        Raises:
            SectionUnknown, SectionExpired, StoreError, InvalidInput.
        """
        if layer not in (0, 1, 2):
            raise InvalidInput("layer", "must be 0, 1 or 2")
        section = await find_section(self._store.patient, TENANT, section_id)
        found = await self._workshop.run_sized(TENANT, section_size(section, layer), section_layer, section, layer)
        return SectionText(section_id=found.section_id, layer=layer, text=found.text, tokens=found.tokens)

    async def savings(self, since: str) -> Savings:
        """This session's figures, and the line that opens the proxy's report.

        Raises:
            InvalidInput, StoreError.
        """
        now = time.time()
        query = Query(moment(since, "since", now), now)
        told = await report(self._store.patient, query, partial(fold_options, self._settings))
        return Savings(
            texts=self._texts,
            tokens_before=self._before,
            tokens_after=self._after,
            tokens_saved=self._before - self._after,
            proxy=told["headline"],
        )
