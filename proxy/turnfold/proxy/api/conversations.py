"""Stateful conversations (rows C8 and C9): histories in the store, changed by compare-and-set.

This module has the stored form of a history and makes concurrent adds safe. The operations of a history are in
``turnfold.compression.budgeted``; HTTP is up to the routes.

A history is one small item (its head: recent messages, counts, ids of its blocks) and its blocks, which never change. Blocks are
written before the head that names them, and the head is swapped: of two concurrent adds the later one reads again. Each add has a
token, and the head remembers the latest tokens, so an add that is repeated (because the store or the network did not answer) is
not applied twice.

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
from typing import Any, Final

from turnfold.compression import budgeted as history
from turnfold.compression.budgeted import Action, Block, Context, History, HistoryMessage, HistorySettings
from turnfold.compression.errors import TurnfoldError
from turnfold.compression.layers import Layer
from turnfold.compression.text.private import redact
from turnfold.config.settings import StoreSettings
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.books.section_records import Layered, pack_section, section_items, section_keys, unpack_section
from turnfold.proxy.store import Batch, Item, Key, Scope, Store
from turnfold.proxy.store.base import key_pages
from turnfold.proxy.store.compare_and_set import Turns, compare_and_set
from turnfold.proxy.store.fair import FairMemory
from turnfold.proxy.store.records import VERSION, UnreadableRecord, decode_record, encode_record, version_of

_KIND: Final = "conversation"
_BLOCK: Final = "conversation-block"
_VERSION: Final = 2
_FIRST_RELEASE: Final = 1  # its heads say so under "format"
_PATIENCE: Final = 30.0
_OUTLAST: Final = 5.0
_MOST_TOKENS: Final = 256
_MOST_KEPT: Final = 32 * 2**20  # characters of sections in memory
_REWRITE_SHARE: Final = 0.25  # of a section's life: older ones are written again while the conversation goes on


class ConversationUnknown(TurnfoldError):
    """The tenant has no such conversation."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(f"There is no conversation {conversation_id[:80]!r}.")


class HistoryIncomplete(TurnfoldError):
    """Sections of the conversation are no longer stored, so it cannot be restored."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(f"Sections of conversation {conversation_id[:80]!r} are no longer kept; delete it to start over.")


class TokenTaken(TurnfoldError):
    """An idempotency key came again with another message: one of the two would be lost."""

    def __init__(self) -> None:
        super().__init__("This idempotency key was used for another message of the conversation; use a new key for each message.")


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


@dataclass(frozen=True, slots=True)
class _DoneAdd:
    """An add that was done: its token, what it did, and the digest of its message ("": not known)."""

    token: str
    action: Action
    message: str


@dataclass(frozen=True, slots=True)
class _HistoryRecord:
    """The conversation's own item: the history without its blocks (`ids` has their ids and when each was written)."""

    bare: History
    settings: HistorySettings
    ids: tuple[tuple[str, float], ...] = ()
    tokens: tuple[_DoneAdd, ...] = ()

    def done(self, token: str, message: str) -> Action | None:
        """The action of an add that was applied before; None if it was not.

        Args:
            message: the digest of its message.

        Raises:
            TokenTaken: the token named an add of another message.
        """
        found = next((one for one in self.tokens if one.token == token), None)
        if found is None:
            return None
        if found.message not in ("", message):  # "" where an earlier release wrote it
            raise TokenTaken
        return found.action


_EMPTY: Final = _HistoryRecord(History(), HistorySettings())


