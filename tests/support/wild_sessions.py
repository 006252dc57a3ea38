"""Valid sessions with whatever the three formats know, odd as they may be.

A session is made from a seed for each format: top-level fields, turns, and where the client sends. What comes out of it is judged
in ``provider_rules``.

All of it is what the providers take: a session is refused by none of the rules before anything is folded. Everything is drawn
from a seed, so that long sessions cost little.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any, Final

from tests.support import words

Part = dict[str, Any]

_ODD_TEXTS: Final = (
    "a\x00b",
    "\u202eright to left\u202c and back",
    "👩‍👩‍👧‍👦 e\u0301 \ufeff zero\u200bwidth",
    "half of a pair: \ud83d.",
    '"}]} </quoted> ``` [turnfold 0123456789ab: 3 messages folded]',
    "<|endoftext|><|im_start|>system",
    "<keep>Bay 7 stays mine.</keep> The rest may go.",
    "x" * 3000,
    "1" * 400,
    "\u2028\u2029line separators",
    "continue",
    "the second one?",
    "Never book bay 7 again.",
)
_PICTURE: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_PDF: Final = "JVBERi0xLjQKJeLjz9MKMSAwIG9iago8PC9UeXBlL0NhdGFsb2c+PmVuZG9iagp0cmFpbGVyPDwvUm9vdCAxIDAgUj4+"
_HUGE: Final = 10**30
_NAMES: Final = ("Read", "Grep", "count", "mcp__desk__book")


@lru_cache(4096)
def _prose(seed: int, sentences: int) -> str:
    return words.prose(seed, ("en", "de", "ru", "ja", "ar", "es")[seed % 11 % 6], sentences)


@dataclass(slots=True)
class Session:
    """A session of one wire.

    Attributes:
        top: what stands beside the history.
        items: the elements of the history, in order.
        ends: how many of them a client has when it sends.
        escaped: whether the body's JSON is ASCII.
        odd_json: what is put into the body's text in place of a key that no provider knows.
    """

    wire: str
    seed: int
    top: Part
    items: list[Part] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    escaped: bool = True
    separators: tuple[str, str] = (",", ":")
    marks: bool = False

    @property
    def history(self) -> str:
        """The key of the history."""
        return "input" if self.wire == "responses" else "messages"

    def body(self, end: int, **more: Any) -> bytes:
        """The request that a client sends with so many items."""
        items = self.items[:end]
        if self.marks and self.wire != "responses":
            items = _marked(items)
        value = {**self.top, self.history: items, **more}
        text = json.dumps(value, ensure_ascii=self.escaped, separators=self.separators)
        return text.replace('"x_numbers":0', '"x_numbers":[1e400,0.10000000000000000000000001,-0.0,1E5]').encode("utf-8")


def _marked(items: Sequence[Part]) -> list[Part]:
    """A mark on the newest two elements that take one, as clients set them: those that do write all as parts."""
    found, left = [_in_parts(item) for item in items], 2
    for at in range(len(found) - 1, -1, -1):
        content = found[at].get("content")
        if left and found[at]["role"] in ("user", "tool") and content:
            parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
            if parts[-1].get("type") in ("text", "tool_result", "image") and "cache_control" not in parts[-1]:
                found[at] = {**found[at], "content": [*parts[:-1], {**parts[-1], "cache_control": {"type": "ephemeral"}}]}
                left -= 1
    return found


def _in_parts(item: Part) -> Part:
    said = item.get("content")
    takes = item["role"] in ("user", "tool") and isinstance(said, str) and said
    return {**item, "content": [{"type": "text", "text": said}]} if takes else item


class _Maker:
    """Makes one session; lives for one call of `session`."""

    def __init__(self, wire: str, seed: int, turns: int) -> None:
        self.random, self.seed, self.turns, self.count = Random(f"{wire} {seed}"), seed, turns, 0
        self.session = Session(wire, seed, {})
        self.long = self.random.choice((3, 12, 30))
        self.calm = self.random.random() < 0.3  # a session with few oddities

    def chance(self, share: float) -> bool:
        return self.random.random() < share * (0.2 if self.calm else 1)

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}_{self.seed}_{self.count}"

    def make(self) -> Session:
        """The whole session."""
        raise NotImplementedError

    def text(self, most: int | None = None) -> str:
        if self.chance(0.08) and (text := self.random.choice(_ODD_TEXTS)):
            return text
        if self.chance(0.15):
            return words.text_of_kind(self.random.choice(sorted(words.KINDS)), self.random.randrange(300))
        return _prose(self.random.randrange(400), self.random.randint(1, most or self.long))

    def arguments(self) -> Part:
        given: Part = {"path": f"notes/{self.random.randrange(9)}.md", "n": 1.50, "deep": {"list": [None, True, "é"]}}
        if self.chance(0.2):
            given["text"] = _prose(self.random.randrange(99), 20)
        if self.chance(0.1):
            given |= {"cache_control": {"type": "ephemeral"}, "role": "system", "big": _HUGE}
        return self.random.choice(({}, given, given))

    def put(self, *items: Part) -> None:
        self.session.items += items

    def sends(self) -> None:
        """The client sends what it has."""
        if not self.session.ends or self.session.ends[-1] != len(self.session.items):
            self.session.ends.append(len(self.session.items))

    def future(self, share: float = 0.06) -> Part:
        """Fields of tomorrow."""
        if not self.chance(share):
            return {}
        return self.random.choice(({"x_numbers": 0}, {"x_future": {"a": [None, {"b": _HUGE}]}}, {"metadata": {"k": "v"}}))

    def calls(self, make: Callable[[str], Part], prefix: str) -> list[Part]:
        return [make(self.name(prefix)) for _ in range(self.random.choice((1, 1, 2, 3, 5)))]

    def shuffled(self, found: list[Any]) -> list[Any]:
        return self.random.sample(found, len(found)) if self.chance(0.4) else found


# ---------------------------------------------------------------- Anthropic's messages


class _Messages(_Maker):
    def __init__(self, seed: int, turns: int) -> None:
        super().__init__("messages", seed, turns)
        self.thinks = self.random.random() < 0.4
        self.amid = self.random.random() < 0.4  # whether instructions come amid the messages
        self.cites = self.random.random() < 0.2
        model = self.random.choice(("claude-sonnet-4-5", "claude-opus-4-8", "claude-3-5-haiku-latest", "claude-sonnet-5-5"))
        top: Part = {"model": model, "max_tokens": 1024}
        top |= self.random.choice(({}, {"system": "You run the harbour desk."}, {"system": self._system()}))
        self.named = self.random.sample(_NAMES, 3)
        tools: list[Part] = [{"name": n, "description": n, "input_schema": {"type": "object"}} for n in self.named]
        if self.chance(0.3):
            tools[-1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
        if self.chance(0.2):
            tools += [{"name": f"t{i}", "input_schema": {"type": "object"}, "defer_loading": True} for i in range(60)]
        if self.chance(0.4):
            tools.append({"type": "web_search_20250305", "name": "web_search", "max_uses": 5})
        top["tools"] = tools
        if self.thinks:
            adaptive = model in ("claude-opus-4-8", "claude-sonnet-5-5")  # these know no other kind
            top["thinking"] = {"type": "adaptive"} if adaptive else {"type": "enabled", "budget_tokens": 1024}
        for share, more in (
            (0.2, {"tool_choice": {"type": "auto", "disable_parallel_tool_use": False}}),
            (0.2, {"metadata": {"user_id": "u-1"}}),
            (0.15, {"container": "container_011"}),
            (0.15, {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}),
            (0.1, {"output_config": {"effort": "high"}, "service_tier": "auto"}),
            (0.1, {"x_future": {"deep": [[[]]]}, "stop_sequences": ["\n\nHuman:"]}),
            (0.15, {"cache_control": {"type": "ephemeral"}}),
        ):
            top |= more if self.chance(share) else {}
        self.session.top = top
        self.session.marks = self.random.random() < 0.4 and "cache_control" not in top

    def _system(self) -> list[Part]:
        found: list[Part] = [{"type": "text", "text": "You run the harbour desk."}, {"type": "text", "text": "Never book bay 7."}]
        if self.chance(0.6):
            found[-1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
        return found

    def block(self) -> Part:
        cited = {"citations": {"enabled": True}} if self.cites else {}
        kinds: tuple[Part, ...] = (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PICTURE}},
            {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": self.text()}, "title": "T"}
            | cited,
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": _PDF}} | cited,
            {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": self.text()}]}} | cited,
            {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": self.text()}]} | cited,
            {"type": "container_upload", "file_id": "file_2"},
            {"type": "hologram_20270101", "data": {"a": [1, None]}, "text_like": "not text"},
        )
        return self.random.choice(kinds)

    def user(self) -> Part:
        if self.chance(0.4):
            blocks = [{"type": "text", "text": self.text()} | self.future(0.02) for _ in range(self.random.randint(1, 3))]
            blocks += [self.block() for _ in range(self.random.randrange(3))]
            return {"role": "user", "content": self.shuffled(blocks)}
        return {"role": "user", "content": self.text()}

    def thinking(self) -> list[Part]:
        if not self.thinks:
            return []
        if self.chance(0.2):
            return [{"type": "redacted_thinking", "data": self.name("sig")}]
        return [{"type": "thinking", "thinking": self.random.choice(("", _prose(5, 3))), "signature": self.name("sig")}]

    def served(self) -> list[Part]:
        use = self.name("srvtoolu")
        found = {"type": "web_search_result", "url": "https://e.com", "title": "t", "encrypted_content": "Eo8" * 30}
        kind, name, content = self.random.choice(
            (
                ("server_tool_use", "web_search", [found]),
                ("server_tool_use", "web_fetch", {"type": "web_fetch_result", "url": "https://e.com", "content": self._page()}),
                (
                    "server_tool_use",
                    "bash_code_execution",
                    {"type": "bash_code_execution_result", "stdout": "4", "return_code": 0},
                ),
                ("server_tool_use", "tool_search", {"type": "tool_search_tool_search_result", "tool_references": []}),
                ("mcp_tool_use", "mcp", [{"type": "text", "text": self.text(4)}]),
            )
        )
        server = {"server_name": "desk"} if kind == "mcp_tool_use" else {}
        use_block = {"type": kind, "id": use, "name": name, "input": {"query": "tides"}} | server
        return [use_block, {"type": f"{name}_tool_result", "tool_use_id": use, "content": content}]

    def _page(self) -> Part:
        return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": self.text(5)}}

    def result(self, use: Part) -> Part:
        found: Part = {"type": "tool_result", "tool_use_id": use["id"]}
        if self.chance(0.1):
            return found | self.random.choice(({}, {"content": ""}, {"content": []}))
        if self.chance(0.15):
            return found | {"content": [{"type": "text", "text": "failed: " + self.text(3)}], "is_error": True}
        if self.chance(0.3):
            inner = [{"type": "text", "text": self.text()} for _ in range(self.random.randint(1, 2))]
            inner += [b for b in (self.block() for _ in range(2)) if b["type"] in ("image", "document", "search_result")]
            return found | {"content": self.shuffled(inner)}
        return found | {"content": self.text()} | self.random.choice(({}, {"is_error": False}, {}))

    def assistant(self, calls: list[Part]) -> Part:
        content = self.thinking()
        if self.chance(0.15):
            content += self.served()
        if not calls or self.chance(0.5):
            said: Part = {"type": "text", "text": self.text(8 if calls else None)}
            if self.chance(0.1):
                said["citations"] = [{"type": "char_location", "cited_text": "tide", "document_index": 0}]
            content.append(said)
        content += calls
        if len(content) == 1 and content[0]["type"] == "text" and self.chance(0.5):
            return {"role": "assistant", "content": content[0]["text"]}
        return {"role": "assistant", "content": content}

    def make(self) -> Session:
        for _ in range(self.turns):
            self.put(self.user())
            if self.chance(0.08):
                self.put(self.user())  # the API takes neighbours of one role for one message
            self._note()
            self.sends()
            for _ in range(self.random.choice((0, 0, 1, 2, 6))):
                calls = self.calls(self._use, "toolu")
                self.put(self.assistant(calls))
                results = [self.result(use) for use in self.shuffled(list(calls))]
                if self.chance(0.15):
                    results.append({"type": "text", "text": self.text(3)})
                self.put({"role": "user", "content": results})
                self._note()
                self.sends()
            if self.chance(0.03) and not self.thinks:
                self.put({"role": "assistant", "content": "As I said:"})  # the client begins the answer
                self.sends()
                self.session.items.pop()
            self._two_parts()
            self.put(self.assistant([]))
            if self.chance(0.06) and not self.thinks:
                self.put(self.assistant([]))
        self.put(self.user())
        self.sends()
        return self.session

    def _two_parts(self) -> None:
        """What a server's tool did, parted from its use: in a paused turn, or around calls that its program makes; and tools that
        are found."""
        use, name = self.name("srvtoolu"), self.name("toolu")
        if self.chance(0.06):
            search: Part = {"type": "server_tool_use", "id": use, "name": "web_search", "input": {"query": "tides"}}
            self.put({"role": "assistant", "content": [*self.thinking(), search]})
            self.sends()
            found = {"type": "web_search_tool_result", "tool_use_id": use, "content": []}
            self.put({"role": "assistant", "content": [found, {"type": "text", "text": self.text()}]}, self.user())
            self.sends()
        elif self.chance(0.06):
            program = {"type": "server_tool_use", "id": use, "name": "code_execution", "input": {"code": "await Read()"}}
            caller = {"caller": {"type": "code_execution_20250825", "tool_id": use}}
            self.put({"role": "assistant", "content": [*self.thinking(), program, self._use(name) | caller]})
            self.put({"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": self.text()}]})
            self.sends()
            ran = {"type": "code_execution_result", "stdout": "4", "stderr": "", "return_code": 0, "content": []}
            result = {"type": "code_execution_tool_result", "tool_use_id": use, "content": ran}
            self.put({"role": "assistant", "content": [result, {"type": "text", "text": self.text()}]}, self.user())
            self.sends()
        elif self.chance(0.1):
            self.put(self.assistant([{"type": "tool_use", "id": name, "name": "Read", "input": {"query": "book"}}]))
            tools = [{"type": "tool_reference", "tool_name": "Read"}]
            self.put({"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": tools}]})
            self.sends()

    def _use(self, name: str) -> Part:
        return {"type": "tool_use", "id": name, "name": self.random.choice(self.named), "input": self.arguments()}

    def _note(self) -> None:
        """Instructions amid the messages, as Claude Code has them."""
        if self.amid and self.random.random() < 0.3:
            said: Any = f"The todo list is empty, {self.name('note')}."
            self.put({"role": "system", "content": said if self.chance(0.5) else [{"type": "text", "text": said}]})


# ---------------------------------------------------------------- chat completions


class _Chat(_Maker):
    def __init__(self, seed: int, turns: int) -> None:
        super().__init__("chat", seed, turns)
        self.old = self.random.random() < 0.1  # with functions as they were before tools
        top: Part = {"model": self.random.choice(("gpt-4o", "gpt-5", "my-local-model", "claude-sonnet-4-5"))}
        tools = [{"type": "function", "function": {"name": n, "parameters": {"type": "object"}}} for n in _NAMES]
        top["functions" if self.old else "tools"] = [t["function"] for t in tools] if self.old else tools
        for share, more in (
            (0.2, {"tool_choice": "auto", "parallel_tool_calls": True}),
            (0.2, {"n": 2}),
            (0.2, {"logprobs": True, "top_logprobs": 2}),
            (0.2, {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}}),
            (0.15, {"prediction": {"type": "content", "content": "Bay 4 is free."}}),
            (0.2, {"seed": _HUGE, "temperature": 1e-30, "logit_bias": {"50256": -100}}),
            (0.1, {"x_numbers": 0, "x_future": {"deep": [[[]]]}}),
            (0.1, {"reasoning_effort": "high", "verbosity": "low", "store": True, "metadata": {"k": "v"}}),
            (0.1, {"web_search_options": {}, "safety_identifier": "s", "prompt_cache_key": "k"}),
        ):
            top |= more if self.chance(share) else {}
        self.session.top = top
        self.session.marks = "claude" in top["model"] and self.random.random() < 0.5
        if self.chance(0.8):
            self.put(self.instructions())

    def instructions(self) -> Part:
        said = f"You run the harbour desk. Never book bay 7. {self.name('rule')}"
        content: Any = [{"type": "text", "text": said}] if self.chance(0.3) else said
        return {"role": self.random.choice(("system", "developer")), "content": content} | self.future()

    def part(self) -> Part:
        kinds: tuple[Part, ...] = (
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PICTURE}", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
            {"type": "file", "file": {"file_id": "file-1"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{_PDF}"}},
            {"type": "hologram", "hologram": {"a": [1, None]}},
        )
        return self.random.choice(kinds)

    def user(self) -> Part:
        more = {"name": "harbour-desk"} if self.chance(0.1) else self.future()
        if self.chance(0.3):
            parts = [{"type": "text", "text": self.text()} for _ in range(self.random.randint(1, 3))]
            parts += [self.part() for _ in range(self.random.randrange(3))]
            return {"role": "user", "content": self.shuffled(parts)} | more
        return {"role": "user", "content": self.text()} | more

    def answer(self) -> Part:
        kinds: tuple[Part, ...] = (
            {"content": None, "refusal": "I can't help with that."},
            {"content": [{"type": "refusal", "refusal": "I can't."}]},
            {"content": [{"type": "text", "text": self.text()}, {"type": "text", "text": "And so on."}]},
            {"content": None, "audio": {"id": self.name("audio")}},
            {"content": self.text(), "reasoning_content": _prose(3, 2)},
            {"content": self.text(), "reasoning_details": [{"type": "reasoning.encrypted", "data": "gAAA" * 20}]},
            {"content": self.text(), "annotations": [{"type": "url_citation", "url_citation": {"url": "u", "start_index": 0}}]},
            {"content": self.text(), "refusal": None, "tool_calls": None, "function_call": None, "audio": None},
        )
        said = self.random.choice(kinds) if self.chance(0.35) else {"content": self.text()}
        return {"role": "assistant"} | said | self.future()

    def make(self) -> Session:
        for _ in range(self.turns):
            if self.chance(0.06):
                self.put(self.instructions())
            self.put(self.user())
            if self.chance(0.05):
                self.put(self.user())
            self.sends()
            for _ in range(self.random.choice((0, 0, 1, 2, 6))):
                self._loop()
                self.sends()
            self.put(self.answer())
        self.put(self.user())
        self.sends()
        return self.session

    def _loop(self) -> None:
        said: Part = {"role": "assistant"} | self.random.choice(
            ({"content": None}, {"content": ""}, {"content": self.text(3)}, {})
        )
        if self.old:
            given = {"name": "count", "arguments": json.dumps(self.arguments())}
            self.put({"content": None} | said | {"function_call": given})
            self.put({"role": "function", "name": "count", "content": self.text()})
            return
        calls = self.calls(self._call, "call")
        self.put(said | {"tool_calls": calls} | self.future())
        for call in self.shuffled(list(calls)):
            content: Any = self.text()
            if self.chance(0.2):
                content = self.random.choice(("", [{"type": "text", "text": self.text()}, {"type": "text", "text": "ok"}]))
            self.put({"role": "tool", "tool_call_id": call["id"], "content": content} | self.future(0.03))

    def _call(self, name: str) -> Part:
        if self.chance(0.1):
            return {"id": name, "type": "custom", "custom": {"name": "shell", "input": self.text(4)}}
        call: Part = {"id": name, "type": "function"}
        call["function"] = {"name": self.random.choice(_NAMES), "arguments": json.dumps(self.arguments())}
        if self.chance(0.1):
            call["extra_content"] = {"google": {"thought_signature": "CpcB" + "w" * 30}}
        return call


# ---------------------------------------------------------------- Responses


class _Responses(_Maker):
    def __init__(self, seed: int, turns: int) -> None:
        super().__init__("responses", seed, turns)
        self.thinks = self.random.random() < 0.5
        self.stored = self.random.random() < 0.3
        top: Part = {"model": self.random.choice(("gpt-5", "gpt-4o")), "store": self.stored}
        top["tools"] = [{"type": "function", "name": n, "parameters": {"type": "object"}} for n in _NAMES]
        for share, more in (
            (0.7, {"instructions": "You run the harbour desk. Never book bay 7."}),
            (0.2, {"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "high", "summary": "auto"}}),
            (0.2, {"text": {"format": {"type": "json_schema", "name": "a", "schema": {"type": "object"}}}}),
            (0.2, {"truncation": "disabled", "parallel_tool_calls": True, "prompt_cache_key": "k"}),
            (0.05, {"previous_response_id": "resp_0"}),
            (0.05, {"conversation": {"id": "conv_1"}}),
            (0.05, {"context_management": [{"type": "compaction", "compact_threshold": 100_000}]}),
            (0.1, {"x_numbers": 0, "x_future": {"deep": [[[]]]}, "top_logprobs": 3}),
        ):
            top |= more if self.chance(share) else {}
        self.session.top = top

    def part(self) -> Part:
        kinds: tuple[Part, ...] = (
            {"type": "input_image", "image_url": f"data:image/png;base64,{_PICTURE}", "detail": "low"},
            {"type": "input_image", "file_id": "file_1", "detail": "auto"},
            {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{_PDF}"},
            {"type": "input_file", "file_url": "https://example.com/a.pdf"},
            {"type": "input_hologram", "hologram": {"a": [1, None]}},
        )
        return self.random.choice(kinds)

    def user(self) -> Part:
        typed = {"type": "message"} if self.chance(0.5) else {}
        if self.chance(0.4):
            parts = [{"type": "input_text", "text": self.text()} for _ in range(self.random.randint(1, 3))]
            parts += [self.part() for _ in range(self.random.randrange(2))]
            return {**typed, "role": "user", "content": self.shuffled(parts)}
        return {**typed, "role": "user", "content": self.text()} | self.future(0.02)

    def thought(self) -> list[Part]:
        if not self.thinks or self.random.random() < 0.4:
            return []
        sealed = {} if self.stored and self.chance(0.5) else {"encrypted_content": "gAAA" + self.name("enc") * 90}
        summary = [{"type": "summary_text", "text": _prose(4, 1)}] if self.chance(0.4) else []
        return [{"type": "reasoning", "id": self.name("rs"), "summary": summary, **sealed}]

    def said(self) -> Part:
        if self.chance(0.15):
            return {"role": "assistant", "content": self.text()}
        part: Part = {"type": "output_text", "text": self.text(), "annotations": []}
        if self.chance(0.1):
            part["annotations"] = [{"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 4}]
        if self.chance(0.05):
            part = {"type": "refusal", "refusal": "I can't."}
        more = {"phase": "final_answer"} if self.chance(0.1) else {}
        return {"type": "message", "id": self.name("msg"), "role": "assistant", "status": "completed", "content": [part], **more}

    def hosted(self) -> Part:
        kinds: tuple[Part, ...] = (
            {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "tides"}},
            {
                "type": "file_search_call",
                "status": "completed",
                "queries": ["tides"],
                "results": [{"file_id": "f", "text": "Nine."}],
            },
            {"type": "code_interpreter_call", "status": "completed", "code": "2+2", "container_id": "c", "outputs": []},
            {"type": "image_generation_call", "status": "completed", "result": _PICTURE},
            {
                "type": "mcp_call",
                "name": "book",
                "arguments": "{}",
                "server_label": "desk",
                "output": self.text(4),
                "error": None,
            },
            {"type": "mcp_list_tools", "server_label": "desk", "tools": [{"name": "book", "input_schema": {}}]},
            {"type": "tool_search_output", "execution": "server", "call_id": None, "tools": [{"name": "book"}]},
            {"type": "hologram_call", "status": "completed", "payload": {"a": [1, None]}},
        )
        found = self.random.choice(kinds)
        return {"type": found["type"], "id": self.name("hosted"), **found}

    def pair(self) -> tuple[Part, Part]:
        """A call and its result."""
        name = self.name("call")
        kind = self.random.choice(("function",) * 7 + ("custom_tool", "shell", "apply_patch", "computer", "local_shell"))
        if self.calm or kind == "function":
            given = {"name": self.random.choice(_NAMES), "arguments": json.dumps(self.arguments())}
            output: Any = self.text()
            if self.chance(0.2):
                output = [{"type": "input_text", "text": self.text()}, *([self.part()] if self.chance(0.4) else [])]
            if self.chance(0.06):
                output = ""
            call = {"type": "function_call", "id": self.name("fc"), "call_id": name, **given}
            return call, {"type": "function_call_output", "call_id": name, "output": output}
        shot = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{_PICTURE}"}
        printed = [{"stdout": self.text(4), "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
        forms: dict[str, tuple[Part, Any]] = {
            "custom_tool": ({"name": "sh", "input": self.text(4)}, self.text()),
            "shell": ({"action": {"commands": ["ls"]}, "status": "completed"}, printed),
            "apply_patch": ({"operation": {"type": "delete_file", "path": "a.md"}, "status": "completed"}, "done"),
            "computer": ({"action": {"type": "click", "x": 3, "y": 4, "button": "left"}, "pending_safety_checks": []}, shot),
            "local_shell": ({"action": {"type": "exec", "command": ["ls"], "env": {}}, "status": "completed"}, '{"output": "a"}'),
        }
        more, output = forms[kind]
        call = {"type": f"{kind}_call", "id": self.name("tc"), "call_id": name, **more}
        answers = {"id": name} if kind == "local_shell" else {"call_id": name}
        return call, {"type": f"{kind}_call_output", **answers, "output": output}

    def make(self) -> Session:
        for turn in range(self.turns):
            if self.chance(0.08):
                said = f"Answer briefly, {self.name('rule')}."
                self.put({"type": "message", "role": self.random.choice(("developer", "system")), "content": said})
            self.put(self.user())
            self.sends()
            for _ in range(self.random.choice((0, 0, 1, 2, 6))):
                pairs = [self.pair() for _ in range(self.random.choice((1, 1, 2, 4)))]
                if self.chance(0.15):
                    hosted = self.hosted()
                    listed = hosted["type"] in ("mcp_list_tools", "tool_search_output")
                    self.put(*([] if listed else self.thought()), hosted)
                self.put(*self.thought(), *[call for call, _ in pairs])
                self.put(*[result for _, result in self.shuffled(pairs)])
                self.sends()
            self._approve()
            self.put(*self.thought(), self.said())
            if turn == self.turns // 2 and self.chance(0.08):
                self.put({"type": "compaction", "id": self.name("cmp"), "encrypted_content": "gAAA" * 40})
            if self.stored and self.chance(0.03):
                self.put({"type": "item_reference", "id": self.name("ref")})
        self.put(self.user())
        self.sends()
        return self.session

    def _approve(self) -> None:
        if self.chance(0.05):
            asked = self.name("mcpr")
            self.put({"type": "mcp_approval_request", "id": asked, "name": "book", "arguments": "{}", "server_label": "desk"})
            self.put({"type": "mcp_approval_response", "approval_request_id": asked, "approve": True})
            self.sends()


_MAKERS: Final[dict[str, Callable[[int, int], _Maker]]] = {"messages": _Messages, "chat": _Chat, "responses": _Responses}


def session(wire: str, seed: int, turns: int = 8) -> Session:
    """The session of a wire that a seed draws."""
    maker = _MAKERS[wire](seed, turns)
    made = maker.make()
    made.escaped = "\ud83d" in json.dumps(made.items, ensure_ascii=False) or maker.random.random() < 0.5
    made.separators = maker.random.choice(((",", ":"), (", ", ": ")))
    return made


def requests(made: Session) -> Iterator[tuple[int, bytes]]:
    """What the client sends, in order, with the number of items in each."""
    for end in made.ends:
        yield end, made.body(end)
