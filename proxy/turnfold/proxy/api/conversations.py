"""Stateful conversations (rows C8 and C9): histories in the store, changed by compare-and-set.

This module makes concurrent adds safe. The stored form of a history is in ``conversation_records``, its operations are in
``turnfold.compression.budgeted``; HTTP is up to the routes.

A history is one small item (its head) and its blocks, which never change. Blocks are written before the head that names them, and
the head is swapped: of two concurrent adds the later one reads again. Each add has a token, and the head remembers the latest
tokens, so an add that is repeated (because the store or the network did not answer) is not applied twice.

An add reads and writes what is new: blocks, their pages and the index of what they say stay in memory. Without them, after a
restart for example, the answer is the same and takes longer.

A copy of each block is stored where ``/v1/drill-down`` finds it by its id. Ids are content hashes, so two conversations may share
such a copy. They do not share their own blocks, so deleting one conversation leaves the other complete, and the copies that the
other has as well are written again.

A message's private parts are removed before it is added, so no history, context or section ever contains them.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from turnfold.compression import budgeted as history
from turnfold.compression.budgeted import (
    Action,
    Block,
    Context,
    History,
    HistoryMessage,
    HistorySettings,
    StatementIndex,
)
from turnfold.compression.errors import TurnfoldError
from turnfold.compression.text.private import redact
from turnfold.config.settings import StoreSettings
from turnfold.proxy.api.conversation_records import (
    BLOCK,
    EMPTY_HEAD,
    HEAD,
    PAGE,
    ConversationHead,
    DoneAdd,
    StoredId,
    StoredIds,
    block_items,
    block_key,
    pack_head,
    page_id,
    page_item,
    page_key,
    read_blocks,
    read_page,
    unpack_head,
)
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.books.section_records import Layered, section_items, section_keys, unpack_section
from turnfold.proxy.store import Batch, Item, Key, Scope, Store
from turnfold.proxy.store.base import key_pages
from turnfold.proxy.store.compare_and_set import Turns, compare_and_set
from turnfold.proxy.store.fair import FairMemory

_PATIENCE: Final = 30.0
_OUTLAST: Final = 5.0
_MOST_KEPT: Final = 32 * 2**20  # characters of sections in memory
_MOST_INDEXED: Final = 32 * 2**20  # bytes of what is known of them
_PAGE_WEIGHT: Final = 80 * PAGE
_REWRITE_SHARE: Final = 0.25  # of a section's life: older ones are written again while the conversation goes on


class ConversationUnknown(TurnfoldError):
    """The tenant has no such conversation."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(f"There is no conversation {conversation_id[:80]!r}.")


