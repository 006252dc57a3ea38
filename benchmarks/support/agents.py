"""Sessions of coding agents, on the wires of Codex, Claude Code, opencode and Cline, and what each call takes from before.

It has a made-up repository, an agent that works in it, recorded runs, and the requests that each client sends of them. Folding,
caches and bills are in ``benchmarks.agents``.

A call names what it needs: paths, lines and values that an older result gave, and that nothing newer said again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from benchmarks.support.caches import Column
from benchmarks.support.shapes import Request
from tests.support.words import prose
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

Item = dict[str, Any]

_OLD: Final = 3  # steps: what came later stands in any tail
_MARK: Final[Item] = {"cache_control": {"type": "ephemeral"}}
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_WORDS: Final = ("ledger", "invoice", "branch", "export", "pallet", "seal", "retry", "queue", "port", "depot", "tariff", "route")
_VERBS: Final = ("load", "save", "count", "merge", "check", "split", "drain", "round", "match", "close")
_TASKS: Final = (
    "Find out why totals are rounded down for one branch and repair it.",
    "Rename the setting `retry_limit` to `max_attempts` everywhere.",
    "The nightly export must skip pallets without a seal and say how many it skipped.",
    "Two tests fail on the main branch. Make them pass without changing what they assert.",
)


@dataclass(frozen=True, slots=True)
class AgentStep:
    """A call of an agent's, and what it gave.

    Attributes:
        needs: what the call takes from results that are more than a few steps old.
        says: a person's message in front of it; "" for none.
    """

    thought: str
    tool: str
    arguments: Mapping[str, Any]
    result: str
    needs: tuple[str, ...] = ()
    says: str = ""


@dataclass(frozen=True, slots=True)
class AgentRun:
    """A session.

    Attributes:
        sealed: tokens of encrypted or signed reasoning in front of each call.
    """

    system: str
    steps: tuple[AgentStep, ...]
    sealed: int


# ---------------------------------------------------------------- the repository and who works in it


class _Repository:
    """Files of functions with values of their own."""

    def __init__(self, draw: Random) -> None:
        self.draw = draw
        self.files = {self._path(): self._lines() for _ in range(45)}

    def _path(self) -> str:
        one, other = self.draw.sample(_WORDS, 2)
        return f"src/{one}/{other}_{self.draw.choice(_VERBS)}{self.draw.randrange(10, 99)}.py"

    def _lines(self) -> list[str]:
        found = [f"from core.{self.draw.choice(_WORDS)} import {self.draw.choice(_WORDS).title()}", ""]
        for _ in range(self.draw.randint(5, 14)):
            verb, noun = self.draw.choice(_VERBS), self.draw.choice(_WORDS)
            name = f"{verb}_{noun}_{self.draw.randrange(100, 999)}"
            found += [
                f"def {name}({noun}: dict[str, int], limit: int = {self.draw.randrange(1000, 99999)}) -> int:",
                f"    total = sum({noun}.values()) // {self.draw.randrange(3, 97)}",
                f'    if total > limit: raise ValueError("{name}: over {self.draw.randrange(100, 999)}")',
                f"    return total + {self.draw.randrange(1000, 99999)}",
                "",
            ]
        return found


class _Agent:
    """Takes steps, and now and then goes back to what an older result said."""

    def __init__(self, draw: Random, scale: float) -> None:
        self.draw, self.scale = draw, scale
        self.files = _Repository(draw).files
        self.results: list[str] = []  # with the arguments of their calls
        self.seen: list[tuple[int, str, str]] = []  # step, path, line

    def steps(self, count: int, tasks: int) -> Iterator[AgentStep]:
        for number in range(count):
            says = (
                self.draw.choice(_TASKS) + f" Ticket {self.draw.randrange(10**4, 10**5)}."
                if number % (count // tasks) == 0
                else ""
            )
            makes = self.draw.choices((self._search, self._read, self._test, self._patch, self._list), (3, 5, 2, 4, 1))[0]
            tool, arguments, result, wants = makes(number)
            said = "\n".join(self.results[max(0, number - _OLD) :])
            needs = tuple(one for one in wants if one not in said and any(one in old for old in self.results))
            self.results.append(f"{json.dumps(arguments)}\n{result}")
            yield AgentStep(prose(self.draw.randrange(10**9), "en", 1), tool, arguments, result, needs, says)

    def _older(self, number: int) -> tuple[str, str]:
        """A path and a line of it that a result gave: of the last few, of the last dozen, of any."""
        reach = self.draw.choices((3, 15, 80), (5, 3, 2))[0]
        near = [(path, line) for at, path, line in self.seen if number - at <= reach]
        return self.draw.choice(near or [(path, line) for _, path, line in self.seen] or [(next(iter(self.files)), "")])

    def _note(self, number: int, path: str, lines: Sequence[str]) -> None:
        self.seen += [(number, path, line) for line in lines if line.strip()]

    def _search(self, number: int) -> tuple[str, Item, str, list[str]]:
        _, line = self._older(number)
        name = line.split("(")[0].removeprefix("def ") if line.startswith("def ") else self.draw.choice(_VERBS)
        hits = [(path, at, text) for path, texts in self.files.items() for at, text in enumerate(texts, 1) if name in text]
        hits = self.draw.sample(hits, min(len(hits), max(2, int(10 * self.scale))))
        for path, _, text in hits:
            self._note(number, path, [text])
        found = "\n".join(f"{path}:{at}:{text}" for path, at, text in hits)
        return "search", {"pattern": name}, found, [name] if line.startswith("def ") else []

    def _read(self, number: int) -> tuple[str, Item, str, list[str]]:
        path, _ = self._older(number)
        if self.draw.random() < 0.4:
            path = self.draw.choice(list(self.files))
        lines = self.files[path]
        size = max(6, int(self.draw.randint(20, 60) * self.scale))
        start = self.draw.randrange(max(1, len(lines) - size))
        shown = lines[start : start + size]
        self._note(number, path, shown)
        text = "\n".join(f"{at:5}\t{line}" for at, line in enumerate(shown, start + 1))
        return "read", {"path": path, "offset": start + 1, "limit": size}, text, [path]

    def _test(self, number: int) -> tuple[str, Item, str, list[str]]:
        path, _ = self._older(number)
        place = path.replace("src/", "tests/").replace("/", "/test_", 1)
        if self.draw.random() < 0.4:
            return (
                "run",
                {"command": f"pytest -q {place}"},
                f"{self.draw.randint(3, 40)} passed in 0.{self.draw.randrange(99)}s",
                [],
            )
        one, other = self.draw.randrange(1000, 99999), self.draw.randrange(1000, 99999)
        name = f"test_{self.draw.choice(_VERBS)}_{self.draw.randrange(1000)}"
        dots = "." * int(60 * self.scale)
        failed = f"E   AssertionError: assert {one} == {other}\n{place}:{self.draw.randint(9, 300)}: AssertionError"
        self._note(number, path, [f"assert {one} == {other}"])
        shown = f"___ {name} ___\n    def {name}():\n>       assert {name[5:]}() == {other}"
        text = f"{dots}F\n=== FAILURES ===\n{shown}\n{failed}\n1 failed"
        return "run", {"command": f"pytest -q {place}"}, text, []

    def _patch(self, number: int) -> tuple[str, Item, str, list[str]]:
        path, line = self._older(number)
        new = line.replace("limit", "most").replace("total", "amount") + f"  # {self.draw.randrange(10**5)}"
        return "edit", {"path": path, "old": line, "new": new}, f"Done. Updated {path}", [path, line.strip()]

    def _list(self, number: int) -> tuple[str, Item, str, list[str]]:
        here = self.draw.sample(list(self.files), max(3, int(20 * self.scale)))
        for path in here:
            self._note(number, path, [path])
        return "run", {"command": "git ls-files src"}, "\n".join(here), []


def made_run(seed: int, steps: int = 90, scale: float = 0.5, sealed: int = 300, tasks: int = 3) -> AgentRun:
    """A session of `steps` calls whose results have about `scale` times the usual length."""
    draw = Random(f"agent/{seed}/{scale}")
    system = "You are a coding agent. Follow the manual of the house. " + prose(7, "en", 90)
    return AgentRun(system, tuple(_Agent(draw, scale).steps(steps, tasks)), sealed)


def recorded_run(case: Mapping[str, Any], sealed: int) -> AgentRun | None:
    """A recorded agent's run with sealed reasoning put in front of its calls; None where it calls no tools."""
    messages = case["messages"]
    needs: dict[int, set[str]] = {}
    for probe in case.get("probes") or ():
        needs.setdefault(probe["cut"], set()).update(probe["needed"])
    results = {m["tool_call_id"]: str(m.get("content") or "") for m in messages if m["role"] == "tool"}
    steps, says = list[AgentStep](), ""
    for at, message in enumerate(messages):
        if message["role"] == "user":
            says = f"{says}\n\n{message['content']}".strip()
        for call in message.get("tool_calls") or ():
            function = call["function"]
            arguments, result = json.loads(function["arguments"] or "{}"), results.get(call["id"], "")
            wants = tuple(sorted(needs.pop(at, ())))
            steps.append(AgentStep(str(message.get("content") or ""), function["name"], arguments, result, wants, says))
            says = ""
    system = "\n".join(str(m["content"]) for m in messages if m["role"] in {"system", "developer"})
    return AgentRun(system, tuple(steps), sealed) if len(steps) > 1 else None


