"""What the Responses API refuses, and what may not change on the way to it.

It is one table of rules, each with its source.

What the client itself got wrong is no fault of ours: a fault counts only where the forwarded request has more of its kind.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

Item = dict[str, Any]
Items = Sequence[Item]

_CALL_OF: Final = {"mcp_approval_request": "id", "mcp_approval_response": "approval_request_id"}
_EDITABLE: Final = frozenset(
    {"message", "function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output", "shell_call_output"}
    | {"apply_patch_call_output"}
)
_PARTS: Final = {"user": {"input_text", "input_image", "input_file"}, "assistant": {"output_text", "refusal"}}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    Attributes:
        says: the refusal, or what a careful client would object to.
        source: where that is said.
        faults: of the items received and forwarded, to what breaks it, one text each.
    """

    says: str
    source: str
    faults: Callable[[Items, Items], Iterator[str]]


def rule_faults(received: bytes, forwarded: bytes) -> list[str]:
    """What an upstream or a careful client would object to; empty when all is well."""
    old, new = json.loads(received), json.loads(forwarded)
    if list(old) != list(new) or {**old, "input": 0} != {**new, "input": 0}:
        return ["what stands beside the input changed"]
    if not isinstance(old["input"], list) or not isinstance(new["input"], list):
        return [] if type(old["input"]) is type(new["input"]) else ["the input is of another kind"]
    return [f"{rule.says}: {fault}" for rule in RULES for fault in rule.faults(old["input"], new["input"])]


def _more(kind: Callable[[Items], Iterator[str]]) -> Callable[[Items, Items], Iterator[str]]:
    """Faults of a list by itself, as far as there are more of them than before."""
    return lambda old, new: iter((Counter(kind(new)) - Counter(kind(old))).elements())


def kind_of(item: Item) -> str:
    """An item's type; one that has a role and none is a message."""
    return str(item.get("type") or "message")


def _call_id(item: Item) -> Any:
    return item.get(_CALL_OF.get(kind_of(item), "call_id")) or (
        item.get("id") if kind_of(item) == "local_shell_call_output" else None
    )


def _is_result(item: Item) -> bool:
    return kind_of(item).endswith(("_output", "_approval_response"))


def _orphans(items: Items) -> Iterator[str]:
    waiting: Counter[Any] = Counter()
    for item in items:
        name = _call_id(item)
        if name and not _is_result(item):
            waiting[name] += 1
        elif name and waiting[name] > 0:
            waiting[name] -= 1
        elif name:
            yield str(name)


def _unanswered(items: Items) -> Iterator[str]:
    waiting: Counter[Any] = Counter()
    for item in items:
        if name := _call_id(item):
            waiting[name] += -1 if _is_result(item) else 1
    yield from (str(name) for name in (+waiting).elements())


def _is_assistants(item: Item) -> bool:
    return not _is_result(item) and item.get("role", "assistant") == "assistant"


def _loose_reasoning(items: Items) -> Iterator[str]:
    for item, following in zip(items, [*items[1:], {"role": "user"}], strict=True):
        if kind_of(item) == "reasoning" and not _is_assistants(following):
            yield str(item.get("id"))


def _followers(old: Items, new: Items) -> Iterator[str]:
    """Each item that followed reasoning still follows the same, as it was; reasoning comes whole, and in order."""
    pairs = [(a, b) for a, b in pairwise(old) if kind_of(a) == "reasoning"]
    after = [(a, b) for a, b in pairwise(new) if kind_of(a) == "reasoning"]
    yield from ("another item follows, or it was edited" for pair in after if pair not in pairs)
    for before, item in zip([{}, *new[:-1]], new, strict=True):
        led = [a for a, b in pairs if b == item]
        if (
            led
            and before not in led
            and item not in [b for a, b in zip([{}, *old], old, strict=False) if kind_of(a) != "reasoning"]
        ):
            yield f"{kind_of(item)} stands without its reasoning"


