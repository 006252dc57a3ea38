"""README and documentation are in step with the code: settings, commands, links, container files.

These tests show what can be told mechanically. They leave out prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.cases import each
from tests.support.readme import PAGES, README, settings_page, settings_table, with_table
from turnfold.config.sources import VARIABLES
from turnfold.proxy.cli import COMMANDS
from turnfold.proxy.telemetry.metrics import Metrics

ROOT = README.parent
TEXTS = {page: page.read_text("utf-8") for page in PAGES}
BENCHMARKS = sorted((ROOT / "benchmarks").glob("*.md"))


def test_table_of_settings_is_in_step() -> None:
    assert with_table(settings_page()) == settings_page(), "run `make docs`"


def test_the_table_says_what_each_setting_means() -> None:
    rows = [line for line in settings_table().splitlines() if line.startswith("| `")]
    assert len(rows) == len(VARIABLES)
    assert all(re.fullmatch(r"\| `TURNFOLD_\w+` \| .*\| .{10,} \|", row) for row in rows)


def test_a_stale_table_is_noticed() -> None:
    page = settings_page()
    stale = re.sub(r"\| `TURNFOLD_PORT`.*\n", "", page)
    assert stale != page
    assert with_table(stale) == page
    with pytest.raises(ValueError, match="settings"):
        with_table("no block")


def _anchors(text: str) -> set[str]:
    """As hosts of Markdown make them of headings."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@each("page", [*PAGES, *BENCHMARKS])
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)#?([^):]*)\)", page.read_text("utf-8")):
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), target
        assert not anchor or anchor in _anchors(path.read_text("utf-8")), f"{target}#{anchor}"


def test_every_benchmark_is_in_the_list_of_benchmarks_and_no_other() -> None:
    listed = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem != "__init__"}
    named = set(re.findall(r"benchmarks[./](\w+)(?:`| |\.py)", "\n".join(page.read_text("utf-8") for page in BENCHMARKS)))
    assert scripts <= set(re.findall(r"benchmarks[./](\w+)", listed))
    assert named <= scripts


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached = {(ROOT / target).resolve() for target in re.findall(r"\]\(([^)#:]+)", TEXTS[README])}
    assert set(PAGES) - {README} <= reached


def test_the_readme_is_short() -> None:
    assert len(TEXTS[README].splitlines()) <= 150


def test_make_commands_exist() -> None:
    commands = set(re.findall(r"(?:^|`)make ([a-z]+)", "\n".join(TEXTS.values()), re.MULTILINE))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert commands >= {"serve", "demo", "test", "check"}
    assert commands <= targets


@each("file", ["docs/configuration.md", "docs/operations.md", "Dockerfile", "docker-compose.yml", ".env.example"])
def test_variables_that_are_named_exist(file: str) -> None:
    named = set(re.findall(r"TURNFOLD_[A-Z_]+[A-Z]", (ROOT / file).read_text("utf-8")))
    assert named
    assert {name if name in VARIABLES.values() else name.removesuffix("_FILE") for name in named} <= set(VARIABLES.values())


def test_every_variable_of_the_compose_file_is_explained() -> None:
    wanted = set(re.findall(r"\$\{(\w+)", (ROOT / "docker-compose.yml").read_text("utf-8")))
    explained = set(re.findall(r"^(\w+)=", (ROOT / ".env.example").read_text("utf-8"), re.MULTILINE))
    assert wanted <= explained  # the others arrive by env_file


def _headers(texts: Iterable[str]) -> set[str]:
    return {name for text in texts for name in re.findall(r"x-turnfold-[a-z-]*[a-z]", text)}


def test_the_documentation_names_every_header() -> None:
    code = _headers(path.read_text("utf-8") for root in ("proxy", "config") for path in (ROOT / root).rglob("*.py"))
    told = _headers(TEXTS.values()) | {"x-turnfold-tokens-after"}  # "`x-turnfold-tokens-before`, `-tokens-after`"
    assert sorted(code - told) == []
    assert sorted(told - code) == []


def test_the_documentation_names_every_metric() -> None:
    exposed = set(re.findall(r"^# TYPE (turnfold_\w+)", Metrics().render()[0].decode(), re.MULTILINE))
    told = {name for text in TEXTS.values() for name in re.findall(r"\bturnfold_[a-z_]+[a-z]", text)}
    assert sorted(exposed - told) == []
    assert sorted(told - exposed) == []


def test_the_documentation_names_every_command() -> None:
    page = TEXTS[ROOT / "docs" / "cli.md"]
    assert [name for name in COMMANDS if f"turnfold {name}" not in page] == []


def test_locks_name_no_index_and_no_path() -> None:
    for path in ROOT.glob("requirements*.lock"):
        assert not re.search(r"^--(?!hash)|://|@ ", path.read_text("utf-8"), re.MULTILINE), path


def test_locks_pin_and_hash_everything() -> None:
    for path in sorted(ROOT.glob("requirements*.lock")):
        text = path.read_text("utf-8")
        pins = re.findall(r"^([\w.-]+)==[^ ]+.*\\$", text, re.MULTILINE)
        assert pins
        assert len(pins) == len(re.findall(r"^[a-z]", text, re.MULTILINE)), path