# ---------------------------------------------------------------- clients


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, and what the call needs that answers it."""

    request: Request
    needs: tuple[str, ...]


def _seal(length: int, seed: str) -> str:
    return "".join(Random(seed).choices(_LETTERS, k=length * 16 // 3))


def _codex(run: AgentRun, column: Column) -> Iterator[Asked]:
    """Responses, nothing stored, reasoning encrypted."""
    context = "<environment_context>\n  <cwd>/srv/app</cwd>\n  <shell>bash</shell>\n</environment_context>"
    items: list[Item] = [_input("developer", "Ask before you leave the directory."), _input("user", context)]
    for number, step in enumerate(run.steps):
        if step.says:
            if number:
                said = {"type": "output_text", "text": "That is done."}
                items.append({"type": "message", "role": "assistant", "content": [said]})
            items.append(_input("user", step.says))
        asked = {"model": column.model, "store": False, "instructions": run.system, "include": ["reasoning.encrypted_content"]}
        body = {**asked, "input": items, "prompt_cache_key": "session", "stream": False}
        yield Asked(Request(RESPONSES, json.dumps(body, separators=(",", ":")).encode(), not step.says), step.needs)
        call = {"type": "function_call", "name": step.tool, "call_id": f"call_{number}"}
        if run.sealed:
            thought = {"encrypted_content": _seal(run.sealed, f"{number}")}
            items.append({"type": "reasoning", "id": f"rs_{number}", "summary": [], **thought})
        items.append({**call, "arguments": json.dumps(dict(step.arguments))})
        output = f"Exit code: 0\nWall time: 0.1 seconds\nOutput:\n{step.result}"
        items.append({"type": "function_call_output", "call_id": call["call_id"], "output": output})


def _input(role: str, text: str) -> Item:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def _claude_code(run: AgentRun, column: Column) -> Iterator[Asked]:
    """Messages, signed thinking, a mark on the newest two messages of the user's."""
    sent: list[Item] = []
    for number, step in enumerate(run.steps):
        if step.says and number:
            sent.append({"role": "assistant", "content": [{"type": "text", "text": "That is done."}]})
        if step.says:
            sent.append({"role": "user", "content": [{"type": "text", "text": step.says}]})
        newest = [i for i, message in enumerate(sent) if message["role"] == "user"][-2:]
        marked = [
            {**one, "content": [*one["content"][:-1], one["content"][-1] | _MARK]} if i in newest else one
            for i, one in enumerate(sent)
        ]
        system = [{"type": "text", "text": run.system} | _MARK]
        body = {"model": column.model, "max_tokens": 900, "system": system, "messages": marked}
        yield Asked(Request(MESSAGES, json.dumps(body, separators=(",", ":")).encode(), not step.says), step.needs)
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": step.tool, "input": dict(step.arguments)}
        thought = prose(number, "en", max(1, run.sealed // 30))
        signed = [{"type": "thinking", "thinking": thought, "signature": _seal(60, f"{number}")}] if run.sealed else []
        sent.append({"role": "assistant", "content": [*signed, use]})
        sent.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": use["id"], "content": step.result}]})


def _opencode(run: AgentRun, column: Column) -> Iterator[Asked]:
    """Chat completions with calls of tools."""
    sent: list[Item] = [{"role": "system", "content": run.system}]
    for number, step in enumerate(run.steps):
        if step.says:
            if number:
                sent.append({"role": "assistant", "content": "That is done."})
            sent.append({"role": "user", "content": step.says})
        body = json.dumps({"model": column.model, "messages": sent}, separators=(",", ":")).encode()
        yield Asked(Request(CHAT, body, not step.says), step.needs)
        function = {"name": step.tool, "arguments": json.dumps(dict(step.arguments))}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        sent.append({"role": "assistant", "content": step.thought, "tool_calls": [call]})
        sent.append({"role": "tool", "tool_call_id": call["id"], "content": step.result})


def _cline(run: AgentRun, column: Column) -> Iterator[Asked]:
    """Chat completions in which results are the user's messages."""
    details = "<environment_details>\n# Current Mode\nACT MODE\n</environment_details>"
    rules = (
        "TOOL USE\n\nYou have tools, which you use one per message in XML tags:\n<read_file>\n"
        "<path>the path</path>\n</read_file>\n"
        "<attempt_completion>\n<result>what you did</result>\n</attempt_completion>\nThe result comes in the next message.\n\n"
    )
    sent: list[Item] = [{"role": "system", "content": rules + run.system}]
    for number, step in enumerate(run.steps):
        if step.says and not number:
            sent.append({"role": "user", "content": f"<task>\n{step.says}\n</task>\n\n{details}"})
        elif step.says:
            done = "<attempt_completion>\n<result>\nThat is done.\n</result>\n</attempt_completion>"
            again = f"[attempt_completion] Result:\n\n<feedback>\n{step.says}\n</feedback>\n\n{details}"
            sent += [{"role": "assistant", "content": done}, {"role": "user", "content": again}]
        body = json.dumps({"model": column.model, "messages": sent}, separators=(",", ":")).encode()
        yield Asked(Request(CHAT, body, not step.says), step.needs)
        inside = "".join(f"<{key}>{value}</{key}>\n" for key, value in step.arguments.items())
        sent.append({"role": "assistant", "content": f"{step.thought}\n\n<{step.tool}>\n{inside}</{step.tool}>"})
        first = next(iter(step.arguments.values()), "")
        sent.append({"role": "user", "content": f"[{step.tool} for '{first}'] Result:\n\n{step.result}\n\n{details}"})


#: Clients by name.
CLIENTS: Final[Mapping[str, Callable[[AgentRun, Column], Iterator[Asked]]]] = {
    "codex": _codex,
    "claude-code": _claude_code,
    "opencode": _opencode,
    "cline": _cline,
}


def texts(value: Any) -> Iterator[str]:
    """All strings in a body."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)