def _wrong_parts(items: Items) -> Iterator[str]:
    for item in items:
        allowed = _PARTS.get(str(item.get("role")))
        parts = item.get("content") if isinstance(item.get("content"), list) else ()
        yield from (str(p.get("type")) for p in parts or () if allowed and p.get("type") not in allowed)


def _empty(items: Items) -> Iterator[str]:
    for item in items:
        content = item.get("content", item.get("output", "x"))
        if content == [] or (isinstance(content, str) and not content.strip()):
            yield kind_of(item)


def _frame(item: Item) -> str:
    """What of an item never changes: all but the texts of those kinds that may be edited."""
    if kind_of(item) not in _EDITABLE and not _is_plain_shell_output(item):
        return json.dumps(item)
    kept = {key: value for key, value in item.items() if key not in {"content", "output", "arguments", "input"}}
    return json.dumps([kept, list(item) if kind_of(item) != "message" else sorted(item)])


def _is_plain_shell_output(item: Item) -> bool:
    """Whether it is a local shell's output in plain text. The specification has JSON there, which stays as it is."""
    output = item.get("output")
    if kind_of(item) != "local_shell_call_output" or not isinstance(output, str):
        return False
    try:
        return not isinstance(json.loads(output), (dict, list))
    except ValueError:
        return True


def _invented(old: Items, new: Items) -> Iterator[str]:
    waiting = iter([_frame(item) for item in old])
    for item in new:
        if _frame(item) not in waiting:
            yield f"{kind_of(item)} is invented, out of order, has other keys, or was edited"
            return


def _part_keys(old: Items, new: Items) -> Iterator[str]:
    def keys(items: Items) -> set[tuple[str, ...]]:
        parts = [p for i in items for k in ("content", "output") if isinstance(i.get(k), list) for p in i[k]]
        return {tuple(sorted(part)) for part in parts}

    ours = {("text", "type"), ("prompt_cache_breakpoint", "text", "type")}
    yield from (str(found) for found in keys(new) - keys(old) - ours)


def _instructions(old: Items, new: Items) -> Iterator[str]:
    def of(items: Items) -> list[Item]:
        return [item for item in items if item.get("role") in ("system", "developer")]

    yield from ["changed"] if of(old) != of(new) else []


def _arguments(items: Items) -> Iterator[str]:
    for item in items:
        if kind_of(item) == "function_call":
            try:
                json.loads(item.get("arguments", "{}"))
            except ValueError:
                yield str(item.get("call_id"))


def _question(old: Items, new: Items) -> Iterator[str]:
    def last(items: Items) -> Any:
        return next((i.get("content") for i in reversed(items) if i.get("role") == "user" and i.get("content")), None)

    def texts(content: Any) -> list[str]:
        parts = content if isinstance(content, list) else [{"text": content}]
        return [part["text"] for part in parts if isinstance(part.get("text"), str)]

    there = "\n".join(texts(last(new)))
    yield from ("lost" for text in texts(last(old)) if text.strip() and text not in there)


_SDK: Final = "OpenAI's specification, as in its Python SDK: types.responses.response_input_item"
RULES: Final = (
    Rule("No tool call found for function call output", "microsoft/vscode#320060", _more(_orphans)),
    Rule("No tool output found for function call", "RooCodeInc/Roo-Code#12248", _more(_unanswered)),
    Rule("'reasoning' was provided without its required following item", "continuedev/continue#8933", _more(_loose_reasoning)),
    Rule("provided without its required 'reasoning' item", "continuedev/continue#10018 and #11994", _followers),
    Rule("Invalid value of a part's type for this role", _SDK, _more(_wrong_parts)),
    Rule("Unknown parameter, or an item that nobody sent", _SDK, _invented),
    Rule("Unknown parameter in a part", _SDK, _part_keys),
    Rule("Content was emptied", "a message that says nothing is a fault of ours", _more(_empty)),
    Rule("Instructions are verbatim", "the law of this project", _instructions),
    Rule("Arguments are JSON", "the law of this project", _more(_arguments)),
    Rule("The question keeps its text", "the law of this project", _question),
)
