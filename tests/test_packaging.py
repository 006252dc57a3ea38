"""What goes into the wheel, and what forges read.

These tests cover the wheel's links and description, and files under ``.github``. They leave out what the code does.
"""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.cases import each

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
FORGE = sorted((ROOT / ".github").rglob("*.md"))


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    path = ROOT / PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]["path"]
    spec = importlib.util.spec_from_file_location("metadata_hook", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def _targets(text: str) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", text)


def test_without_an_address_the_description_has_no_link_that_leads_nowhere(hook: ModuleType) -> None:
    text = hook.readme_for(README, "")
    assert all(target.startswith(("https://", "http://", "#")) for target in _targets(text))
    assert "Benchmarks lists every figure with its command, machine and date" in " ".join(text.split())
    assert hook.links("") == {}


def test_with_an_address_every_link_is_absolute(hook: ModuleType) -> None:
    text = hook.readme_for(README, "https://forge.example/t/turnfold/")
    assert "(https://forge.example/t/turnfold/blob/main/docs/clients.md)" in text
    assert all(target.startswith(("https://", "http://", "#")) for target in _targets(text))
    assert hook.links("https://forge.example/t/turnfold/")["Issues"] == "https://forge.example/t/turnfold/issues"


def test_the_image_has_what_the_build_needs() -> None:
    allowed = (ROOT / ".dockerignore").read_text("utf-8")
    copied = (ROOT / "Dockerfile").read_text("utf-8")
    assert "!.ci/metadata_hook.py" in allowed
    assert "COPY .ci/metadata_hook.py" in copied


@each("page", FORGE)
def test_links_of_pages_for_forges_lead_somewhere(page: Path) -> None:
    for target in _targets(page.read_text("utf-8")):
        assert (page.parent / target.partition("#")[0]).exists(), target


def test_forks_run_what_developers_run() -> None:
    workflow = (ROOT / ".github" / "workflows" / "check.yml").read_text("utf-8")
    assert "make check test" in workflow
    for version in ("3.11", "3.14"):
        assert f'"{version}"' in workflow
        assert f"Programming Language :: Python :: {version}" in PROJECT["project"]["classifiers"]
    assert all(re.fullmatch(r"[\w/-]+@v\d+", action) for action in re.findall(r"uses: (\S+)", workflow))
