"""Items of a Responses request, each by itself as a neutral message.

This module knows the keys of input items. The body around them, and which items join into one message, are in ``responses``.

The facts are those of OpenAI's specification (types as of its Python SDK 3.57). Calls and results are paired by `call_id`. Items
of hosted tools carry their result inside, and are read for recall, but never edited. So are items that nobody here knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from turnfold.compression import tokens
from turnfold.compression.errors import FoldRejected
from turnfold.compression.memo import Memo, digest
from turnfold.compression.wire.bodies import is_plainly_typed
from turnfold.compression.wire.cache_marks import cut_marks, has_mark
from turnfold.compression.wire.media import attachment, media_tokens
from turnfold.compression.wire.message import Attachment, Call, Message, Text, full_text
from turnfold.compression.wire.readable import readable_texts, readable_tokens, sealed_tokens
from turnfold.compression.wire.spans import is_json

#: Keys by which a client marks the end of a cached prefix, on items and parts.
MARKS: Final = ("prompt_cache_breakpoint", "cache_control")

_SEALS: Final = ("encrypted_content", "signature", "annotations", "logprobs")
_SPOKEN_PARTS: Final = frozenset({"input_text", "output_text", "refusal"})
_INSTRUCTING: Final = frozenset({"system", "developer"})
#: Items that affect everything after them: the available tools, how the model answers. An MCP server is asked for its tools again
#: with every request that lacks the list ("MCP and Connectors").
_STANDING: Final = frozenset({"additional_tools", "configuration_update", "mcp_list_tools"})
_LASTING: Final = "tool_search_output"  # its tools last as long as it stays ("Tool search")
_COMPACTION: Final = frozenset({"compaction", "compaction_summary", "context_compaction"})
_UPSTREAM: Final = frozenset({"item_reference", "compaction_trigger"})
#: The key of a generated image's data.
_PICTURE: Final = frozenset({"result"})
_SEAL: Final = 650  # bytes of the seal around reasoning, as counted by Codex


@dataclass(frozen=True, slots=True)
class InputItem:
    """An item of the input.

    Attributes:
        message: the item alone as a message.
        kind: its type.
        refers: the id of an earlier call that it belongs to; "" if there is none.
    """

    message: Message
    kind: str
    refers: str = ""

    @property
    def joins(self) -> bool:
        """Whether it is the assistant's and joined with adjacent items of its kind into one message."""
        return self.message.role == "assistant" and not self.is_compaction

    @property
    def is_reasoning(self) -> bool:
        """Whether it is reasoning, which is refused without the next item, as is that item without it."""
        return self.kind == "reasoning"

    @property
    def is_compaction(self) -> bool:
        """Whether it replaces everything before it."""
        return self.kind in _COMPACTION

    @property
    def is_upstream(self) -> bool:
        """Whether its content is stored upstream."""
        return self.kind in _UPSTREAM


def item_key(*parts: str) -> bytes:
    """Key of an item, specific to this wire: the same bytes are a different message on another wire, with other paths."""
    return digest("responses", *parts)


def read_item(raw: str, data: Any, memo: Memo) -> InputItem:
    """An item from its JSON text and value; paths begin with its number in a run of items, here 0.

    Raises:
        FoldRejected: "unparsable" if it is not a message and has neither a type nor an id.
    """
    if not isinstance(data, dict) or not is_plainly_typed(data):
        raise FoldRejected("unparsable")
    kind, role = data.get("type"), data.get("role")
    if kind is None:
        kind = "message" if "role" in data else "item_reference" if isinstance(data.get("id"), str) else None
    if not isinstance(kind, str) or (kind == "message" and not isinstance(role, str)):
        raise FoldRejected("unparsable")
    message = build(raw, item_key(cut_marks(raw, MARKS)), _READERS.get(kind, _read_other)(data), data, memo)
    return InputItem(message, kind, _refers(data))


def string_message(raw: str, text: str, role: str, memo: Memo) -> Message:
    """A message given as a plain string in the body: the instructions, or the input as one text."""
    return build(raw, item_key(role, raw), Reading(role, texts=(Text((0,), text),), sole=text), {}, memo)


@dataclass(frozen=True, slots=True)
class Reading:
    """The attributes of a message that differ from kind to kind, as read from an item.

    Attributes:
        spoken: its texts that are never edited.
        parts: content parts, if it has a list of them.
        other: tokens of anything but text.
    """

    role: str
    texts: tuple[Text, ...] = ()
    arguments: tuple[Text, ...] = ()
    calls: tuple[Call, ...] = ()
    call_ids: tuple[str, ...] = ()
    answers: str | None = None
    spoken: tuple[str, ...] = ()
    parts: Sequence[Any] | None = None
    attached: tuple[Attachment, ...] = ()
    other: int = 0
    sealed: bool = False
    sole: str | None = None