class HistoryIncomplete(TurnfoldError):
    """Sections of the conversation are no longer stored, so it cannot be restored."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(f"Sections of conversation {conversation_id[:80]!r} are no longer kept; delete it to start over.")


class ConversationUnreadable(TurnfoldError):
    """The conversation is stored in a form that this release cannot read, so it is left alone."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(
            f"Conversation {conversation_id[:80]!r} was written by a newer Turnfold; update this one, or delete the conversation."
        )


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation.

    Attributes:
        settings: settings of the last add.
    """

    history: History
    settings: HistorySettings
    context: Context


@dataclass(frozen=True, slots=True)
class AddResult:
    """A conversation after an add, and the action that the add took."""

    kept: StoredConversation
    action: Action


def _public(message: HistoryMessage) -> HistoryMessage:
    return replace(message, content=redact(message.content))


def _public_and_digest(message: HistoryMessage) -> tuple[HistoryMessage, str]:
    """A message without its private text, and the digest of that."""
    public = _public(message)
    return public, public.key.hex()


def _public_block(number: int, block: Block) -> Block:
    messages = tuple(map(_public, block.messages))
    facts, summary = map(redact, block.texts)
    if messages == block.messages:
        return replace(block, texts=(facts, summary))
    # Facts may have lost the tags around what is private: tell of it by what is left.
    left = "\n".join(f"{message.role}: {message.content}" for message in messages)
    return Block.of(history.block_id(number, messages), messages, (left, left), block.tokens)


def _public_history(state: History) -> History:
    """An imported history without its private text."""
    blocks = tuple(_public_block(number, block) for number, block in enumerate(state.blocks))
    return replace(
        state,
        pinned=tuple(map(_public, state.pinned)),
        orders=tuple(map(redact, state.orders)),
        blocks=blocks,
        recent=tuple(map(_public, state.recent)),
    )


def _recent_size(state: History, message: HistoryMessage) -> int:
    """Characters that an add looks at."""
    return len(message.content) + sum(len(one.content) for one in state.recent)


def _raw_size(state: History) -> int:
    """Characters of what a context holds in any case."""
    return sum(len(one.content) for one in (*state.pinned, *state.recent))


def _indexed(state: History, known: StatementIndex | None) -> tuple[StatementIndex, int]:
    """The index of its blocks, made from a known one, and `_raw_size`."""
    return StatementIndex.of(state.blocks, known), _raw_size(state)


def _told(state: History, settings: HistorySettings, index: StatementIndex) -> Context:
    return history.context(state, settings, index=index)


class _Writing(NamedTuple):
    """The ids of a conversation once these blocks (by number) and pages were written."""

    ids: StoredIds
    blocks: list[int]
    pages: list[tuple[str, ...]]


def _writing(names: Sequence[str], ids: StoredIds, now: float, old: float) -> _Writing:
    """What to write: new blocks, full pages of them, and what was written at `old` or before."""
    due, pages, fresh = list[int](), list[StoredId](), list[tuple[str, ...]]()
    for number, page in enumerate(ids.pages):
        places = range(number * PAGE, (number + 1) * PAGE)
        if page.written <= old:
            due += places
            fresh.append(tuple(names[i] for i in places))
        pages.append(StoredId(page.id, now if page.written <= old else page.written))
    first, known = PAGE * len(pages), dict(ids.blocks)
    new = {i for i, name in enumerate(names[first:], first) if known.get(name, 0.0) <= old}
    single = [StoredId(name, now if i in new else known[name]) for i, name in enumerate(names[first:], first)]
    while len(single) >= PAGE:
        page_of, single = single[:PAGE], single[PAGE:]
        fresh.append(tuple(one.id for one in page_of))
        pages.append(StoredId(page_id(fresh[-1]), min(one.written for one in page_of)))
    return _Writing(StoredIds(tuple(pages), tuple(single)), [*due, *sorted(new)], fresh)


class _ConversationMemory:
    """What was read and found out recently. Blocks and pages are named by hashes of what they hold, so none goes stale; an index
    is made anew where its blocks are other ones. Tenants share the room."""

    def __init__(self, share: float) -> None:
        self._blocks: FairMemory[str, Block] = FairMemory(_MOST_KEPT, share)
        self._pages: FairMemory[str, tuple[str, ...]] = FairMemory(_MOST_INDEXED, share)
        self._indexes: FairMemory[str, StatementIndex] = FairMemory(_MOST_INDEXED, share)

    def block(self, tenant: str, block_id: str) -> Block | None:
        """The block, if it is cached."""
        return self._blocks.get(tenant, block_id)

    def keep_block(self, tenant: str, block: Block) -> None:
        """Cache a block."""
        weight = 500 + sum(map(len, block.texts)) + sum(len(message.content) + 200 for message in block.messages)
        self._blocks.put(tenant, block.id, block, weight)

    def page(self, tenant: str, name: str) -> tuple[str, ...] | None:
        """The ids in a page, if it is cached."""
        return self._pages.get(tenant, name)

    def keep_page(self, tenant: str, ids: tuple[str, ...]) -> None:
        """Cache a page."""
        self._pages.put(tenant, page_id(ids), ids, _PAGE_WEIGHT)

    def index(self, tenant: str, conversation_id: str) -> StatementIndex | None:
        """The index of the conversation as it was, if it is cached."""
        return self._indexes.get(tenant, conversation_id)

    def keep_index(self, tenant: str, conversation_id: str, index: StatementIndex) -> None:
        """Cache an index."""
        if index is not self._indexes.peek(tenant, conversation_id):
            self._indexes.put(tenant, conversation_id, index, index.weight)

    def forget_index(self, tenant: str, conversation_id: str) -> None:
        """Forget the index of a conversation."""
        self._indexes.drop(tenant, conversation_id)

    def forget(self, is_of: Callable[[str], bool]) -> None:
        """Forget everything of these tenants."""
        for tenant in {*self._blocks.tenants(), *self._pages.tenants(), *self._indexes.tenants()}:
            if is_of(tenant):
                self._blocks.drop_tenant(tenant)
                self._pages.drop_tenant(tenant)
                self._indexes.drop_tenant(tenant)


def _readable(conversation_id: str, held: bytes | None) -> ConversationHead | None:
    """The head; None if there is none.

    Raises:
        ConversationUnreadable: there is one that this release cannot read.
    """
    if held is None:
        return None
    head = unpack_head(held)
    if head is None:
        raise ConversationUnreadable(conversation_id)
    return head


class Conversations:
    """The conversations of all tenants; any number of processes may serve the same ones."""

    def __init__(self, store: Store, settings: StoreSettings, workshop: Workshop) -> None:
        self._store = store
        self._ttl = float(settings.ttl)
        self._workshop = workshop
        self._memory = _ConversationMemory(settings.tenant_share)
        self._turns = Turns()

    def forget_in_memory(self, is_of: Callable[[str], bool]) -> None:
        """Data of these tenants was deleted: read their sections anew."""
        self._memory.forget(is_of)

    async def add(
        self, tenant: str, conversation_id: str, message: HistoryMessage, settings: HistorySettings, token: str | None = None
    ) -> AddResult:
        """Add a message.

        Args:
            token: identifies this add; an add that was applied before is not applied again.

        Raises:
            TokenTaken: the token named an add of another message.
            HistoryIncomplete: sections are no longer kept.
            ConversationUnreadable: a newer release wrote the conversation.
            StoreError: the store cannot be reached, or others kept changing the conversation.
        """
        key = Key(tenant, HEAD, conversation_id)
        own_token = uuid.uuid4().hex

        async def change(held: bytes | None) -> tuple[Item | None, tuple[History, Action]]:
            head = await self._read_head(tenant, conversation_id, held) or EMPTY_HEAD
            whole = await self._whole(key, head)
            if done := head.done(token or own_token, digest):
                return None, (whole, done)
            after, action = await self._workshop.run_sized(
                tenant, _recent_size(whole, message), history.add, whole, message, settings
            )
            ids = await self._write_blocks(key, after.blocks, head.ids)
            adds = head.newest_adds(DoneAdd(token, action, digest) if token else DoneAdd(own_token, action, ""))
            fresh = await self._workshop.run(tenant, pack_head, ConversationHead(after, settings, ids, adds))
            return Item(key, fresh, self._ttl, conversation_id), (after, action)

        async with self._turns.of(key):  # before anything is waited for, so that adds keep their order
            message, digest = await self._workshop.run(tenant, _public_and_digest, message)
            after, action = await compare_and_set(self._store, key, change, patience=_PATIENCE, outlast=_OUTLAST)
        # Outside the lock: telling takes as long as the add itself, and nobody else has to wait for it.
        return AddResult(await self._with_context(key, after, settings), action)

    async def read(self, tenant: str, conversation_id: str) -> StoredConversation:
        """A conversation as stored.

        Raises:
            ConversationUnknown: there is none.
            HistoryIncomplete: sections are no longer kept.
            ConversationUnreadable: a newer release wrote it.
            StoreError: the store cannot say.
        """
        key = Key(tenant, HEAD, conversation_id)
        (held,) = await self._store.get([key])
        head = await self._read_head(tenant, conversation_id, held)
        if head is None:
            raise ConversationUnknown(conversation_id)
        return await self._with_context(key, await self._whole(key, head), head.settings)

    async def replace(
        self, tenant: str, conversation_id: str, state: History, settings: HistorySettings | None = None
    ) -> StoredConversation:
        """Replace a conversation by a history.

        Args:
            settings: those that it is kept with; None: those of the conversation that was there, or the defaults.

        Raises:
            StoreError: the store does not accept it.
        """
        key = Key(tenant, HEAD, conversation_id)
        state = await self._workshop.run(tenant, _public_history, state)

        async def change(held: bytes | None) -> tuple[Item, HistorySettings]:
            head = None if held is None else await self._workshop.run(tenant, unpack_head, held)
            chosen = settings or (EMPTY_HEAD if head is None else head).settings
            ids = await self._write_blocks(key, state.blocks, StoredIds())
            fresh = await self._workshop.run(tenant, pack_head, ConversationHead(state, chosen, ids))
            return Item(key, fresh, self._ttl, conversation_id), chosen

        async with self._turns.of(key):
            chosen = await compare_and_set(self._store, key, change, patience=_PATIENCE)
        return await self._with_context(key, state, chosen)

    async def forget(self, tenant: str, conversation_id: str) -> None:
        """Delete a conversation and its sections.

        Raises:
            ConversationUnknown: there is none.
            StoreError: the store cannot be reached.
        """
        key = Key(tenant, HEAD, conversation_id)
        async with self._turns.of(key):
            (held,) = await self._store.get([key])
            if held is None or not await self._store.discard([key]):
                raise ConversationUnknown(conversation_id)
            self._memory.forget_index(tenant, conversation_id)
            ids = StoredIds() if (head := await self._workshop.run(tenant, unpack_head, held)) is None else head.ids
            names = [name for page in await self._pages(key, ids) for name in page or ()]
            pages = [page_key(key, page.id) for page in ids.pages]
            await self._store.discard([*(block_key(key, name) for name in names), *section_keys(tenant, names), *pages])
        await self._keep_shared(tenant, set(names))

    async def _keep_shared(self, tenant: str, names: set[str]) -> None:
        """Write again the sections of a deleted conversation that another one has as well, an imported copy for example."""
        if not names:
            return
        pages = key_pages(self._store, Scope(tenant, BLOCK))
        for key in [key async for page in pages for key in page if key.id.partition(":")[0] in names]:
            name, _, conversation = key.id.partition(":")
            (value,) = await self._store.get([key])
            section = None if value is None else unpack_section(name, value)
            if isinstance(section, Layered):
                await self._store.put(section_items(tenant, section, self._ttl, conversation))

    async def _read_head(self, tenant: str, conversation_id: str, held: bytes | None) -> ConversationHead | None:
        """`_readable` in a thread: a head has the recent messages in it, which may be large."""
        return None if held is None else await self._workshop.run(tenant, _readable, conversation_id, held)

    async def _with_context(self, key: Key, whole: History, settings: HistorySettings) -> StoredConversation:
        known = self._memory.index(key.tenant, key.id)
        index, size = await self._workshop.run(key.tenant, _indexed, whole, known)
        self._memory.keep_index(key.tenant, key.id, index)
        context = await self._workshop.run_sized(key.tenant, size, _told, whole, settings, index)
        return StoredConversation(whole, settings, context)

    async def _whole(self, key: Key, head: ConversationHead) -> History:
        """The history with its blocks."""
        pages = await self._pages(key, head.ids)
        names = [name for page in pages for name in page or ()]
        known = {name: block for name in names if (block := self._memory.block(key.tenant, name))}
        missing = [name for name in names if name not in known]
        if missing:
            values = await self._store.get([block_key(key, name) for name in missing])
            known |= await self._workshop.run(key.tenant, read_blocks, missing, values)
            for name in known.keys() & set(missing):
                self._memory.keep_block(key.tenant, known[name])
        if None in pages or not known.keys() >= set(missing):
            raise HistoryIncomplete(key.id)
        return replace(head.bare, blocks=tuple(known[name] for name in names))

    async def _pages(self, key: Key, ids: StoredIds) -> list[tuple[str, ...] | None]:
        """The ids of all blocks, page by page; None for a page that is no longer kept. The last one is not full."""
        found = {page.id: self._memory.page(key.tenant, page.id) for page in ids.pages}
        missing = [name for name, page in found.items() if page is None]
        if missing:
            values = await self._store.get([page_key(key, name) for name in missing])
            found |= {name: read_page(value) for name, value in zip(missing, values, strict=True) if value is not None}
            for page in [page for name in missing if (page := found[name]) is not None]:
                self._memory.keep_page(key.tenant, page)
        return [*(found[page.id] for page in ids.pages), tuple(block.id for block in ids.blocks)]

    async def _write_blocks(self, key: Key, blocks: Sequence[Block], ids: StoredIds) -> StoredIds:
        """Make sure that all blocks are stored for as long as the conversation, with their pages. Returns their ids.

        Args:
            ids: of the first of them, as they are stored.
        """
        now = time.time()
        writing = _writing([block.id for block in blocks], ids, now, now - _REWRITE_SHARE * self._ttl)
        due = [blocks[i] for i in writing.blocks]
        if due or writing.pages:
            items = await self._workshop.run(key.tenant, block_items, key, due, self._ttl)
            items += [page_item(key, page, self._ttl) for page in writing.pages]
            await self._store.record(Batch.of_items(items))
            for block in due:
                self._memory.keep_block(key.tenant, block)
            for page in writing.pages:
                self._memory.keep_page(key.tenant, page)
        return writing.ids