def _objects(messages: Sequence[HistoryMessage]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


def _pack(head: _HistoryRecord) -> bytes:
    bare, settings = head.bare, head.settings
    return encode_record(
        {
            VERSION: _VERSION,
            "version": bare.version,
            "pinned": _objects(bare.pinned),
            "orders": bare.orders,
            "recent": _objects(bare.recent),
            "recent_tokens": bare.recent_tokens,
            "raw_tokens": bare.raw_tokens,
            "messages": bare.messages,
            "duplicates": bare.duplicates,
            "settings": {"compress_threshold": settings.compress_threshold, "keep_recent": settings.keep_recent},
            "blocks": [{"id": name, "written": written} for name, written in head.ids],
            "tokens": [{"token": one.token, "action": one.action, "message": one.message} for one in head.tokens],
        }
    )


def _unpack(value: bytes) -> _HistoryRecord | None:
    """The head of `_pack`; None where this release cannot read it."""
    return decode_record("conversation", value, _build, newest=_VERSION)


def _build(value: Any) -> _HistoryRecord:
    data = _first_release_fields(value) if version_of(value) == 0 else value
    bare = History(
        version=data["version"],
        pinned=_messages(data["pinned"]),
        orders=tuple(data["orders"]),
        recent=_messages(data["recent"]),
        recent_tokens=tuple(data["recent_tokens"]),
        raw_tokens=data["raw_tokens"],
        messages=data["messages"],
        duplicates=data["duplicates"],
    )
    settings = HistorySettings(data["settings"]["compress_threshold"], data["settings"]["keep_recent"])
    ids = tuple((block["id"], block["written"]) for block in data["blocks"])
    tokens = tuple(_DoneAdd(token["token"], token["action"], token.get("message", "")) for token in data["tokens"])
    return _HistoryRecord(bare, settings, ids, tokens)


def _messages(objects: Sequence[dict[str, str]]) -> tuple[HistoryMessage, ...]:
    return tuple(HistoryMessage(item["role"], item["content"]) for item in objects)


def _first_release_fields(value: dict[str, Any]) -> dict[str, Any]:
    """The named fields of a head of the first release, which had lists."""
    if value.get("format") != _FIRST_RELEASE:
        raise UnreadableRecord("it has an unknown form")
    threshold, keep_recent = value["settings"]
    return {
        **value,
        "pinned": [{"role": role, "content": content} for role, content in value["pinned"]],
        "recent": [{"role": role, "content": content} for role, content in value["recent"]],
        "settings": {"compress_threshold": threshold, "keep_recent": keep_recent},
        "blocks": [{"id": name, "written": written} for name, written in value["blocks"]],
        "tokens": [{"token": token, "action": action} for token, action in value["tokens"]],
    }


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


def _source_size(state: History) -> int:
    """Characters that the context is chosen from."""
    whole = sum(len(one.content) for one in (*state.pinned, *state.recent))
    return whole + sum(told.end - told.start for block in state.blocks for told in block.quotes)


def _section(block: Block) -> Layered:
    raw = "\n".join(f"{message.role}: {message.content}" for message in block.messages)
    texts = (raw, *block.texts)
    first, second, third = (Layer(text, tokens) for text, tokens in zip(texts, block.tokens, strict=True))
    return Layered(block.id, (first, second, third), tuple((message.role, message.content) for message in block.messages))


def _block(section: Layered) -> Block:
    messages = tuple(HistoryMessage(role, content) for role, content in section.messages)
    raw, facts, summary = section.layers
    sizes = (raw.tokens, facts.tokens, summary.tokens)
    return Block.of(section.id, messages, (facts.text, summary.text), sizes)


def _block_key(conversation: Key, block_id: str) -> Key:
    return Key(conversation.tenant, _BLOCK, f"{block_id}:{conversation.id}")


def _block_items(conversation: Key, blocks: Sequence[Block], ttl: float) -> list[Item]:
    items: list[Item] = []
    for section in map(_section, blocks):
        items += section_items(conversation.tenant, section, ttl, conversation.id)
        items.append(Item(_block_key(conversation, section.id), pack_section(section), ttl, conversation.id))
    return items


def _read_blocks(names: Sequence[str], values: Sequence[bytes | None]) -> dict[str, Block]:
    sections = (unpack_section(name, value) for name, value in zip(names, values, strict=True) if value is not None)
    return {section.id: _block(section) for section in sections if isinstance(section, Layered)}


class _Blocks:
    """Recently read sections by tenant and id; ids are content hashes, so nothing here goes stale. Tenants share the room."""

    def __init__(self, share: float) -> None:
        self._kept: FairMemory[str, Block] = FairMemory(_MOST_KEPT, share)

    def get(self, tenant: str, block_id: str) -> Block | None:
        """The block, if it is cached."""
        return self._kept.get(tenant, block_id)

    def keep(self, tenant: str, block: Block) -> None:
        """Cache a block."""
        weight = 500 + sum(map(len, block.texts)) + sum(len(message.content) + 200 for message in block.messages)
        self._kept.put(tenant, block.id, block, weight)

    def forget(self, is_of: Callable[[str], bool]) -> None:
        """Forget all blocks of these tenants."""
        for tenant in self._kept.tenants():
            if is_of(tenant):
                self._kept.drop_tenant(tenant)


def _readable(conversation_id: str, held: bytes | None) -> _HistoryRecord | None:
    """The head; None if there is none.

    Raises:
        ConversationUnreadable: there is one that this release cannot read.
    """
    if held is None:
        return None
    head = _unpack(held)
    if head is None:
        raise ConversationUnreadable(conversation_id)
    return head


class Conversations:
    """The conversations of all tenants; any number of processes may serve the same ones."""

    def __init__(self, store: Store, settings: StoreSettings, workshop: Workshop) -> None:
        self._store = store
        self._ttl = float(settings.ttl)
        self._workshop = workshop
        self._blocks = _Blocks(settings.tenant_share)
        self._turns = Turns()

    def forget_in_memory(self, is_of: Callable[[str], bool]) -> None:
        """Data of these tenants was deleted: read their sections anew."""
        self._blocks.forget(is_of)

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
        key = Key(tenant, _KIND, conversation_id)
        token = token or uuid.uuid4().hex

        async def change(held: bytes | None) -> tuple[Item | None, tuple[History, Action]]:
            head = await self._read_head(tenant, conversation_id, held) or _EMPTY
            whole = await self._whole(key, head)
            if done := head.done(token, digest):
                return None, (whole, done)
            after, action = await self._workshop.run_sized(
                tenant, _recent_size(whole, message), history.add, whole, message, settings
            )
            ids = await self._write_blocks(key, after.blocks, dict(head.ids))
            tokens = (*head.tokens, _DoneAdd(token, action, digest))[-_MOST_TOKENS:]
            fresh = await self._workshop.run(tenant, _pack, _HistoryRecord(after, settings, ids, tokens))
            return Item(key, fresh, self._ttl, conversation_id), (after, action)

        async with self._turns.of(key):  # before anything is waited for, so that adds keep their order
            message, digest = await self._workshop.run(tenant, _public_and_digest, message)
            after, action = await compare_and_set(self._store, key, change, patience=_PATIENCE, outlast=_OUTLAST)
        # Outside the lock: telling takes as long as the add itself, and nobody else has to wait for it.
        return AddResult(await self._with_context(tenant, after, settings), action)

    async def read(self, tenant: str, conversation_id: str) -> StoredConversation:
        """A conversation as stored.

        Raises:
            ConversationUnknown: there is none.
            HistoryIncomplete: sections are no longer kept.
            ConversationUnreadable: a newer release wrote it.
            StoreError: the store cannot say.
        """
        key = Key(tenant, _KIND, conversation_id)
        (held,) = await self._store.get([key])
        head = await self._read_head(tenant, conversation_id, held)
        if head is None:
            raise ConversationUnknown(conversation_id)
        return await self._with_context(tenant, await self._whole(key, head), head.settings)

    async def replace(
        self, tenant: str, conversation_id: str, state: History, settings: HistorySettings | None = None
    ) -> StoredConversation:
        """Replace a conversation by a history.

        Args:
            settings: those that it is kept with; None: those of the conversation that was there, or the defaults.

        Raises:
            StoreError: the store does not accept it.
        """
        key = Key(tenant, _KIND, conversation_id)
        state = await self._workshop.run(tenant, _public_history, state)

        async def change(held: bytes | None) -> tuple[Item, HistorySettings]:
            head = None if held is None else await self._workshop.run(tenant, _unpack, held)
            chosen = settings or (_EMPTY if head is None else head).settings
            ids = await self._write_blocks(key, state.blocks, {})
            fresh = await self._workshop.run(tenant, _pack, _HistoryRecord(state, chosen, ids))
            return Item(key, fresh, self._ttl, conversation_id), chosen

        async with self._turns.of(key):
            chosen = await compare_and_set(self._store, key, change, patience=_PATIENCE)
        return await self._with_context(tenant, state, chosen)

    async def forget(self, tenant: str, conversation_id: str) -> None:
        """Delete a conversation and its sections.

        Raises:
            ConversationUnknown: there is none.
            StoreError: the store cannot be reached.
        """
        key = Key(tenant, _KIND, conversation_id)
        async with self._turns.of(key):
            (held,) = await self._store.get([key])
            if held is None or not await self._store.discard([key]):
                raise ConversationUnknown(conversation_id)
            head = await self._workshop.run(tenant, _unpack, held)
            names = [] if head is None else [name for name, _ in head.ids]
            await self._store.discard([*(_block_key(key, name) for name in names), *section_keys(tenant, names)])
        await self._keep_shared(tenant, set(names))

    async def _keep_shared(self, tenant: str, names: set[str]) -> None:
        """Write again the sections of a deleted conversation that another one has as well, an imported copy for example."""
        if not names:
            return
        pages = key_pages(self._store, Scope(tenant, _BLOCK))
        for key in [key async for page in pages for key in page if key.id.partition(":")[0] in names]:
            name, _, conversation = key.id.partition(":")
            (value,) = await self._store.get([key])
            section = None if value is None else unpack_section(name, value)
            if isinstance(section, Layered):
                await self._store.put(section_items(tenant, section, self._ttl, conversation))

    async def _read_head(self, tenant: str, conversation_id: str, held: bytes | None) -> _HistoryRecord | None:
        """`_readable` in a thread: a head has the recent messages in it, which may be large."""
        return None if held is None else await self._workshop.run(tenant, _readable, conversation_id, held)

    async def _with_context(self, tenant: str, whole: History, settings: HistorySettings) -> StoredConversation:
        size = await self._workshop.run(tenant, _source_size, whole)
        context = await self._workshop.run_sized(tenant, size, history.context, whole, settings)
        return StoredConversation(whole, settings, context)

    async def _whole(self, key: Key, head: _HistoryRecord) -> History:
        """The history with its blocks."""
        known = {name: block for name, _ in head.ids if (block := self._blocks.get(key.tenant, name))}
        missing = [name for name, _ in head.ids if name not in known]
        if missing:
            values = await self._store.get([_block_key(key, name) for name in missing])
            known |= await self._workshop.run(key.tenant, _read_blocks, missing, values)
            if not known.keys() >= set(missing):
                raise HistoryIncomplete(key.id)
            for name in missing:
                self._blocks.keep(key.tenant, known[name])
        return replace(head.bare, blocks=tuple(known[name] for name, _ in head.ids))

    async def _write_blocks(self, key: Key, blocks: Sequence[Block], known: dict[str, float]) -> tuple[tuple[str, float], ...]:
        """Make sure that all blocks are stored for as long as the conversation. Returns their ids and when each was written."""
        now = time.time()
        due = [block for block in blocks if known.get(block.id, 0.0) <= now - _REWRITE_SHARE * self._ttl]
        if due:
            items = await self._workshop.run(key.tenant, _block_items, key, due, self._ttl)
            await self._store.record(Batch.of_items(items))
            for block in due:
                self._blocks.keep(key.tenant, block)
        fresh = {block.id for block in due}
        return tuple((block.id, now if block.id in fresh else known[block.id]) for block in blocks)
