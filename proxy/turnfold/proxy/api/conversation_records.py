"""The stored form of conversations: a head that each add replaces, and what it names, which never changes.

The head has the recent messages, counts, and the ids of the newest blocks; the ids of older blocks are in pages of `PAGE`, so the
head of a long conversation stays small. Blocks and pages are named by hashes of what they hold. When and in which order they are
written is up to ``conversations``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from turnfold.compression.budgeted import Action, Block, History, HistoryMessage, HistorySettings
from turnfold.compression.errors import TurnfoldError
from turnfold.compression.layers import Layer
from turnfold.compression.memo import digest
from turnfold.proxy.books.section_records import Layered, pack_section, section_items, unpack_section
from turnfold.proxy.store import Item, Key
from turnfold.proxy.store.records import VERSION, UnreadableRecord, decode_record, encode_record, version_of

#: Kind of a conversation's head.
HEAD: Final = "conversation"
#: Kind of a conversation's blocks.
BLOCK: Final = "conversation-block"
#: Blocks of a page.
PAGE: Final = 64
_PAGE: Final = "conversation-page"
_VERSION: Final = 3
_WITHOUT_PAGES: Final = 2  # the release before pages can read it
_FIRST_RELEASE: Final = 1  # its heads say so under "format"
_MOST_TOKENS: Final = 256
_MOST_UNKEYED: Final = 128  # of adds without a key, which only their own process repeats, within seconds


class TokenTaken(TurnfoldError):
    """An idempotency key came again with another message: one of the two would be lost."""

    def __init__(self) -> None:
        super().__init__("This idempotency key was used for another message of the conversation; use a new key for each message.")


class StoredId(NamedTuple):
    """The id of a block or page and its Unix time: when it was written, of a page when the oldest of its blocks was."""

    id: str
    written: float


class StoredIds(NamedTuple):
    """All blocks of a conversation: full pages, then single blocks."""

    pages: tuple[StoredId, ...] = ()
    blocks: tuple[StoredId, ...] = ()


@dataclass(frozen=True, slots=True)
class DoneAdd:
    """An add that was done.

    Attributes:
        token: its idempotency key, or one that was made up for it.
        message: digest of its message; "" without a key, or if it is not known.
    """

    token: str
    action: Action
    message: str


_NO_IDS: Final = StoredIds()


@dataclass(frozen=True, slots=True)
class ConversationHead:
    """The conversation's own item: the history without its blocks, and their ids."""

    bare: History
    settings: HistorySettings
    ids: StoredIds = _NO_IDS
    done_adds: tuple[DoneAdd, ...] = ()

    def done(self, token: str, message: str) -> Action | None:
        """The action of an add that was applied before; None if it was not.

        Args:
            message: the digest of its message.

        Raises:
            TokenTaken: the token named an add of another message.
        """
        found = next((one for one in self.done_adds if one.token == token), None)
        if found is None:
            return None
        if found.message not in ("", message):  # "" where an earlier release wrote it
            raise TokenTaken
        return found.action

    def newest_adds(self, add: DoneAdd) -> tuple[DoneAdd, ...]:
        """The adds that the head remembers after one more."""
        adds = (*self.done_adds, add)
        unkeyed = [one for one in adds if not one.message][-_MOST_UNKEYED:]
        return (*unkeyed, *[one for one in adds if one.message][-_MOST_TOKENS:])


EMPTY_HEAD: Final = ConversationHead(History(), HistorySettings())


def pack_head(head: ConversationHead) -> bytes:
    """The head as stored. A conversation without pages has the form of the release before them."""
    bare, settings = head.bare, head.settings
    pages = {"pages": _named(head.ids.pages)} if head.ids.pages else {}
    return encode_record(
        {
            VERSION: _VERSION if pages else _WITHOUT_PAGES,
            "version": bare.version,
            "pinned": _objects(bare.pinned),
            "orders": bare.orders,
            "recent": _objects(bare.recent),
            "recent_tokens": bare.recent_tokens,
            "raw_tokens": bare.raw_tokens,
            "messages": bare.messages,
            "duplicates": bare.duplicates,
            "settings": {"compress_threshold": settings.compress_threshold, "keep_recent": settings.keep_recent},
            "blocks": _named(head.ids.blocks),
            "tokens": [{"token": one.token, "action": one.action, "message": one.message} for one in head.done_adds],
            **pages,
        }
    )


def unpack_head(value: bytes) -> ConversationHead | None:
    """The head of `pack_head`; None where this release cannot read it."""
    return decode_record("conversation", value, _build, newest=_VERSION)


def _named(ids: Sequence[StoredId]) -> list[dict[str, Any]]:
    return [{"id": one.id, "written": one.written} for one in ids]


def _objects(messages: Sequence[HistoryMessage]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


def _build(value: Any) -> ConversationHead:
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
    ids = StoredIds(_stored_ids(data.get("pages", ())), _stored_ids(data["blocks"]))
    adds = tuple(DoneAdd(token["token"], token["action"], token.get("message", "")) for token in data["tokens"])
    return ConversationHead(bare, settings, ids, adds)


def _stored_ids(objects: Sequence[dict[str, Any]]) -> tuple[StoredId, ...]:
    return tuple(StoredId(one["id"], one["written"]) for one in objects)


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


def page_id(block_ids: Sequence[str]) -> str:
    """The id of a page."""
    return digest(*block_ids).hex()


def page_key(conversation: Key, name: str) -> Key:
    """Where a conversation's page is stored."""
    return Key(conversation.tenant, _PAGE, f"{name}:{conversation.id}")


def page_item(conversation: Key, block_ids: Sequence[str], ttl: float) -> Item:
    """A page as stored."""
    value = encode_record({VERSION: 1, "blocks": list(block_ids)})
    return Item(page_key(conversation, page_id(block_ids)), value, ttl, conversation.id)


def read_page(value: bytes) -> tuple[str, ...] | None:
    """The ids in a page; None where this release cannot read it."""
    return decode_record("conversation page", value, lambda fields: tuple(map(str, fields["blocks"])))


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


def block_key(conversation: Key, block_id: str) -> Key:
    """Where a conversation's block is stored."""
    return Key(conversation.tenant, BLOCK, f"{block_id}:{conversation.id}")


def block_items(conversation: Key, blocks: Sequence[Block], ttl: float) -> list[Item]:
    """Blocks as stored, each with the copy that ``/v1/drill-down`` finds."""
    items: list[Item] = []
    for section in map(_section, blocks):
        items += section_items(conversation.tenant, section, ttl, conversation.id)
        items.append(Item(block_key(conversation, section.id), pack_section(section), ttl, conversation.id))
    return items


def read_blocks(names: Sequence[str], values: Sequence[bytes | None]) -> dict[str, Block]:
    """By id those of the blocks that are stored and readable."""
    sections = (unpack_section(name, value) for name, value in zip(names, values, strict=True) if value is not None)
    return {section.id: _block(section) for section in sections if isinstance(section, Layered)}
