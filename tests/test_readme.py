"""The README is in step with the code: settings, commands, links, container files.

Lives here: what can be told mechanically. Does not belong here: prose.
"""

from __future__ import annotations

import re

import pytest

from tests.support.readme import README, settings_table, with_table
from turnfold.config.sources import VARIABLES

ROOT = README.parent
TEXT = README.read_text("utf-8")


def test_table_of_settings_is_in_step() -> None:
    assert with_table(TEXT) == TEXT, "run `make docs`"


def test_the_table_says_what_each_setting_means() -> None:
    rows = [line for line in settings_table().splitlines() if line.startswith("| `")]
    assert len(rows) == len(VARIABLES)
    assert all(re.fullmatch(r"\| `TURNFOLD_\w+` \| .*\| .{10,} \|", row) for row in rows)


def test_a_stale_table_is_noticed() -> None:
    stale = re.sub(r"\| `TURNFOLD_PORT`.*\n", "", TEXT)
    assert stale != TEXT
    assert with_table(stale) == TEXT
    with pytest.raises(ValueError, match="settings"):
        with_table("no block")


def test_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", TEXT)
    assert targets
    assert not [target for target in targets if not (ROOT / target).exists()]


def test_make_commands_exist() -> None:
    commands = set(re.findall(r"(?:^|`)make ([a-z]+)", TEXT, re.MULTILINE))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert commands >= {"serve", "demo", "test", "check"}
    assert commands <= targets


@pytest.mark.parametrize("file", ["README.md", "Dockerfile", "docker-compose.yml", ".env.example"])
def test_variables_that_are_named_exist(file: str) -> None:
    named = set(re.findall(r"TURNFOLD_[A-Z_]+[A-Z]", (ROOT / file).read_text("utf-8")))
    assert named
    assert named <= set(VARIABLES.values())


def test_every_variable_of_the_compose_file_is_explained() -> None:
    wanted = set(re.findall(r"\$\{(\w+)", (ROOT / "docker-compose.yml").read_text("utf-8")))
    explained = set(re.findall(r"^(\w+)=", (ROOT / ".env.example").read_text("utf-8"), re.MULTILINE))
    assert wanted == explained


def test_locks_name_no_index_and_no_path() -> None:
    for path in ROOT.glob("requirements*.lock"):
        assert not re.search(r"^--(?!hash)|://|@ ", path.read_text("utf-8"), re.MULTILINE), path


def test_locks_pin_and_hash_everything() -> None:
    for path in sorted(ROOT.glob("requirements*.lock")):
        text = path.read_text("utf-8")
        pins = re.findall(r"^([\w.-]+)==[^ ]+.*\\$", text, re.MULTILINE)
        assert pins
        assert len(pins) == len(re.findall(r"^[a-z]", text, re.MULTILINE)), path
