"""Conversations of agents that send what a tool gave as a user's message.

It has the message formats of such agents as functions, and sessions of several tasks in them. Other modules judge what comes out
of them.

The formats are facts of these programs (which labels and tags stand where, who speaks in which role); all that is said in them is
made here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Format:
    """How one agent writes its messages.

    Attributes:
        system: its instructions.
        task: a person's first request.
        call: a thought and a tool's name and argument, as the assistant writes them.
        result: a tool's name, its argument and what it gave, as the user's message.
        said: what a person says while the agent works, as the user's message.
        answer: the assistant's last message on a task.
        again: a person's later request.
        closing: what the program itself says behind that last message, in the user's message that holds the later request too.
    """

    system: str
    task: Callable[[str], str]
    call: Callable[[str, str, str], str]
    result: Callable[[str, str, str], str]
    answer: Callable[[str], str]
    said: Callable[[str], str] = str
    again: Callable[[str], str] = str


_TICKS: Final = "```"


def _smolagents() -> Format:
    return Format(
        system="You solve tasks with code. Each step is 'Thought:', then code between <code> and </code>, then you see "
        "'Observation:'. Give the end result with final_answer().",
        task=lambda text: f"New task:\n{text}",
        call=lambda thought, tool, arg: f"Thought: {thought}\n<code>\nout = {tool}({arg!r})\nprint(out)\n</code>",
        result=lambda tool, arg, out: f"Observation:\nExecution logs:\n{out}\nLast output from code snippet:\nNone",
        answer=lambda text: f"Thought: I have what was asked for.\n<code>\nfinal_answer({text!r})\n</code>",
        # Neighbours of one role are joined, so the next task stands behind the last result.
        again=lambda text: f"Observation:\nExecution logs:\nLast output from code snippet:\ndone\nNew task:\n{text}",
        said=lambda text: f"Observation:\nExecution logs:\nLast output from code snippet:\nwaiting\nNew task:\n{text}",
    )


def _react() -> Format:
    return Format(
        system="Answer with the tools read_file, search and run.\nUse this format:\nThought: what to do\nAction: one of them\n"
        "Action Input: its input\nObservation: what it gave\n... (this repeats)\nFinal Answer: the answer",
        task=lambda text: f"Question: {text}",
        call=lambda thought, tool, arg: f"Thought: {thought}\nAction: {tool}\nAction Input: {arg}",
        result=lambda tool, arg, out: f"Observation: {out}",
        answer=lambda text: f"Thought: I now know the answer.\nFinal Answer: {text}",
        again=lambda text: f"Question: {text}",
    )


_DETAILS: Final = "<environment_details>\n# Visible Files\nsrc/app.py\n\n# Current Mode\nACT MODE\n</environment_details>"


def _cline() -> Format:
    return Format(
        system="TOOL USE\n\nYou have tools, which you use one per message in XML tags:\n<read_file>\n<path>the path</path>\n"
        "</read_file>\n<execute_command>\n<command>the command</command>\n</execute_command>\n"
        "<attempt_completion>\n<result>what you did</result>\n</attempt_completion>\nThe result comes in the next message.",
        task=lambda text: f"<task>\n{text}\n</task>\n\n{_DETAILS}",
        call=lambda thought, tool, arg: f"{thought}\n\n<{tool}>\n<path>{arg}</path>\n</{tool}>",
        result=lambda tool, arg, out: f"[{tool} for '{arg}'] Result:\n\n{out}\n\n{_DETAILS}",
        answer=lambda text: f"<attempt_completion>\n<result>\n{text}\n</result>\n</attempt_completion>",
        said=lambda text: (
            f"[ask_followup_question for 'How shall I go on?'] Result:\n\n<answer>\n{text}\n</answer>\n\n{_DETAILS}"
        ),
        again=lambda text: (
            "[attempt_completion] Result:\n\nThe user has provided feedback on the results. Go on with it.\n"
            f"<feedback>\n{text}\n</feedback>\n\n{_DETAILS}"
        ),
    )


def _mini_swe() -> Format:
    return Format(
        system="Each answer has a THOUGHT and exactly one command in a block that begins with three backticks and bash.",
        task=lambda text: f"Please solve this issue: {text}\n\nOne command per answer, in a bash block.",
        call=lambda thought, tool, arg: f"THOUGHT: {thought}\n\n{_TICKS}bash\n{tool} {arg}\n{_TICKS}",
        result=lambda tool, arg, out: f"<returncode>0</returncode>\n<output>\n{out}\n</output>",
        answer=lambda text: f"THOUGHT: Done. {text}",
    )


def _terminus() -> Format:
    def call(thought: str, tool: str, arg: str) -> str:
        keys = [{"keystrokes": f"{tool} {arg}\n", "duration": 0.5}]
        return json.dumps({"analysis": thought, "plan": "go on", "commands": keys}, indent=1)

    return Format(
        system="",
        task=lambda text: (
            "You work in a terminal. Answer with a JSON object with analysis, plan and commands.\n\n"
            f"Task Description:\n{text}\n\nCurrent terminal state:\nroot@box:/app#"
        ),
        call=call,
        result=lambda tool, arg, out: f"New Terminal Output:\n\nroot@box:/app# {tool} {arg}\n{out}\nroot@box:/app#",
        answer=lambda text: json.dumps({"analysis": text, "plan": "", "commands": [], "task_complete": True}),
    )


def _openhands() -> Format:
    return Format(
        system="You have functions. Call them in this form and with no text behind it:\n<function=example>\n<parameter=one>\n"
        "value\n</parameter>\n</function>\n\nUSER: EXECUTION RESULT of [execute_bash]:\n/workspace",
        task=str,
        call=lambda thought, tool, arg: f"{thought}\n<function={tool}>\n<parameter=command>\n{arg}\n</parameter>\n</function>",
        result=lambda tool, arg, out: f"EXECUTION RESULT of [{tool}]:\n{out}\n[The command completed with exit code 0.]",
        answer=lambda text: text,
    )


def _langchain_chat() -> Format:
    def call(thought: str, tool: str, arg: str) -> str:
        return f"{_TICKS}json\n" + json.dumps({"action": tool, "action_input": arg}, indent=4) + f"\n{_TICKS}"

    return Format(
        system="The assistant is helpful. It answers in a markdown code block with a JSON object of action and action_input.",
        task=lambda text: (
            "TOOLS\n------\nread_file, search, run\n\nRESPONSE FORMAT INSTRUCTIONS\n----------------------------\n"
            f"a JSON object\n\nUSER'S INPUT\n--------------------\n{text}"
        ),
        call=call,
        result=lambda tool, arg, out: (
            f"TOOL RESPONSE: \n---------------------\n{out}\n\nUSER'S INPUT\n--------------------\n\n"
            "Okay, so what is the response to my last comment? Answer in the format of the JSON block."
        ),
        answer=lambda text: call("", "Final Answer", text),
        again=lambda text: (
            "TOOLS\n------\nread_file, search, run\n\nRESPONSE FORMAT INSTRUCTIONS\n----------------------------\n"
            f"a JSON object\n\nUSER'S INPUT\n--------------------\n{text}"
        ),
        said=lambda text: (
            "TOOLS\n------\nread_file, search, run\n\nRESPONSE FORMAT INSTRUCTIONS\n----------------------------\n"
            f"a JSON object\n\nUSER'S INPUT\n--------------------\n{text}"
        ),
    )


def _autogen() -> Format:
    return Format(
        system="You are a helpful assistant. Solve tasks in python or shell code, which the user runs for you. Say TERMINATE at "
        "the end.",
        task=str,
        call=lambda thought, tool, arg: f"{thought}\n\n{_TICKS}python\nprint({tool}({arg!r}))\n{_TICKS}",
        result=lambda tool, arg, out: f"exitcode: 0 (execution succeeded)\nCode output: {out}\n",
        answer=lambda text: f"{text} TERMINATE",
    )


def _swe_agent() -> Format:
    return Format(
        system="You work in a command line. Each answer is a discussion and one command in a code block.",
        task=lambda text: (
            f"We're solving this issue in our repository:\n\n{text}\n\n(Open file: n/a)\n(Current directory: /app)\nbash-$"
        ),
        call=lambda thought, tool, arg: f"DISCUSSION\n{thought}\n\n{_TICKS}\n{tool} {arg}\n{_TICKS}",
        result=lambda tool, arg, out: f"{out}\n(Open file: /app/{arg})\n(Current directory: /app)\nbash-$",
        answer=lambda text: text,
    )


def _interpreter() -> Format:
    return Format(
        system="You write code to complete tasks. When you write code, the user runs it for you.",
        task=str,
        call=lambda thought, tool, arg: f"{thought}\n\n{_TICKS}python\n{tool}({arg!r})\n{_TICKS}",
        result=lambda tool, arg, out: (
            f"Code output: {out}\n\nWhat does this output mean / what's next (if anything, or are we done)?"
        ),
        answer=lambda text: text,
    )


def _german() -> Format:
    return Format(
        system="Du arbeitest mit Werkzeugen. Schreibe:\nGedanke: was zu tun ist\nAktion: das Werkzeug\nEingabe: was es bekommt\n"
        "Du bekommst dann\nBeobachtung: was es ergab",
        task=lambda text: f"Aufgabe: {text}",
        call=lambda thought, tool, arg: f"Gedanke: {thought}\nAktion: {tool}\nEingabe: {arg}",
        result=lambda tool, arg, out: f"Beobachtung: {out}",
        answer=lambda text: f"Antwort: {text}",
        again=lambda text: f"Aufgabe: {text}",
    )


def _chinese() -> Format:
    return Format(
        system="你可以使用工具。格式如下：\n思考：下一步做什么\n行动：工具名\n输入：参数\n观察：工具返回的结果\n最后给出：答案",
        task=lambda text: f"任务：{text}",
        call=lambda thought, tool, arg: f"思考：{thought}\n行动：{tool}\n输入：{arg}",
        result=lambda tool, arg, out: f"观察：{out}",
        answer=lambda text: f"答案：{text}",
        again=lambda text: f"任务：{text}",
    )


def _browser_use() -> Format:
    def call(thought: str, tool: str, arg: str) -> str:
        state = {"evaluation_previous_goal": "Success", "memory": thought, "next_goal": f"{tool} {arg}"}
        return json.dumps({"current_state": state, "action": [{tool: {"text": arg}}]})

    return Format(
        system="You are a browser agent. Input: [Current state starts here] with url and interactive elements. Answer in JSON: "
        '{"current_state": {}, "action": []}',
        task=lambda text: f'Your ultimate task is: """{text}""". If you achieved it, stop and use the done action.',
        call=call,
        result=lambda tool, arg, out: (
            "[Task history memory ends]\n[Current state starts here]\nThe following is one-time information"
            f" - if you need to remember it write it to memory:\nCurrent url: http://localhost/{arg}\nInteractive elements:\n"
            f"{out}\n"
        ),
        answer=lambda text: json.dumps({"current_state": {"memory": text}, "action": [{"done": {"text": text}}]}),
        again=lambda text: f'Your new ultimate task is: """{text}""". Take the earlier one into account.',
        said=lambda text: f'Your new ultimate task is: """{text}""". Take the earlier one into account.',
    )


def _aider() -> Format:
    def call(thought: str, tool: str, arg: str) -> str:
        return f"{thought}\n\n{arg}\n{_TICKS}python\n<<<<<<< SEARCH\nold\n=======\n{tool}()\n>>>>>>> REPLACE\n{_TICKS}"

    return Format(
        system="Act as an expert developer. Describe each change with a SEARCH/REPLACE block.",
        task=str,
        call=call,
        result=lambda tool, arg, out: f"I ran this command:\n\npytest {arg}\n\nAnd got this output:\n\n{out}\n",
        answer=lambda text: text,
    )


def _smolagents_tools() -> Format:
    def call(thought: str, tool: str, arg: str) -> str:
        made = [{"id": "call_7f", "type": "function", "function": {"name": tool, "arguments": {"name": arg}}}]
        return f"{thought}\nCalling tools:\n{made}"

    return Format(
        system="You solve tasks with tool calls. The tool call you write is an action; you then get an observation. Such as:\n"
        'Action:\n{\n  "name": "search",\n  "arguments": {"name": "x"}\n}\n\nObservation: "image_1.jpg"\n\n'
        "The end result goes to final_answer.",
        task=lambda text: f"New task:\n{text}",
        call=call,
        result=lambda tool, arg, out: f"Observation:\n{out}",
        answer=lambda text: call("", "final_answer", text),
        again=lambda text: f"Observation:\ndone\nNew task:\n{text}",
        said=lambda text: f"Observation:\nwaiting\nNew task:\n{text}",
    )


def _invoking() -> Format:
    return Format(
        system="You have tools. To use one, write its name and its input as JSON. [tool] shows what it gave.",
        task=lambda text: f"## Request\n{text}",
        call=lambda thought, tool, arg: f"{thought}\n\n**Invoke:** " + json.dumps({"tool": tool, "input": arg}),
        result=lambda tool, arg, out: f"[tool] {tool}:\n{out}",
        answer=lambda text: text,
        again=lambda text: f"## Request\n{text}",
    )


#: Formats by which the rule was made, and others by which it was judged.
TUNED: Final[Mapping[str, Format]] = {
    "smolagents": _smolagents(),
    "react": _react(),
    "cline": _cline(),
    "mini-swe": _mini_swe(),
    "terminus": _terminus(),
    "smolagents-tools": _smolagents_tools(),
}
HELD_OUT: Final[Mapping[str, Format]] = {
    "openhands": _openhands(),
    "langchain": _langchain_chat(),
    "autogen": _autogen(),
    "swe-agent": _swe_agent(),
    "interpreter": _interpreter(),
    "german": _german(),
    "chinese": _chinese(),
    "browser-use": _browser_use(),
    "aider": _aider(),
    "invoking": _invoking(),
}
FORMATS: Final[Mapping[str, Format]] = {**TUNED, **HELD_OUT}


# ---------------------------------------------------------------- what is said

_TASKS: Final = (
    "Find out why invoices of the Lisbon branch are rounded down, and write the cause into notes/rounding.md.",
    "Now rename the setting `retry_limit` to `max_attempts` everywhere, the migration of 14 March included.",
    "Last, make the nightly export of the depot in Tartu skip pallets without a seal, and say how many it skipped.",
)
_LIMITS: Final = (
    "Don't touch the tests directory.",
    "Use port 8081 for the server.",
    "Keep the old column until Friday.",
)
_THOUGHTS: Final = (
    "The total is made in the ledger, so I look there.",
    "This only reads the value. I look at who writes it.",
    "The name occurs in one more module.",
    "I check what the run says about it.",
)
_NAMES: Final = ("ledger", "invoice", "branch", "export", "pallet", "seal", "retry", "queue", "port", "depot", "tariff", "route")
_TOWNS: Final = ("Tartu", "Lisbon", "Graz")


def _code(random: Random) -> str:
    a, b, c = random.sample(_NAMES, 3)
    lines = [f"import {a}", "", f"class {b.title()}{c.title()}:"]
    for _ in range(random.randint(4, 9)):
        x, y = random.sample(_NAMES, 2)
        lines += [
            f"    def {x}_{y}(self, {a}: int, {b}: str) -> int:",
            f"        total = self.{c}[{b}] * {random.randint(2, 99)}",
            f"        if total > {random.randint(100, 9999)}:",
            f'            raise ValueError("{x} of {y} is too large")',
            f"        return total + {a}",
            "",
        ]
    return "\n".join(lines)


def _log(random: Random) -> str:
    lines = [
        f"2026-03-{random.randint(10, 28)} 0{random.randint(0, 9)}:{random.randint(10, 59)}:07 INFO {random.choice(_NAMES)}: "
        f"handled {random.randint(3, 900)} rows of {random.choice(_NAMES)}-{random.randint(100, 999)}"
        for _ in range(random.randint(8, 22))
    ]
    lines[len(lines) // 2] = f"2026-03-14 02:11:09 ERROR {random.choice(_NAMES)}: no row {random.randint(1000, 9999)}"
    return "\n".join(lines)


def _json(random: Random) -> str:
    rows = [
        {"id": random.randint(1000, 9999), "name": random.choice(_NAMES), "open": random.random() > 0.5}
        for _ in range(random.randint(8, 18))
    ]
    return json.dumps(rows)


def _listing(random: Random) -> str:
    names = (
        f"src/{random.choice(_NAMES)}/{random.choice(_NAMES)}_{random.randint(1, 99)}.py" for _ in range(random.randint(8, 30))
    )
    return "\n".join(f"{name}:{random.randint(1, 400)}: {random.choice(_NAMES)} = {random.randint(1, 99)}" for name in names)


def _page(random: Random) -> str:
    """What a search gives: language, so that nothing but its place tells it from what a person says."""
    told = (
        f"The {random.choice(_NAMES)} of {random.choice(_TOWNS)} was opened in {random.randint(1950, 2020)} and "
        f"has {random.randint(3, 90)} gates. Each {random.choice(_NAMES)} is checked twice a day by the same people."
        for _ in range(random.randint(3, 7))
    )
    return " ".join(told)


_OUTPUTS: Final = (_code, _log, _json, _listing, _page)


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation up to the request that follows its last result.

    Attributes:
        asked: what the person wants now.
        limits: what the person said that holds on.
        last: the newest result as the tool gave it.
        reports: indices of the messages that hold results and nothing else.
    """

    messages: Sequence[Message]
    asked: str
    limits: Sequence[str]
    last: str
    reports: frozenset[int] = field(default_factory=frozenset)