def build(raw: str, key: bytes, found: Reading, data: Mapping[str, Any], memo: Memo) -> Message:
    """The message of an item."""
    own = "\n".join(t.text for t in found.texts)
    text = full_text(own, found.calls, found.spoken)
    parts = found.parts or ()
    inside = [p for p in (data, *parts) if isinstance(p, dict)]
    other = 3 + found.other
    return Message(
        raw=raw,
        key=key,
        role=found.role,
        texts=found.texts,
        arguments=found.arguments,
        own=own,
        text=text,
        tokens=tokens.count_with_tail(text, memo) + other,
        other_tokens=other,
        holds=bool(own.strip()) or bool(parts),
        keys=frozenset(data),
        calls=found.calls,
        call_ids=found.call_ids,
        answers=found.answers,
        is_list=found.parts is not None,
        sealed=found.sealed or (found.role == "assistant" and any(p.get(k) for p in inside for k in _SEALS)),
        marked=any(has_mark(p, MARKS) for p in inside),
        has_calls=bool(found.call_ids or found.calls),
        attached=found.attached,
        sole=found.sole,
        lasting=data.get("type") == _LASTING,
        takes_mark=found.role == "user" and bool(parts) and _takes_mark(parts[-1]),
    )


def _takes_mark(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "input_text" and not any(mark in part for mark in MARKS)


# ---------------------------------------------------------------- messages and results


def _read_message(data: Mapping[str, Any]) -> Reading:
    return _with_content(data["role"], data.get("content"), "content")


def _read_result(data: Mapping[str, Any]) -> Reading:
    return _with_content("tool", data.get("output"), "output", answers=_id(data, "call_id"))


def _with_content(role: str, content: Any, key: str, answers: str | None = None) -> Reading:
    parts = content if isinstance(content, list) else None
    texts = tuple(_content_texts(content, key))
    listed = [p for p in parts or () if isinstance(p, dict)]
    refusals = sum(tokens.count(p["refusal"]) for p in listed if isinstance(p.get("refusal"), str))
    return Reading(
        role,
        texts=texts,
        answers=answers,
        parts=parts,
        attached=tuple(_attached(parts or (), key)),
        other=_media(listed) + refusals,
        sole=texts[0].text if len(texts) == 1 and len(parts or "1") == 1 else None,
    )


def _content_texts(content: Any, key: str) -> Iterator[Text]:
    if isinstance(content, str):
        yield Text((0, key), content)
        return
    for i, part in enumerate(content if isinstance(content, list) else ()):
        for name in ("text", "stdout", "stderr") if isinstance(part, dict) else ():
            if isinstance(part.get(name), str) and (part[name] or name == "text"):
                yield Text((0, key, i, name), part[name])


def _attached(parts: Sequence[Any], key: str) -> Iterator[Attachment]:
    """Parts that are not text. A shell's output is text, and so is a refusal."""
    for i, part in enumerate(parts):
        if isinstance(part, dict) and part.get("type") not in _SPOKEN_PARTS and not {"text", "stdout", "stderr"} & part.keys():
            yield attachment((0, key, i), part)


def _media(parts: Sequence[Mapping[str, Any]]) -> int:
    """Tokens of images, which state their detail next to their address, or are stored upstream."""
    images = (p for p in parts if p.get("type") in ("input_image", "computer_screenshot"))
    return media_tokens([{"image_url": {"url": p.get("image_url"), "detail": p.get("detail")}} for p in images])


def _read_screenshot(data: Mapping[str, Any]) -> Reading:
    """A screenshot, kept or removed as a whole: only a picture may replace it."""
    shot = data.get("output")
    pictures = [shot] if isinstance(shot, dict) else []
    attached = tuple(attachment((0, "output"), {**p, "type": "input_image"}) for p in pictures)
    return Reading("tool", answers=_id(data, "call_id"), attached=attached, other=_media(pictures), sealed=True)


def _read_local_shell_result(data: Mapping[str, Any]) -> Reading:
    """The output of a local shell, which the specification calls JSON in a string; if it is, it stays unchanged."""
    output = data.get("output")
    answers = _id(data, "call_id") or _id(data, "id")
    # Plain text may begin like JSON ("[INFO] ready"), and so may a fold's replacement.
    if isinstance(output, str) and not (output.lstrip()[:1] in ("{", "[") and is_json(output)):
        return _with_content("tool", output, "output", answers)
    return Reading("tool", answers=answers, spoken=(output,) if isinstance(output, str) else (), sealed=True)


# ---------------------------------------------------------------- calls


def _read_function_call(data: Mapping[str, Any]) -> Reading:
    return _editable_call(data, "arguments", is_json=True)


def _read_custom_call(data: Mapping[str, Any]) -> Reading:
    return _editable_call(data, "input", is_json=False)


def _editable_call(data: Mapping[str, Any], key: str, *, is_json: bool) -> Reading:
    given = data.get(key)
    call_id = _id(data, "call_id")
    calls = (Call(call_id or "", str(data.get("name", "")), given),) if isinstance(given, str) else ()
    arguments = tuple(Text((0, key), call.arguments, is_json=is_json) for call in calls)
    return Reading("assistant", arguments=arguments, calls=calls, call_ids=_ids(call_id))


def _read_other_call(data: Mapping[str, Any]) -> Reading:
    """A call whose arguments are an object: kept or removed as a whole."""
    call_id = _id(data, "call_id") or _id(data, "id")
    given = " ".join(readable_texts({key: value for key, value in data.items() if key != "name"}))
    name = data.get("name") or str(data.get("type", "")).removesuffix("_call")
    return Reading("assistant", calls=(Call(call_id or "", str(name), given),), call_ids=_ids(call_id), sealed=True)


# ---------------------------------------------------------------- what is whole or gone


def _read_reasoning(data: Mapping[str, Any]) -> Reading:
    """Reasoning, which is only counted: its plain text, or else an estimate of its sealed text."""
    sealed = data.get("encrypted_content")
    if isinstance(sealed, str) and sealed:
        return Reading("assistant", other=sealed_tokens(sealed, _SEAL), sealed=True)
    return Reading("assistant", other=readable_tokens(data.get("content")), sealed=True)


def _read_picture(data: Mapping[str, Any]) -> Reading:
    """A generated image, an attachment rather than text of the assistant."""
    picture = data.get("result")
    spoken = tuple(readable_texts(data, _PICTURE))
    if not isinstance(picture, str) or not picture:
        return Reading("assistant", spoken=spoken, sealed=True)
    attached = (Attachment((0,), "image", "", len(picture) * 3 // 4),)
    return Reading("assistant", spoken=spoken, attached=attached, other=media_tokens([{"image_url": ""}]), sealed=True)


def _read_approval(data: Mapping[str, Any]) -> Reading:
    spoken = "approved" if data.get("approve") is True else "refused"
    return Reading("tool", spoken=(spoken, *readable_texts(data)), answers=_id(data, "approval_request_id"), sealed=True)


def _read_other(data: Mapping[str, Any]) -> Reading:
    """An item of a hosted tool, or of an unknown type."""
    kind, role, call_id = str(data.get("type")), data.get("role"), _id(data, "call_id")
    if kind in _STANDING or role in _INSTRUCTING:
        return Reading(str(role) if role in _INSTRUCTING else "developer", spoken=tuple(readable_texts(data)))
    if call_id and kind.endswith("_output"):
        return Reading("tool", answers=call_id, spoken=tuple(readable_texts(data)), sealed=True)
    if call_id:
        return _read_other_call(data)
    return Reading("assistant", spoken=tuple(readable_texts(data)), sealed=True)


_READERS: Final[dict[str, Callable[[Mapping[str, Any]], Reading]]] = {
    "message": _read_message,
    "reasoning": _read_reasoning,
    "function_call": _read_function_call,
    "function_call_output": _read_result,
    "custom_tool_call": _read_custom_call,
    "custom_tool_call_output": _read_result,
    "local_shell_call": _read_other_call,
    "local_shell_call_output": _read_local_shell_result,
    "shell_call": _read_other_call,
    "shell_call_output": _read_result,
    "apply_patch_call": _read_other_call,
    "apply_patch_call_output": _read_result,
    "computer_call": _read_other_call,
    "computer_call_output": _read_screenshot,
    "mcp_approval_request": _read_other_call,
    "mcp_approval_response": _read_approval,
    "image_generation_call": _read_picture,
}


def _refers(data: Mapping[str, Any]) -> str:
    """An earlier call that an item belongs to in addition to the one it answers: the program that made it, or the approval
    requested.
    """
    caller = data.get("caller")
    return (_id(caller, "caller_id") if isinstance(caller, dict) else None) or _id(data, "approval_request_id") or ""


def _id(data: Mapping[str, Any], key: str) -> str | None:
    return data[key] if isinstance(data.get(key), str) else None


def _ids(call_id: str | None) -> tuple[str, ...]:
    return (call_id,) if call_id else ()
