"""``turnfold state``: the directive engine on the command line.

This module reads lines and prints results. The rules, and what the commands do, are up to the engine's controller.

Every line is one message to the engine. Three words are commands instead: ``state``, ``preview <input>``, ``step <input>``.
With ``--json`` each line gives one JSON object on one line: a step, a preview, a state or an error, each with `output_version`,
`mode` and `command`; with a model also a `draft`, where it proposes one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TextIO

import typer

from turnfold.compression.errors import InvalidInput
from turnfold.compression.state import DecisionDict, Engine, StateDict, get_policy_items, preprocess, preview, step
from turnfold.compression.state.controller import OUTPUT_VERSION, PreviewResult, StepResult
from turnfold.compression.state.draft import DirectiveDraft
from turnfold.compression.state.serial import canonical
from turnfold.config.sources import SettingsError, load
from turnfold.proxy.asking.drafting import drafter

_EXITS: Final = frozenset({"exit", "quit"})
_HELP: Final = """\
state              the current state
preview <input>    what a message would do; nothing changes
step <input>       the same as the input alone
exit, quit         leave
Directives, in lower case, one a line:
  set premise <text>          change premise to <text>        clear premise
  use <item>                  prohibit <item>                 remove policy <item>
  use <new> instead of <old>  reset policies                  clear state
A question is answered by yes or no."""


#: Proposes a directive for a message; None for none.
Draft = Callable[[Engine, str], DirectiveDraft | None]


@dataclass(frozen=True, slots=True)
class _LineResult:
    """One line's result: as JSON value, and as lines for people."""

    value: dict[str, Any]
    lines: list[str]


class Session:
    """An engine that takes lines.

    Args:
        with_preprocessor: near forms of a directive are rewritten into the exact form first.
        draft: proposes a directive for a message that is none; it is shown, never applied.
    """

    def __init__(self, engine: Engine, *, with_preprocessor: bool = False, draft: Draft | None = None) -> None:
        self.engine = engine
        self._with_preprocessor = with_preprocessor
        self._draft = draft

    def take(self, line: str) -> _LineResult:
        """One line without its end."""
        for command, run in self._commands().items():
            if line == command or line.startswith(f"{command} "):
                rest = line[len(command) + 1 :]
                return run(rest) if rest.strip() else _missing_input(command)
        return self._state() if line.strip() == "state" else self._step(line, "input")

    def _commands(self) -> dict[str, Callable[[str], _LineResult]]:
        return {"preview": self._preview, "step": lambda text: self._step(text, "step")}

    def _input(self, text: str) -> str:
        return preprocess(self.engine, text) if self._with_preprocessor else text

    def _state(self) -> _LineResult:
        state = self.engine.state
        return _LineResult(_envelope("state", "state", state=state), _state_lines(state))

    def _step(self, text: str, command: str) -> _LineResult:
        result: StepResult = step(self.engine, self._input(text))
        told = _LineResult({**result, "command": command}, _decision_lines(result["decision"]))
        drafted = self._draft(self.engine, text) if self._draft and result["decision"]["kind"] == "passthrough" else None
        if drafted is None:
            return told
        return _LineResult({**told.value, "draft": drafted.directive}, [*told.lines, drafted.prompt])

    def _preview(self, text: str) -> _LineResult:
        result = preview(self.engine, self._input(text))
        return _LineResult(
            {**result, "command": "preview"}, ["preview", *_decision_lines(result["decision"]), *_diff_lines(result)]
        )


def _envelope(mode: str, command: str, **more: object) -> dict[str, Any]:
    return {"output_version": OUTPUT_VERSION, "mode": mode, "command": command, **more}


def _missing_input(command: str) -> _LineResult:
    message = f"{command} requires input.\nUse '{command} <input>'."
    error = {"code": f"missing_{command}_input", "message": message}
    return _LineResult(_envelope("error", command, error=error), f"error: {message}".splitlines())


def _state_lines(state: StateDict) -> list[str]:
    premise = "(none)" if state["premise"] is None else state["premise"]
    items = [f"- {policy} {item}" for policy in ("use", "prohibit") for item in get_policy_items(state, policy)]
    return [f"premise: {premise}", *(["policies:", *items] if items else ["policies: (none)"])]


def _decision_lines(decision: DecisionDict) -> list[str]:
    if decision["state"] is not None:
        return ["updated", *_state_lines(decision["state"])]
    if decision["prompt_to_user"] is None:
        return [decision["kind"]]
    head = "confirm" if decision["prompt_to_user"].endswith("?") else "error"
    return f"{head}: {decision['prompt_to_user']}".splitlines()


