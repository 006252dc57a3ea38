"""``turnfold state``: lines in, lines or JSON objects out.

These tests cover the command as a user calls it. They leave out rules of the engine.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from turnfold.compression.state import create_engine
from turnfold.config.settings import Settings
from turnfold.proxy.cli import build
from turnfold.proxy.cli.state import Draft, Session, run


def lines(text: str, *args: str) -> list[str]:
    result = CliRunner().invoke(build(), ["state", *args], input=text)
    assert result.exit_code == 0, result.output
    return result.output.splitlines()


def objects(text: str, *args: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(text, "--json", *args)]


def refused(*args: str) -> str:
    result = CliRunner().invoke(build(), ["state", *args], input="state\n", env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert result.exit_code == 2
    return result.output


def test_each_line_is_a_step_or_a_command() -> None:
    talk = "hello\nuse docker\nprohibit docker\nuse b instead of c\nstate\npreview yes\nyes\npreview\nquit\nuse x\n"
    assert lines(talk) == [
        "passthrough",
        "updated",
        "premise: (none)",
        "policies:",
        "- use docker",
        'error: "docker" is currently in use.',
        "Remove or replace it before prohibiting it.",
        'confirm: Did you mean to use "b" instead?',
        "premise: (none)",
        "policies:",
        "- use docker",
        "preview",
        "updated",
        "premise: (none)",
        "policies:",
        "- use b",
        "- use docker",
        "would change: yes",
        "+ use b",
        "updated",
        "premise: (none)",
        "policies:",
        "- use b",
        "- use docker",
        "error: preview requires input.",
        "Use 'preview <input>'.",
    ]


def test_one_object_a_line() -> None:
    found = objects("set premise p\nstep use x\n\npreview clear state\nstate\nstep\nsteps ahead\n")
    assert [(one["mode"], one["command"]) for one in found] == [
        ("step", "input"),
        ("step", "step"),
        ("step", "input"),
        ("preview", "preview"),
        ("state", "state"),
        ("error", "step"),
        ("step", "input"),
    ]
    assert {one["output_version"] for one in found} == {1}
    state = {"premise": "p", "policies": {"x": "use"}, "version": 2}
    assert found[1]["state"] == found[3]["state_before"] == found[4]["state"] == state
    assert found[3]["diff"]["policies"]["removed"] == {"x": "use"}
    assert found[5]["error"]["code"] == "missing_step_input"


def test_the_preprocessor_is_a_choice() -> None:
    assert lines("Use Docker.\n") == ["passthrough"]
    assert lines("Use Docker.\n", "--with-preprocessor")[-1] == "- use docker"
    assert lines("preview Use Docker.\n", "--with-preprocessor")[-1] == "+ use docker"


def test_preload(tmp_path: Path) -> None:
    engine = create_engine()
    engine.step("prohibit x")
    engine.step("use b instead of c")
    state, checkpoint = tmp_path / "state.json", tmp_path / "checkpoint.json"
    state.write_text(engine.export_json(), encoding="utf-8")
    checkpoint.write_text(engine.export_checkpoint_json(), encoding="utf-8")
    kept = {"x": "prohibit"}
    for args, behind in (
        (("--initial-state-json", engine.export_json()), kept),
        (("--initial-state-file", str(state)), kept),
        (("--initial-checkpoint-json", engine.export_checkpoint_json()), {**kept, "b": "use"}),
        (("--initial-checkpoint-file", str(checkpoint)), {**kept, "b": "use"}),
    ):
        assert objects("yes\nstate\n", *args)[-1]["state"]["policies"] == behind


def test_a_model_drafts_what_a_message_may_have_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_SUMMARY_MODEL", "gpt-4.1-nano")
    asked: list[str] = []

    def drafter(settings: Settings) -> Draft:
        assert settings.summary.model == "gpt-4.1-nano"
        return lambda _, message: asked.append(message)

    monkeypatch.setattr("turnfold.proxy.cli.state.drafter", drafter)
    assert lines("no more docker here\n", "--with-model") == ["passthrough"]
    assert asked == ["no more docker here"]
    monkeypatch.delenv("TURNFOLD_SUMMARY_MODEL")
    assert "--with-model: needs TURNFOLD_SUMMARY_MODEL" in refused("--with-model")


def test_bad_preload_names_the_option(tmp_path: Path) -> None:
    assert "--initial-state-json" in refused("--initial-state-json", "{")
    assert "--initial-checkpoint-json" in refused("--initial-checkpoint-json", "{}")
    assert "--initial-state-file" in refused("--initial-state-file", str(tmp_path / "none"))
    assert "together" in refused("--initial-state-json", "{}", "--initial-checkpoint-file", "x")


@pytest.mark.parametrize("word", ["help", "?"])
def test_help_is_offered_to_people_only(word: str) -> None:
    out = io.StringIO()
    run(iter([f"{word}\n", "\n"]), out, Session(create_engine()), talk=True)
    assert "use <new> instead of <old>" in out.getvalue()
    assert lines(f"{word}\n") == ["passthrough"]
