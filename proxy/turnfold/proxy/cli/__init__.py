"""The command line: ``turnfold COMMAND``.

This module lists the commands, and is the one place where an expected failure becomes a line and an exit status. Each command is
implemented in a file of its own.

A command's module is imported when the command runs, so that ``turnfold --help`` and ``turnfold version`` import none of them.

Exit codes: 0 it worked; 1 it did not; 2 the command line or the settings are wrong.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from turnfold.proxy.uncollected import uncollected

_OWN: Final = "turnfold.proxy.cli"
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


#: Raised for an invalid command line. Typer has its own copy of click, and exports only subclasses of it.
_UsageProblem: Final[Any] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


class _Command(TyperCommand):
    """A command whose errors name the option with the wrong value instead of the engine's field."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except _invalid() as exc:
            option = next((max(one.opts, key=len) for one in self.params if one.name == exc.field and one.opts), "")
            if not option.startswith("--"):
                raise
            raise _invalid()(option, exc.problem) from exc


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command.

    Attributes:
        home: ``module:function``, the module one of this package.
        says: its line in the list of commands, equal to the first line of the function's docstring.
        parsing: how its command line is read, if not in the usual way.
    """

    home: str
    says: str
    parsing: Mapping[str, Any] | None = None

    def load(self, name: str) -> Any:
        """The command itself, ready to run."""
        module, _, function = self.home.partition(":")
        app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        parsing = dict(self.parsing or {})
        with uncollected():
            ran = getattr(import_module(f"{_OWN}.{module}"), function)
        app.command(name, cls=_Command, context_settings=parsing, help=_unwrapped(ran.__doc__ or ""))(ran)
        return typer.main.get_command(app)


def _unwrapped(docstring: str) -> str:
    """A docstring with each paragraph on one line: the terminal wraps it, and may be narrower than this file."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in docstring.split("\n\n"))


#: Everything after the other command's name belongs to that command.
_REST: Final = MappingProxyType({"allow_interspersed_args": False})

#: Every command, in the order of the help. A new one is a file and a line here.
COMMANDS: Final[Mapping[str, CommandLine]] = MappingProxyType(
    {
        "serve": CommandLine("serve:serve", "Run the proxy."),
        "run": CommandLine("run:run", "Run a command with its own proxy: turnfold run -- codex.", _REST),
        "demo": CommandLine("demo:demo", "Fold a sample conversation on this machine, without a key or a network."),
        "report": CommandLine("report:report", "Show what was saved, in tokens and in dollars."),
        "dashboard": CommandLine("dashboard:dashboard", "Print a link that opens the dashboard of the Turnfold on this machine."),
        "inspect": CommandLine("inspect_request:inspect", "Show what was folded in a request, and why."),
        "drill-down": CommandLine("drill_down:drill_down", "Print the original text of a folded section."),
        "doctor": CommandLine("doctor:doctor", "Check settings, upstream, store and installation."),
        "config": CommandLine("config:config", "Print every setting, its value and where it came from."),
        "export": CommandLine("export:export", "Print the stored receipts, one per request."),
        "windows": CommandLine("windows:windows", "List the context windows that Turnfold learned, or forget them."),
        "forget": CommandLine("forget:forget", "Delete the stored data of a tenant or a conversation."),
        "compress": CommandLine("compress:compress", "Compress a text file, or the messages in a JSON file."),
        "uncompress": CommandLine("messages:uncompress_file", "Restore messages that turnfold compress shortened."),
        "prose": CommandLine("prose:prose", "Rewrite a text in fewer words, by rules."),
        "benchmark": CommandLine("benchmark:benchmark", "Measure compression quality and speed on this machine."),
        "state": CommandLine("state:state", "Try conversation directives: type messages, see their effect."),
        "mcp": CommandLine("mcp_tools:mcp", "Serve tools for agents over the Model Context Protocol."),
        "version": CommandLine("version:version", "Print the versions of Turnfold, its engine and Python."),
    }
)


class _Commands(TyperGroup):
    """The commands, each loaded when it is run; the list needs their names and lines alone."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = {name: TyperCommand(name, help=command.says) for name, command in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, COMMANDS[name].load(name) if name and name in COMMANDS else command, rest


def _print_version(wanted: bool) -> None:
    if wanted:
        import_module(f"{_OWN}.version").version()
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the versions and exit.")
    ] = False,
) -> None:
    """Turnfold: point OPENAI_BASE_URL at it, and long conversations cost less."""
    del version  # its callback has printed and exited


def build() -> typer.Typer:
    """The command line as a Typer app."""
    app = typer.Typer(
        cls=_Commands,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    return app


def main() -> None:
    """Entry point."""
    _open_descriptors()
    _write_any_character()
    try:
        ended = build()(standalone_mode=False)
    except _UsageProblem as exc:
        _say_usage(exc)
        sys.exit(exc.exit_code)
    except typer.Abort:
        _say("aborted")
        sys.exit(1)
    except _refused() as exc:
        _say(str(exc))
        sys.exit(2)
    except _failed() as exc:
        _say(str(exc))
        sys.exit(2 if getattr(exc, "field", "").startswith(("--", "TURNFOLD_")) else 1)
    except OSError as exc:
        if exc.errno not in _NO_ROOM:
            raise
        _say(f"the output is incomplete: {(exc.strerror or str(exc)).lower()}")
        os._exit(1)  # what is left in the buffer of standard output cannot be written either
    finally:
        gc.freeze()  # otherwise Python scans all loaded objects several times at exit: .2 s after ``serve``
    sys.exit(ended if isinstance(ended, int) else 0)


def _say_usage(problem: Any) -> None:
    told = " ".join(problem.format_message().split())
    if told:  # otherwise it was the help, which is already printed
        command = problem.ctx.command_path if problem.ctx else "turnfold"
        _say(f"{told[0].lower()}{told[1:].rstrip('.')} (see {command} --help)")


def _open_descriptors() -> None:
    """Open what is closed of standard input, output and error: else a socket gets its number, and lines are written into that.

    Python has no stream for one that was closed when it started; commands find an empty input, and an output that nobody reads.
    """
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - for the whole process


def _write_any_character() -> None:
    """Files and pipes get UTF-8, as Turnfold reads it, whatever the locale says; a terminal shows a sign for what it lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8", errors=stream.errors)


def _refused() -> type[Exception]:
    """The class of a wrong setting; evaluated only after an exception, when its module is loaded."""
    error: type[Exception] = import_module("turnfold.config.sources").SettingsError
    return error


def _invalid() -> Any:
    """The class of a wrong value; evaluated in the same way."""
    return import_module("turnfold.compression.errors").InvalidInput


def _failed() -> tuple[type[Exception], ...]:
    homes = {"turnfold.compression.errors": "TurnfoldError", f"{_OWN}.failure": "Failure", "turnfold.proxy.store": "StoreError"}
    return tuple(getattr(import_module(module), name) for module, name in homes.items())


def _say(problem: str) -> None:
    console = import_module("rich.console").Console(stderr=True, soft_wrap=True)
    console.print(f"turnfold: {problem}", style="red", markup=False, highlight=False)