def _diff_lines(result: PreviewResult) -> list[str]:
    diff = result["diff"]
    premise, policies = diff["premise"], diff["policies"]
    changes = [
        *([f"~ premise: {premise['before'] or '(none)'} -> {premise['after'] or '(none)'}"] if premise["changed"] else []),
        *(f"+ {policy} {item}" for item, policy in policies["added"].items()),
        *(f"- {policy} {item}" for item, policy in policies["removed"].items()),
        *(f"~ {change['before']} {item} -> {change['after']} {item}" for item, change in policies["changed"].items()),
    ]
    return [f"would change: {'yes' if result['would_mutate'] else 'no'}", *changes]


def run(lines: Iterator[str], out: TextIO, session: Session, *, as_json: bool = False, talk: bool) -> None:
    """Take lines until they end or one says exit.

    Args:
        as_json: one JSON object a line instead of text.
        talk: a person is typing: help is offered and blank lines are ignored.
    """
    for raw in lines:
        line = raw.rstrip("\r\n")
        word = line.strip().lower()
        if word in _EXITS:
            return
        if talk and word in ("", "help", "?"):
            print(_HELP if word else "", file=out)
            continue
        said = session.take(line)
        print(canonical(said.value) if as_json else "\n".join(said.lines), file=out, flush=True)


def _drafter() -> Draft:
    try:
        settings = load().settings
        if settings.summary.model is None:
            raise typer.BadParameter("needs TURNFOLD_SUMMARY_MODEL", param_hint="--with-model")
        return drafter(settings)
    except (SettingsError, InvalidInput) as exc:
        raise typer.BadParameter(str(exc), param_hint="--with-model") from exc


def _engine_from(options: dict[str, Callable[[Engine], None]]) -> Engine:
    if len(options) > 1:
        first, second = list(options)[:2]
        raise typer.BadParameter(f"cannot be given together with {first}", param_hint=second)
    engine = Engine()
    for name, read in options.items():
        try:
            read(engine)
        except OSError as exc:
            raise typer.BadParameter(f"{exc.filename}: {exc.strerror}", param_hint=name) from exc
        except (InvalidInput, UnicodeDecodeError) as exc:
            raise typer.BadParameter(str(exc), param_hint=name) from exc
    return engine


def state(
    with_preprocessor: Annotated[
        bool, typer.Option("--with-preprocessor", help='First rewrite near forms ("Use Docker.") as exact directives.')
    ] = False,
    with_model: Annotated[
        bool,
        typer.Option(
            "--with-model", help="Let TURNFOLD_SUMMARY_MODEL propose the directive that a message may mean; nothing is applied."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per message.")] = False,
    initial_state_json: Annotated[str | None, typer.Option(help="Start from this state (exported JSON).")] = None,
    initial_state_file: Annotated[Path | None, typer.Option(help="Start from the state in this file.")] = None,
    initial_checkpoint_json: Annotated[
        str | None, typer.Option(help="Start from this checkpoint (state and open question, as JSON).")
    ] = None,
    initial_checkpoint_file: Annotated[Path | None, typer.Option(help="Start from the checkpoint in this file.")] = None,
) -> None:
    """Try conversation directives: type messages, see their effect.

    Reads one message per line from standard input and prints what it does to the conversation's state. "exit" ends it.
    """
    loads: dict[str, Callable[[Engine], None]] = {}
    if initial_state_json is not None:
        loads["--initial-state-json"] = lambda engine: engine.import_json(initial_state_json)
    if initial_state_file is not None:
        loads["--initial-state-file"] = lambda engine: engine.import_json(initial_state_file.read_text("utf-8-sig"))
    if initial_checkpoint_json is not None:
        loads["--initial-checkpoint-json"] = lambda engine: engine.import_checkpoint_json(initial_checkpoint_json)
    if initial_checkpoint_file is not None:
        loads["--initial-checkpoint-file"] = lambda engine: engine.import_checkpoint_json(
            initial_checkpoint_file.read_text("utf-8-sig")
        )
    draft = _drafter() if with_model else None
    session = Session(_engine_from(loads), with_preprocessor=with_preprocessor, draft=draft)
    talk = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
    if talk:
        typer.echo("Conversation state. Type help for the commands.")
    run(iter(sys.stdin.readline, ""), sys.stdout, session, as_json=as_json, talk=talk)