def session(name: str, tasks: int = 2, steps: int = 12, seed: int = 1) -> Session:
    """So many tasks in a format; on each but the last the agent works for `steps` steps, is told a limit on the way, and answers;
    it is still at work on the last."""
    form, random = FORMATS[name], Random(f"{name} {seed}")
    messages: list[Message] = [{"role": "system", "content": form.system}] if form.system else []
    reports: set[int] = set()
    out = ""

    def say(role: str, text: str) -> None:
        messages.append({"role": role, "content": text})

    for number in range(tasks):
        task = _TASKS[number % len(_TASKS)]
        say("user", form.again(task) if number else form.task(task))
        for step in range(steps):
            tool, arg = random.choice(("read_file", "search", "run")), f"{random.choice(_NAMES)}_{random.randint(1, 99)}.py"
            say("assistant", form.call(f"{random.choice(_THOUGHTS)} Step {step + 1}.", tool, arg))
            out = random.choice(_OUTPUTS)(random)
            reports.add(len(messages))
            say("user", form.result(tool, arg, out))
            if step == steps // 3:
                say("assistant", "I have read the first part. Is there anything that I must not change or use?")
                say("user", form.said(_LIMITS[number % len(_LIMITS)]))
        if number < tasks - 1:
            say("assistant", form.answer(f"Part {number + 1} is done: {random.choice(_NAMES)} was the cause."))
    return Session(
        messages, _TASKS[(tasks - 1) % len(_TASKS)], [_LIMITS[i % len(_LIMITS)] for i in range(tasks)], out, frozenset(reports)
    )
